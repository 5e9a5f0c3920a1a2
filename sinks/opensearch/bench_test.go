package opensearch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/servers"
)

const benchDims = 384

// benchPoint is a chunk as the engine makes them: about 500 bytes of text, some metadata.
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
			"source": "docs", "path": path, "title": "The handbook", "language": "en", "section": "Part > Chapter > Section", "headings": []string{"Part", "Chapter"},
			"page": 0, "line_start": n, "line_end": n + 9, "chunk_index": n % 20, "total_chunks": 20, "team": fmt.Sprintf("team%d", n%100),
		},
	}}
}

// BenchmarkUpsert compares a first load through the sink with a bare loop that sends the same documents in bulk requests and
// looks at nothing. They take turns, batch by batch, so that both meet the same machine.
func BenchmarkUpsert(b *testing.B) {
	n := 50_000
	if testing.Short() {
		n = 5_000
	}
	server := servers.Start(b, "opensearch")
	s, bare := openAt(b, server.Addr, "bench"), openAt(b, server.Addr, "bare")
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
					if err := c.Upsert(b.Context(), points); err != nil {
						b.Fatal(err)
					}
				} else {
					bareUpsert(b, other.(*Collection), points)
				}
				took[turn] += time.Since(began)
			}
		}
		b.ReportMetric(float64(n)/took[0].Seconds(), "points/s")
		b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "ratio")
	}
}

func bareUpsert(b *testing.B, c *Collection, points []connector.Point) {
	b.Helper()
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	for i := range points {
		doc, err := c.document(&points[i])
		if err == nil {
			err = enc.Encode(map[string]any{"index": map[string]any{"_id": points[i].ChunkID}})
		}
		if err == nil {
			err = enc.Encode(doc)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := c.call(b.Context(), http.MethodPost, "/_bulk", lines.Bytes(), nil); err != nil {
		b.Fatal(err)
	}
}
