package milvus

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/servers"
)

const dimensions = 32

func id(n int) string {
	return connector.NewUUID5(connector.PipelineNamespace("milvus"), fmt.Sprint(n)).String()
}

// vector is not of length 1.
func vector(n int) []float32 {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

func point(n int, text string) connector.Point {
	return connector.Point{Vector: vector(n), Record: connector.Record{
		ChunkID: id(n), DocID: id(-n / 10), Source: "docs", Path: fmt.Sprintf("a/%d.md", n/10), Content: text, EmbedText: text,
		ContentHash: connector.ContentHash(text), Metadata: map[string]any{"team": fmt.Sprint("t", n%100), "chunk_index": n % 10, "title": "Title"},
	}}
}

func schema(generation string, s *Sink) connector.Schema {
	return connector.Schema{Generation: generation, Model: "lexical/test@1", Dimensions: dimensions, Distance: s.conf.Distance, Layout: s.Capabilities().Layout}
}

func made(t testing.TB, s *Sink) *Collection {
	t.Helper()
	c, err := s.Create(t.Context(), schema("g1", s))
	if err != nil {
		t.Fatal(err)
	}
	return c.(*Collection)
}

func upsert(t testing.TB, c *Collection, points ...connector.Point) {
	t.Helper()
	for len(points) > 0 {
		n := min(len(points), 1000)
		if err := c.Upsert(t.Context(), points[:n]); err != nil {
			t.Fatal(err)
		}
		points = points[n:]
	}
}

func wantCount(t testing.TB, c connector.Collection, want int) {
	t.Helper()
	if n, err := c.Count(t.Context()); err != nil || n != want {
		t.Errorf("count %d, %v; want %d", n, err, want)
	}
}

// seal makes the server write what it has into segments, build their indexes, and read them again.
func seal(t testing.TB, c *Collection) {
	t.Helper()
	ctx := t.Context()
	if err := c.server.Flush(ctx, c.name, false); err != nil {
		t.Fatal(err)
	}
	for range 100 { // until the index is built, a full server answers from an interim one
		if total, indexed, err := c.server.GetIndexBuildProgress(ctx, c.name, c.sink.fields.of("vector")); err != nil || indexed >= total {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	err := c.server.ReleaseCollection(ctx, c.name)
	if err == nil {
		err = c.server.load(ctx, c.name)
	}
	for tries := 0; connector.ClassOf(err) == connector.ClassTransient && tries < 20; tries++ { // as the engine does
		time.Sleep(100 * time.Millisecond)
		err = c.server.load(ctx, c.name)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// each runs a test on Milvus Lite and, where it is installed, on a full server.
func each(t *testing.T, lite, full *servers.Server, name string, test func(t *testing.T, c Config)) {
	for server, addr := range map[string]*servers.Server{"lite": lite, "2.3": full} {
		if addr == nil {
			continue
		}
		t.Run(name+"/"+server, func(t *testing.T) {
			c := config(addr.Addr, strings.ReplaceAll(name, " ", "_"))
			if server == "2.3" {
				c.Sparse = "none"
			}
			t.Cleanup(func() { forget(t, c) })
			test(t, c)
		})
	}
}

func opened(t *testing.T, c Config) *Sink {
	t.Helper()
	s := openWith(t, c)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestFaults(t *testing.T) {
	runFaults(t, servers.Start(t, "milvus-lite"), nil)
}

func TestFaultsMilvus23(t *testing.T) {
	runFaults(t, nil, startFull(t))
}

func runFaults(t *testing.T, lite, full *servers.Server) {
	each(t, lite, full, "true vectors", trueVectors)
	each(t, lite, full, "recall", recall)
	each(t, lite, full, "replaced whole", replacedWhole)
	each(t, lite, full, "bytes", textBytes)
	each(t, lite, full, "gone", gone)
	each(t, lite, full, "resumed", resumed)
	each(t, lite, full, "foreign", foreignCollections)
	each(t, lite, full, "hostile filters", hostileFilters)
	each(t, lite, full, "in place", inPlace)
	each(t, lite, full, "database", database)
	each(t, lite, full, "presets", presets)
	if lite != nil {
		each(t, lite, nil, "frequencies", frequencies)
		each(t, lite, nil, "killed", func(t *testing.T, c Config) { killed(t, c, lite) })
	}
}

// trueVectors: under cosine the server must not give back what it normalised.
func trueVectors(t *testing.T, conf Config) {
	s := opened(t, conf)
	c := made(t, s)
	upsert(t, c, point(1, "one"), point(2, "two"))
	check := func(when string) {
		points, err := c.Fetch(t.Context(), []string{id(1), id(2)}, true)
		if err != nil || len(points) != 2 {
			t.Fatalf("%s: %d points, %v", when, len(points), err)
		}
		for i, p := range points {
			for j, x := range vector(i + 1) {
				if math.Abs(float64(x-p.Vector[j])) > 1e-5 {
					t.Fatalf("%s: component %d is %v, want %v", when, j, p.Vector[j], x)
				}
			}
		}
	}
	check("as written")
	seal(t, c)
	check("from a sealed segment")
}

// recall: the index of sealed segments, with filters that leave one in a hundred, and store-only points beside.
func recall(t *testing.T, conf Config) {
	s := opened(t, conf)
	c := made(t, s)
	const n = 2000
	var all []connector.Point
	for i := range n {
		p := point(i, fmt.Sprint("text ", i))
		if i%5 == 0 {
			p.Vector = nil
		}
		all = append(all, p)
	}
	upsert(t, c, all...)
	seal(t, c)
	for _, filter := range []connector.Filter{nil, {{Field: "team", Values: []any{"t7"}}}} {
		found, wanted := 0, 0
		for q := range 20 {
			query := vector(100_000 + q)
			want := map[string]bool{}
			best := c.bruteTop(all, query, filter, 5)
			for _, id := range best {
				want[id] = true
			}
			hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: query, K: 5, Filter: filter, Exact: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range hits {
				if want[h.ChunkID] {
					found++
				}
			}
			wanted += len(want)
		}
		if r := float64(found) / float64(wanted); r < 0.99 {
			t.Errorf("filter %v: recall %.3f", filter, r)
		}
	}
}

func (c *Collection) bruteTop(all []connector.Point, query []float32, filter connector.Filter, k int) []string {
	type scored struct {
		id    string
		score float64
	}
	var best []scored
	for _, p := range all {
		if p.Vector == nil || len(filter) > 0 && p.Metadata["team"] != filter[0].Values[0] {
			continue
		}
		best = append(best, scored{p.ChunkID, similarity(c.meta.Schema.Distance, query, p.Vector)})
		for i := len(best) - 1; i > 0 && best[i].score > best[i-1].score; i-- {
			best[i], best[i-1] = best[i-1], best[i]
		}
		best = best[:min(len(best), k)]
	}
	ids := make([]string, len(best))
	for i, b := range best {
		ids[i] = b.id
	}
	return ids
}

// replacedWhole: Milvus Lite merges what it gets into what it has, so nothing may be left out.
func replacedWhole(t *testing.T, conf Config) {
	s := opened(t, conf)
	c := made(t, s)
	p := point(1, "one")
	p.Metadata = map[string]any{"title": "Old", "section": "A > B", "page": 7, "chunk_index": 3, "secret": "old"}
	upsert(t, c, p)
	p.Metadata, p.ParentID = nil, ""
	upsert(t, c, p)
	rows, err := c.server.Query(t.Context(), c.name, nil, in("id", []string{id(1)}), []string{"title", "section", "page", "chunk_index", fieldTerms, fieldRest})
	if err != nil || rows.Len() != 1 {
		t.Fatal(rows.Len(), err)
	}
	for name, want := range map[string]any{"title": "", "section": "", "page": int64(-1), "chunk_index": int64(-1)} {
		if got, err := rows.GetColumn(name).Get(0); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", name, got, err, want)
		}
	}
	if terms, err := rows.GetColumn(fieldTerms).Get(0); err != nil || len(terms.([][]byte)) != 0 {
		t.Errorf("filter terms survive: %v, %v", terms, err)
	}
	// The same id twice in a batch: the last one stands.
	first, last := point(2, "first"), point(2, "last")
	upsert(t, c, first, last)
	if got, err := c.Fetch(t.Context(), []string{id(2)}, false); err != nil || len(got) != 1 || got[0].Content != "last" {
		t.Errorf("twice in a batch: %v, %v", got, err)
	}
	wantCount(t, c, 2)
}

// textBytes: 65,535 characters that are 196,605 bytes, and more metadata than a VARCHAR or a JSON field holds.
func textBytes(t *testing.T, conf Config) {
	s := opened(t, conf)
	c := made(t, s)
	p := point(1, strings.Repeat("库", 65_535))
	p.Context = strings.Repeat("语\n", 30_000)
	p.EmbedText = p.Context + p.Content + "."
	p.Metadata = map[string]any{"long": strings.Repeat("长", 100_000), "title": strings.Repeat("题", 5000)}
	p.Path = strings.Repeat("路", 3000) + ".md"
	upsert(t, c, p)
	got, err := c.Fetch(t.Context(), []string{id(1)}, false)
	if err != nil || len(got) != 1 {
		t.Fatal(len(got), err)
	}
	g := got[0]
	if g.Content != p.Content || g.Context != p.Context || g.EmbedText != p.EmbedText || g.Path != p.Path || g.Metadata["long"] != p.Metadata["long"] || g.Metadata["title"] != p.Metadata["title"] {
		t.Error("a long text came back changed")
	}
	hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: vector(3), K: 1, Filter: connector.Filter{{Field: "path", Values: []any{p.Path}}}})
	if err != nil || len(hits) != 1 {
		t.Errorf("filter by a path of %d bytes: %d hits, %v", len(p.Path), len(hits), err)
	}
	over := point(2, strings.Repeat("x", maxText+1))
	meta := point(3, "x")
	meta.Metadata = map[string]any{"m": strings.Repeat("y", maxMetadata)}
	many := point(4, "x")
	list := make([]any, maxTerms+1)
	for i := range list {
		list[i] = i
	}
	many.Metadata = map[string]any{"list": list}
	var batch *connector.BatchError
	if err := c.Upsert(t.Context(), []connector.Point{over, point(5, "fine"), meta, many}); !errors.As(err, &batch) || fmt.Sprint(batch.Indexes()) != "[0 2 3]" {
		t.Errorf("over the limits: %v", err)
	}
	wantCount(t, c, 2)
}

// gone: a collection that somebody drops is an error, and is never made again in silence.
func gone(t *testing.T, conf Config) {
	ctx := t.Context()
	s, other := opened(t, conf), opened(t, conf)
	c := made(t, s)
	upsert(t, c, point(1, "one"))
	if err := other.Drop(ctx, "g1"); err != nil {
		t.Fatal(err)
	}
	_, fetch := c.Fetch(ctx, []string{id(1)}, false)
	_, count := c.Count(ctx)
	_, search := c.Search(ctx, connector.Query{Mode: connector.ModeDense, Vector: vector(1), K: 1})
	_, mark := c.Marker(ctx)
	var scan error
	for _, err := range c.Scan(ctx, false) {
		scan = err
	}
	for what, err := range map[string]error{"Upsert": c.Upsert(ctx, []connector.Point{point(2, "two")}), "Delete": c.Delete(ctx, []string{id(1)}), "Fetch": fetch, "Count": count, "Scan": scan, "Search": search, "Marker": mark} {
		if connector.ClassOf(err) != connector.ClassNotFound {
			t.Errorf("%s: class %v, want not found: %v", what, connector.ClassOf(err), err)
		}
	}
	if _, err := s.Live(ctx); !errors.Is(err, connector.ErrNoCollection) {
		t.Errorf("Live: %v", err)
	}
	wantCount(t, made(t, s), 0) // a new sync starts afresh
	if _, err := s.Live(ctx); err != nil {
		t.Errorf("Live: %v", err)
	}
}

// resumed: Create finishes what was cut short after any step.
func resumed(t *testing.T, conf Config) {
	ctx := t.Context()
	s := opened(t, conf)
	c := made(t, s)
	upsert(t, c, point(1, "one"))
	if err := c.server.DropAlias(ctx, s.conf.Collection); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.server.ReleaseCollection(ctx, c.name), c.server.DropIndex(ctx, c.name, "vector", client.WithIndexName("vector"))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Live(ctx); !errors.Is(err, connector.ErrNoCollection) {
		t.Errorf("Live without the alias: %v", err)
	}
	again := opened(t, conf)
	wantCount(t, made(t, again), 1)
	live, err := again.Live(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if hits, err := live.Search(ctx, connector.Query{Mode: connector.ModeDense, Vector: vector(1), K: 1}); err != nil || len(hits) != 1 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
}

func foreignCollections(t *testing.T, conf Config) {
	ctx := t.Context()
	s := opened(t, conf)
	srv, err := s.link.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	name := s.conf.Collection
	t.Cleanup(func() { _ = srv.DropCollection(context.WithoutCancel(ctx), name) })
	declared := entity.NewSchema().WithName(name).WithDynamicFieldEnabled(true).
		WithField(entity.NewField().WithName("pk").WithDataType(entity.FieldTypeInt64).WithIsPrimaryKey(true)).
		WithField(entity.NewField().WithName("text").WithDataType(entity.FieldTypeVarChar).WithMaxLength(500)).
		WithField(entity.NewField().WithName("embedding").WithDataType(entity.FieldTypeFloatVector).WithDim(4))
	flat, _ := entity.NewIndexFlat(entity.L2)
	if err := errors.Join(srv.CreateCollection(ctx, declared, 1), srv.CreateIndex(ctx, name, "embedding", flat, true)); err != nil {
		t.Fatal(err)
	}
	const n = 1100
	pks, texts, vectors, dynamic := make([]int64, n), make([]string, n), make([][]float32, n), make([][]byte, n)
	for i := range n {
		pks[i], texts[i], vectors[i], dynamic[i] = int64(i), fmt.Sprint("文 ", i), []float32{float32(i), 1, 2, 3}, []byte(fmt.Sprintf(`{"lang":"zh","n":%d,"tags":["a"]}`, i))
	}
	_, err = srv.Insert(ctx, name, "", entity.NewColumnInt64("pk", pks), entity.NewColumnVarChar("text", texts), entity.NewColumnFloatVector("embedding", 4, vectors),
		entity.NewColumnJSONBytes("", dynamic).WithIsDynamic(true))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for f, err := range s.Foreign(ctx, name) {
		if err != nil {
			t.Fatal(err)
		}
		seen[f.ID] = true
		if f.ID == "7" && (f.Fields["text"] != "文 7" || len(f.Vector) != 4 || f.Vector[0] != 7 || f.Fields["lang"] != "zh" || f.Fields["n"] != int64(7) || f.Fields["pk"] != int64(7)) {
			t.Errorf("item 7 is %+v", f)
		}
	}
	if len(seen) != n {
		t.Errorf("%d items of %d", len(seen), n)
	}
	for _, err := range s.Foreign(ctx, "nowhere") {
		if connector.ClassOf(err) != connector.ClassNotFound {
			t.Errorf("a missing collection: %v", err)
		}
	}
	if _, err := s.Create(ctx, schema("g1", s)); connector.ClassOf(err) != connector.ClassConflict {
		t.Errorf("Create beside a collection of the alias's name: %v", err)
	}
	if _, err := s.Live(ctx); connector.ClassOf(err) != connector.ClassConflict {
		t.Errorf("Live of a collection that kbsync did not make: %v", err)
	}
}

// hostileFilters: values that would break out of an expression.
func hostileFilters(t *testing.T, conf Config) {
	s := opened(t, conf)
	c := made(t, s)
	values := []string{`a"b`, `a'b`, `a\b`, `a\`, `C:\u0041\n`, "a\nb", "a\tb\r", `") or ("" == "`, `x" or id != "`, "100%", "%22", "@path", "{x}", "$meta", "汉\"字", "a\x00b", "", " ", "🦊", strings.Repeat("p", 5000)}
	for i, v := range values {
		p := point(i, "text")
		p.Path, p.Source = v, v
		p.Metadata = map[string]any{"key": v, v: "value"}
		upsert(t, c, p)
	}
	for i, v := range values {
		for _, field := range []string{"path", "source", "key", v} {
			f := connector.Condition{Field: field, Values: []any{v}}
			if field == v {
				f.Values = []any{"value"}
			}
			if field == "path" && v == "path" {
				continue
			}
			hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: vector(1), K: 100, Filter: connector.Filter{f}})
			if err != nil || len(hits) != 1 || hits[0].ChunkID != id(i) {
				t.Errorf("%.40q = %.40q: %d hits, %v", field, v, len(hits), err)
			}
		}
	}
	many := []any{values[0]}
	for i := range 5000 {
		many = append(many, fmt.Sprint("value ", i))
	}
	for _, field := range []string{"path", "key"} {
		hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: vector(1), K: 100, Filter: connector.Filter{{Field: field, Values: many}}})
		if err != nil || len(hits) != 1 {
			t.Errorf("%s in 5,001 values: %d hits, %v", field, len(hits), err)
		}
	}
}

func inPlace(t *testing.T, conf Config) {
	ctx := t.Context()
	conf.InPlace = true
	s := opened(t, conf)
	c := made(t, s)
	if c.name != s.conf.Collection {
		t.Errorf("the collection is %s", c.name)
	}
	upsert(t, c, point(1, "one"))
	if live, err := s.Live(ctx); err != nil || live.Schema() != c.Schema() {
		t.Errorf("Live: %v", err)
	}
	if all, err := s.Generations(ctx); err != nil || len(all) != 1 || all[0] != c.Schema() {
		t.Errorf("generations %v, %v", all, err)
	}
	if _, err := s.Create(ctx, schema("g2", s)); connector.ClassOf(err) != connector.ClassConflict {
		t.Errorf("another generation in its place: %v", err)
	}
	if err := errors.Join(s.Promote(ctx, "g1"), s.Drop(ctx, "g2"), s.Drop(ctx, "g1")); err != nil {
		t.Error(err)
	}
	if all, err := s.Generations(ctx); err != nil || len(all) != 0 {
		t.Errorf("generations %v, %v", all, err)
	}
}

func database(t *testing.T, conf Config) {
	conf.Database = "nowhere"
	s := opened(t, conf)
	if _, err := s.Generations(t.Context()); err == nil || !strings.Contains(err.Error(), "create the database") {
		t.Errorf("a missing database: %v", err)
	}
}

// frequencies: the weight of a term of which every document holds one is counted by a sample.
func frequencies(t *testing.T, conf Config) {
	s := opened(t, conf)
	c := made(t, s)
	const n = 5000
	var all []connector.Point
	for i := range n {
		text := "common"
		if i%4 == 0 {
			text += " quarter"
		}
		if i == 77 {
			text += " rare 罕"
		}
		all = append(all, point(i, text))
	}
	upsert(t, c, all...)
	hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeLexical, Text: "common quarter rare 罕", K: 3})
	if err != nil || len(hits) != 3 || hits[0].ChunkID != id(77) {
		t.Errorf("hits %v, %v", hits, err)
	}
	var counts []float64
	for _, known := range c.idfs {
		counts = append(counts, known.documents)
	}
	for _, want := range []float64{1, n / 4, n} {
		ok := false
		for _, got := range counts {
			ok = ok || math.Abs(got-want) <= want/5
		}
		if !ok {
			t.Errorf("no term has about %v documents: %v", want, counts)
		}
	}
}

// killed: what was acknowledged is there after a crash, and the first read loads the collection again.
func killed(t *testing.T, conf Config, srv *servers.Server) {
	s := opened(t, conf)
	c := made(t, s)
	var all []connector.Point
	for i := range 700 {
		all = append(all, point(i, fmt.Sprint("text ", i)))
	}
	upsert(t, c, all...)
	if err := c.Delete(t.Context(), []string{id(3)}); err != nil {
		t.Fatal(err)
	}
	crash(t, srv)
	start := time.Now()
	if _, err := c.Count(t.Context()); connector.ClassOf(err) != connector.ClassTransient || time.Since(start) > 20*time.Second {
		t.Errorf("with the server gone: class %v after %v: %v", connector.ClassOf(err), time.Since(start), err)
	}
	srv.Restart()
	var err error
	for range 60 { // the connection comes back by itself
		if _, err = c.Count(t.Context()); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	wantCount(t, c, 699)
	got, err := c.Fetch(t.Context(), []string{id(0), id(699), id(3)}, true)
	if err != nil || len(got) != 2 || got[1].Content != "text 699" {
		t.Errorf("%d points, %v", len(got), err)
	}
	hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: vector(5), K: 1})
	if err != nil || len(hits) != 1 || hits[0].ChunkID != id(5) {
		t.Errorf("%d hits, %v", len(hits), err)
	}
}

// presets: the fields bear the names that Python packages read, and everything works under them.
func presets(t *testing.T, conf Config) {
	ctx := t.Context()
	for preset, want := range map[string][]string{"langchain": {"pk", "text", "vector"}, "llamaindex": {"id", "text", "embedding", "doc_id"}} {
		conf := conf
		conf.Collection += preset
		conf.Fields.Preset = preset
		t.Cleanup(func() { forget(t, conf) })
		s := opened(t, conf)
		c := made(t, s)
		p := point(1, "one 一")
		upsert(t, c, p)
		d, err := c.described(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range want {
			if !slices.ContainsFunc(d.Schema.Fields, func(f *entity.Field) bool { return f.Name == name }) {
				t.Errorf("%s: no field %s", preset, name)
			}
		}
		for _, mode := range s.Capabilities().Modes {
			hits, err := c.Search(ctx, connector.Query{Mode: mode, Vector: vector(1), Text: "一", K: 1, Filter: connector.Filter{{Field: "chunk_id", Values: []any{id(1)}}}})
			if err != nil || len(hits) != 1 || hits[0].Content != p.Content {
				t.Errorf("%s: %s search: %v, %v", preset, mode, hits, err)
			}
		}
		n := 0
		for _, err := range c.Scan(ctx, true) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 1 {
			t.Errorf("%s: scan of %d points", preset, n)
		}
	}
}
