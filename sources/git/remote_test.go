package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// remote is a repository behind a server, and a cache.
func remote(t *testing.T) (r *repo, srv *server, url, cache string) {
	root := t.TempDir()
	r = newRepo(t, filepath.Join(root, "repo.git"))
	r.put(t, "a.md", []byte("a"))
	r.put(t, "big.bin", []byte(noise(200_000)))
	r.commit(t, "main")
	srv = serveHTTP(t, root)
	return r, srv, srv.URL + "/repo.git", filepath.Join(root, "cache")
}

// TestShallowMovesForward: a mirror of depth 1 follows several commits with added, changed, deleted and returning files; it fetches what is new alone, and
// nothing where nothing is.
func TestShallowMovesForward(t *testing.T) {
	r, srv, url, cache := remote(t)
	s := open(t, url, cache)
	first := list(t.Context(), s).sound(t, "a.md", "big.bin")
	whole := srv.sent.Load()
	for round := range 4 {
		for i := range 3 { // commits that no listing sees
			r.put(t, fmt.Sprintf("r%d/%d.md", round, i), fmt.Appendf(nil, "round %d, file %d", round, i))
			r.put(t, "a.md", fmt.Appendf(nil, "a %d %d", round, i))
			r.commit(t, "main")
		}
		delete(r.files, fmt.Sprintf("r%d/0.md", round-1))
		r.commit(t, "main")
		sent, packs := srv.sent.Load(), srv.packs.Load()
		l := list(t.Context(), s)
		if l.err != nil || len(l.failed) > 0 {
			t.Fatal(l.err, l.failed)
		}
		wantRead(t, l.doc(t, "a.md"), fmt.Sprintf("a %d 2", round))
		wantRead(t, l.doc(t, fmt.Sprintf("r%d/2.md", round)), fmt.Sprintf("round %d, file 2", round))
		for _, d := range l.docs {
			if text, err := read(t.Context(), d); err != nil || int64(len(text)) != d.Size {
				t.Errorf("%s: %d bytes, error %v", d.Path, len(text), err)
			}
		}
		if n := srv.sent.Load() - sent; n > whole/10 {
			t.Errorf("round %d: %d bytes are fetched; the whole repository has %d", round, n, whole)
		}
		if n := srv.packs.Load() - packs; n != 1 {
			t.Errorf("round %d: %d fetches", round, n)
		}
	}
	wantRead(t, first.doc(t, "a.md"), "a") // a document of an earlier listing
	packs := srv.packs.Load()
	again := open(t, url, cache) // another run
	equalFacts(t, facts(list(t.Context(), s)), facts(list(t.Context(), again)))
	if n := srv.packs.Load() - packs; n != 0 {
		t.Errorf("%d fetches of an unchanged repository", n)
	}
	log := git(t, filepath.Join(s.mirror.dir, "1"), "fsck", "--no-dangling") // git agrees that the mirror is whole
	if strings.Contains(log, "missing") || strings.Contains(log, "broken") {
		t.Error(log)
	}
}

// TestForcePush: history that was written anew is followed, back and forth.
func TestForcePush(t *testing.T) {
	r, _, url, cache := remote(t)
	for _, depth := range []int{1, 0} {
		s := open(t, url, cache, func(c *Config) { c.Depth = depth })
		before := r.tip
		list(t.Context(), s).sound(t, "a.md", "big.bin")
		saved := r.files["a.md"]
		r.tip = [20]byte{}
		delete(r.files, "a.md")
		r.put(t, "other.md", []byte("other history"))
		r.commit(t, "main")
		git(t, r.dir, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now") // what was there is gone
		l := list(t.Context(), s).sound(t, "big.bin", "other.md")
		wantRead(t, l.doc(t, "other.md"), "other history")
		delete(r.files, "other.md")
		r.files["a.md"] = saved
		r.put(t, "a.md", []byte("a"))
		r.tip = before
		r.tip = [20]byte{}
		r.commit(t, "main")
		l = list(t.Context(), s).sound(t, "a.md", "big.bin")
		wantRead(t, l.doc(t, "a.md"), "a")
	}
}

// TestDamagedMirror: whatever a killed fetch or a bad disk left, the next listing is whole.
func TestDamagedMirror(t *testing.T) {
	pack := func(t *testing.T, gen, suffix string) string {
		found, err := filepath.Glob(filepath.Join(gen, "objects", "pack", "*."+suffix))
		if err != nil || len(found) == 0 {
			t.Fatal(found, err)
		}
		return found[0]
	}
	cut := func(t *testing.T, name string) {
		if err := errors.Join(os.Chmod(name, 0o600), os.Truncate(name, 100)); err != nil {
			t.Fatal(err)
		}
	}
	for name, damage := range map[string]func(t *testing.T, gen string){
		"pack cut":   func(t *testing.T, gen string) { cut(t, pack(t, gen, "pack")) },
		"index cut":  func(t *testing.T, gen string) { cut(t, pack(t, gen, "idx")) },
		"pack gone":  func(t *testing.T, gen string) { _ = os.Remove(pack(t, gen, "pack")) },
		"index gone": func(t *testing.T, gen string) { _ = os.Remove(pack(t, gen, "idx")) },
		"both gone": func(t *testing.T, gen string) {
			_ = errors.Join(os.Remove(pack(t, gen, "pack")), os.Remove(pack(t, gen, "idx")))
		},
		"everything":     func(t *testing.T, gen string) { _ = os.RemoveAll(filepath.Join(gen, "objects")) },
		"empty refs":     func(t *testing.T, gen string) { emptyFiles(t, filepath.Join(gen, "refs", "kbsync")) },
		"leftover files": func(t *testing.T, gen string) { leftovers(t, filepath.Join(gen, "objects", "pack")) },
		"index without its pack": func(t *testing.T, gen string) {
			_ = os.WriteFile(filepath.Join(gen, "objects", "pack", "pack-"+strings.Repeat("0", 40)+".idx"), []byte("cut"), 0o600)
		},
		"shallow": func(t *testing.T, gen string) {
			_ = os.WriteFile(filepath.Join(gen, "shallow"), []byte("nonsense\n"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, url, cache := remote(t)
			s := open(t, url, cache)
			list(t.Context(), s).sound(t, "a.md", "big.bin")
			damage(t, filepath.Join(s.mirror.dir, "1"))
			r.put(t, "new.md", []byte("new"))
			r.commit(t, "main")
			l := list(t.Context(), open(t, url, cache)).sound(t, "a.md", "big.bin", "new.md")
			for _, d := range l.docs {
				if text, err := read(t.Context(), d); err != nil || int64(len(text)) != d.Size {
					t.Errorf("%s: %d bytes, error %v", d.Path, len(text), err)
				}
			}
			list(t.Context(), s).sound(t, "a.md", "big.bin", "new.md")
			if left, _ := filepath.Glob(filepath.Join(s.mirror.dir, "*", "objects", "pack", "tmp_*")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

func emptyFiles(t *testing.T, dir string) {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, f.Name()), nil, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func leftovers(t *testing.T, dir string) {
	for _, name := range []string{"tmp_pack_123", "tmp_obj_456"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("PACK"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRottenMirror: a flipped byte in the middle of a pack is an error when it is read, never other content, and the next listing is whole.
func TestRottenMirror(t *testing.T) {
	_, _, url, cache := remote(t)
	s := open(t, url, cache)
	l := list(t.Context(), s)
	packs, _ := filepath.Glob(filepath.Join(s.mirror.dir, "1", "objects", "pack", "*.pack"))
	data, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := len(data) / 2; i < len(data)/2+100; i++ {
		data[i] ^= 0x55
	}
	if err := errors.Join(os.Chmod(packs[0], 0o600), os.WriteFile(packs[0], data, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t.Context(), l.doc(t, "big.bin")); err == nil {
		t.Error("damaged bytes are read without an error")
	}
	next := list(t.Context(), s).sound(t, "a.md", "big.bin")
	wantRead(t, next.doc(t, "big.bin"), noise(200_000))
}

// TestFetchCut: a server that hangs up in the middle of a pack gives a transient error, and the mirror is as good as before.
func TestFetchCut(t *testing.T) {
	r, srv, url, cache := remote(t)
	s := open(t, url, cache)
	srv.cutAt.Store(50_000)
	if l := list(t.Context(), s); connector.ClassOf(l.err) != connector.ClassTransient || len(l.docs) > 0 {
		t.Fatalf("class %v: %v", connector.ClassOf(l.err), l.err)
	}
	srv.cutAt.Store(0)
	list(t.Context(), s).sound(t, "a.md", "big.bin")
	r.put(t, "bigger.bin", []byte(noise(100_000)+"x"))
	r.commit(t, "main")
	srv.cutAt.Store(50_000)
	if l := list(t.Context(), s); connector.ClassOf(l.err) != connector.ClassTransient || len(l.docs) > 0 {
		t.Fatalf("class %v: %v", connector.ClassOf(l.err), l.err)
	}
	srv.cutAt.Store(0)
	l := list(t.Context(), s).sound(t, "a.md", "big.bin", "bigger.bin")
	wantRead(t, l.doc(t, "bigger.bin"), noise(100_000)+"x")
}

// TestManyFetches: a mirror that has many packs is made anew; readers keep the old one until they close, and then it goes.
func TestManyFetches(t *testing.T) {
	r, _, url, cache := remote(t)
	reader := open(t, url, cache)
	first := list(t.Context(), reader)
	s := open(t, url, cache)
	for i := range maxPacks + 3 {
		r.put(t, "a.md", fmt.Append(nil, "a", i))
		r.commit(t, "main")
		wantRead(t, list(t.Context(), s).doc(t, "a.md"), fmt.Sprint("a", i))
	}
	wantRead(t, first.doc(t, "a.md"), "a")
	if err := errors.Join(reader.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	list(t.Context(), open(t, url, cache))
	if _, err := os.Stat(filepath.Join(s.mirror.dir, "1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old generation is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.mirror.dir, "2")); err != nil {
		t.Error(err)
	}
}

// TestSharedMirror: pipelines that share a mirror, at several refs, do not disturb one another.
func TestSharedMirror(t *testing.T) {
	r, _, url, cache := remote(t)
	r.point(t, "refs/heads/side", r.tip)
	r.put(t, "a.md", []byte("main"))
	r.commit(t, "main")
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			ref, want := "main", "main"
			if i%2 == 1 {
				ref, want = "side", "a"
			}
			for range 3 {
				c := defaults()
				c.URL, c.Ref, c.Depth = url, ref, i%3
				s, err := Open(c, "", cache)
				if err != nil {
					t.Error(err)
					return
				}
				l := list(t.Context(), s)
				if l.err != nil || len(l.docs) != 2 {
					t.Errorf("%d documents, error %v", len(l.docs), l.err)
				} else if got, err := read(t.Context(), l.docs[0]); err != nil || got != want {
					t.Errorf("%s: %q, error %v", ref, got, err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// TestTemporaryMirror: without a cache folder nothing stays.
func TestTemporaryMirror(t *testing.T) {
	_, _, url, _ := remote(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	s := open(t, url, "")
	list(t.Context(), s).sound(t, "a.md", "big.bin")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, error %v", left, err)
	}
}
