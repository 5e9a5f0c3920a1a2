package git

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kbsync/kbsync/connector"
)

// facts are what the engine compares.
func facts(l listing) map[string]string {
	out := map[string]string{}
	for _, d := range l.docs {
		out[d.Path] = d.Version
	}
	return out
}

func equalFacts(t *testing.T, a, b map[string]string) {
	t.Helper()
	if len(a) != len(b) {
		t.Errorf("%v\n%v", a, b)
	}
	for p, v := range a {
		if b[p] != v {
			t.Errorf("%s: version %s became %s", p, v, b[p])
		}
	}
}

// TestCheckoutChangesNoVersion: a checkout touches every file, a fresh clone is another folder, a working tree and
// a repack hold the same blobs, and a commit that changes one file changes one version: git checkout re-embeds nothing.
func TestCheckoutChangesNoVersion(t *testing.T) {
	root := t.TempDir()
	r := newRepo(t, filepath.Join(root, "repo.git"))
	for _, p := range []string{"a.md", "dir/b.md", "dir/sub/c.md"} {
		r.put(t, p, []byte("content of "+p))
	}
	r.commit(t, "main")
	first := facts(list(t.Context(), open(t, r.dir, "")).sound(t, "a.md", "dir/b.md", "dir/sub/c.md"))

	clone := filepath.Join(root, "elsewhere")
	git(t, root, "clone", "-q", r.dir, clone)
	touched := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(clone, "a.md"), touched, touched); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(clone, "dir", "b.md"), []byte("not committed"), 0o644); err != nil {
		t.Fatal(err)
	}
	equalFacts(t, first, facts(list(t.Context(), open(t, clone, "")).sound(t, "a.md", "dir/b.md", "dir/sub/c.md")))

	tree := filepath.Join(root, "worktree")
	git(t, clone, "worktree", "add", "-q", tree, "-b", "side")
	equalFacts(t, first, facts(list(t.Context(), open(t, tree, ""))))
	shared := filepath.Join(root, "shared")
	git(t, root, "clone", "-q", "--shared", clone, shared)
	l := list(t.Context(), open(t, "file://"+shared, ""))
	equalFacts(t, first, facts(l))
	wantRead(t, l.doc(t, "dir/b.md"), "content of dir/b.md")

	s := open(t, r.dir, "")
	before := list(t.Context(), s)
	git(t, r.dir, "gc", "-q", "--prune=now")
	equalFacts(t, first, facts(list(t.Context(), s)))
	wantRead(t, before.doc(t, "a.md"), "content of a.md")

	r.put(t, "a.md", []byte("another"))
	r.commit(t, "main")
	next := facts(list(t.Context(), s))
	if next["a.md"] == first["a.md"] {
		t.Error("a.md changed and its version did not")
	}
	next["a.md"] = first["a.md"]
	equalFacts(t, first, next)
}

// TestRename: a rename keeps the version, so that the engine finds the content that moved.
func TestRename(t *testing.T) {
	r := newRepo(t, filepath.Join(t.TempDir(), "repo.git"))
	r.put(t, "a.md", []byte("text"))
	r.commit(t, "main")
	s := open(t, r.dir, "")
	before := facts(list(t.Context(), s))
	r.files["b/c.md"] = r.files["a.md"]
	delete(r.files, "a.md")
	r.commit(t, "main")
	if after := facts(list(t.Context(), s).sound(t, "b/c.md")); after["b/c.md"] != before["a.md"] {
		t.Errorf("%v became %v", before, after)
	}
}

// TestInPlaceIsReadOnly: nothing is written into a repository that is opened in place.
func TestInPlaceIsReadOnly(t *testing.T) {
	r := newRepo(t, filepath.Join(t.TempDir(), "repo.git"))
	r.put(t, "a.md", []byte("a"))
	r.commit(t, "main")
	git(t, r.dir, "gc", "-q")
	state := func() string {
		var b strings.Builder
		err := filepath.WalkDir(r.dir, func(p string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			b.WriteString(p + info.ModTime().String() + "\n")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	before := state()
	wantRead(t, list(t.Context(), open(t, r.dir, "")).doc(t, "a.md"), "a")
	if after := state(); after != before {
		t.Errorf("changed:\n%s\n%s", before, after)
	}
}

// TestRefs: what ref and path may be, and what is said of those that are not there.
func TestRefs(t *testing.T) {
	root := t.TempDir()
	r := newRepo(t, filepath.Join(root, "repo.git"))
	r.put(t, "docs/guide/a.md", []byte("old"))
	old := r.commit(t, "main")
	tag := r.object(t, plumbing.TagObject, []byte("object "+old.String()+"\ntype commit\ntag v1\ntagger a <a@b> 1 +0000\n\nv1\n"))
	r.point(t, "refs/tags/v1", tag)
	r.put(t, "docs/guide/a.md", []byte("new"))
	r.put(t, "README.md", []byte("r"))
	r.commit(t, "main")
	r.point(t, "refs/heads/feature/x", r.tip)
	r.point(t, "refs/custom/y", old)
	for _, url := range []string{r.dir, serveHTTP(t, root).URL + "/repo.git"} {
		for ref, want := range map[string]string{"": "new", "main": "new", "HEAD": "new", "v1": "old", "feature/x": "new", "refs/heads/main": "new", "refs/tags/v1": "old", "refs/custom/y": "old", old.String(): "old", r.tip.String(): "new"} {
			s := open(t, url, t.TempDir(), func(c *Config) { c.Ref, c.Path = ref, "docs" })
			l := list(t.Context(), s).sound(t, "guide/a.md")
			wantRead(t, l.docs[0], want)
			if ref == "feature/x" && !strings.HasSuffix(l.docs[0].URI, "/repo.git#feature/x:docs/guide/a.md") {
				t.Errorf("URI %s", l.docs[0].URI)
			}
		}
		for _, c := range []struct{ ref, path, says string }{
			{"mian", "", "the nearest of its branches and tags: main"},
			{"main", "docs/nothing", "there is no such folder"},
			{"main", "README.md", "there is no such folder"},
			{strings.Repeat("ab", 20), "", "there is no commit"},
		} {
			err := list(t.Context(), open(t, url, t.TempDir(), func(cfg *Config) { cfg.Ref, cfg.Path = c.ref, c.path })).err
			if connector.ClassOf(err) != connector.ClassNotFound || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s %s: %v", c.ref, c.path, err)
			}
		}
	}
}

// TestCommitsOnRequest: a server that hands out single commits is asked for the one, and says when there is none.
func TestCommitsOnRequest(t *testing.T) {
	root := t.TempDir()
	r := newRepo(t, filepath.Join(root, "repo.git"))
	git(t, r.dir, "config", "uploadpack.allowReachableSHA1InWant", "true")
	r.put(t, "a.md", []byte("old"))
	old := r.commit(t, "main")
	r.put(t, "a.md", []byte("new"))
	r.commit(t, "main")
	ssh := serveSSH(t, root)
	for _, url := range []string{serveHTTP(t, root).URL + "/repo.git", "ssh://git@" + ssh.addr + r.dir} {
		l := list(t.Context(), open(t, url, "", ssh.edit, func(c *Config) { c.Ref = old.String() })).sound(t, "a.md")
		wantRead(t, l.docs[0], "old")
		err := list(t.Context(), open(t, url, "", ssh.edit, func(c *Config) { c.Ref = strings.Repeat("ab", 20) })).err
		if connector.ClassOf(err) != connector.ClassNotFound || !strings.Contains(err.Error(), "there is no commit") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestEmptyRepository: no commits is an error, an empty tree is not.
func TestEmptyRepository(t *testing.T) {
	root := t.TempDir()
	git(t, root, "init", "-q", "--bare", "empty.git")
	newRepo(t, filepath.Join(root, "bare.git"))
	at := serveHTTP(t, root).URL
	for _, base := range []string{root, at} {
		err := list(t.Context(), open(t, base+"/empty.git", "")).err
		if connector.ClassOf(err) != connector.ClassNotFound || !strings.Contains(err.Error(), "no commits yet") {
			t.Errorf("%s: %v", base, err)
		}
		list(t.Context(), open(t, base+"/bare.git", "")).sound(t)
		if err := list(t.Context(), open(t, base+"/none.git", "")).err; connector.ClassOf(err) != connector.ClassNotFound {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// TestConcurrentReaders reads small, large, packed, loose and delta blobs at once, while listings go on; run with -race.
func TestConcurrentReaders(t *testing.T) {
	root := t.TempDir()
	r := newRepo(t, filepath.Join(root, "repo.git"))
	large := noise(3 << 19)
	r.put(t, "large1.txt", []byte(large))
	r.put(t, "large2.txt", []byte(large[:1<<19]+"a difference"+large[1<<19:]))
	r.put(t, "large3.txt", []byte(strings.Repeat("compresses well\n", 100_000)))
	for _, n := range []string{"a", "b", "c", "d"} {
		r.put(t, n+".md", []byte(strings.Repeat("text of "+n, 3000)))
	}
	r.commit(t, "main")
	git(t, r.dir, "gc", "-q", "--aggressive")
	r.put(t, "loose.bin", []byte(noise(3<<19)))
	r.commit(t, "main")
	for _, url := range []string{r.dir, serveHTTP(t, root).URL + "/repo.git"} {
		s := open(t, url, t.TempDir())
		l := list(t.Context(), s)
		want := map[string]string{}
		for _, d := range l.docs {
			text, err := read(t.Context(), d)
			if err != nil || int64(len(text)) != d.Size {
				t.Fatalf("%s: %d bytes of %d, error %v", d.Path, len(text), d.Size, err)
			}
			want[d.Path] = text
		}
		var all sync.WaitGroup
		for range 3 {
			for _, d := range l.docs {
				all.Go(func() {
					if got, err := read(t.Context(), d); err != nil || got != want[d.Path] {
						t.Errorf("%s: %d bytes, error %v", d.Path, len(got), err)
					}
				})
			}
		}
		all.Go(func() {
			for range 3 {
				if err := list(t.Context(), s).err; err != nil {
					t.Error(err)
				}
			}
		})
		all.Wait()
		half, err := l.doc(t, "large2.txt").Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := half.Read(make([]byte, 100)); err != nil {
			t.Error(err)
		}
		if err := half.Close(); err != nil {
			t.Errorf("closed in the middle: %v", err)
		}
	}
}

// noise does not compress.
func noise(n int) string {
	b := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return string(b)
}
