package pgvector

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/kbsync/kbsync/connector"
)

// pageItems is how many points Scan reads at a time.
const pageItems = 250

// Scan implements [connector.Collection]. Every page is a transaction of its own: the consumer may take as long as it likes.
func (c *Collection) Scan(ctx context.Context, vectors bool) iter.Seq2[connector.Point, error] {
	return func(yield func(connector.Point, error) bool) {
		after := ""
		for {
			page, err := c.page(ctx, after, vectors)
			if err != nil {
				yield(connector.Point{}, c.fail(ctx, "scan", err))
				return
			}
			for _, p := range page {
				if !yield(p, nil) {
					return
				}
				after = p.ChunkID
			}
			if len(page) < pageItems {
				return
			}
		}
	}
}

func (c *Collection) page(ctx context.Context, after string, vectors bool) ([]connector.Point, error) {
	l := c.layout
	where, args := "", []any{}
	if after != "" {
		where, args = fmt.Sprintf("WHERE %s > $1::text::%s", l.id(), l.idType()), []any{after}
	}
	var out []connector.Point
	err := c.read(ctx, func(ctx context.Context, conn *pgx.Conn, table string) error {
		rows, err := conn.Query(ctx, fmt.Sprintf("SELECT %s FROM %s %s ORDER BY %s LIMIT %d", l.selected(vectors), table, where, l.id(), pageItems), args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		out = make([]connector.Point, 0, pageItems)
		for rows.Next() {
			p, err := scan(rows, vectors)
			if err != nil {
				return err
			}
			out = append(out, p)
		}
		return rows.Err()
	})
	return out, err
}
