package pgvector

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	vector "github.com/pgvector/pgvector-go"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

const benchDims = 384

// benchPoints are chunks as the engine makes them: about 600 bytes of English and Chinese, twenty metadata keys.
func benchPoints(n int) []connector.Point {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // test data
	zipf := rand.NewZipf(rng, 1.1, 4, 50_000)
	out := make([]connector.Point, n)
	for i := range out {
		out[i] = benchPoint(rng, zipf, i)
	}
	return out
}

func benchPoint(rng *rand.Rand, zipf *rand.Zipf, n int) connector.Point {
	v := make([]float32, benchDims)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	var b strings.Builder
	for range 60 {
		fmt.Fprintf(&b, "w%x ", zipf.Uint64())
	}
	for range 80 {
		b.WriteRune(rune(0x4E00 + int(3000*math.Pow(rng.Float64(), 3))))
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

func upsertAll(b testing.TB, c connector.Collection, points []connector.Point, size int) time.Duration {
	b.Helper()
	began := time.Now()
	for i := 0; i < len(points); i += size {
		if err := c.Upsert(b.Context(), points[i:min(len(points), i+size)]); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}

// BenchmarkUpsert compares a first load through the sink with a bare loop that copies and inserts rows of id, document, text,
// metadata and vector, and nothing else. Both make an HNSW index after it.
func BenchmarkUpsert(b *testing.B) {
	n := 50_000
	if testing.Short() {
		n = 5_000
	}
	points := benchPoints(n)
	p := start(b)
	var sink, bare [2]time.Duration // the load, and with the index
	for b.Loop() {
		best := 1000
		if !testing.Short() {
			best = bestBatch(b, p, points[:10_000])
		}
		bare[0], bare[1] = bareLoad(b, p, points, best, true)
		s := p.sink(b)
		c, err := s.Create(b.Context(), connector.Schema{Generation: "g1", Model: "bench", Dimensions: benchDims, Distance: "cosine", Layout: s.Capabilities().Layout})
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		sink[0] = upsertAll(b, c, points, s.Capabilities().MaxBatchItems)
		if err := c.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
		sink[1] = time.Since(began)
		again := upsertAll(b, c, points, s.Capabilities().MaxBatchItems)
		b.ReportMetric(float64(n)/again.Seconds(), "again/s")
		b.Logf("bare: batches of %d, %v, with the index %v; sink: %v, with the indexes %v", best, bare[0], bare[1], sink[0], sink[1])
	}
	b.ReportMetric(float64(n)/sink[0].Seconds(), "points/s")
	b.ReportMetric(float64(n)/sink[1].Seconds(), "indexed/s")
	b.ReportMetric(bare[0].Seconds()/sink[0].Seconds(), "ratio-load")
	b.ReportMetric(bare[1].Seconds()/sink[1].Seconds(), "ratio")
}

func bestBatch(b *testing.B, p *place, points []connector.Point) (best int) {
	b.Helper()
	least := time.Duration(math.MaxInt64)
	for _, size := range []int{500, 1000, 2000, 5000} {
		if spent, _ := bareLoad(b, p, points, size, false); spent < least {
			best, least = size, spent
		}
	}
	return best
}

func bareLoad(b *testing.B, p *place, points []connector.Point, size int, indexed bool) (load, all time.Duration) {
	b.Helper()
	ctx := b.Context()
	p.sql(b, "CREATE EXTENSION IF NOT EXISTS vector", "DROP TABLE IF EXISTS bare",
		"CREATE TABLE bare (id uuid PRIMARY KEY, doc_id text, source text, path text, content text, metadata jsonb, embedding vector(384))")
	conn, err := pgx.Connect(ctx, p.url())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // a test's connection
	if err := register(ctx, conn); err != nil {
		b.Fatal(err)
	}
	columns := []string{"id", "doc_id", "source", "path", "content", "metadata", "embedding"}
	began := time.Now()
	for i := 0; i < len(points); i += size {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "CREATE TEMP TABLE incoming (LIKE bare) ON COMMIT DROP"); err != nil {
				return err
			}
			batch := points[i:min(len(points), i+size)]
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"incoming"}, columns, pgx.CopyFromSlice(len(batch), func(i int) ([]any, error) {
				q := &batch[i]
				id, err := connector.ParseUUID(q.ChunkID)
				if err != nil {
					return nil, err
				}
				meta, err := payload.AppendJSON(nil, q.Metadata)
				return []any{pgtype.UUID{Bytes: id, Valid: true}, q.DocID, q.Source, q.Path, q.Content, string(meta), vector.NewVector(q.Vector)}, err
			}))
			if err == nil {
				_, err = tx.Exec(ctx, "INSERT INTO bare SELECT * FROM incoming ON CONFLICT (id) DO UPDATE SET content = excluded.content, metadata = excluded.metadata, embedding = excluded.embedding")
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	load = time.Since(began)
	if indexed {
		if _, err := conn.Exec(ctx, "SET maintenance_work_mem = '256MB'"); err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Exec(ctx, "CREATE INDEX ON bare USING hnsw (embedding vector_cosine_ops)"); err != nil {
			b.Fatal(err)
		}
	}
	return load, time.Since(began)
}
