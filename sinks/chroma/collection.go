package chroma

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

const (
	pageSize = 500
	// efSearch is how many candidates a query holds.
	efSearch = 512
)

// Collection is one generation. It is addressed by its id, which renames do not change.
type Collection struct {
	sink   *Sink
	path   string // with its id
	schema connector.Schema
}

var (
	_ connector.Collection = (*Collection)(nil)
	_ connector.Stamper    = (*Collection)(nil)
)

// Schema implements [connector.Collection].
func (c *Collection) Schema() connector.Schema { return c.schema }

// Marker implements [connector.Collection].
func (c *Collection) Marker(ctx context.Context) (string, error) {
	e, err := c.entry(ctx)
	return e.meta.Marker, err
}

// Stamp implements [connector.Stamper].
func (c *Collection) Stamp(ctx context.Context) (string, error) {
	e, err := c.entry(ctx)
	stamp, _ := e.Metadata[stampKey].(string)
	return stamp, err
}

// SetStamp implements [connector.Stamper].
func (c *Collection) SetStamp(ctx context.Context, stamp string) error {
	e, err := c.entry(ctx)
	if err != nil {
		return err
	}
	e.Metadata[stampKey] = stamp
	return c.call(ctx, "PUT", "", map[string]any{"new_metadata": e.Metadata}, nil)
}

// entry reads what the collection says of itself now.
func (c *Collection) entry(ctx context.Context) (entry, error) {
	var e entry
	if err := c.call(ctx, "GET", "/by-id", nil, &e); err != nil {
		return e, err
	}
	if err := e.parse(); err != nil {
		return e, fmt.Errorf("chroma: %w", err)
	}
	return e, nil
}

// call is a request to the collection; op "/by-id" is the one whose path has another form, and none is for its description.
func (c *Collection) call(ctx context.Context, method, op string, body, out any) error {
	path := c.path + op
	switch op {
	case "/by-id":
		path = op + c.path
	case "":
		op = "describe"
	}
	err := c.sink.client.Call(ctx, method, path, body, out)
	// A read looks at metadata and then at vectors. One that falls between a deletion's two halves fails, though nothing is
	// wrong: it sees another moment when it is made again.
	for again := 0; again < 5 && (op == "/get" || op == "/query") && err != nil && strings.Contains(err.Error(), "Error finding id"); again++ {
		err = c.sink.client.Call(ctx, method, path, body, out)
	}
	if err != nil {
		return fmt.Errorf("chroma: %s: %w", strings.TrimPrefix(op, "/"), err)
	}
	return nil
}

// Upsert implements [connector.Collection]. One request is one transaction of the server.
func (c *Collection) Upsert(ctx context.Context, points []connector.Point) error {
	failed := map[int]error{}
	var items []item
	at := map[string]int{} // the last of several points of one id wins
	for i := range points {
		it, err := c.encode(&points[i])
		if err != nil {
			failed[i] = err
			continue
		}
		if n, ok := at[it.id]; ok {
			items[n] = it
			continue
		}
		at[it.id] = len(items)
		items = append(items, it)
	}
	for page := range slices.Chunk(items, maxRecords) {
		old, err := c.keys(ctx, page)
		if err != nil {
			return err
		}
		for _, it := range page {
			replaceKeys(it.metadata, old[it.id])
		}
		if err := c.write(ctx, "/upsert", page); err != nil {
			return err
		}
	}
	return batchError(failed)
}

func (c *Collection) encode(p *connector.Point) (item, error) {
	it, err := c.sink.fields.encode(&p.Record)
	if err != nil {
		return it, err
	}
	if err := payload.CheckVector(p.Vector, c.schema.Dimensions, c.schema.Distance); err != nil {
		return it, fmt.Errorf("chroma: %s: %w", p.ChunkID, err)
	}
	if p.Vector == nil {
		it.metadata[storeOnlyKey] = true
		it.embedding = encodeVector(standIn(it.id, c.schema.Dimensions))
	} else {
		it.embedding = encodeVector(p.Vector)
	}
	return it, nil
}

// keys are the metadata that items have now, by id.
func (c *Collection) keys(ctx context.Context, items []item) (map[string]map[string]json.RawMessage, error) {
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].id
	}
	var got struct {
		IDs       []string                     `json:"ids"`
		Metadatas []map[string]json.RawMessage `json:"metadatas"`
	}
	if err := c.call(ctx, "POST", "/get", map[string]any{"ids": ids, "include": []string{"metadatas"}}, &got); err != nil {
		return nil, err
	}
	out := map[string]map[string]json.RawMessage{}
	for i, id := range got.IDs {
		out[id] = got.Metadatas[i]
	}
	return out, nil
}

// replaceKeys sets the keys that are there and shall not be to null: Chroma merges metadata.
func replaceKeys(metadata map[string]any, old map[string]json.RawMessage) {
	for key := range old {
		if _, stays := metadata[key]; !stays {
			metadata[key] = nil
		}
	}
}

func (c *Collection) write(ctx context.Context, op string, items []item) error {
	if len(items) == 0 {
		return ctx.Err()
	}
	var body struct {
		IDs        []string         `json:"ids"`
		Documents  []*string        `json:"documents"`
		Metadatas  []map[string]any `json:"metadatas"`
		Embeddings []string         `json:"embeddings,omitempty"`
	}
	for _, it := range items {
		body.IDs, body.Documents, body.Metadatas = append(body.IDs, it.id), append(body.Documents, it.document), append(body.Metadatas, it.metadata)
		if it.embedding != "" {
			body.Embeddings = append(body.Embeddings, it.embedding)
		}
	}
	return c.call(ctx, "POST", op, body, nil)
}

// UpdatePayload implements [connector.Collection].
func (c *Collection) UpdatePayload(ctx context.Context, records []connector.Record) error {
	failed := map[int]error{}
	last := map[string]item{}
	var items []item
	for i := range records {
		it, err := c.sink.fields.encode(&records[i])
		if err != nil {
			failed[i] = err
			continue
		}
		last[it.id] = it
		items = append(items, it)
	}
	if len(items) > 0 {
		old, err := c.keys(ctx, slices.Collect(maps.Values(last)))
		if err != nil {
			return err
		}
		for id, it := range last {
			if _, ok := old[id]; !ok {
				delete(last, id)
				continue
			}
			delete(old[id], storeOnlyKey) // it belongs to the vector
			replaceKeys(it.metadata, old[id])
		}
		if err := c.write(ctx, "/update", slices.Collect(maps.Values(last))); err != nil {
			return err
		}
	}
	for i := range records {
		if _, done := last[records[i].ChunkID]; !done && failed[i] == nil {
			failed[i] = connector.Errorf(connector.ClassNotFound, "chroma: no item %s", records[i].ChunkID)
		}
	}
	return batchError(failed)
}

// Delete implements [connector.Collection].
func (c *Collection) Delete(ctx context.Context, ids []string) error {
	for page := range slices.Chunk(ids, pageSize) { // without ids, Chroma would look at the filter
		if err := c.call(ctx, "POST", "/delete", map[string]any{"ids": page}, nil); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// get reads the items of ids that exist, by id.
func (c *Collection) get(ctx context.Context, ids []string, vectors bool) (map[string]item, error) {
	include := []string{"metadatas", "documents"}
	if vectors {
		include = append(include, "embeddings")
	}
	var got struct {
		IDs        []string          `json:"ids"`
		Documents  []*string         `json:"documents"`
		Metadatas  []json.RawMessage `json:"metadatas"`
		Embeddings [][]float32       `json:"embeddings"`
	}
	if err := c.call(ctx, "POST", "/get", map[string]any{"ids": ids, "include": include}, &got); err != nil {
		return nil, err
	}
	out := make(map[string]item, len(got.IDs))
	for i, id := range got.IDs {
		it := item{id: id, metadata: map[string]any{}}
		if i < len(got.Documents) {
			it.document = got.Documents[i]
		}
		if i < len(got.Embeddings) {
			it.vector = got.Embeddings[i]
		}
		if i < len(got.Metadatas) {
			v, err := payload.DecodeJSON(got.Metadatas[i])
			if err != nil {
				return nil, connector.Errorf(connector.ClassTransient, "chroma: get: metadata of %s: %w", id, err)
			}
			if m, ok := v.(map[string]any); ok {
				it.metadata = m
			}
		}
		out[id] = it
	}
	return out, nil
}

// Fetch implements [connector.Collection].
func (c *Collection) Fetch(ctx context.Context, ids []string, vectors bool) ([]connector.Point, error) {
	out := make([]connector.Point, 0, len(ids))
	for page := range slices.Chunk(ids, pageSize) {
		got, err := c.get(ctx, page, vectors)
		if err != nil {
			return nil, err
		}
		for _, id := range page {
			it, ok := got[id]
			if !ok {
				continue
			}
			p, err := c.sink.fields.decode(it)
			if err != nil {
				return nil, fmt.Errorf("chroma: fetch: %w", err)
			}
			out = append(out, p)
		}
	}
	return out, ctx.Err()
}

// ids are all ids in ascending order, of one moment: Chroma pages by offset, and an item deleted meanwhile would hide another.
func (c *Collection) ids(ctx context.Context) ([]string, error) {
	var got struct {
		IDs []string `json:"ids"`
	}
	if err := c.call(ctx, "POST", "/get", map[string]any{"include": []string{}}, &got); err != nil {
		return nil, err
	}
	slices.Sort(got.IDs)
	return got.IDs, nil
}

// Scan implements [connector.Collection]. It holds all ids (some 50 bytes each), and one page of points.
func (c *Collection) Scan(ctx context.Context, vectors bool) iter.Seq2[connector.Point, error] {
	return func(yield func(connector.Point, error) bool) {
		ids, err := c.ids(ctx)
		for page := range slices.Chunk(ids, pageSize) {
			var points []connector.Point
			if points, err = c.Fetch(ctx, page, vectors); err != nil {
				break
			}
			for _, p := range points {
				if !yield(p, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(connector.Point{}, err)
		}
	}
}

// Count implements [connector.Collection].
func (c *Collection) Count(ctx context.Context) (int, error) {
	var n int
	err := c.call(ctx, "GET", "/count", nil, &n)
	return n, err
}

// Flush implements [connector.Collection]: what is acknowledged is visible.
func (c *Collection) Flush(ctx context.Context) error { return ctx.Err() }

func batchError(failed map[int]error) error {
	if len(failed) == 0 {
		return nil
	}
	return &connector.BatchError{Items: failed}
}

// score turns the server's distance, which is lower for nearer, into a similarity.
func (c *Collection) score(distance float64) float64 {
	if c.schema.Distance == "l2" {
		return -math.Sqrt(max(0, distance))
	}
	return 1 - distance
}

func compareHits(a, b connector.Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ChunkID, b.ChunkID))
}
