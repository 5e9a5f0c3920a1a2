package pgvector

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	vector "github.com/pgvector/pgvector-go"
	"golang.org/x/sync/errgroup"

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

func upsertAll(tb testing.TB, c connector.Collection, points []connector.Point, size int) {
	tb.Helper()
	for i := 0; i < len(points); i += size {
		if err := c.Upsert(tb.Context(), points[i:min(len(points), i+size)]); err != nil {
			tb.Fatal(err)
		}
	}
}

// asTheEngine writes in batches of the sink's size, as many at a time as it says.
func asTheEngine(b *testing.B, s *Sink, c connector.Collection, points []connector.Point) {
	b.Helper()
	caps := s.Capabilities()
	g, ctx := errgroup.WithContext(b.Context())
	g.SetLimit(caps.Concurrency)
	for batch := range slices.Chunk(points, caps.MaxBatchItems) {
		g.Go(func() error { return c.Upsert(ctx, batch) })
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkUpsert (50,000 points, or KBSYNC_BENCH_POINTS) compares a first load through the sink with bare loops over the same client, COPY and INSERT … ON CONFLICT in the
// best batch size found, followed by the same statements that make the indexes. One writes the same rows into the same table, its
// values made beforehand; the other one knows a table of id, text, metadata and vector with an HNSW index, and no words.
func BenchmarkUpsert(b *testing.B) {
	n := 50_000
	if testing.Short() {
		n = 5_000
	}
	if env := os.Getenv("KBSYNC_BENCH_POINTS"); env != "" {
		if _, err := fmt.Sscan(env, &n); err != nil {
			b.Fatal(err)
		}
	}
	points := benchPoints(n)
	p := start(b)
	for b.Loop() {
		s := p.sink(b)
		c := create(b, s, "g1", benchDims)
		began := time.Now()
		asTheEngine(b, s, c, points)
		load := time.Since(began)
		flush(b, c)
		all := time.Since(began)
		began = time.Now()
		asTheEngine(b, s, c, points)
		again := time.Since(began)
		if err := s.Drop(b.Context(), "g1"); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(n)/load.Seconds(), "loaded/s")
		b.ReportMetric(float64(n)/all.Seconds(), "indexed/s")
		b.ReportMetric(float64(n)/again.Seconds(), "unchanged/s")
		for _, table := range []bareTable{sameTable(b, p), plainTable()} {
			bareLoad, bareAll := table.run(b, p, points)
			b.Logf("%s: %v, with indexes %v; sink: %v, with indexes %v", table.name, bareLoad, bareAll, load, all)
			b.ReportMetric(bareLoad.Seconds()/load.Seconds(), "ratio-load-"+table.name)
			b.ReportMetric(bareAll.Seconds()/all.Seconds(), "ratio-"+table.name)
		}
	}
}

// bareTable is what a bare loop writes.
type bareTable struct {
	name    string
	setup   []string
	columns []string
	row     func(*connector.Point) ([]any, error)
	insert  string
	indexes []string
}

func plainTable() bareTable {
	return bareTable{
		name: "plain", columns: []string{"id", "doc_id", "source", "path", "content", "metadata", "embedding"},
		setup: []string{"DROP TABLE IF EXISTS bare", "CREATE TABLE bare (id uuid PRIMARY KEY, doc_id text, source text, path text, content text, metadata jsonb, embedding vector(384))"},
		row: func(q *connector.Point) ([]any, error) {
			id, err := connector.ParseUUID(q.ChunkID)
			if err != nil {
				return nil, err
			}
			meta, err := payload.AppendJSON(nil, q.Metadata)
			return []any{pgtype.UUID{Bytes: id, Valid: true}, q.DocID, q.Source, q.Path, q.Content, string(meta), vector.NewVector(q.Vector)}, err
		},
		insert:  "INSERT INTO bare SELECT * FROM incoming ON CONFLICT (id) DO UPDATE SET content = excluded.content, metadata = excluded.metadata, embedding = excluded.embedding",
		indexes: []string{"SET maintenance_work_mem = '512MB'", "CREATE INDEX ON bare USING hnsw (embedding vector_cosine_ops)"},
	}
}

func sameTable(b *testing.B, p *place) bareTable {
	c := create(b, p.sink(b), "g1", benchDims)
	l := c.layout
	t := bareTable{
		name: "same", columns: namesOf(l.columns), setup: []string{"DROP TABLE IF EXISTS bare", l.ddl("public", "bare", benchDims)},
		row: func(q *connector.Point) ([]any, error) {
			row, err := l.payloadValues(&q.Record)
			if err != nil {
				return nil, err
			}
			rest, err := l.vectorValues(q)
			return append(row, rest...), err
		},
		insert:  "INSERT INTO bare AS t SELECT * FROM incoming ON CONFLICT (id) DO UPDATE SET " + assignments(l.columns, "excluded"),
		indexes: []string{"SET maintenance_work_mem = '512MB'"},
	}
	for _, x := range c.indexes(0) {
		t.indexes = append(t.indexes, fmt.Sprintf("CREATE INDEX ON bare USING %s (%s)%s", x.method, x.on, x.with))
	}
	return t
}

func (t bareTable) run(b *testing.B, p *place, points []connector.Point) (load, all time.Duration) {
	b.Helper()
	rows := make([][]any, len(points))
	for i := range points {
		var err error
		if rows[i], err = t.row(&points[i]); err != nil {
			b.Fatal(err)
		}
	}
	conn, err := pgx.Connect(b.Context(), p.url())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(b.Context())) //nolint:errcheck // a test's connection
	if err := register(b.Context(), conn); err != nil {
		b.Fatal(err)
	}
	best, least := 1000, time.Duration(math.MaxInt64)
	for _, size := range []int{500, 1000, 2000, 5000} {
		if spent := t.load(b, conn, rows[:min(len(rows), 10_000)], size); spent < least {
			best, least = size, spent
		}
	}
	load = t.load(b, conn, rows, best)
	began := time.Now()
	for _, sql := range t.indexes {
		if _, err := conn.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	return load, load + time.Since(began)
}

func (t bareTable) load(b *testing.B, conn *pgx.Conn, rows [][]any, size int) time.Duration {
	b.Helper()
	ctx := b.Context()
	for _, sql := range t.setup {
		if _, err := conn.Exec(ctx, sql); err != nil {
			b.Fatal(err)
		}
	}
	began := time.Now()
	for batch := range slices.Chunk(rows, size) {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "CREATE TEMP TABLE incoming (LIKE bare) ON COMMIT DROP"); err != nil {
				return err
			}
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"incoming"}, t.columns, pgx.CopyFromRows(batch))
			if err == nil {
				_, err = tx.Exec(ctx, t.insert)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}
