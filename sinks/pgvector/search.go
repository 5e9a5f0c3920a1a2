package pgvector

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	vector "github.com/pgvector/pgvector-go"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/fusion"
	"github.com/kbsync/kbsync/internal/payload"
)

// Search implements [connector.Collection].
func (c *Collection) Search(ctx context.Context, q connector.Query) ([]connector.Hit, error) {
	hits, err := c.search(ctx, q)
	if err != nil {
		return nil, c.fail(ctx, "search", err)
	}
	return hits, nil
}

func (c *Collection) search(ctx context.Context, q connector.Query) ([]connector.Hit, error) {
	dense, lexical := false, false
	switch q.Mode {
	case connector.ModeDense:
		dense = true
	case connector.ModeLexical:
		lexical = true
	case connector.ModeHybrid:
		dense, lexical = true, true
	}
	if !dense && !lexical || lexical && !c.layout.words {
		return nil, connector.ErrUnsupported
	}
	if dense {
		if err := c.checkQuestion(q.Vector); err != nil {
			return nil, err
		}
	}
	if q.K <= 0 {
		return nil, ctx.Err()
	}
	n := q.K
	if dense && lexical {
		n = fusion.Depth(q.K)
	}
	s := &search{c: c, filter: q.Filter, n: n, exact: q.Exact}
	var hits []connector.Hit
	err := c.read(ctx, func(ctx context.Context, conn *pgx.Conn, table string) error {
		s.conn, s.table = conn, table
		var near, said []fusion.Ranked
		var err error
		if lexical {
			if said, err = s.lexical(ctx, q.Text); err != nil {
				return err
			}
		}
		if dense {
			if near, err = s.dense(ctx, q.Vector); err != nil {
				return err
			}
		}
		ranked := near
		switch {
		case lexical && dense:
			ranked = fusion.Hybrid(q, near, said)
		case lexical:
			ranked = said
		}
		hits, err = s.read(ctx, ranked[:min(q.K, len(ranked))])
		return err
	})
	return hits, err
}

// checkQuestion checks the vector of a question; one without direction is none that cosine could compare with.
func (c *Collection) checkQuestion(v []float32) error {
	if v == nil {
		return connector.Errorf(connector.ClassInvalid, "the question has no vector")
	}
	return payload.CheckVector(v, c.meta.Schema.Dimensions, c.meta.Schema.Distance)
}

// search is one query on a snapshot.
type search struct {
	c      *Collection
	conn   *pgx.Conn
	table  string
	filter connector.Filter
	n      int
	exact  bool
}

// dense ranks by the vectors: through the index, or where that gives fewer hits than asked for, with every vector that the filter
// lets through.
func (s *search) dense(ctx context.Context, question []float32) ([]fusion.Ranked, error) {
	c := s.c
	if expression, _ := c.indexed(); !s.exact && expression != "" {
		there, err := c.ready(ctx, s.conn)
		if err != nil {
			return nil, err
		}
		if there {
			out, err := s.throughIndex(ctx, expression, question)
			if err != nil || len(out) >= s.n {
				return out, err
			}
		}
	}
	if _, err := s.conn.Exec(ctx, "SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off"); err != nil { // the filter's indexes are still read, as bitmaps
		return nil, err
	}
	m, err := distanceOf(c.meta.Schema.Distance)
	if err != nil {
		return nil, err
	}
	l := c.layout
	where, args := l.where(s.filter, []any{vector.NewVector(question)})
	return s.ranked(ctx, fmt.Sprintf("SELECT %[1]s::text, %[2]s %[3]s $1 AS distance FROM %[4]s WHERE %[2]s IS NOT NULL%[5]s ORDER BY distance, %[1]s LIMIT %[6]d",
		l.id(), l.vector(), m.operator, s.table, where, s.n), args)
}

// throughIndex takes candidates from the index and, where that holds halves, ranks them by the full vectors.
func (s *search) throughIndex(ctx context.Context, expression string, question []float32) ([]fusion.Ranked, error) {
	c := s.c
	l, schema := c.layout, c.meta.Schema
	m, err := distanceOf(schema.Distance)
	if err != nil {
		return nil, err
	}
	n, asked := s.n, "$1"
	if schema.Dimensions > maxIndexed {
		n, asked = 2*s.n+20, fmt.Sprintf("$1::vector::halfvec(%d)", schema.Dimensions)
	}
	var rows float64
	if err := s.conn.QueryRow(ctx, "SELECT reltuples FROM pg_class WHERE oid = $1", c.oid).Scan(&rows); err != nil {
		return nil, err
	}
	if _, err := s.conn.Exec(ctx, s.settings(n, int(rows))); err != nil {
		return nil, err
	}
	where, args := l.where(s.filter, []any{vector.NewVector(question)})
	out, err := s.ranked(ctx, fmt.Sprintf("SELECT %[1]s::text, %[2]s %[3]s $1::vector FROM (SELECT %[1]s, %[2]s FROM %[4]s WHERE %[2]s IS NOT NULL%[5]s ORDER BY %[6]s %[3]s %[7]s LIMIT %[8]d) AS near",
		l.id(), l.vector(), m.operator, s.table, where, expression, asked, n), args)
	return out[:min(len(out), s.n)], err
}

// ranked reads ids and distances, and sorts them by score and id.
func (s *search) ranked(ctx context.Context, sql string, args []any) ([]fusion.Ranked, error) {
	rows, err := s.conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r fusion.Ranked, err error) {
		var d float64
		err = row.Scan(&r.ID, &d)
		r.Score = score(s.c.meta.Schema.Distance, d)
		return r, err
	})
	fusion.Sort(out)
	return out, err
}

// read completes the best with their records.
func (s *search) read(ctx context.Context, ranked []fusion.Ranked) ([]connector.Hit, error) {
	if len(ranked) == 0 {
		return nil, nil
	}
	ids := make([]string, len(ranked))
	for i, r := range ranked {
		ids[i] = r.ID
	}
	found, err := s.c.fetch(ctx, s.conn, s.table, ids, false)
	if err != nil {
		return nil, err
	}
	hits := make([]connector.Hit, 0, len(ranked))
	for _, r := range ranked {
		if p, ok := found[r.ID]; ok {
			hits = append(hits, connector.Hit{Score: r.Score, Point: p})
		}
	}
	return hits, nil
}
