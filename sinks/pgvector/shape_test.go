package pgvector

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/kbsync/kbsync/connector"
)

func TestNames(t *testing.T) {
	for _, name := range []string{"a", strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("手册", 40), "a\xffb"} {
		got := fit(name)
		if len(got) > maxIdentifier || got == "" || len(name) <= maxIdentifier && name != "a\xffb" && got != name || fit(got) != got {
			t.Errorf("%q is cut to %q", name, got)
		}
	}
	if fit(strings.Repeat("x", 70)+"1") == fit(strings.Repeat("x", 70)+"2") {
		t.Error("two long names become one")
	}
	p := start(t)
	long := strings.Repeat("产品手册", 10)
	for _, collection := range []string{long + "甲", long + "乙", `'; DROP TABLE x; --"`, "UPPER lower", `back\slash`} {
		s := p.sink(t, func(c *Config) { c.Collection, c.Schema = collection, "手册 \"schema\"" })
		for _, generation := range []string{"g1", "g2"} {
			upsert(t, create(t, s, generation, 8), testPoints(0, 3, 8)...)
		}
		if err := s.Promote(t.Context(), "g2"); err != nil {
			t.Fatal(err)
		}
		live, err := s.Live(t.Context())
		if err != nil || live.Schema().Generation != "g2" || count(t, live) != 3 {
			t.Errorf("%q: %v", collection, err)
		}
		if all, err := s.Generations(t.Context()); err != nil || len(all) != 2 {
			t.Errorf("%q: generations %v, %v", collection, all, err)
		}
	}
	if n := ask[int](t, p, "SELECT count(*)::int FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = '\"手册 \"\"schema\"\"\"'::regnamespace AND octet_length(relname) > 63"); n != 0 {
		t.Errorf("%d names are longer than PostgreSQL's", n)
	}
}

func TestCreateByManyAtOnce(t *testing.T) {
	p := start(t)
	config := p.config()
	var wg sync.WaitGroup
	markers := make([]string, 8)
	errs := make([]error, len(markers))
	for i := range markers {
		s := open(t, config)
		defer s.Close() //nolint:errcheck // checked elsewhere
		wg.Go(func() {
			c, err := s.Create(t.Context(), schemaOf(s, "g1", 8))
			if err == nil {
				markers[i], err = c.Marker(t.Context())
			}
			if err == nil {
				err = c.Upsert(t.Context(), testPoints(0, 50, 8))
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, m := range markers {
		if m != markers[0] || m == "" {
			t.Errorf("several tables were made: markers %q", markers)
		}
	}
}

// TestPromoteUnderReaders: who reads by the name, with statements that are prepared, sees the old rows or the new ones and no error.
func TestPromoteUnderReaders(t *testing.T) {
	p := start(t)
	s := p.sink(t)
	first, second := create(t, s, "g1", 8), create(t, s, "g2", 8)
	upsert(t, first, testPoints(0, 1100, 8)...)
	upsert(t, second, testPoints(5000, 6200, 8)...)
	flush(t, first)
	flush(t, second)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	failed := make(chan error, 10)
	reader := func(read func() error) {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := read(); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	conn, err := pgx.Connect(t.Context(), p.url())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // a test's connection
	reader(func() error {
		var n int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM "+quote("public", s.live())+" WHERE source = $1", "docs").Scan(&n)
		if err == nil && n != 1100 && n != 1200 {
			err = fmt.Errorf("%d rows", n)
		}
		return err
	})
	reader(func() error {
		live, err := s.Live(t.Context())
		if err != nil {
			return err
		}
		hits, err := live.Search(t.Context(), connector.Query{Mode: connector.ModeHybrid, Vector: testPoint(1, 8).Vector, Text: "passage", K: 5})
		if err == nil && len(hits) != 5 {
			err = fmt.Errorf("%d hits", len(hits))
		}
		return err
	})
	reader(func() error { // by a handle, whatever its table is called at the moment
		n, err := first.Count(t.Context())
		if err == nil && n != 1100 {
			err = fmt.Errorf("the first generation has %d rows", n)
		}
		return err
	})
	for i := range 20 {
		if err := s.Promote(t.Context(), []string{"g2", "g1"}[i%2]); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	wg.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	if err := s.Promote(t.Context(), "g2"); err != nil {
		t.Fatal(err)
	}
	for table, n := range map[string]int{s.live(): 9, s.table("g1"): 9} { // the indexes' names follow the table's
		names := indexNames(t, p, table)
		for _, suffix := range s.suffixes() {
			if !strings.Contains(strings.Join(names, "|"), indexName(table, suffix)) || len(names) != n {
				t.Errorf("%s has the indexes %q", table, names)
			}
		}
	}
	upsert(t, first, testPoints(7000, 7001, 8)...)
	if count(t, first) != 1101 || count(t, second) != 1200 {
		t.Error("a write went into the other generation")
	}
	if err := s.Drop(t.Context(), "g2"); connector.ClassOf(err) != connector.ClassConflict {
		t.Errorf("Drop of the live generation: %v", err)
	}
}

// TestOtherLayout: while a generation with other columns is built, the live one is read by those that it has.
func TestOtherLayout(t *testing.T) {
	p := start(t)
	old := p.sink(t, func(c *Config) { c.Fields.Names, c.Sparse = map[string]string{"content": "body", "id": "key"}, "none" })
	upsert(t, create(t, old, "g1", 8), testPoints(0, 9, 8)...)
	s := p.sink(t, func(c *Config) { c.Collection, c.Fields.Preset = old.config.Collection, "llamaindex" })
	live, err := s.Live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range calls(live) {
		switch err := call(t.Context()); {
		case name == "Search": // hybrid, which needs words
			wantClass(t, name, err, connector.ClassUnsupported)
		case err != nil:
			t.Errorf("%s: %v", name, err)
		}
	}
	upsert(t, create(t, s, "g2", 8), testPoints(0, 9, 8)...)
	if err := s.Promote(t.Context(), "g2"); err != nil {
		t.Fatal(err)
	}
	if live, err := old.Live(t.Context()); err != nil || count(t, live) != 9 || len(hits(t, live, connector.Query{Mode: connector.ModeLexical, Text: "n1", K: 3})) != 1 {
		t.Errorf("by the old configuration the new table cannot be read: %v", err)
	}
}

func TestLiveTableDropped(t *testing.T) {
	p := start(t)
	s := p.sink(t)
	create(t, s, "g1", 8)
	create(t, s, "g2", 8)
	p.sql(t, "DROP TABLE "+quote("public", s.live()))
	if _, err := s.Live(t.Context()); !errors.Is(err, connector.ErrNoCollection) {
		t.Errorf("Live without a live table: %v", err)
	}
	create(t, s, "g2", 8) // the only one now
	if live, err := s.Live(t.Context()); err != nil || live.Schema().Generation != "g2" {
		t.Errorf("the only generation is not live: %v", err)
	}
}

func TestInPlace(t *testing.T) {
	p := start(t)
	s := p.sink(t, func(c *Config) { c.InPlace = true })
	upsert(t, create(t, s, "g1", 8), testPoints(0, 3, 8)...)
	_, err := s.Create(t.Context(), schemaOf(s, "g2", 16))
	wantClass(t, "another generation in place", err, connector.ClassConflict)
	if err := s.Drop(t.Context(), "g1"); err != nil {
		t.Fatal(err)
	}
	if c := create(t, s, "g2", 16); count(t, c) != 0 {
		t.Error("the new generation is not empty")
	}
}

func TestDuplicatesAndExactNumbers(t *testing.T) {
	p := start(t)
	s := p.sink(t)
	c := create(t, s, "g1", 8)
	one, two := testPoint(1, 8), testPoint(1, 8)
	two.Metadata = map[string]any{"minus": math.Copysign(0, -1), "whole": 1e6, "big": 1e21, "small": 1e-9, "float": 2.0, "int": int64(1), "list": []any{1e9, "x"}}
	upsert(t, c, one, testPoint(2, 8), two)
	got, err := c.Fetch(t.Context(), []string{two.ChunkID}, false)
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0].Metadata, two.Metadata) || !math.Signbit(got[0].Metadata["minus"].(float64)) {
		t.Errorf("the last of two points with one id, as it was: got %v, %v", got, err)
	}
	if err := c.UpdatePayload(t.Context(), []connector.Record{two.Record, one.Record}); err != nil {
		t.Fatal(err)
	}
	if got, err = c.Fetch(t.Context(), []string{one.ChunkID}, false); err != nil || len(got) != 1 || got[0].Metadata["team"] != "team1" {
		t.Errorf("the last of two records with one id: %v, %v", got, err)
	}
	// What somebody changes in a column that people read is seen.
	p.sql(t, fmt.Sprintf("UPDATE %s SET content = 'other', path = 'moved'", quote("public", s.live())))
	if got, err = c.Fetch(t.Context(), []string{one.ChunkID}, false); err != nil || got[0].EmbedText != "other" || got[0].Path != "moved" {
		t.Errorf("drift is hidden: %+v, %v", got, err)
	}
}

func TestWords(t *testing.T) {
	p := start(t)
	s := p.sink(t)
	c := create(t, s, "g1", 8)
	var long strings.Builder
	for n := range 200_000 {
		fmt.Fprintf(&long, "word%d ", n)
	}
	texts := []string{
		"首都是北京，不是南京。", "重庆大学位于长江上游。", strings.Repeat("x", 1<<20), long.String(), "the cat the cat", "the dog sat with a cat on the long mat of a house in the street",
	}
	var points []connector.Point
	for n, text := range texts {
		q := testPoint(n, 8)
		q.Content, q.EmbedText = text, text
		points = append(points, q)
	}
	upsert(t, c, points...)
	for question, want := range map[string][]int{"京": {0}, "庆": {1}, "北京": {0}, "word199999": {3}, "cat": {4, 5}, "上": {1}, "龘": nil} {
		var ids []string
		for _, n := range want {
			ids = append(ids, pointID(n))
		}
		if got := hits(t, c, connector.Query{Mode: connector.ModeLexical, Text: question, K: 5}); len(got) != len(ids) || len(ids) > 0 && !reflect.DeepEqual(got, ids) {
			t.Errorf("%q finds %q, want %q", question, got, ids)
		}
	}
}

func TestForeign(t *testing.T) {
	p := start(t)
	s := p.sink(t)
	upsert(t, create(t, s, "g1", 3), testPoints(0, 600, 3)...)
	p.sql(t, "CREATE TABLE docs (id bigint PRIMARY KEY, body text, tags text[], at timestamptz, meta json, embedding vector(2))",
		"INSERT INTO docs VALUES (2, 'zwei', '{a,b}', '2026-01-02', '{\"k\": 1.5}', '[1,2]'), (10, '十', NULL, NULL, NULL, NULL)",
		"CREATE VIEW chunks AS SELECT id AS uuid, body, embedding FROM docs", "CREATE TABLE keyless (body text)")
	read := func(name string) (out []connector.Foreign, err error) {
		for f, err := range s.Foreign(t.Context(), name) {
			if err != nil {
				return out, err
			}
			out = append(out, f)
		}
		return out, nil
	}
	got, err := read("public.docs")
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if f := got[0]; f.ID != "2" || !reflect.DeepEqual(f.Vector, []float32{1, 2}) || f.Fields["body"] != "zwei" || !reflect.DeepEqual(f.Fields["tags"], []any{"a", "b"}) ||
		!reflect.DeepEqual(f.Fields["meta"], map[string]any{"k": 1.5}) || f.Fields["embedding"] != nil {
		t.Errorf("%+v", f)
	}
	if f := got[1]; f.ID != "10" || f.Vector != nil || f.Fields["body"] != "十" {
		t.Errorf("%+v", f)
	}
	if got, err := read("chunks"); err != nil || len(got) != 2 || got[1].ID != "10" {
		t.Errorf("a view: %v, %v", got, err)
	}
	if got, err := read(s.live()); err != nil || len(got) != 600 || got[0].Vector == nil || got[0].Fields["metadata"] == nil || got[0].Fields[colTerms] != nil {
		t.Errorf("a table of kbsync: %d items, %v", len(got), err)
	}
	_, err = read("nothing")
	wantClass(t, "a table that is missing", err, connector.ClassNotFound)
	_, err = read("keyless")
	wantClass(t, "a table without a key", err, connector.ClassUnsupported)
}

func TestPresets(t *testing.T) {
	p := start(t)
	for preset, sql := range map[string]string{
		"langchain":  `SELECT langchain_id::text || content || (langchain_metadata->>'team') FROM %s WHERE vector_dims(embedding) = 8`,
		"llamaindex": `SELECT node_id || text || (metadata_->>'team') FROM %s WHERE vector_dims(embedding) = 8 AND id = 1 AND pg_typeof(node_id)::text = 'character varying'`,
	} {
		s := p.sink(t, func(c *Config) { c.Fields.Preset, c.Collection = preset, "data_"+preset })
		q := testPoint(1, 8)
		upsert(t, create(t, s, "g1", 8), q)
		if got := ask[string](t, p, fmt.Sprintf(sql, "data_"+preset)); got != q.ChunkID+q.Content+"team1" {
			t.Errorf("%s reads %q", preset, got)
		}
	}
}

func TestConfig(t *testing.T) {
	good := func() Config {
		c := defaults()
		c.URL, c.Collection = "postgres://u:p%40ss@Example.org:6432/kb", "c"
		return c
	}
	c := good()
	s := open(t, c)
	defer s.Close() //nolint:errcheck // it holds nothing
	if got, want := s.Target().String(), "pgvector|example.org:6432/kb|c|public"; got != want {
		t.Errorf("the target is %s, want %s", got, want)
	}
	for name, change := range map[string]func(*Config){
		"no url": func(c *Config) { c.URL = "" }, "bad url": func(c *Config) { c.URL = "postgres://u:geheim@h:port/x" }, "index": func(c *Config) { c.Index = "btree" },
		"scan": func(c *Config) { c.IterativeScan = "yes" }, "m": func(c *Config) { c.M = 1 }, "ef": func(c *Config) { c.EFSearch = 5000 }, "construction": func(c *Config) { c.EFConstruction = 20 },
		"name": func(c *Config) { c.Fields.Names = map[string]string{"content": "kbsync_terms"} }, "system": func(c *Config) { c.Fields.Names = map[string]string{"content": "xmin"} },
		"NUL": func(c *Config) { c.Collection = "a\x00b" }, "distance": func(c *Config) { c.Distance = "hamming" },
	} {
		c := good()
		change(&c)
		_, err := Open(t.Context(), c, connector.Env{})
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", name, err)
		}
	}
	least, err := Open(t.Context(), Config{URL: "postgres://h/d"}, connector.Env{Name: "pipe"})
	if err != nil || least.Target().Collection != "pipe" {
		t.Fatalf("the least configuration: %v", err)
	}
	if err := least.Close(); err != nil {
		t.Error(err)
	}
}
