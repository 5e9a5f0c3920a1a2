package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"slices"

	"github.com/kbsync/kbsync/connector"
)

// pageSize is how many points one statement of Scan or Fetch reads: no read transaction outlives a page, so that a slow consumer
// never keeps the write-ahead log from being folded back into the file.
const pageSize = 256

// recordColumns are what scanRecord reads.
const recordColumns = `p.slot, p.id, p.doc_id, p.source, p.path, p.parent_id, p.content_hash,
	y.char_count, y.token_count, y.spans, y.context_spans, y.metadata, t.content, t.context, t.embed_text`

const recordTables = ` FROM @points p JOIN @payload y ON y.slot = p.slot JOIN @texts t ON t.slot = p.slot `

// Fetch implements [connector.Collection].
func (c *Collection) Fetch(ctx context.Context, ids []string, vectors bool) ([]connector.Point, error) {
	var out []connector.Point
	for chunk := range slices.Chunk(ids, pageSize) {
		var keys []any
		for _, s := range chunk {
			if id, err := parseID(s); err == nil {
				keys = append(keys, id)
			}
		}
		if len(keys) == 0 {
			continue
		}
		found, err := c.read(ctx, c.files.read, vectors, `WHERE p.id IN (`+marks(len(keys))+`)`, keys...)
		if err != nil {
			return nil, c.wrap("fetch", err)
		}
		byID := make(map[string]connector.Point, len(found))
		for _, p := range found {
			byID[p.point.ChunkID] = p.point
		}
		for _, id := range chunk {
			if p, ok := byID[id]; ok {
				out = append(out, p)
			}
		}
	}
	return out, ctx.Err()
}

// Scan implements [connector.Collection].
func (c *Collection) Scan(ctx context.Context, vectors bool) iter.Seq2[connector.Point, error] {
	return func(yield func(connector.Point, error) bool) {
		after := []byte{}
		for {
			page, err := c.read(ctx, c.files.read, vectors, `WHERE p.id > ? ORDER BY p.id LIMIT ?`, after, pageSize)
			if err != nil {
				yield(connector.Point{}, c.wrap("scan", err))
				return
			}
			for _, p := range page {
				if !yield(p.point, nil) {
					return
				}
				after = p.id
			}
			if len(page) < pageSize {
				return
			}
		}
	}
}

// stored is a point with the keys of its rows.
type stored struct {
	slot  int64
	id    []byte
	point connector.Point
}

// read reads the points that the WHERE clause selects, in one statement and so from one state of the file.
func (c *Collection) read(ctx context.Context, q querier, vectors bool, where string, args ...any) (out []stored, err error) {
	query := `SELECT ` + recordColumns + `, NULL` + recordTables + where
	if vectors {
		// The block is cut to the point's place inside SQLite: blocks are not copied whole.
		query = `SELECT ` + recordColumns + `, substr(v.data, (p.slot % @per) * @size + 1, @size)` + recordTables +
			`LEFT JOIN @vectors v ON v.block = p.slot / @per ` + where
	}
	rows, err := q.QueryContext(ctx, c.sql(query), args...)
	if err != nil {
		return nil, err
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		s, err := c.scanRecord(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

func (c *Collection) scanRecord(rows *sql.Rows) (stored, error) {
	var s stored
	var spans, contextSpans, metadata, vector sql.RawBytes
	var embed sql.NullString
	r := &s.point.Record
	if err := rows.Scan(&s.slot, &s.id, &r.DocID, &r.Source, &r.Path, &r.ParentID, &r.ContentHash, &r.CharCount, &r.TokenCount,
		&spans, &contextSpans, &metadata, &r.Content, &r.Context, &embed, &vector); err != nil {
		return s, err
	}
	var err error
	r.ChunkID = formatID(s.id)
	if r.EmbedText = embed.String; !embed.Valid {
		r.EmbedText = r.Context + r.Content
	}
	if r.Spans, err = decodeSpans(spans); err != nil {
		return s, err
	}
	if r.ContextSpans, err = decodeSpans(contextSpans); err != nil {
		return s, err
	}
	if r.Metadata, err = decodeMetadata(metadata); err != nil {
		return s, err
	}
	if len(vector) > 0 && s.slot < storeOnly {
		if s.point.Vector, err = c.layout.get(vector, 0); err != nil {
			return s, err
		}
	}
	return s, nil
}
