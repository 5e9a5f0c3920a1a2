package fs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sourcetest"
)

func TestConformance(t *testing.T) {
	sourcetest.Run(t, func(tb testing.TB) sourcetest.Fixture {
		dir := tb.TempDir()
		root := filepath.Join(dir, "root")
		mkdir(tb, root)
		at := func(p string) string { return filepath.Join(root, filepath.FromSlash(p)) }
		put := func(tb testing.TB, p string, data []byte) {
			nextTick(tb, filepath.Join(dir, "clock"))
			mkdir(tb, filepath.Dir(at(p)))
			write(tb, at(p), string(data))
		}
		return sourcetest.Fixture{
			Open:   func(tb testing.TB) connector.Source { return open(tb, Config{Root: root}) },
			Put:    put,
			Delete: func(tb testing.TB, p string) { must(tb, os.Remove(at(p))) },
			Rename: func(tb testing.TB, from, to string) { must(tb, os.Rename(at(from), at(to))) },
			// An ignore file that cannot be read spoils its folder, for root too.
			Spoil: func(tb testing.TB, p string) { mkdir(tb, filepath.Join(filepath.Dir(at(p)), ".gitignore")) },
			Break: func(tb testing.TB) { must(tb, os.Rename(root, root+"-gone")) },
		}
	})
}

// nextTick waits until the file system's clock moves on.
func nextTick(tb testing.TB, probe string) {
	tb.Helper()
	first := int64(0)
	for {
		write(tb, probe, "x")
		info, err := os.Stat(probe)
		must(tb, err)
		now := info.ModTime().UnixNano()
		if first == 0 {
			first = now
		}
		if now != first {
			return
		}
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func mkdir(tb testing.TB, dir string) {
	tb.Helper()
	must(tb, os.MkdirAll(dir, 0o755))
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	must(tb, os.WriteFile(path, []byte(text), 0o644))
}

// tree makes a folder of files; a name that ends in / is a folder, "a -> b" a link.
func tree(tb testing.TB, names ...string) string {
	tb.Helper()
	root := filepath.Join(tb.TempDir(), "root")
	mkdir(tb, root)
	for _, name := range names {
		link, target, isLink := strings.Cut(name, " -> ")
		p := filepath.Join(root, filepath.FromSlash(link))
		mkdir(tb, filepath.Dir(p))
		switch {
		case isLink:
			must(tb, os.Symlink(strings.ReplaceAll(target, "ROOT", root), p))
		case strings.HasSuffix(name, "/"):
			mkdir(tb, p)
		default:
			write(tb, p, name)
		}
	}
	return root
}

// open fills in the defaults of lists as the configuration does.
func open(tb testing.TB, c Config) *Source {
	tb.Helper()
	d := defaults()
	if c.Include == nil {
		c.Include = d.Include
	}
	if c.IgnoreFiles == nil {
		c.IgnoreFiles = d.IgnoreFiles
	}
	s, err := Open(c, "")
	must(tb, err)
	return s
}

// listing is one line an item: path, "path: reason" for what is skipped, "! error" for errors.
func listing(tb testing.TB, c Config) []string {
	tb.Helper()
	s := open(tb, c)
	defer func() { must(tb, s.Close()) }()
	return items(tb, s)
}

func items(tb testing.TB, s *Source) []string {
	out := []string{}
	for change, err := range s.Changes(tb.Context()) {
		switch {
		case err != nil:
			out = append(out, "! "+err.Error())
		case change.Kind == connector.ChangeSkip:
			out = append(out, change.Document.Path+": "+change.Reason)
		default:
			out = append(out, change.Document.Path)
		}
	}
	return out
}

func expect(tb testing.TB, got []string, want ...string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("got:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestFilters(t *testing.T) {
	root := tree(t, "a.md", "b.txt", "docs/a.md", "docs/deep/b.md", "docs/deep/c.txt", "drafts/a.md", "drafts/x/b.md", ".hidden.md", ".dot/a.md", "docs/.x/a.md")
	for name, c := range map[string]struct {
		Config
		want []string
	}{
		"defaults":       {Config{}, []string{"a.md", "b.txt", "docs/a.md", "docs/deep/b.md", "docs/deep/c.txt", "drafts/a.md", "drafts/x/b.md"}},
		"suffix":         {Config{Include: []string{"**/*.md"}}, []string{"a.md", "docs/a.md", "docs/deep/b.md", "drafts/a.md", "drafts/x/b.md"}},
		"top only":       {Config{Include: []string{"*.md"}}, []string{"a.md"}},
		"braces":         {Config{Include: []string{"{docs/deep,drafts/x}/*.{md,txt}"}}, []string{"docs/deep/b.md", "docs/deep/c.txt", "drafts/x/b.md"}},
		"dot slash":      {Config{Include: []string{"./docs/**"}}, []string{"docs/a.md", "docs/deep/b.md", "docs/deep/c.txt"}},
		"one level":      {Config{Include: []string{"*/*.md"}}, []string{"docs/a.md", "drafts/a.md"}},
		"exclude":        {Config{Exclude: []string{"drafts/**", "**/*.txt"}}, []string{"a.md", "docs/a.md", "docs/deep/b.md"}},
		"exclude folder": {Config{Exclude: []string{"drafts/", "docs/deep"}}, []string{"a.md", "b.txt", "docs/a.md"}},
		"hidden":         {Config{Hidden: true, Include: []string{"**/a.md"}}, []string{".dot/a.md", "a.md", "docs/.x/a.md", "docs/a.md", "drafts/a.md"}},
		"max size":       {Config{MaxSize: 6, Include: []string{"*.*"}}, []string{"a.md", "b.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.Root = root
			expect(t, listing(t, c.Config), c.want...)
		})
	}
}

func TestMaxSizeIsReported(t *testing.T) {
	root := tree(t, "a-long-name.md", "b.md")
	expect(t, listing(t, Config{Root: root, MaxSize: 5}), "a-long-name.md: 14 bytes, over max_size (5)", "b.md")
}

func TestValidate(t *testing.T) {
	for want, c := range map[string]Config{
		"root: missing":                 {Include: []string{"**"}},
		"include[0]: not a valid":       {Root: "x", Include: []string{"[a"}},
		"exclude[1]: not a valid":       {Root: "x", Include: []string{"**"}, Exclude: []string{"ok", "{a"}},
		"include[0]: patterns are rela": {Root: "x", Include: []string{"/etc/*"}},
		"include[0]: a pattern cannot":  {Root: "x", Include: []string{"a/../../b"}},
		"include: empty":                {Root: "x", Include: []string{}},
		"ignore_files[0]":               {Root: "x", Include: []string{"**"}, IgnoreFiles: []string{"a/b"}},
		"max_size":                      {Root: "x", Include: []string{"**"}, MaxSize: -1},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}

func TestRoot(t *testing.T) {
	dir := tree(t, "file")
	for _, root := range []string{filepath.Join(dir, "missing"), filepath.Join(dir, "file")} {
		got := listing(t, Config{Root: root})
		if len(got) != 1 || !strings.HasPrefix(got[0], "! fs: root "+root+": ") {
			t.Errorf("%s: %q", root, got)
		}
	}
	s := open(t, Config{Root: filepath.Join(dir, "later")})
	if got := items(t, s); len(got) != 1 {
		t.Errorf("a missing root: %q", got)
	}
	mkdir(t, filepath.Join(dir, "later"))
	expect(t, items(t, s))
	must(t, os.Remove(filepath.Join(dir, "later")))
	must(t, os.Rename(tree(t, "new.md"), filepath.Join(dir, "later")))
	expect(t, items(t, s), "new.md")
	must(t, s.Close())
	if got := items(t, s); len(got) != 1 || !strings.Contains(got[0], "closed") {
		t.Errorf("after Close: %q", got)
	}
}

func TestRelativeRoot(t *testing.T) {
	root := tree(t, "a.md")
	s, err := Plugin().Open(t.Context(), &Config{Root: "root", Include: []string{"**"}}, connector.Env{Dir: filepath.Dir(root)})
	must(t, err)
	expect(t, items(t, s.(*Source)), "a.md")
	must(t, s.Close())
}

// TestTreeOrder: a folder comes where its name sorts, not where its paths would.
func TestTreeOrder(t *testing.T) {
	root := tree(t, "a/z.md", "a.md", "a-b/x.md", "a b.md", "aa.md", "Z.md")
	expect(t, listing(t, Config{Root: root}), "Z.md", "a/z.md", "a b.md", "a-b/x.md", "a.md", "aa.md")
}

func TestURI(t *testing.T) {
	root := tree(t, "a b/100%.md", "手.md", "plain.md")
	s := open(t, Config{Root: root})
	defer func() { must(t, s.Close()) }()
	var got []string
	for c, err := range s.Changes(t.Context()) {
		must(t, err)
		got = append(got, strings.TrimPrefix(c.Document.URI, "file://"+filepath.ToSlash(root)))
	}
	expect(t, got, "/a%20b/100%25.md", "/plain.md", "/%E6%89%8B.md")
}

// TestUnsettled: what changed a moment ago is said to be unsettled, what changed long ago is not.
func TestUnsettled(t *testing.T) {
	st := status{mtime: 5, ctime: 1000}
	w := walker{settled: 999, yield: func(c connector.Change, _ error) bool { return c.Document.Unsettled }, source: &Source{}}
	if !w.file("a", "a", "", st) {
		t.Error("changed after the limit, and settled")
	}
	w.settled = 1000
	if w.file("a", "a", "", st) {
		t.Error("changed before the limit, and unsettled")
	}
}

// TestSwapped: what took a document's place is not read in its name.
func TestSwapped(t *testing.T) {
	outside := tree(t, "secret")
	swaps := map[string]func(p string) error{
		"removed": os.Remove,
		"another file": func(p string) error {
			return errors.Join(os.Remove(p), os.WriteFile(p, []byte("dir/doc.md"), 0o644))
		},
		"a folder":         func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o755)) },
		"a link to itself": func(p string) error { return errors.Join(os.Remove(p), os.Symlink(p, p)) },
		"a link out": func(p string) error {
			return errors.Join(os.Remove(p), os.Symlink(filepath.Join(outside, "secret"), p))
		},
		"a folder that is a link out": func(p string) error {
			dir := filepath.Dir(p)
			return errors.Join(os.Rename(dir, dir+"2"), os.Symlink(outside, dir), os.WriteFile(filepath.Join(outside, "doc.md"), nil, 0o644))
		},
	}
	for name, swap := range swaps {
		t.Run(name, func(t *testing.T) {
			root := tree(t, "dir/doc.md")
			s := open(t, Config{Root: root})
			defer func() { must(t, s.Close()) }()
			for c, err := range s.Changes(t.Context()) {
				must(t, err)
				must(t, swap(filepath.Join(root, "dir", "doc.md")))
				r, err := c.Document.Open(t.Context())
				if err == nil {
					data, _ := io.ReadAll(r)
					t.Fatalf("read %q, close: %v", data, r.Close())
				}
			}
		})
	}
}

// TestHugeFolder: the names of a folder are held in blocks, and each is found again.
func TestHugeFolder(t *testing.T) {
	var n names
	const count = 300_000
	name := func(i int) string { return strconv.Itoa(i) + "-0000000.md"[:1+i%10] }
	for i := range count {
		if !n.add(name(i)) {
			t.Fatal("no room")
		}
	}
	for i := range count {
		if got := string(n.name(i)); got != name(i) {
			t.Fatalf("name %d is %q", i, got)
		}
	}
	held := 4 * cap(n.offsets)
	for _, b := range n.blocks {
		held += cap(b)
	}
	if held > 8<<20 {
		t.Errorf("%d names take %d KiB", count, held>>10)
	}
	if n.add(strings.Repeat("x", 1<<16)) {
		t.Error("a name of 64 KiB fits")
	}
}
