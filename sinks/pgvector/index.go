package pgvector

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kbsync/kbsync/connector"
)

// indexedFrom is the number of rows from which a table gets its indexes. Below, comparing with every row is as fast and exact, and
// a first load, which knows no indexes, is many times faster: one index over all rows takes less than all rows one by one.
const indexedFrom = 1_000

// metric is how pgvector names a distance.
type metric struct{ operator, class string }

func distanceOf(name string) (metric, error) {
	switch name {
	case "cosine":
		return metric{"<=>", "cosine_ops"}, nil
	case "dot":
		return metric{"<#>", "ip_ops"}, nil
	case "l2":
		return metric{"<->", "l2_ops"}, nil
	}
	return metric{}, connector.Errorf(connector.ClassUnsupported, "distance %q: want cosine, dot or l2", name)
}

// score turns a distance into a similarity.
func score(distance string, d float64) float64 {
	if distance == "cosine" {
		return 1 - d
	}
	return -d // the operator for dot gives the negative product
}

// index is an index that the table should have.
type index struct{ suffix, method, on, with string }

// indexed is the expression over the vectors that is indexed, and the class of its type; empty if there is no such index.
func (c *Collection) indexed() (expression, class string) {
	schema := c.meta.Schema
	m, err := distanceOf(schema.Distance)
	switch {
	case err != nil || c.sink.config.Index == "none" || schema.Dimensions > maxHalfIndexed:
		return "", ""
	case schema.Dimensions > maxIndexed:
		return fmt.Sprintf("(%s::halfvec(%d))", c.layout.vector(), schema.Dimensions), "halfvec_" + m.class
	}
	return c.layout.vector(), "vector_" + m.class
}

// indexes are those that a table of rows should have; the one over the vectors is the last. What shifts with a neighbour is in
// none of them, so that a change of positions touches none. Hash indexes take values of any length.
func (c *Collection) indexes(rows int) []index {
	name := func(key string) string { return quote(c.layout.names[key]) }
	out := []index{
		{"source", "btree", name("source"), ""},
		{"doc_id", "hash", name("doc_id"), ""},
		{"path", "hash", name("path"), ""},
		{"parent_id", "hash", name("parent_id"), ""},
		{"content_hash", "hash", name("content_hash"), ""},
		{"terms", "gin", colTerms, ""},
	}
	if c.layout.words {
		out = append(out, index{"words", "gin", colWords, ""})
	}
	expression, class := c.indexed()
	config := &c.sink.config
	switch {
	case expression == "":
	case config.Index == "ivfflat":
		out = append(out, index{"vectors", "ivfflat", expression + " " + class, fmt.Sprintf(" WITH (lists = %d)", lists(rows))})
	default:
		out = append(out, index{"vectors", "hnsw", expression + " " + class, fmt.Sprintf(" WITH (m = %d, ef_construction = %d)", config.M, config.EFConstruction)})
	}
	return out
}

// lists is the number of lists that pgvector's documentation recommends for so many rows.
func lists(rows int) int {
	if rows <= 1_000_000 {
		return max(10, rows/1000)
	}
	return int(math.Sqrt(float64(rows)))
}

// suffixes are those of the names of every index that a table may have.
func (s *Sink) suffixes() []string {
	return []string{"pkey", "source", "doc_id", "path", "parent_id", "content_hash", "terms", "words", "vectors"}
}

// Flush implements [connector.Collection]. Acknowledged writes are visible at once; what Flush does is to make the indexes that are
// missing: after a first load, and after a run that ended before it could make them.
func (c *Collection) Flush(ctx context.Context) error {
	rows, missing, err := c.missing(ctx)
	if err == nil && len(missing) > 0 {
		for _, x := range missing {
			if err = c.build(ctx, x, rows); err != nil {
				err = fmt.Errorf("make the index %s: %w", x.suffix, err)
				break
			}
		}
		if err == nil {
			err = c.analyze(ctx)
		}
	}
	return c.fail(ctx, "flush", err)
}

// missing lists the indexes that the table lacks; none while it is small.
func (c *Collection) missing(ctx context.Context) (rows int, out []index, err error) {
	err = c.read(ctx, func(ctx context.Context, conn *pgx.Conn, table string) error {
		have, err := c.indexNames(ctx, conn)
		if err != nil {
			return err
		}
		for _, x := range c.indexes(0) {
			if !slices.Contains(have, indexName(*c.name.Load(), x.suffix)) {
				out = append(out, x)
			}
		}
		if len(out) == 0 {
			return nil
		}
		if err := conn.QueryRow(ctx, fmt.Sprintf("SELECT count(*) FROM (SELECT FROM %s LIMIT %d) AS first", table, indexedFrom)).Scan(&rows); err != nil || rows < indexedFrom {
			out = nil
			return err
		}
		return conn.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&rows)
	})
	if err != nil {
		return 0, nil, err
	}
	for i, x := range c.indexes(rows) { // now that their number is known
		for j := range out {
			if out[j].suffix == x.suffix {
				out[j] = c.indexes(rows)[i]
			}
		}
	}
	return rows, out, nil
}

func (c *Collection) indexNames(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, err := conn.Query(ctx, "SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = $1 AND x.indisvalid", c.oid)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// build makes one index, in as long as it takes. A server in a container may have too little shared memory for several workers:
// then one does it.
func (c *Collection) build(ctx context.Context, x index, rows int) error {
	err := c.buildBy(ctx, x, rows, "")
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "53100" {
		err = c.buildBy(ctx, x, rows, "SET LOCAL max_parallel_maintenance_workers = 0")
	}
	return err
}

func (c *Collection) buildBy(ctx context.Context, x index, rows int, set string) error {
	s := c.sink
	statements := []string{"BEGIN", fmt.Sprintf("SET LOCAL lock_timeout = %d", s.config.Timeout.Milliseconds()),
		fmt.Sprintf("SELECT pg_advisory_xact_lock(hashtext('kbsync index'), %d)", int32(c.oid))} //nolint:gosec // any number will do
	if memory := c.buildMemory(rows); x.suffix == "vectors" || x.suffix == "words" {
		statements = append(statements, fmt.Sprintf("SELECT set_config('maintenance_work_mem', greatest(pg_size_bytes(current_setting('maintenance_work_mem')) / 1024, %d)::text, true)", memory>>10))
	}
	if set != "" {
		statements = append(statements, set)
	}
	return c.lockedFor(ctx, 0, statements, "SHARE", func(ctx context.Context, conn *pgx.Conn, table string) error {
		have, err := c.indexNames(ctx, conn)
		name := indexName(*c.name.Load(), x.suffix)
		if err != nil || slices.Contains(have, name) { // another process was faster
			return err
		}
		_, err = conn.Exec(ctx, fmt.Sprintf("CREATE INDEX %s ON %s USING %s (%s)%s", quote(name), table, x.method, x.on, x.with))
		return err
	})
}

// buildMemory is what a graph of so many rows takes; HNSW is many times slower once it does not fit.
func (c *Collection) buildMemory(rows int) int {
	const most = 1 << 30
	return min(most, rows*(4*c.meta.Schema.Dimensions+24*c.sink.config.M+200)*5/4+(16<<20))
}

// analyze tells the planner what the table holds; a filter's plan depends on it.
func (c *Collection) analyze(ctx context.Context) error {
	return c.lockedFor(ctx, 0, []string{"BEGIN"}, forReading, func(ctx context.Context, conn *pgx.Conn, table string) error {
		_, err := conn.Exec(ctx, "ANALYZE "+table)
		return err
	})
}

// ready says whether the index over the vectors exists.
func (c *Collection) ready(ctx context.Context, conn *pgx.Conn) (bool, error) {
	have, err := c.indexNames(ctx, conn)
	return slices.Contains(have, indexName(*c.name.Load(), "vectors")), err
}

// settings are those of a query through the index for n hits. The planner takes a comparison with every row for cheap, since it does
// not count that vectors lie beside the rows; so it is told not to. Candidates that a filter drops are not looked at again, so a
// filtered query takes more of them.
func (s *search) settings(n, rows int) string {
	c := &s.c.sink.config
	if c.Index == "ivfflat" {
		scan := c.IterativeScan
		if scan == "strict_order" { // which this index does not know; hits are sorted again
			scan = "relaxed_order"
		}
		all := lists(rows)
		return fmt.Sprintf("SELECT set_config('enable_seqscan', 'off', true), set_config('ivfflat.iterative_scan', '%s', true), set_config('ivfflat.probes', '%d', true)", scan, min(all, 10+2*int(math.Sqrt(float64(all)))))
	}
	candidates := max(c.EFSearch, 2*n)
	if len(s.filter) > 0 {
		candidates *= 4
	}
	return fmt.Sprintf("SELECT set_config('enable_seqscan', 'off', true), set_config('hnsw.iterative_scan', '%s', true), set_config('hnsw.ef_search', '%d', true)", c.IterativeScan, min(1000, candidates))
}
