package opensearch

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/fusion"
	"github.com/kbsync/kbsync/internal/ngrams"
	"github.com/kbsync/kbsync/internal/payload"
)

// maxHits is the server's largest window; candidates how many neighbours the index is asked for at least.
const (
	maxHits    = 10_000
	candidates = 200
)

// Search implements [connector.Collection].
func (c *Collection) Search(ctx context.Context, q connector.Query) ([]connector.Hit, error) {
	if !slices.Contains(c.sink.config.Modes(), q.Mode) {
		return nil, fmt.Errorf("opensearch: %s search: %w", q.Mode, connector.ErrUnsupported)
	}
	if q.Mode != connector.ModeLexical {
		if q.Vector == nil {
			return nil, connector.Errorf(connector.ClassInvalid, "opensearch: a %s search without a vector", q.Mode)
		}
		if err := payload.CheckVector(q.Vector, c.schema.Dimensions, c.schema.Distance); err != nil {
			return nil, fmt.Errorf("opensearch: search: %w", err)
		}
	}
	filter, ok := c.sink.filter(q.Filter)
	if q.K <= 0 || !ok {
		return nil, ctx.Err()
	}
	ranked, err := c.rank(ctx, q, filter)
	if err != nil {
		return nil, err
	}
	ranked = ranked[:min(q.K, len(ranked))]
	ids := make([]string, len(ranked))
	for i := range ranked {
		ids[i] = ranked[i].ID
	}
	got, err := c.get(ctx, ids, c.fields(false))
	if err != nil {
		return nil, err
	}
	hits := make([]connector.Hit, 0, len(ranked))
	for _, r := range ranked {
		source, ok := got[r.ID]
		if !ok { // deleted meanwhile
			continue
		}
		p, err := c.sink.decode(r.ID, source)
		if err != nil {
			return nil, fmt.Errorf("opensearch: search: %w", err)
		}
		hits = append(hits, connector.Hit{Score: r.Score, Point: p})
	}
	return hits, nil
}

func (c *Collection) rank(ctx context.Context, q connector.Query, filter []any) ([]fusion.Ranked, error) {
	switch q.Mode {
	case connector.ModeDense:
		return c.dense(ctx, q, filter, q.K)
	case connector.ModeLexical:
		return c.lexical(ctx, q.Text, filter, q.K)
	}
	depth := fusion.Depth(q.K)
	near, err := c.dense(ctx, q, filter, depth)
	if err != nil {
		return nil, err
	}
	said, err := c.lexical(ctx, q.Text, filter, depth)
	if err != nil {
		return nil, err
	}
	return fusion.Hybrid(q, near, said), nil
}

// dense asks the index, which applies the filter while it looks, or compares with every vector.
func (c *Collection) dense(ctx context.Context, q connector.Query, filter []any, k int) ([]fusion.Ranked, error) {
	field := c.sink.names["vector"]
	var query map[string]any
	if q.Exact {
		filter = append(slices.Clone(filter), map[string]any{"exists": map[string]any{"field": field}})
		query = map[string]any{"script_score": map[string]any{
			"query": map[string]any{"bool": map[string]any{"filter": filter}},
			"script": map[string]any{"lang": "knn", "source": "knn_score", "params": map[string]any{
				"field": field, "query_value": q.Vector, "space_type": map[string]string{"cosine": "cosinesimil", "dot": "innerproduct", "l2": "l2"}[c.schema.Distance],
			}},
		}}
	} else {
		knn := map[string]any{"vector": q.Vector, "k": min(max(k, candidates), maxHits)}
		if len(filter) > 0 {
			knn["filter"] = map[string]any{"bool": map[string]any{"filter": filter}}
		}
		query = map[string]any{"knn": map[string]any{field: knn}}
	}
	out, err := c.ask(ctx, query, k)
	for i := range out {
		out[i].Score = c.similarity(out[i].Score)
	}
	return out, err
}

// similarity undoes what the server does to keep scores positive.
func (c *Collection) similarity(score float64) float64 {
	switch c.schema.Distance {
	case "l2":
		return -math.Sqrt(max(0, 1/score-1))
	case "dot":
		if score < 1 {
			return 1 - 1/score
		}
		return score - 1
	}
	return 2*score - 1
}

// lexical is BM25 over the words and pairs of characters of package ngrams.
func (c *Collection) lexical(ctx context.Context, text string, filter []any, k int) ([]fusion.Ranked, error) {
	var should []any
	for _, t := range ngrams.Query(text) {
		kind := "term"
		if t.Prefix {
			kind = "prefix"
		}
		should = append(should, map[string]any{kind: map[string]any{lexicalField: map[string]any{"value": t.Text}}})
	}
	if len(should) == 0 {
		return nil, ctx.Err()
	}
	const most = 1000 // the server takes 1,024
	should = should[:min(most, len(should))]
	return c.ask(ctx, map[string]any{"bool": map[string]any{"should": should, "minimum_should_match": 1, "filter": filter}}, k)
}

// ask gives ids and scores, best first and equal ones by id.
func (c *Collection) ask(ctx context.Context, query map[string]any, k int) ([]fusion.Ranked, error) {
	var got found
	err := c.call(ctx, http.MethodPost, "/_search", map[string]any{
		"query": query, "size": min(k, maxHits), "_source": false, "track_scores": true,
		"sort": []any{map[string]any{"_score": "desc"}, map[string]any{idField: "asc"}},
	}, &got)
	out := make([]fusion.Ranked, len(got.Hits.Hits))
	for i, h := range got.Hits.Hits {
		out[i] = fusion.Ranked{ID: h.ID, Score: h.Score}
	}
	return out, err
}
