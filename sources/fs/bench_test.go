package fs

import (
	"fmt"
	"os"
	"path/filepath"
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
