package pgvector

import (
	"context"
	"slices"
	"sort"

	"github.com/jackc/pgx/v5"

	"github.com/kbsync/kbsync/connector"
)

// batch are points on their way into the table: one an id, the last, in order of id, so that two batches that meet wait for each
// other and never both.
type batch struct {
	points []*connector.Point
	rows   [][]any // the values of the payload
	at     map[string]int
	failed map[int]error
}

func newBatch(n int) *batch {
	return &batch{rows: make([][]any, 0, n), at: make(map[string]int, n), failed: map[int]error{}}
}

func (b *batch) add(i int, p *connector.Point, row []any, err error) {
	if err != nil {
		b.failed[i] = err
		return
	}
	if at, ok := b.at[p.ChunkID]; ok {
		b.points[at], b.rows[at] = p, row
		return
	}
	b.at[p.ChunkID] = len(b.rows)
	b.points, b.rows = append(b.points, p), append(b.rows, row)
}

func (b *batch) err() error {
	if len(b.failed) == 0 {
		return nil
	}
	return &connector.BatchError{Items: b.failed}
}

// Len, Less and Swap order by id.
func (b *batch) Len() int           { return len(b.rows) }
func (b *batch) Less(i, j int) bool { return b.points[i].ChunkID < b.points[j].ChunkID }
func (b *batch) Swap(i, j int) {
	b.points[i], b.points[j], b.rows[i], b.rows[j] = b.points[j], b.points[i], b.rows[j], b.rows[i]
}

// write copies the points into a temporary table of the columns and runs fn on it, in one transaction. Words are counted while the
// server takes those before.
func (c *Collection) write(ctx context.Context, columns []column, b *batch, fn func(ctx context.Context, conn *pgx.Conn, table string) error) error {
	if len(b.rows) == 0 {
		return ctx.Err()
	}
	sort.Sort(b)
	whole := !columns[len(columns)-1].payload
	row := func(i int) ([]any, error) {
		if !whole {
			return b.rows[i], nil
		}
		rest, err := c.layout.vectorValues(b.points[i])
		return slices.Concat(b.rows[i], rest), err
	}
	begin := []string{"BEGIN", c.layout.incoming(columns, c.meta.Schema.Dimensions)}
	return c.locked(ctx, begin, forWriting, func(ctx context.Context, conn *pgx.Conn, table string) error {
		if _, err := conn.CopyFrom(ctx, pgx.Identifier{"kbsync_incoming"}, namesOf(columns), pgx.CopyFromSlice(len(b.rows), row)); err != nil {
			return err
		}
		return fn(ctx, conn, table)
	})
}
