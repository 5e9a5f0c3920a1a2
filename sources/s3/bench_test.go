package s3

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/kbsync/kbsync/internal/servers"
)

// BenchmarkList100k lists 100,000 objects: the calls, the allocations, and how far the heap grows on the way.
func BenchmarkList100k(b *testing.B) {
	b.Setenv("AWS_CONFIG_FILE", os.DevNull)
	b.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	server := servers.Start(b, "versitygw")
	w := &world{addr: server.Addr}
	f := w.fixture(b)
	const n = 100_000
	f.Plant(b, server, n, func(i int) (string, []byte) { return fmt.Sprintf("d%03d/%06d.md", i/500, i), []byte("text") })
	s := f.open(b)
	b.ReportAllocs()
	for b.Loop() {
		f.proxy.Reset()
		var low, high uint64
		seen := 0
		for c, err := range s.Changes(b.Context()) {
			if err != nil || c.Document.Open == nil {
				b.Fatal(errors.Join(err, errors.New("no document")))
			}
			if seen++; seen%10_000 == 0 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				if low == 0 || m.HeapAlloc < low {
					low = m.HeapAlloc
				}
				high = max(high, m.HeapAlloc)
			}
		}
		if seen != n {
			b.Fatalf("%d documents", seen)
		}
		lists := f.proxy.Count(listCalls)
		b.ReportMetric(float64(lists), "lists")
		b.ReportMetric(float64(len(f.proxy.Calls())-lists), "reads")
		b.ReportMetric(float64(low)/(1<<20), "MiB-low")
		b.ReportMetric(float64(high)/(1<<20), "MiB-high")
	}
}
