package azblob

import (
	"runtime"
	"testing"

	"github.com/kbsync/kbsync/internal/servers"
)

// BenchmarkListing lists 100,000 blobs, which take minutes to store: what an unchanged container costs. It fails where a blob is read,
// or where the memory grows with the listing.
func BenchmarkListing(b *testing.B) {
	const n = 100_000
	r := newRig(b, servers.Start(b, "azurite").Addr)
	r.container.Fill(b, n, numbered)
	s := r.open(b)
	r.proxy.Reset()
	runs := 0
	for b.Loop() {
		runs++
		var first, most uint64
		seen := 0
		for _, err := range s.Changes(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			if seen++; seen%10_000 == 0 {
				most = max(most, heap())
			}
			if seen == 10_000 {
				first = most
			}
		}
		if seen != n || most > first+4<<20 {
			b.Fatalf("%d blobs; the heap grows from %d to %d bytes", seen, first, most)
		}
		b.ReportMetric(float64(most)/(1<<20), "MB-heap")
	}
	calls := len(r.proxy.Calls())
	if calls != runs*n/1000 {
		b.Fatalf("%d calls for %d listings of %d blobs", calls, runs, n)
	}
	b.ReportMetric(float64(calls)/float64(runs), "calls/listing")
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
