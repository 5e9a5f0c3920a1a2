package pgvector

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func indexNames(t testing.TB, p *place, table string) []string {
	t.Helper()
	return strings.Split(ask[string](t, p, "SELECT coalesce(string_agg(indexname, '|' ORDER BY indexname), '') FROM pg_indexes WHERE tablename = $1", table), "|")
}

func TestIndexes(t *testing.T) {
	p := start(t)
	t.Run("rows first, indexes after", func(t *testing.T) {
		s := p.sink(t)
		c := create(t, s, "g1", 32)
		upsert(t, c, testPoints(0, 500, 32)...)
		flush(t, c)
		if got := indexNames(t, p, s.live()); len(got) != 1 {
			t.Errorf("a small table has the indexes %q", got)
		}
		upsert(t, c, testPoints(500, 3000, 32)...)
		q := connector.Query{Mode: connector.ModeHybrid, Vector: testPoint(17, 32).Vector, Text: "n17", K: 3}
		if got := hits(t, c, q); len(got) != 3 || got[0] != pointID(17) {
			t.Errorf("the search before the index gives %q", got)
		}
		flush(t, c)
		if got := indexNames(t, p, s.live()); len(got) != 9 {
			t.Errorf("after the load there are the indexes %q", got)
		}
		if got := hits(t, c, q); len(got) != 3 || got[0] != pointID(17) {
			t.Errorf("the search after the index gives %q", got)
		}
		// A run that was killed before it made them all, and one that somebody else dropped.
		p.sql(t, "DROP INDEX "+quote("public", indexName(s.live(), "vectors")), "DROP INDEX "+quote("public", indexName(s.live(), "words")))
		flush(t, create(t, s, "g1", 32))
		if got := indexNames(t, p, s.live()); len(got) != 9 {
			t.Errorf("after the repair there are the indexes %q", got)
		}
	})
	t.Run("a filter leaves k hits", func(t *testing.T) {
		for _, kind := range []string{"hnsw", "ivfflat"} {
			s := p.sink(t, func(c *Config) { c.Index = kind })
			c := create(t, s, "g1", 32)
			upsert(t, c, testPoints(0, 6000, 32)...)
			flush(t, c)
			for _, filter := range []connector.Filter{
				nil, {{Field: "team", Values: []any{"team7"}}}, {{Field: "chunk_index", Values: []any{3}}}, {{Field: "source", Values: []any{"docs"}}},
				{{Field: "team", Values: []any{"team7"}}, {Field: "chunk_index", Values: []any{7}}},
			} {
				for _, mode := range s.Capabilities().Modes {
					q := connector.Query{Mode: mode, Vector: testPoint(1_000_000, 32).Vector, Text: "passage 手册", K: 10, Filter: filter}
					if got := hits(t, c, q); len(got) != 10 {
						t.Errorf("%s, %s with filter %v: %d hits", kind, mode, filter, len(got))
					}
				}
				if r := recall(t, c, 32, filter); r < 0.99 && (kind == "hnsw" || filter != nil) {
					t.Errorf("%s with filter %v: recall %.3f", kind, filter, r)
				}
			}
			if got := hits(t, c, connector.Query{Mode: connector.ModeDense, Vector: testPoint(1, 32).Vector, K: 3000}); len(got) != 3000 {
				t.Errorf("%s: %d hits for k = 3000", kind, len(got))
			}
		}
	})
	t.Run("many dimensions", func(t *testing.T) {
		for dimensions, indexed := range map[int]bool{2000: true, 2500: true, 4001: false} {
			s := p.sink(t)
			c := create(t, s, "g1", dimensions)
			upsert(t, c, testPoints(0, indexedFrom, dimensions)...)
			flush(t, c)
			if got := slices.Contains(indexNames(t, p, s.live()), indexName(s.live(), "vectors")); got != indexed {
				t.Errorf("%d dimensions have an index: %v", dimensions, got)
			}
			if r := recall(t, c, dimensions, nil); r < 0.99 {
				t.Errorf("%d dimensions: recall %.3f", dimensions, r)
			}
		}
		_, err := p.sink(t).Create(t.Context(), connector.Schema{Generation: "g1", Dimensions: 16_001, Distance: "cosine"})
		wantClass(t, "16,001 dimensions", err, connector.ClassInvalid)
	})
}

// TestIndexesAreUsed: the planner takes those that the questions are written for.
func TestIndexesAreUsed(t *testing.T) {
	p := start(t)
	for dimensions, rows := range map[int]int{32: 5000, 2100: indexedFrom} {
		s := open(t, p.config())
		c := create(t, s, "g1", dimensions)
		upsert(t, c, testPoints(0, rows, dimensions)...)
		flush(t, c)
		hits(t, c, connector.Query{Mode: connector.ModeHybrid, Vector: testPoint(1, dimensions).Vector, Text: "n77", K: 5})
		hits(t, c, connector.Query{Mode: connector.ModeDense, Vector: testPoint(1, dimensions).Vector, K: 5})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, suffix := range []string{"vectors", "words"} {
			used := int64(0)
			for i := 0; i < 50 && used == 0; i++ { // the server counts when its processes end
				used = ask[int64](t, p, "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = $1 AND pg_sleep(0.1) IS NOT NULL", indexName(s.live(), suffix))
			}
			if used == 0 {
				t.Errorf("%d dimensions: the index %s is not used", dimensions, suffix)
			}
		}
	}
}

// TestUntouched: what is stored already is not written again, and what shifts with a neighbour touches no index.
func TestUntouched(t *testing.T) {
	p := start(t)
	s := open(t, p.config())
	c := create(t, s, "g1", 384)
	points := testPoints(0, 1200, 384)
	upsert(t, c, points...)
	flush(t, c)
	table := quote("public", s.live())
	versions := fmt.Sprintf("SELECT md5(string_agg(xmin::text || ctid::text, ',' ORDER BY id)) FROM %s", table)
	before := ask[string](t, p, versions)
	upsert(t, c, points...)
	records := make([]connector.Record, len(points))
	for i := range points {
		records[i] = points[i].Record
	}
	if err := c.UpdatePayload(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	if ask[string](t, p, versions) != before {
		t.Error("rows that did not change were written")
	}
	for i := range points {
		points[i].Metadata["chunk_index"], points[i].Metadata["line_start"], points[i].Spans[0].Start = i+1, i+5, i+1
		records[i] = points[i].Record
	}
	if err := c.UpdatePayload(t.Context(), records[:600]); err != nil {
		t.Fatal(err)
	}
	upsert(t, c, points[600:]...)
	if err := s.Close(); err != nil { // the server counts when its processes end
		t.Fatal(err)
	}
	updates := func(column string) (n int64) {
		for range 50 {
			if n = ask[int64](t, p, "SELECT "+column+" FROM pg_stat_user_tables WHERE relid = $1", c.oid); n >= 1200 {
				break
			}
			ask[string](t, p, "SELECT pg_sleep(0.1)::text")
		}
		return n
	}
	if all, hot := updates("n_tup_upd"), updates("n_tup_hot_upd"); all != 1200 || hot != all {
		t.Errorf("%d rows were updated, %d of them beside all indexes; want 1200 and 1200", all, hot)
	}
}
