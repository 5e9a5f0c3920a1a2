package sinktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kbsync/kbsync/connector"
)

// id is the n-th id of the suite; their order is not that of n.
func id(n int) string {
	return connector.NewUUID5(connector.PipelineNamespace("sinktest"), fmt.Sprint(n)).String()
}

// point is the n-th point: a unit vector that depends on n alone, and text in two languages.
func (e *env) point(n int) connector.Point {
	text := fmt.Sprintf("Passage number n%d of the handbook. 手册的第%d段。", n, n)
	return connector.Point{Vector: e.vector(n), Record: connector.Record{
		ChunkID: id(n), DocID: id(1_000_000 + n/10), Source: fmt.Sprintf("source%d", n%3), Path: fmt.Sprintf("docs/文件 %d.md", n/10),
		Content: text, EmbedText: text, ContentHash: connector.ContentHash(text),
		Spans: []connector.Span{{Start: n, End: n + len(text)}}, CharCount: len(text), TokenCount: 12,
		Metadata: map[string]any{"index": n, "team": fmt.Sprintf("team%d", n%4)},
	}}
}

func (e *env) points(from, to int) []connector.Point {
	out := make([]connector.Point, 0, to-from)
	for n := from; n < to; n++ {
		out = append(out, e.point(n))
	}
	return out
}

func (e *env) vector(n int) []float32 {
	rng := rand.New(rand.NewPCG(uint64(n), 7)) //nolint:gosec // test data
	v := make([]float32, e.opts.Dimensions)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return unit(v)
}

func unit(v []float32) []float32 {
	n := norm(v)
	for i := range v {
		v[i] = float32(float64(v[i]) / n)
	}
	return v
}

func (e *env) schema(generation string) connector.Schema {
	return connector.Schema{Generation: generation, Model: "lexical/test@1", Dimensions: e.opts.Dimensions, Distance: e.opts.Distance, Layout: e.caps.Layout}
}

// create makes the collection "g1".
func (e *env) create() connector.Collection {
	e.Helper()
	return e.createAs("g1")
}

func (e *env) createAs(generation string) connector.Collection {
	e.Helper()
	c, err := e.sink.Create(e.ctx, e.schema(generation))
	if err != nil {
		e.Fatalf("Create: %v", err)
	}
	return c
}

// upsert stores points in batches that the sink accepts, and flushes.
func (e *env) upsert(c connector.Collection, points ...connector.Point) {
	e.Helper()
	size := len(points)
	if e.caps.MaxBatchItems > 0 {
		size = min(size, e.caps.MaxBatchItems)
	}
	for batch := range slices.Chunk(points, max(1, size)) {
		if err := c.Upsert(e.ctx, batch); err != nil {
			e.Fatalf("Upsert: %v", err)
		}
	}
	e.flush(c)
}

func (e *env) flush(c connector.Collection) {
	e.Helper()
	if err := c.Flush(e.ctx); err != nil {
		e.Fatalf("Flush: %v", err)
	}
}

func (e *env) fetch(c connector.Collection, vectors bool, ids ...string) []connector.Point {
	e.Helper()
	out, err := c.Fetch(e.ctx, ids, vectors)
	if err != nil {
		e.Fatalf("Fetch: %v", err)
	}
	return out
}

func (e *env) search(c connector.Collection, q connector.Query) []connector.Hit {
	e.Helper()
	q.Exact = true
	hits, err := c.Search(e.ctx, q)
	if err != nil {
		e.Fatalf("Search %s %q: %v", q.Mode, q.Text, err)
	}
	for i := 1; i < len(hits); i++ {
		if hits[i].Score > hits[i-1].Score {
			e.Errorf("hit %d has a higher score than the one before: %v > %v", i, hits[i].Score, hits[i-1].Score)
		}
	}
	return hits
}

func (e *env) has(mode connector.SearchMode) bool { return slices.Contains(e.caps.Modes, mode) }

func (e *env) wantCount(c connector.Collection, want int) {
	e.Helper()
	n, err := c.Count(e.ctx)
	if err != nil {
		e.Fatalf("Count: %v", err)
	}
	if n != want {
		e.Errorf("Count is %d, want %d", n, want)
	}
}

// wantSame fetches want's ids and compares everything.
func (e *env) wantSame(c connector.Collection, want ...connector.Point) {
	e.Helper()
	ids := make([]string, len(want))
	for i, p := range want {
		ids[i] = p.ChunkID
	}
	got := e.fetch(c, true, ids...)
	if len(got) != len(want) {
		e.Fatalf("Fetch gave %d of %d points", len(got), len(want))
	}
	for i := range want {
		e.same(got[i], want[i])
	}
}

func (e *env) same(got, want connector.Point) {
	e.Helper()
	if g, w := spell(got.Record), spell(want.Record); g != w {
		e.Errorf("the record came back changed:\ngot  %.600s\nwant %.600s", g, w)
	}
	if want.Spans != nil && got.Spans == nil || want.ContextSpans != nil && got.ContextSpans == nil {
		e.Errorf("%s: an empty list of spans came back as none at all", want.ChunkID)
	}
	if (got.Vector == nil) != (want.Vector == nil) || len(got.Vector) != len(want.Vector) {
		e.Errorf("%s: vector of %d dimensions, want %d", want.ChunkID, len(got.Vector), len(want.Vector))
		return
	}
	for i := range want.Vector {
		if math.Abs(float64(got.Vector[i]-want.Vector[i])) > e.opts.Tolerance {
			e.Errorf("%s: component %d is %v, want %v", want.ChunkID, i, got.Vector[i], want.Vector[i])
			return
		}
	}
}

// spell is a record's JSON, in which equal records are equal: keys in order, nil lists empty.
func spell(r connector.Record) string {
	if r.Spans == nil {
		r.Spans = []connector.Span{}
	}
	if r.ContextSpans == nil {
		r.ContextSpans = []connector.Span{}
	}
	if r.Metadata == nil {
		r.Metadata = map[string]any{}
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return "not JSON: " + err.Error()
	}
	return string(raw)
}

// wantBatchError says whether err names exactly these items, each with the class.
func (e *env) wantBatchError(err error, class connector.Class, indexes ...int) {
	e.Helper()
	var batch *connector.BatchError
	if !errors.As(err, &batch) {
		e.Fatalf("got %v, want a BatchError for the items %v", err, indexes)
	}
	if got := batch.Indexes(); !slices.Equal(got, indexes) {
		e.Errorf("the BatchError names %v, want %v", got, indexes)
	}
	for _, i := range indexes {
		if got := connector.ClassOf(batch.Items[i]); got != class {
			e.Errorf("item %d failed as %q, want %q: %v", i, got, class, batch.Items[i])
		}
	}
}

func hitIDs(hits []connector.Hit) []string {
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = h.ChunkID
	}
	return out
}
