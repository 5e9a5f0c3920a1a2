package fs

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// makeTree writes n small files, a hundred to a folder.
func makeTree(tb testing.TB, n int) string {
	tb.Helper()
	root := tb.TempDir()
	for i := range n {
		dir := filepath.Join(root, fmt.Sprintf("section-%03d", i/10_000), fmt.Sprintf("topic-%05d", i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				tb.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("page-%07d.md", i)), []byte("x"), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return root
}

// lstatWalk is the yardstick: a sorted recursive walk that asks for the status of every name.
func lstatWalk(dir string) (int, error) {
	f, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	list, err := f.Readdirnames(-1)
	_ = f.Close()
	if err != nil {
		return 0, err
	}
	slices.Sort(list)
	count := 0
	for _, name := range list {
		p := dir + "/" + name
		info, err := os.Lstat(p)
		if err != nil {
			return 0, err
		}
		if info.IsDir() {
			n, err := lstatWalk(p)
			if err != nil {
				return 0, err
			}
			count += n
			continue
		}
		count++
	}
	return count, nil
}

// BenchmarkList compares a listing with the yardstick on the same 100,000 files.
func BenchmarkList(b *testing.B) {
	const n = 100_000
	root := makeTree(b, n)
	b.Run("lstat-walk", func(b *testing.B) {
		for b.Loop() {
			if got, err := lstatWalk(root); err != nil || got != n {
				b.Fatal(got, err)
			}
		}
	})
	c := defaults()
	c.Root = root
	source, err := Open(c, "")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	b.Run("changes", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			got := 0
			for _, err := range source.Changes(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
				got++
			}
			if got != n {
				b.Fatal(got)
			}
		}
	})
}

// BenchmarkHugeFolder lists 1,000,000 files in one folder and reports the largest heap on the way.
func BenchmarkHugeFolder(b *testing.B) {
	const n = 1_000_000
	root := b.TempDir()
	for i := range n {
		f, err := os.Create(filepath.Join(root, fmt.Sprintf("page-%07d.md", i)))
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	c := defaults()
	c.Root = root
	source, err := Open(c, "")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	for b.Loop() {
		var mem runtime.MemStats
		got, peak := 0, uint64(0)
		for _, err := range source.Changes(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			if got++; got%50_000 == 1 {
				runtime.ReadMemStats(&mem)
				peak = max(peak, mem.HeapInuse)
			}
		}
		if got != n {
			b.Fatal(got)
		}
		b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	}
}
