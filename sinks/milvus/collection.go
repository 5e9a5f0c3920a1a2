package milvus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// Sizes of requests for points: texts and vectors of a page stay far below the server's 64 MB.
const (
	fetchIDs    = 500
	scanPage    = 1000
	deleteIDs   = 2000
	bytesOfPage = 24 << 20
	sealRows    = 500
)

// Collection is one generation.
type Collection struct {
	sink   *Sink
	server *server
	name   string
	meta   remote.Meta

	written atomic.Int64 // rows since the last flush

	mu       sync.Mutex // guards what searches found out
	idfs     map[uint32]idf
	total    idf
	withRest bool // points without vectors were among the nearest once, so searches leave them out from the start
}

var _ connector.Collection = (*Collection)(nil)

// Schema implements [connector.Collection].
func (c *Collection) Schema() connector.Schema { return c.meta.Schema }

// Marker implements [connector.Collection].
func (c *Collection) Marker(ctx context.Context) (string, error) {
	d, err := c.described(ctx)
	if err != nil {
		return "", c.fail(ctx, "marker", err)
	}
	meta, ok := metaOf(d)
	if !ok {
		return "", c.fail(ctx, "marker", remote.Foreign(c.name))
	}
	return meta.Marker, nil
}

// Upsert implements [connector.Collection]. The server answers when its log has the rows.
func (c *Collection) Upsert(ctx context.Context, points []connector.Point) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	failed := map[int]error{}
	at := map[string]int{}
	var rows []*row
	for i := range points {
		r, err := c.encode(&points[i])
		if err != nil {
			failed[i] = fmt.Errorf("milvus: chunk %s: %w", points[i].ChunkID, err)
			continue
		}
		if n, twice := at[r.id]; twice { // the server's choice among rows of one id is anybody's guess
			rows[n] = r
			continue
		}
		at[r.id] = len(rows)
		rows = append(rows, r)
	}
	if len(rows) > 0 {
		if err := c.write(ctx, rows); err != nil {
			return c.fail(ctx, "upsert", err)
		}
	}
	if len(failed) > 0 {
		return &connector.BatchError{Items: failed}
	}
	return nil
}

func (c *Collection) write(ctx context.Context, rows []*row) error {
	columns := c.columns(rows)
	c.written.Add(int64(len(rows)))
	return c.server.write(func() error {
		ids, err := c.server.Upsert(ctx, c.name, "", columns...)
		if err == nil && ids.Len() != len(rows) {
			err = connector.Errorf(connector.ClassTransient, "%d of %d rows were acknowledged", ids.Len(), len(rows))
		}
		return err
	})
}

// UpdatePayload implements [connector.Collection]: the SDK knows whole rows only.
func (c *Collection) UpdatePayload(context.Context, []connector.Record) error {
	return fmt.Errorf("milvus: payload: %w", connector.ErrUnsupported)
}

// Delete implements [connector.Collection].
func (c *Collection) Delete(ctx context.Context, ids []string) error {
	for part := range slices.Chunk(known(ids), deleteIDs) {
		err := c.server.write(func() error { return c.server.Delete(ctx, c.name, "", in(c.sink.fields.of("id"), part)) })
		if err != nil {
			return c.fail(ctx, "delete", err)
		}
	}
	return ctx.Err()
}

// known are the ids that can exist, each once.
func known(ids []string) []string {
	out := make([]string, 0, len(ids))
	seen := map[string]bool{}
	for _, id := range ids {
		if _, err := connector.ParseUUID(id); err == nil && !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// Fetch implements [connector.Collection].
func (c *Collection) Fetch(ctx context.Context, ids []string, vectors bool) ([]connector.Point, error) {
	byID := map[string]connector.Point{}
	if err := c.fetchInto(ctx, byID, ids, vectors, entity.ClStrong); err != nil {
		return nil, c.fail(ctx, "fetch", err)
	}
	return inOrder(byID, ids), nil
}

func inOrder(byID map[string]connector.Point, ids []string) []connector.Point {
	out := make([]connector.Point, 0, len(byID))
	for _, id := range ids {
		if p, ok := byID[id]; ok {
			out = append(out, p)
		}
	}
	return out
}

func (c *Collection) fetchInto(ctx context.Context, byID map[string]connector.Point, ids []string, vectors bool, level entity.ConsistencyLevel) error {
	for part := range slices.Chunk(known(ids), fetchIDs) {
		points, err := c.fetchSome(ctx, part, vectors, level)
		if err != nil {
			return err
		}
		for _, p := range points {
			byID[p.ChunkID] = p
		}
	}
	return ctx.Err()
}

// records are the points of a search's hits. The search waited for the writes that it must see; the server need not wait again,
// but for a hit that it does not find at once.
func (c *Collection) records(ctx context.Context, ids []string) ([]connector.Point, error) {
	byID := map[string]connector.Point{}
	if err := c.fetchInto(ctx, byID, ids, false, entity.ClEventually); err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, ok := byID[id]; return ok })
	if len(missing) > 0 {
		if err := c.fetchInto(ctx, byID, missing, false, entity.ClStrong); err != nil {
			return nil, err
		}
	}
	return inOrder(byID, ids), nil
}

// fetchSome asks for points; an answer over the server's limit is asked for in halves.
func (c *Collection) fetchSome(ctx context.Context, ids []string, vectors bool, level entity.ConsistencyLevel) ([]connector.Point, error) {
	points, err := c.query(ctx, in(c.sink.fields.of("id"), ids), vectors, level)
	if connector.ClassOf(err) != connector.ClassTooLarge || len(ids) == 1 {
		return points, err
	}
	first, err := c.fetchSome(ctx, ids[:len(ids)/2], vectors, level)
	if err != nil {
		return nil, err
	}
	second, err := c.fetchSome(ctx, ids[len(ids)/2:], vectors, level)
	return append(first, second...), err
}

func (c *Collection) query(ctx context.Context, expr string, vectors bool, level entity.ConsistencyLevel) (points []connector.Point, err error) {
	err = c.loaded(ctx, func() error {
		columns, err := c.server.Query(ctx, c.name, nil, expr, c.output(vectors), client.WithSearchQueryConsistencyLevel(level))
		if err != nil || columns.Len() == 0 {
			return err
		}
		r, err := c.newReader(columns, nil, vectors)
		if err == nil {
			points, err = r.points()
		}
		return err
	})
	return points, err
}

// loaded runs a read, and once more if the server had to load the collection first: it forgets what was loaded when it restarts.
func (c *Collection) loaded(ctx context.Context, read func() error) error {
	err := read()
	var e *serverError
	if errors.As(err, &e) && e.notLoaded() {
		if err = c.server.load(ctx, c.name); err == nil {
			err = read()
		}
	}
	if errors.Is(err, errNoRows) {
		return nil
	}
	return err
}

// Count implements [connector.Collection].
func (c *Collection) Count(ctx context.Context) (int, error) {
	n, err := c.count(ctx, "")
	if err != nil {
		return 0, c.fail(ctx, "count", err)
	}
	return n, nil
}

func (c *Collection) count(ctx context.Context, expr string) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	err = c.loaded(ctx, func() error {
		columns, err := c.server.Query(ctx, c.name, nil, expr, []string{"count(*)"}, client.WithSearchQueryConsistencyLevel(entity.ClStrong))
		if err != nil {
			return err
		}
		col, ok := columns.GetColumn("count(*)").(*entity.ColumnInt64)
		if !ok || col.Len() != 1 {
			return connector.Errorf(connector.ClassUnknown, "the server gave no number")
		}
		n = int(col.Data()[0])
		return nil
	})
	return n, err
}

// Flush implements [connector.Collection]. Reads are strongly consistent, and the server acknowledges a write when its log has
// it: there is nothing to wait for. The server's own flush would only cut segments, which it does by itself. But Milvus Lite
// searches what is not in a segment without an index: it is told to make one when much was written.
func (c *Collection) Flush(ctx context.Context) error {
	if !c.server.lite || c.written.Load() < sealRows {
		return ctx.Err()
	}
	c.written.Store(0)
	if err := c.server.write(func() error { return c.server.Flush(ctx, c.name, true) }); err != nil {
		return c.fail(ctx, "flush", err)
	}
	return nil
}

func (c *Collection) fail(ctx context.Context, what string, err error) error {
	return fmt.Errorf("milvus: %s: %s: %w", c.name, what, remote.GRPC(ctx, err))
}
