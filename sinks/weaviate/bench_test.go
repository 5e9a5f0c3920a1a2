package weaviate

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/weaviate/weaviate-go-client/v4/weaviate"
	wgrpc "github.com/weaviate/weaviate-go-client/v4/weaviate/grpc"
	"github.com/weaviate/weaviate/entities/models"
	"golang.org/x/sync/errgroup"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/servers"
)

// benchPoints is how many points are stored; KBSYNC_BENCH_POINTS changes the number.
func benchPoints(b *testing.B) int {
	b.Helper()
	n := 50_000
	if testing.Short() {
		n = 5_000
	}
	if env := os.Getenv("KBSYNC_BENCH_POINTS"); env != "" {
		if _, err := fmt.Sscan(env, &n); err != nil {
			b.Fatal(err)
		}
	}
	return n
}

// benchBatch is a batch as the engine makes them, of 384 dimensions and some 600 bytes of text.
func benchBatch(from, to int) []connector.Point {
	out := make([]connector.Point, 0, to-from)
	for n := from; n < to; n++ {
		rng := rand.New(rand.NewPCG(uint64(n), 11)) //nolint:gosec // test data
		p := point(n)
		p.Vector = make([]float32, 384)
		for i := range p.Vector {
			p.Vector[i] = float32(rng.NormFloat64())
		}
		var text strings.Builder
		for range 80 {
			fmt.Fprintf(&text, "word%d ", rng.IntN(20_000))
		}
		p.Content = text.String()
		p.EmbedText = p.Content
		p.Metadata = map[string]any{
			"section": "Part > Chapter", "page": int64(n % 90), "chunk_index": int64(n % 20), "language": "en", "title": "The handbook", "pipeline": "bench",
			"uri": "file:///srv/" + p.Path, "strategy": "markdown", "line_start": int64(n), "line_end": int64(n + 9), "media_type": "text/markdown", "total_chunks": int64(20),
		}
		out = append(out, p)
	}
	return out
}

// BenchmarkUpsert compares the sink, called as the engine calls it (two batches at a time), with a bare loop over the official
// client's batcher, which sends the same objects. Both go in turn, a slice of the points each, so that what else the machine does
// falls on both.
func BenchmarkUpsert(b *testing.B) {
	server := servers.Start(b, "weaviate")
	n := benchPoints(b)
	for b.Loop() {
		s := openWith(b, configAt(server, fmt.Sprint("bench", b.N)))
		schema := schemaOf(s, "g1")
		schema.Dimensions = 384
		made, err := s.Create(b.Context(), schema)
		if err != nil {
			b.Fatal(err)
		}
		coll := made.(*Collection) //nolint:forcetypeassert // this package's own
		bare, err := client.NewClient(client.Config{Host: server.Addr, Scheme: "http", GrpcConfig: &wgrpc.Config{Host: server.Addr2}})
		if err != nil {
			b.Fatal(err)
		}
		makeClass(b, s, map[string]any{"class": "Bare" + s.config.Collection, "vectorizer": "none", "properties": s.properties(), "invertedIndexConfig": map[string]any{"stopwords": map[string]any{"preset": "none"}}})
		var sink, loop time.Duration
		const slice = 2 * batchItems
		for from := 0; from < n; from += slice {
			points := benchBatch(from, min(n, from+slice))
			objects := bareObjects(b, coll, points)
			first, second := &sink, &loop
			run := []func(){func() { sinkLoop(b, coll, points) }, func() { bareLoop(b, bare, objects) }}
			if from/slice%2 == 1 {
				first, second, run[0], run[1] = second, first, run[1], run[0]
			}
			start := time.Now()
			run[0]()
			*first += time.Since(start)
			start = time.Now()
			run[1]()
			*second += time.Since(start)
		}
		b.ReportMetric(float64(n)/sink.Seconds(), "points/s")
		b.ReportMetric(float64(n)/loop.Seconds(), "bare-points/s")
		b.ReportMetric(loop.Seconds()/sink.Seconds(), "ratio")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func sinkLoop(b *testing.B, c *Collection, points []connector.Point) {
	b.Helper()
	var group errgroup.Group
	group.SetLimit(c.sink.Capabilities().Concurrency)
	for batch := range slices.Chunk(points, batchItems) {
		group.Go(func() error { return c.Upsert(b.Context(), batch) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

func bareLoop(b *testing.B, bare *client.Client, objects []*models.Object) {
	b.Helper()
	for batch := range slices.Chunk(objects, batchItems) {
		reply, err := bare.Batch().ObjectsBatcher().WithObjects(batch...).Do(b.Context())
		if err != nil || len(reply) != len(batch) || reply[0].Result.Errors != nil {
			b.Fatal(err)
		}
	}
}

// bareObjects are the same objects in the official client's form.
func bareObjects(b *testing.B, c *Collection, points []connector.Point) []*models.Object {
	b.Helper()
	out := make([]*models.Object, 0, len(points))
	for i := range points {
		o, err := c.encode(&points[i])
		if err != nil {
			b.Fatal(err)
		}
		properties := o.GetProperties().GetNonRefProperties().AsMap()
		for _, list := range o.GetProperties().GetTextArrayProperties() {
			properties[list.GetPropName()] = list.GetValues()
		}
		out = append(out, &models.Object{Class: "Bare" + c.sink.config.Collection, ID: as(models.Object{}.ID, points[i].ChunkID), Properties: properties, Vector: points[i].Vector})
	}
	return out
}

// as converts to the type of a value, whose package is no direct dependency.
func as[T ~string](_ T, s string) T { return T(s) }
