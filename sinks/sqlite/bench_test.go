//go:build unix

package sqlite

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kbsync/kbsync/connector"
)

// The benchmarks work on 200,000 points of 384 dimensions with about 600 bytes of text each, English and Chinese, and
// twenty metadata keys. KBSYNC_BENCH_POINTS changes the number.
const (
	benchPoints = 200_000
	benchDims   = 384
)

// benchWords follow a Zipf distribution, as words do.
func benchText(rng *rand.Rand, zipf *rand.Zipf) string {
	var b strings.Builder
	for range 60 {
		fmt.Fprintf(&b, "w%x ", zipf.Uint64())
	}
	for range 80 {
		b.WriteRune(rune(0x4E00 + int(3000*math.Pow(rng.Float64(), 3))))
	}
	return b.String()
}

func benchPoint(rng *rand.Rand, zipf *rand.Zipf, n int) connector.Point {
	v := make([]float32, benchDims)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	text := benchText(rng, zipf)
	doc := connector.DocID("bench", "docs", fmt.Sprint(n/20))
	hash := connector.ContentHash(text)
	path := fmt.Sprintf("handbook/part %d/chapter %d.md", n/2000, n/20)
	return connector.Point{Vector: v, Record: connector.Record{
		ChunkID: connector.ChunkIDByContent("bench", doc, hash, n).String(), DocID: doc.String(), Source: "docs", Path: path,
		Content: text, EmbedText: text, ContentHash: hash, Spans: []connector.Span{{Start: n, End: n + len(text)}}, CharCount: 500, TokenCount: 200,
		Metadata: map[string]any{
			"source": "docs", "path": path, "uri": "file:///srv/" + path, "title": "The handbook", "media_type": "text/markdown", "language": "en",
			"section": "Part > Chapter > Section", "headings": []string{"Part", "Chapter", "Section"}, "page": 0, "line_start": n, "line_end": n + 9,
			"chunk_index": n % 20, "total_chunks": 20, "is_first_chunk": n%20 == 0, "is_last_chunk": n%20 == 19, "strategy": "markdown",
			"prev_id": doc.String(), "next_id": doc.String(), "modified_at": "2026-01-02T03:04:05Z", "team": fmt.Sprintf("team%d", n%100),
		},
	}}
}

// fill stores n points in batches of 1,000, and gives the collection, and the time and the CPU time that Upsert took.
func fill(tb testing.TB, s *Sink, n int) (c connector.Collection, spent, cpu time.Duration) {
	tb.Helper()
	var err error
	c, err = s.Create(tb.Context(), connector.Schema{Generation: "g", Model: "bench", Dimensions: benchDims, Distance: "cosine"})
	if err != nil {
		tb.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // test data
	zipf := rand.NewZipf(rng, 1.1, 4, 50_000)
	for i := 0; i < n; i += 1000 {
		batch := make([]connector.Point, 0, 1000)
		for j := i; j < min(n, i+1000); j++ {
			batch = append(batch, benchPoint(rng, zipf, j))
		}
		start, used := time.Now(), cpuTime(tb)
		if err := c.Upsert(tb.Context(), batch); err != nil {
			tb.Fatal(err)
		}
		spent += time.Since(start)
		cpu += cpuTime(tb) - used
	}
	return c, spent, cpu
}

func BenchmarkInsert(b *testing.B) {
	for b.Loop() {
		s := openAt(b, filepath.Join(b.TempDir(), "bench.db"), "cosine")
		_, spent, cpu := fill(b, s, 20_000)
		b.ReportMetric(20_000/spent.Seconds(), "points/s")
		b.ReportMetric(20_000/cpu.Seconds(), "points/cpu-s")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearch200k(b *testing.B) {
	n := benchPoints
	if env := os.Getenv("KBSYNC_BENCH_POINTS"); env != "" {
		if _, err := fmt.Sscan(env, &n); err != nil {
			b.Fatal(err)
		}
	}
	path := filepath.Join(b.TempDir(), "bench.db")
	s := openAt(b, path, "cosine")
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	c, spent, cpu := fill(b, s, n)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d points: %.0f a second, %.0f a second of CPU time, file of %d MB", n, float64(n)/spent.Seconds(), float64(n)/cpu.Seconds(), info.Size()>>20)
	rng := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // test data
	zipf := rand.NewZipf(rng, 1.1, 4, 50_000)
	words := strings.Fields(benchText(rng, zipf))
	question := strings.Join(words[:8], " ") + words[len(words)-1][:18]
	vector := benchPoint(rng, zipf, 0).Vector
	for _, bench := range []struct {
		name   string
		mode   connector.SearchMode
		text   string
		filter connector.Filter
	}{
		{"dense", connector.ModeDense, "", nil},
		{"lexical", connector.ModeLexical, question, nil},
		{"lexical-rare", connector.ModeLexical, "w2a1b w3001 " + words[len(words)-1][:9], nil},
		{"hybrid", connector.ModeHybrid, question, nil},
		{"dense-by-path", connector.ModeDense, "", connector.Filter{{Field: "path", Values: []any{"handbook/part 7/chapter 700.md"}}}},
		{"dense-by-metadata", connector.ModeDense, "", connector.Filter{{Field: "team", Values: []any{"team7"}}}},
		{"dense-by-number", connector.ModeDense, "", connector.Filter{{Field: "chunk_index", Values: []any{7}}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			start := cpuTime(b)
			defer func() { b.ReportMetric(float64((cpuTime(b)-start).Milliseconds())/float64(b.N), "cpu-ms/op") }()
			for b.Loop() {
				hits, err := c.Search(b.Context(), connector.Query{Mode: bench.mode, Vector: vector, Text: bench.text, K: 10, Filter: bench.filter})
				if err != nil || len(hits) != 10 {
					b.Fatalf("%d hits, %v", len(hits), err)
				}
			}
		})
	}
}

// cpuTime is what this process has used so far, on all cores: on a shared machine it says more than the clock.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
