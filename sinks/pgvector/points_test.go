package pgvector

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// pointID is the n-th id of these tests.
func pointID(n int) string {
	return connector.NewUUID5(connector.PipelineNamespace("pgvector"), fmt.Sprint(n)).String()
}

func testPoint(n, dimensions int) connector.Point {
	text := fmt.Sprintf("Passage number n%d. 手册的第%d段。", n, n)
	rng := rand.New(rand.NewPCG(uint64(n), 7)) //nolint:gosec // test data
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return connector.Point{Vector: v, Record: connector.Record{
		ChunkID: pointID(n), DocID: pointID(1_000_000 + n/10), Source: "docs", Path: fmt.Sprintf("文件 %d.md", n/10),
		Content: text, EmbedText: text, ContentHash: connector.ContentHash(text), Spans: []connector.Span{{Start: n, End: n + 9}}, CharCount: 9, TokenCount: 3,
		Metadata: map[string]any{"chunk_index": n % 10, "line_start": n, "team": fmt.Sprintf("team%d", n%100), "page": n % 7, "language": "en"},
	}}
}

func testPoints(from, to, dimensions int) []connector.Point {
	out := make([]connector.Point, 0, to-from)
	for n := from; n < to; n++ {
		out = append(out, testPoint(n, dimensions))
	}
	return out
}

func schemaOf(s *Sink, generation string, dimensions int) connector.Schema {
	return connector.Schema{Generation: generation, Model: "test", Dimensions: dimensions, Distance: s.config.Distance, Layout: s.Capabilities().Layout}
}

func create(t testing.TB, s *Sink, generation string, dimensions int) *Collection {
	t.Helper()
	c, err := s.Create(t.Context(), schemaOf(s, generation, dimensions))
	if err != nil {
		t.Fatal(err)
	}
	return c.(*Collection) //nolint:forcetypeassert // it is ours
}

func upsert(t testing.TB, c connector.Collection, points ...connector.Point) {
	t.Helper()
	upsertAll(t, c, points, batchItems)
}

func flush(t testing.TB, c connector.Collection) {
	t.Helper()
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func count(t testing.TB, c connector.Collection) int {
	t.Helper()
	n, err := c.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func hits(t testing.TB, c connector.Collection, q connector.Query) []string {
	t.Helper()
	found, err := c.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(found))
	for i, h := range found {
		ids[i] = h.ChunkID
	}
	return ids
}

func wantClass(t testing.TB, what string, err error, want connector.Class) {
	t.Helper()
	if got := connector.ClassOf(err); err == nil || got != want {
		t.Errorf("%s: %v (class %v), want class %v", what, err, got, want)
	}
}

// recall is the share of exact hits that the index finds too.
func recall(t testing.TB, c connector.Collection, dimensions int, filter connector.Filter) float64 {
	t.Helper()
	found, all := 0, 0
	for n := range 40 {
		q := connector.Query{Mode: connector.ModeDense, Vector: testPoint(1_000_000+n, dimensions).Vector, K: 5, Filter: filter}
		near := map[string]bool{}
		for _, id := range hits(t, c, q) {
			near[id] = true
		}
		q.Exact = true
		for _, id := range hits(t, c, q) {
			all++
			if near[id] {
				found++
			}
		}
	}
	return float64(found) / float64(all)
}
