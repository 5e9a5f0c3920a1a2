package git

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kbsync/kbsync/connector"
)

// TestHostileNames: names that no file can have spoil themselves and nothing else, and nothing is written.
func TestHostileNames(t *testing.T) {
	r := newRepo(t, filepath.Join(t.TempDir(), "repo.git"))
	r.put(t, "a.md", []byte("a"))
	r.put(t, "dir/z.md", []byte("z"))
	evil := r.blob(t, []byte("evil"))
	sub := r.tree(t, []entry{{mode: 0o100644, name: []byte("x"), hash: evil}})
	for _, name := range []string{".", "..", ".git", ".GIT", "a/b", "../up", "\xff\xfe.md"} {
		r.raw["dir"] = append(r.raw["dir"], entry{mode: 0o100644, name: []byte(name), hash: evil})
	}
	r.raw["dir"] = append(r.raw["dir"],
		entry{mode: modeTree, name: []byte(".Git"), hash: sub},
		entry{mode: 0o100644, name: []byte("twice"), hash: evil}, entry{mode: modeTree, name: []byte("twice"), hash: sub},
		entry{mode: 0o010644, name: []byte("fifo"), hash: evil},
		entry{mode: 0o100644, name: bytes.Repeat([]byte("n"), 5000), hash: evil})
	r.commit(t, "main")
	root := filepath.Dir(r.dir)
	for _, url := range []string{serveHTTP(t, root).URL + "/repo.git", r.dir} {
		cache := filepath.Join(t.TempDir(), "deep", "cache")
		l := list(t.Context(), open(t, url, cache)).sound(t, "a.md", "dir/z.md")
		want := []string{`dir/\x2e`, `dir/\x2e\x2e`, "dir/.git", "dir/.GIT", "dir/.Git", `dir/a\x2fb`, `dir/..\x2fup`, `dir/\xff\xfe.md`, "dir/twice", "dir/fifo", "dir/" + strings.Repeat("n", 60) + "…"}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(l.failed)); !slices.Equal(got, want) {
			t.Errorf("failed %q\nwant   %q", got, want)
		}
		if !l.failed["dir/twice"].Dir || !l.failed["dir/.Git"].Dir || l.failed["dir/.git"].Dir {
			t.Error("a failed folder is not reported as one")
		}
		if found, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(cache)), "*")); err != nil || len(found) > 1 {
			t.Errorf("written beside the cache: %q, error %v", found, err)
		}
	}
	// No name at all: git's own server does not send that.
	r.raw[""] = []entry{{mode: 0o100644, name: nil, hash: evil}}
	r.commit(t, "main")
	if l := list(t.Context(), open(t, r.dir, "")).sound(t, "a.md", "dir/z.md"); l.failed[`\x`] == nil {
		t.Errorf("failed %v", l.failed)
	}
}

// TestHostileTrees: cut and deep trees spoil a folder; a missing one, too.
func TestHostileTrees(t *testing.T) {
	r := newRepo(t, filepath.Join(t.TempDir(), "repo.git"))
	r.put(t, "a.md", []byte("a"))
	blob := r.blob(t, []byte("deep"))
	deep := r.tree(t, []entry{{mode: 0o100644, name: []byte("f"), hash: blob}})
	for range 300 {
		deep = r.tree(t, []entry{{mode: modeTree, name: []byte("d"), hash: deep}})
	}
	r.raw[""] = []entry{
		{mode: modeTree, name: []byte("deep"), hash: deep},
		{mode: modeTree, name: []byte("cut"), hash: r.object(t, plumbing.TreeObject, []byte("100644 x\x00short"))},
		{mode: modeTree, name: []byte("garbage"), hash: r.object(t, plumbing.TreeObject, []byte("no tree at all"))},
		{mode: modeTree, name: []byte("blob"), hash: blob},
		{mode: modeTree, name: []byte("missing"), hash: plumbing.NewHash(strings.Repeat("ab", 20))},
		{mode: 0o100644, name: []byte("gone.md"), hash: plumbing.NewHash(strings.Repeat("cd", 20))},
	}
	r.commit(t, "main")
	l := list(t.Context(), open(t, r.dir, "")).sound(t, "a.md")
	want := []string{"blob", "cut", "deep" + strings.Repeat("/d", 250), "garbage", "gone.md", "missing"}
	if got := slices.Sorted(maps.Keys(l.failed)); !slices.Equal(got, want) {
		t.Errorf("failed %q\nwant   %q", got, want)
	}
	for p, e := range l.failed {
		if e.Dir != (p != "gone.md") {
			t.Errorf("%s: Dir is %v", p, e.Dir)
		}
	}
}

// TestTreeBomb: trees of trees are infinitely many files in a few bytes; they are listed in flat memory, and can be cancelled.
func TestTreeBomb(t *testing.T) {
	r := newRepo(t, filepath.Join(t.TempDir(), "repo.git"))
	bomb := r.tree(t, []entry{{mode: 0o100644, name: []byte("f"), hash: r.blob(t, []byte("x"))}})
	for range 20 {
		var entries []entry
		for i := range 10 {
			entries = append(entries, entry{mode: modeTree, name: fmt.Append(nil, i), hash: bomb})
		}
		bomb = r.tree(t, entries)
	}
	r.raw[""] = []entry{{mode: modeTree, name: []byte("bomb"), hash: bomb}}
	r.commit(t, "main")
	s := open(t, r.dir, "")
	n := 0
	for _, err := range s.Changes(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1000 {
			break
		}
	}
	w := newWalker(s, s.local, func(_ connector.Change, err error) bool {
		n++
		return err == nil
	})
	w.entries = maxEntries - 100
	tree, err := s.local.treeOf(r.tip)
	if err != nil {
		t.Fatal(err)
	}
	if n = 0; w.folder(t.Context(), folder{hash: tree}) || n > 101 {
		t.Errorf("the bound on entries does not end the listing; %d items", n)
	}
}

// TestHugeTree: a folder over the bound is a failed folder, and is not read.
func TestHugeTree(t *testing.T) {
	r := newRepo(t, filepath.Join(t.TempDir(), "repo.git"))
	r.put(t, "a.md", []byte("a"))
	huge := bytes.Repeat([]byte("100644 x\x0001234567890123456789"), 1000)
	r.raw[""] = []entry{{mode: modeTree, name: []byte("huge"), hash: r.object(t, plumbing.TreeObject, huge)}}
	r.commit(t, "main")
	s := open(t, r.dir, "")
	list(t.Context(), s)
	var listed []string
	var failed *connector.DocError
	w := newWalker(s, s.local, func(c connector.Change, err error) bool {
		if !errors.As(err, &failed) {
			listed = append(listed, c.Document.Path)
		}
		return true
	})
	w.trees = maxTrees - int64(len(huge)) // as if the folders above had taken the rest
	tree, err := s.local.treeOf(r.tip)
	if err != nil || !w.folder(t.Context(), folder{hash: tree}) {
		t.Fatal("the listing ended", err)
	}
	if failed == nil || failed.Path != "huge" || !failed.Dir || !slices.Equal(listed, []string{"a.md"}) {
		t.Errorf("failed %v, listed %q", failed, listed)
	}
}

// TestSkips: what is no document is reported, with a reason, and never read.
func TestSkips(t *testing.T) {
	r := newRepo(t, filepath.Join(t.TempDir(), "repo.git"))
	if err := os.WriteFile(filepath.Join(r.dir, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.put(t, "a.md", []byte("a"))
	r.put(t, "model.bin", []byte(lfsPrefix+"oid sha256:"+strings.Repeat("0", 64)+"\nsize 123456\n"))
	r.put(t, "about-lfs.md", []byte("A pointer begins with "+lfsPrefix+strings.Repeat("and goes on ", 20)))
	r.put(t, "large.txt", bytes.Repeat([]byte("x"), 5000))
	r.put(t, "run.sh", []byte("#!/bin/sh\n"))
	r.files["run.sh"] = entry{mode: 0o100755, hash: r.files["run.sh"].hash}
	r.files["link-to-secret.md"] = entry{mode: modeSymlink, hash: r.blob(t, []byte("../secret"))}
	r.files["passwd"] = entry{mode: modeSymlink, hash: r.blob(t, []byte("/etc/passwd"))}
	r.files["vendor/lib"] = entry{mode: modeGitlink, hash: r.tip}
	r.commit(t, "main")
	l := list(t.Context(), open(t, r.dir, "", func(c *Config) { c.MaxSize = 1000 })).sound(t, "a.md", "about-lfs.md", "run.sh")
	for p, part := range map[string]string{
		"model.bin": "LFS pointer", "large.txt": "over max_size", "link-to-secret.md": "symbolic link", "passwd": "symbolic link", "vendor/lib": "submodule",
	} {
		if !strings.Contains(l.skips[p], part) {
			t.Errorf("%s: skipped with %q", p, l.skips[p])
		}
	}
	if len(l.skips) != 5 || len(l.failed) != 0 {
		t.Errorf("skipped %v, failed %v", l.skips, l.failed)
	}
}

// TestManyFoldersReleaseTheirTrees: the bound is on one chain of folders, which holds no more than one folder's entries, whatever was listed before.
func TestManyFoldersReleaseTheirTrees(t *testing.T) {
	r := newRepo(t, filepath.Join(t.TempDir(), "repo.git"))
	for i := range 50 {
		r.put(t, fmt.Sprintf("d%02d/f.md", i), []byte("x"))
	}
	r.commit(t, "main")
	s := open(t, r.dir, "")
	list(t.Context(), s)
	w := newWalker(s, s.local, func(connector.Change, error) bool { return true })
	tree, err := s.local.treeOf(r.tip)
	if err != nil || !w.folder(t.Context(), folder{hash: tree}) || w.trees != 0 {
		t.Errorf("%d bytes of trees are still counted after the walk, error %v", w.trees, err)
	}
}
