package qdrant

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

func testID(n int) string { return connector.NewUUID5(connector.UUID{}, fmt.Sprint(n)).String() }

func testPoint(n int) connector.Point {
	text := fmt.Sprintf("point n%d 第%d点", n, n)
	v := make([]float32, 8)
	for i := range v {
		v[i] = float32((n*7+i*13)%31) - 14.5
	}
	return connector.Point{Vector: v, Record: connector.Record{
		ChunkID: testID(n), DocID: testID(1000), Source: "s", Path: "p.md", Content: text, EmbedText: text,
		ContentHash: connector.ContentHash(text), Metadata: map[string]any{"n": n},
	}}
}

func testPoints(n int) (out []connector.Point) {
	for i := range n {
		out = append(out, testPoint(i))
	}
	return out
}

const benchDims = 384

// benchPoints are n points as the engine makes them: 60 words and 80 Chinese characters, eighteen keys of metadata.
func benchPoints(n int) []connector.Point {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // test data
	zipf := rand.NewZipf(rng, 1.1, 4, 50_000)
	out := make([]connector.Point, n)
	for i := range out {
		var text strings.Builder
		for range 60 {
			fmt.Fprintf(&text, "w%x ", zipf.Uint64())
		}
		for range 80 {
			text.WriteRune(rune(0x4E00 + rng.IntN(3000)))
		}
		v := make([]float32, benchDims)
		for j := range v {
			v[j] = float32(rng.NormFloat64())
		}
		doc, path := testID(1_000_000+i/20), fmt.Sprintf("handbook/part %d/chapter %d.md", i/2000, i/20)
		out[i] = connector.Point{Vector: v, Record: connector.Record{
			ChunkID: testID(i), DocID: doc, Source: "docs", Path: path, Content: text.String(), EmbedText: text.String(),
			ContentHash: connector.ContentHash(text.String()), Spans: []connector.Span{{Start: i, End: i + 900}}, CharCount: 500, TokenCount: 200,
			Metadata: map[string]any{
				"source": "docs", "path": path, "uri": "file:///srv/" + path, "title": "The handbook", "media_type": "text/markdown", "language": "en",
				"section": "Part > Chapter", "headings": []string{"Part", "Chapter"}, "page": 0, "line_start": i, "line_end": i + 9, "chunk_index": i % 20,
				"total_chunks": 20, "is_first_chunk": i%20 == 0, "strategy": "markdown", "prev_id": doc, "next_id": doc, "modified_at": "2026-01-02T03:04:05Z",
			},
		}}
	}
	return out
}
