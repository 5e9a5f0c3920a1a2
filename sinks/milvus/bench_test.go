package milvus

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/servers"
)

// BenchmarkUpsert compares the sink with a bare loop over the same client that sends the same rows, made beforehand, in batches
// of the best size found. A tenth of the points suffices with -short. They alternate in slices, so that both meet the same server.
func BenchmarkUpsert(b *testing.B) {
	const width = 384
	n := 50_000
	if testing.Short() {
		n = 5_000
	}
	srv := servers.Start(b, "milvus-lite")
	var sinks [2]*Collection
	for i := range sinks {
		s := openWith(b, config(srv.Addr, fmt.Sprint("bench", i)))
		defer func() { _ = s.Close() }()
		sc := schema("g1", s)
		sc.Dimensions = width
		c, err := s.Create(b.Context(), sc)
		if err != nil {
			b.Fatal(err)
		}
		sinks[i] = c.(*Collection)
	}
	points := make([]connector.Point, n)
	for i := range points {
		points[i] = point(i, fmt.Sprintf("Passage %d of the handbook, as long as a passage is. 手册的第%d段，说明如何使用。 ", i, i))
		v := make([]float32, 0, width)
		for len(v) < width {
			v = append(v, vector(i+len(v))...)
		}
		points[i].Vector = v
	}
	for b.Loop() {
		var took [2]time.Duration
		for batch := range slices.Chunk(points, batchItems) {
			rows := make([]*row, len(batch))
			for i := range batch {
				r, err := sinks[1].encode(&batch[i])
				if err != nil {
					b.Fatal(err)
				}
				rows[i] = r
			}
			columns := sinks[1].columns(rows)
			start := time.Now()
			if err := sinks[0].Upsert(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
			took[0] += time.Since(start)
			start = time.Now()
			if _, err := sinks[1].server.Upsert(b.Context(), sinks[1].name, "", columns...); err != nil {
				b.Fatal(err)
			}
			took[1] += time.Since(start)
		}
		b.ReportMetric(float64(n)/took[0].Seconds(), "points/s")
		b.ReportMetric(float64(n)/took[1].Seconds(), "bare-points/s")
		b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "ratio")
	}
}
