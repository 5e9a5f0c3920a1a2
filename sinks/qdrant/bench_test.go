package qdrant

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	pb "github.com/qdrant/go-client/qdrant"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sparse"
)

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

// BenchmarkUpsert stores 50,000 points (KBSYNC_BENCH_POINTS changes that) in batches of 500 through the sink, and the same
// points with the client alone, batch by batch in turns. "ratio" is the sink's rate over that of the bare loop. It runs against the fake, or
// against the server at QDRANT_ADDR.
func BenchmarkUpsert(b *testing.B) {
	n := 50_000
	if env := os.Getenv("KBSYNC_BENCH_POINTS"); env != "" {
		if _, err := fmt.Sscan(env, &n); err != nil {
			b.Fatal(err)
		}
	}
	addr := os.Getenv("QDRANT_ADDR")
	if addr == "" {
		addr = fake(b).Addr()
	}
	for _, kind := range []string{"bm25", "none"} {
		b.Run("sparse="+kind, func(b *testing.B) {
			s := openAt(b, addr, "kbsync-bench-"+kind, func(c *Config) {
				c.Sparse, c.APIKey = kind, connector.Secret(os.Getenv("QDRANT_API_KEY"))
			})
			defer func() { _ = s.Close() }()
			var viaSink, bare time.Duration
			for b.Loop() {
				schema := connector.Schema{Generation: "g1", Model: "bench", Dimensions: benchDims, Distance: "cosine", Layout: s.layout.String()}
				c, err := s.Create(b.Context(), schema)
				if err != nil {
					b.Fatal(err)
				}
				twin := bareCollection(b, s)
				all := benchPoints(5000)
				for done := 0; done < n; done += len(all) {
					for batch := range slices.Chunk(all, 500) {
						viaSink += timed(b, func() error { return c.Upsert(b.Context(), batch) })
						bare += timed(b, func() error { return bareUpsert(b, s, twin, batch) })
					}
				}
				for _, name := range []string{twin, s.config.Physical("g1")} {
					if err := s.client.DeleteCollection(b.Context(), name); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/viaSink.Seconds(), "points/s")
			b.ReportMetric(float64(n)*float64(b.N)/bare.Seconds(), "bare-points/s")
			b.ReportMetric(bare.Seconds()/viaSink.Seconds(), "ratio")
		})
	}
}

func timed(b *testing.B, upsert func() error) time.Duration {
	b.Helper()
	start := time.Now()
	if err := upsert(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func bareCollection(b *testing.B, s *Sink) string {
	b.Helper()
	req := &pb.CreateCollection{CollectionName: s.config.Collection + "-bare", VectorsConfig: s.layout.vectors(benchDims, "cosine")}
	if s.layout.sparse {
		req.SparseVectorsConfig = pb.NewSparseVectorsConfig(map[string]*pb.SparseVectorParams{"sparse": {Modifier: pb.Modifier_Idf.Enum()}})
	}
	if err := s.client.CreateCollection(b.Context(), req); err != nil {
		b.Fatal(err)
	}
	return req.GetCollectionName()
}

// bareUpsert stores the text, the record's fields, the metadata and the same vectors in the way of the client's documentation.
func bareUpsert(b *testing.B, s *Sink, name string, points []connector.Point) error {
	b.Helper()
	structs := make([]*pb.PointStruct, len(points))
	for i := range points {
		p := &points[i]
		meta := make(map[string]any, len(p.Metadata))
		for k, v := range p.Metadata {
			if list, ok := v.([]string); ok {
				v = []any{list[0], list[1]}
			}
			meta[k] = v
		}
		fields, err := pb.TryValueMap(map[string]any{
			"content": p.Content, "doc_id": p.DocID, "source": p.Source, "path": p.Path, "content_hash": p.ContentHash, "char_count": p.CharCount,
			"token_count": p.TokenCount, "spans": []any{[]any{p.Spans[0].Start, p.Spans[0].End}}, "metadata": meta,
		})
		if err != nil {
			return err
		}
		vectors := map[string]*pb.Vector{"dense": pb.NewVectorDense(p.Vector)}
		if s.layout.sparse {
			v := sparse.Document(p.EmbedText)
			vectors["sparse"] = pb.NewVectorSparse(v.Indices, v.Values)
		}
		structs[i] = &pb.PointStruct{Id: pb.NewIDUUID(p.ChunkID), Payload: fields, Vectors: pb.NewVectorsMap(vectors)}
	}
	_, err := s.client.Upsert(b.Context(), &pb.UpsertPoints{CollectionName: name, Wait: pb.PtrOf(true), Points: structs})
	return err
}
