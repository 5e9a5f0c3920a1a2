package chroma

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/servers"
)

const benchDims = 384

// benchPoint is a chunk as the engine makes them: about 500 bytes of text, twenty metadata keys.
func benchPoint(n int) connector.Point {
	rng := rand.New(rand.NewPCG(uint64(n), 2)) //nolint:gosec // test data
	v := make([]float32, benchDims)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	var b strings.Builder
	for range 60 {
		fmt.Fprintf(&b, "word%d ", rng.IntN(5000))
	}
	text := b.String()
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

// BenchmarkUpsert compares a first load through the sink with a bare loop over the same API that sends the same items and
// nothing else. They take turns, batch by batch, so that both meet the same machine.
func BenchmarkUpsert(b *testing.B) {
	n := 50_000
	if testing.Short() {
		n = 5_000
	}
	server := servers.Start(b, "chroma")
	s := openAt(b, server.Addr, "bench")
	bare := openAt(b, server.Addr, "bare")
	want := connector.Schema{Generation: "g1", Model: "m", Dimensions: benchDims, Distance: "cosine", Layout: s.Capabilities().Layout}
	for b.Loop() {
		c, err := s.Create(b.Context(), want)
		if err != nil {
			b.Fatal(err)
		}
		other, err := bare.Create(b.Context(), want)
		if err != nil {
			b.Fatal(err)
		}
		size := s.Capabilities().MaxBatchItems
		var took [2]time.Duration
		for i := 0; i < n; i += size {
			var points []connector.Point
			for j := i; j < min(n, i+size); j++ {
				points = append(points, benchPoint(j))
			}
			for _, turn := range []int{i / size % 2, 1 - i/size%2} {
				began := time.Now()
				if turn == 0 {
					upsert(b, c, points...)
				} else {
					bareUpsert(b, other.(*Collection), points)
				}
				took[turn] += time.Since(began)
			}
		}
		b.ReportMetric(float64(n)/took[0].Seconds(), "points/s")
		b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "ratio")
		recall(b, c, n)
	}
}

func bareUpsert(b *testing.B, c *Collection, points []connector.Point) {
	b.Helper()
	var ids, texts, vectors []string
	var metadata []map[string]any
	for i := range points {
		it, err := c.encode(&points[i])
		if err != nil {
			b.Fatal(err)
		}
		ids, texts, vectors, metadata = append(ids, it.id), append(texts, points[i].Content), append(vectors, it.embedding), append(metadata, it.metadata)
	}
	body := map[string]any{"ids": ids, "documents": texts, "metadatas": metadata, "embeddings": vectors}
	if err := c.call(b.Context(), "POST", "/upsert", body, nil); err != nil {
		b.Fatal(err)
	}
}

// recall compares 50 queries near stored vectors, answered from the index, with the wider search.
func recall(b *testing.B, c connector.Collection, n int) {
	b.Helper()
	found, all := 0, 0
	for i := range 50 {
		q := benchPoint(i * (n / 50)).Vector
		for j, x := range benchPoint(n + i).Vector {
			q[j] += x / 2
		}
		var ids [2]map[string]bool
		for k, exact := range []bool{false, true} {
			hits, err := c.Search(b.Context(), connector.Query{Mode: connector.ModeDense, Vector: q, K: 5, Exact: exact})
			if err != nil {
				b.Fatal(err)
			}
			ids[k] = map[string]bool{}
			for _, h := range hits {
				ids[k][h.ChunkID] = true
			}
		}
		for id := range ids[1] {
			all++
			if ids[0][id] {
				found++
			}
		}
	}
	b.ReportMetric(float64(found)/float64(all), "recall@5")
}
