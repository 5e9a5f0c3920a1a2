//go:build unix

package qdrant

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	pb "github.com/qdrant/go-client/qdrant"
	"golang.org/x/sys/unix"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sparse"
)

// BenchmarkUpsert stores 50,000 points (KBSYNC_BENCH_POINTS changes that) through the sink in batches as the engine makes them, and the
// same points with the client alone, 500 a request, in turns. "ratio" is the sink's rate over that of the bare loop. It runs against the fake, or
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
			var viaSink, bare, sinkCPU, bareCPU time.Duration
			for b.Loop() {
				schema := connector.Schema{Generation: "g1", Model: "bench", Dimensions: benchDims, Distance: "cosine", Layout: s.layout.String()}
				c, err := s.Create(b.Context(), schema)
				if err != nil {
					b.Fatal(err)
				}
				twin := bareCollection(b, s)
				all := benchPoints(5000)
				for done := 0; done < n; done += len(all) {
					for batch := range slices.Chunk(all, s.Capabilities().MaxBatchItems) {
						clock, cpu := timed(b, func() error { return c.Upsert(b.Context(), batch) })
						viaSink, sinkCPU = viaSink+clock, sinkCPU+cpu
						for half := range slices.Chunk(batch, 500) {
							clock, cpu = timed(b, func() error { return bareUpsert(b, s, twin, half) })
							bare, bareCPU = bare+clock, bareCPU+cpu
						}
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
			b.ReportMetric(bareCPU.Seconds()/sinkCPU.Seconds(), "cpu-ratio")
		})
	}
}

// timed also gives the CPU time of this process, the fake server's included, which says more where others work too.
func timed(b *testing.B, upsert func() error) (clock, cpu time.Duration) {
	b.Helper()
	start, used := time.Now(), cpuTime(b)
	if err := upsert(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start), cpuTime(b) - used
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
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
