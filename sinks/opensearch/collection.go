package opensearch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

const pageSize = 500

// Collection is one index, addressed by the alias that it alone ever had.
type Collection struct {
	sink   *Sink
	path   string
	schema connector.Schema
}

var (
	_ connector.Collection = (*Collection)(nil)
	_ connector.Stamper    = (*Collection)(nil)
)

// Schema implements [connector.Collection].
func (c *Collection) Schema() connector.Schema { return c.schema }

func (c *Collection) call(ctx context.Context, method, op string, body, out any) error {
	if err := c.sink.client.Call(ctx, method, c.path+op, body, out); err != nil {
		return fmt.Errorf("opensearch: %s: %w", op[1:], err)
	}
	return nil
}

// describe reads what the index says of itself now.
func (c *Collection) describe(ctx context.Context) (described, error) {
	var got map[string]described
	if err := c.call(ctx, http.MethodGet, "/_mapping", nil, &got); err != nil {
		return described{}, err
	}
	for _, d := range got {
		if _, ok := d.parse(); ok {
			return d, nil
		}
	}
	return described{}, connector.Errorf(connector.ClassConflict, "opensearch: the description of the index is gone")
}

// Marker implements [connector.Collection].
func (c *Collection) Marker(ctx context.Context) (string, error) {
	d, err := c.describe(ctx)
	meta, _ := d.parse()
	return meta.Marker, err
}

// Stamp implements [connector.Stamper].
func (c *Collection) Stamp(ctx context.Context) (string, error) {
	d, err := c.describe(ctx)
	stamp, _ := d.Mappings.Meta[stampKey].(string)
	return stamp, err
}

// SetStamp implements [connector.Stamper].
func (c *Collection) SetStamp(ctx context.Context, stamp string) error {
	d, err := c.describe(ctx)
	if err != nil {
		return err
	}
	d.Mappings.Meta[stampKey] = stamp
	return c.call(ctx, http.MethodPut, "/_mapping", map[string]any{"_meta": d.Mappings.Meta}, nil)
}

// bulk gathers operations; each knows the item of the caller's batch that it is for.
type bulk struct {
	lines bytes.Buffer
	items []int
}

func (b *bulk) add(item int, op, id string, doc map[string]any) error {
	head, err := json.Marshal(map[string]any{op: map[string]any{"_id": id}})
	if err != nil {
		return err
	}
	b.lines.Write(append(head, '\n'))
	if doc != nil {
		body, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		b.lines.Write(append(body, '\n'))
	}
	b.items = append(b.items, item)
	return nil
}

// send writes, and adds to failed what was refused for what it is. Any other refusal of an item is the whole batch's: it is to
// be written again.
func (c *Collection) send(ctx context.Context, b *bulk, failed map[int]error) error {
	if len(b.items) == 0 {
		return ctx.Err()
	}
	var got struct {
		Items []map[string]struct {
			Status int             `json:"status"`
			Error  json.RawMessage `json:"error"`
		} `json:"items"`
	}
	if err := c.call(ctx, http.MethodPost, "/_bulk?require_alias=true", b.lines.Bytes(), &got); err != nil {
		return err
	}
	if len(got.Items) != len(b.items) {
		return connector.Errorf(connector.ClassTransient, "opensearch: bulk: %d answers to %d operations", len(got.Items), len(b.items))
	}
	for i, item := range got.Items {
		for op, r := range item {
			if r.Error == nil {
				continue
			}
			err := fmt.Errorf("opensearch: %s: %w", op, refusal(r.Status, nil, string(r.Error)))
			if connector.ClassOf(err) != connector.ClassInvalid {
				return err
			}
			failed[b.items[i]] = err
		}
	}
	return nil
}

func last(n int, id func(int) string) map[string]int {
	out := map[string]int{}
	for i := range n {
		out[id(i)] = i
	}
	return out
}

// Upsert implements [connector.Collection].
func (c *Collection) Upsert(ctx context.Context, points []connector.Point) error {
	failed, b := map[int]error{}, bulk{}
	final := last(len(points), func(i int) string { return points[i].ChunkID }) // the last of several points of one id wins
	for i := range points {
		doc, err := c.document(&points[i])
		if err == nil && final[points[i].ChunkID] == i {
			err = b.add(i, "index", points[i].ChunkID, doc)
		}
		if err != nil {
			failed[i] = err
		}
	}
	if err := c.send(ctx, &b, failed); err != nil {
		return err
	}
	return batchError(failed)
}

func (c *Collection) document(p *connector.Point) (map[string]any, error) {
	doc, err := c.sink.document(&p.Record)
	if err != nil || p.Vector == nil {
		return doc, err
	}
	if err := payload.CheckVector(p.Vector, c.schema.Dimensions, c.schema.Distance); err != nil {
		return nil, fmt.Errorf("opensearch: %s: %w", p.ChunkID, err)
	}
	doc[c.sink.names["vector"]] = p.Vector
	if c.sink.config.Sparse != "none" {
		doc[lexicalField] = words(p.EmbedText)
	}
	return doc, nil
}

// UpdatePayload implements [connector.Collection]. The server's own partial update would merge metadata, and writes the document
// anew as well; so vector and words are read and written back.
func (c *Collection) UpdatePayload(ctx context.Context, records []connector.Record) error {
	failed, b := map[int]error{}, bulk{}
	final := last(len(records), func(i int) string { return records[i].ChunkID })
	ids := make([]string, len(records))
	for i := range records {
		ids[i] = records[i].ChunkID
	}
	old, err := c.get(ctx, ids, "_source_includes="+c.sink.names["vector"]+","+lexicalField)
	if err != nil {
		return err
	}
	for i := range records {
		doc, err := c.sink.document(&records[i])
		source, exists := old[records[i].ChunkID]
		if err == nil && !exists {
			err = connector.Errorf(connector.ClassNotFound, "opensearch: no document %s", records[i].ChunkID)
		}
		if err == nil && final[records[i].ChunkID] == i {
			var kept map[string]json.RawMessage
			if err = json.Unmarshal(source, &kept); err == nil {
				for field, value := range kept {
					doc[field] = value
				}
				err = b.add(i, "index", records[i].ChunkID, doc)
			}
		}
		if err != nil {
			failed[i] = err
		}
	}
	if err := c.send(ctx, &b, failed); err != nil {
		return err
	}
	return batchError(failed)
}

func batchError(failed map[int]error) error {
	if len(failed) == 0 {
		return nil
	}
	return &connector.BatchError{Items: failed}
}

// Delete implements [connector.Collection].
func (c *Collection) Delete(ctx context.Context, ids []string) error {
	for page := range slices.Chunk(ids, pageSize) {
		b := bulk{}
		for i, id := range page {
			if err := b.add(i, "delete", id, nil); err != nil {
				return err
			}
		}
		if err := c.send(ctx, &b, map[int]error{}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// get reads the sources of documents that exist, as they are at this moment.
func (c *Collection) get(ctx context.Context, ids []string, query string) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for page := range slices.Chunk(ids, pageSize) {
		var got struct {
			Docs []struct {
				ID     string          `json:"_id"`
				Found  bool            `json:"found"`
				Source json.RawMessage `json:"_source"`
				Error  json.RawMessage `json:"error"`
			} `json:"docs"`
		}
		if err := c.call(ctx, http.MethodPost, "/_mget?"+query, map[string]any{"ids": page}, &got); err != nil {
			return nil, err
		}
		for _, d := range got.Docs {
			if d.Error != nil {
				return nil, fmt.Errorf("opensearch: get %s: %w", d.ID, refusal(http.StatusInternalServerError, nil, string(d.Error)))
			}
			if d.Found {
				out[d.ID] = d.Source
			}
		}
	}
	return out, nil
}

// fields says which fields are read.
func (c *Collection) fields(vectors bool) string {
	if vectors {
		return "_source_excludes=" + lexicalField
	}
	return "_source_excludes=" + lexicalField + "," + c.sink.names["vector"]
}

// Fetch implements [connector.Collection].
func (c *Collection) Fetch(ctx context.Context, ids []string, vectors bool) ([]connector.Point, error) {
	got, err := c.get(ctx, ids, c.fields(vectors))
	if err != nil {
		return nil, err
	}
	out := make([]connector.Point, 0, len(ids))
	for _, id := range ids {
		source, ok := got[id]
		if !ok {
			continue
		}
		p, err := c.sink.decode(id, source)
		if err != nil {
			return nil, fmt.Errorf("opensearch: fetch: %w", err)
		}
		out = append(out, p)
	}
	return out, ctx.Err()
}

// found is the answer to a search.
type found struct {
	Hits struct {
		Hits []struct {
			ID     string          `json:"_id"`
			Score  float64         `json:"_score"`
			Source json.RawMessage `json:"_source"`
		} `json:"hits"`
	} `json:"hits"`
}

// Scan implements [connector.Collection]: each page begins after the last id, so that deletions shift nothing.
func (c *Collection) Scan(ctx context.Context, vectors bool) iter.Seq2[connector.Point, error] {
	return func(yield func(connector.Point, error) bool) {
		body := map[string]any{"size": pageSize, "sort": []any{map[string]any{idField: "asc"}}}
		for {
			var page found
			if err := c.call(ctx, http.MethodPost, "/_search?"+c.fields(vectors), body, &page); err != nil {
				yield(connector.Point{}, err)
				return
			}
			for _, h := range page.Hits.Hits {
				p, err := c.sink.decode(h.ID, h.Source)
				if !yield(p, err) || err != nil {
					return
				}
				body["search_after"] = []string{h.ID}
			}
			if len(page.Hits.Hits) < pageSize {
				return
			}
		}
	}
}

// Count implements [connector.Collection].
func (c *Collection) Count(ctx context.Context) (int, error) {
	var got struct{ Count int }
	err := c.call(ctx, http.MethodGet, "/_count", nil, &got)
	return got.Count, err
}

// Flush implements [connector.Collection].
func (c *Collection) Flush(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/_refresh", nil, nil)
}
