package chroma

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

// Search implements [connector.Collection]. Store-only points rank by their stand-ins and are left out here: a filter that
// excludes them would cost more than the search (150 ms beside 10 ms for 20,000 items). Where too few others are among the
// answers, more are asked for.
func (c *Collection) Search(ctx context.Context, q connector.Query) ([]connector.Hit, error) {
	if q.Mode != connector.ModeDense {
		return nil, fmt.Errorf("chroma: %s search: %w", q.Mode, connector.ErrUnsupported)
	}
	if q.Vector == nil {
		return nil, connector.Errorf(connector.ClassInvalid, "chroma: a dense search without a vector")
	}
	if err := payload.CheckVector(q.Vector, c.schema.Dimensions, c.schema.Distance); err != nil {
		return nil, fmt.Errorf("chroma: search: %w", err)
	}
	where, ids, ok := c.sink.fields.where(q.Filter)
	if q.K <= 0 || !ok {
		return nil, ctx.Err()
	}
	body := map[string]any{"query_embeddings": [][]float32{q.Vector}, "include": []string{"distances"}}
	if where != nil {
		body["where"] = where
	}
	if ids != nil { // one that does not exist would fail the query
		known, err := c.known(ctx, ids)
		if err != nil || len(known) == 0 {
			return nil, err
		}
		body["ids"] = known
	}
	if q.Exact {
		ranked, err := c.rankAll(ctx, q.Vector, body)
		if err != nil {
			return nil, err
		}
		return c.hits(ctx, ranked, q.K)
	}
	for n := q.K; ; n *= 4 {
		body["n_results"] = n
		ranked, err := c.rank(ctx, body)
		if err != nil {
			return nil, err
		}
		hits, err := c.hits(ctx, ranked, q.K)
		if err != nil {
			return nil, err
		}
		if len(hits) == q.K || len(ranked) < n {
			return hits, nil
		}
	}
}

// rank asks for ids and distances, best first and equal ones by id.
func (c *Collection) rank(ctx context.Context, body map[string]any) ([]connector.Hit, error) {
	var got struct {
		IDs       [][]string  `json:"ids"`
		Distances [][]float64 `json:"distances"`
	}
	if err := c.call(ctx, "POST", "/query", body, &got); err != nil {
		return nil, err
	}
	if len(got.IDs) != 1 || len(got.Distances) != 1 || len(got.IDs[0]) != len(got.Distances[0]) {
		return nil, connector.Errorf(connector.ClassTransient, "chroma: query: an answer of another shape")
	}
	out := make([]connector.Hit, len(got.IDs[0]))
	for i, id := range got.IDs[0] {
		out[i].ChunkID, out[i].Score = id, c.score(got.Distances[0][i])
	}
	slices.SortFunc(out, compareHits)
	return out, nil
}

// rankAll ranks everything that the filter lets through. The index is asked for all of it, and what it does not reach (a graph may lose
// nodes) is compared here.
func (c *Collection) rankAll(ctx context.Context, question []float32, body map[string]any) ([]connector.Hit, error) {
	request := map[string]any{"include": []string{}}
	for _, key := range []string{"where", "ids"} {
		if v, ok := body[key]; ok {
			request[key] = v
		}
	}
	var all struct {
		IDs []string `json:"ids"`
	}
	if err := c.call(ctx, "POST", "/get", request, &all); err != nil || len(all.IDs) == 0 {
		return nil, err
	}
	body["n_results"] = len(all.IDs)
	ranked, err := c.rank(ctx, body)
	if err != nil {
		return nil, err
	}
	reached := make(map[string]bool, len(ranked))
	for i := range ranked {
		reached[ranked[i].ChunkID] = true
	}
	missed := slices.DeleteFunc(all.IDs, func(id string) bool { return reached[id] })
	for page := range slices.Chunk(missed, pageSize) {
		got, err := c.get(ctx, page, true)
		if err != nil {
			return nil, err
		}
		for id, it := range got {
			if len(it.vector) == len(question) {
				ranked = append(ranked, connector.Hit{Score: c.similarity(question, it.vector), Point: connector.Point{Record: connector.Record{ChunkID: id}}})
			}
		}
	}
	slices.SortFunc(ranked, compareHits)
	return ranked, nil
}

// similarity is what score makes of the server's distance.
func (c *Collection) similarity(a, b []float32) float64 {
	var dot, l2, na, nb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, l2, na, nb = dot+x*y, l2+(x-y)*(x-y), na+x*x, nb+y*y
	}
	switch c.schema.Distance {
	case "dot":
		return dot
	case "l2":
		return -math.Sqrt(l2)
	}
	return dot / math.Sqrt(na*nb)
}

// hits reads the records of the best k that are no store-only ones.
func (c *Collection) hits(ctx context.Context, ranked []connector.Hit, k int) ([]connector.Hit, error) {
	out := make([]connector.Hit, 0, k)
	for page := range slices.Chunk(ranked, min(max(k, 1), pageSize)) {
		ids := make([]string, len(page))
		for i := range page {
			ids[i] = page[i].ChunkID
		}
		got, err := c.get(ctx, ids, false)
		if err != nil {
			return nil, err
		}
		for _, h := range page {
			it, ok := got[h.ChunkID] // else it was deleted meanwhile
			if !ok || it.metadata[storeOnlyKey] == true {
				continue
			}
			if h.Point, err = c.sink.fields.decode(it); err != nil {
				return nil, fmt.Errorf("chroma: search: %w", err)
			}
			if out = append(out, h); len(out) == k {
				return out, nil
			}
		}
	}
	return out, nil
}

// known are those of ids that exist.
func (c *Collection) known(ctx context.Context, ids []string) ([]string, error) {
	var out []string
	for page := range slices.Chunk(ids, pageSize) {
		var got struct {
			IDs []string `json:"ids"`
		}
		if err := c.call(ctx, "POST", "/get", map[string]any{"ids": page, "include": []string{}}, &got); err != nil {
			return nil, err
		}
		out = append(out, got.IDs...)
	}
	return out, nil
}
