package sql

import (
	"runtime"
	"testing"
)

// listMany lists many rows of SQLite, with a version column or without, and gives the largest heap on the way.
func listMany(tb testing.TB, s *system, n int, version string) (peak uint64) {
	source := s.open(tb, Config{Query: "SELECT * FROM million", Key: []string{"id"}, Version: version, Content: []string{"body"}, Metadata: []string{"tag"}})
	defer func() { must(tb, source.Close()) }()
	var mem runtime.MemStats
	got := 0
	for _, err := range source.Changes(tb.Context()) {
		must(tb, err)
		if got++; got%20_000 == 1 {
			runtime.GC()
			runtime.ReadMemStats(&mem)
			peak = max(peak, mem.HeapAlloc)
		}
	}
	if got != n {
		tb.Fatalf("%d rows are listed of %d", got, n)
	}
	return peak
}

// million makes n rows.
func million(tb testing.TB, n int) *system {
	s := sqliteSystem(tb)
	s.make(tb, "million", "id text PRIMARY KEY, version integer, tag text, body text")
	s.exec(tb, `INSERT INTO million WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?)
		SELECT printf('page/%08d', i), i, 'tag' || i % 10, printf('the content of row %d', i) FROM c`, n)
	s.exec(tb, "PRAGMA wal_checkpoint(TRUNCATE)")
	return s
}

// TestFlat: the memory of a listing does not grow with the number of rows.
func TestFlat(t *testing.T) {
	const n = 200_000 // BenchmarkList takes a million
	s := million(t, n)
	if peak := listMany(t, s, n, "version"); peak > 24<<20 {
		t.Errorf("with a version column the heap grew to %d MiB", peak>>20)
	}
	if peak := listMany(t, s, n, ""); peak > 24<<20+recentBytes {
		t.Errorf("without a version column the heap grew to %d MiB", peak>>20)
	}
}

func BenchmarkList(b *testing.B) {
	const n = 1_000_000
	s := million(b, n)
	for _, version := range []string{"version", ""} {
		b.Run("version="+version, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.ReportMetric(float64(listMany(b, s, n, version))/(1<<20), "peak-MiB")
			}
		})
	}
}
