package git

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// manyFiles is a repository of n small files, a hundred to a folder, packed as a clone is.
func manyFiles(tb testing.TB, root string, n int) *repo {
	tb.Helper()
	r := newRepo(tb, filepath.Join(root, "repo.git"))
	for i := range n {
		r.put(tb, fmt.Sprintf("section-%03d/topic-%05d/page-%07d.md", i/10_000, i/100, i), fmt.Appendf(nil, "# Page %d\n\nText of the page.\n", i))
	}
	r.commit(tb, "main")
	git(tb, r.dir, "gc", "-q", "--prune=now")
	return r
}

// BenchmarkList lists 10,000 files, of a repository in place and of a mirror that is up to date.
func BenchmarkList(b *testing.B) {
	const n = 10_000
	root := b.TempDir()
	manyFiles(b, root, n)
	srv := serveHTTP(b, root)
	for name, url := range map[string]string{"folder": filepath.Join(root, "repo.git"), "mirror": srv.URL + "/repo.git"} {
		b.Run(name, func(b *testing.B) {
			s := open(b, url, filepath.Join(root, "cache"))
			start := time.Now()
			list(b.Context(), s)
			first := time.Since(start)
			var mem runtime.MemStats
			peak := uint64(0)
			for b.Loop() {
				got := 0
				for _, err := range s.Changes(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
					if got++; got%1000 == 0 {
						runtime.ReadMemStats(&mem)
						peak = max(peak, mem.HeapInuse)
					}
				}
				if got != n {
					b.Fatal(got)
				}
			}
			b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
			b.ReportMetric(first.Seconds(), "first-s")
		})
	}
}
