package fs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// listener is a Watch under way.
type listener struct {
	t       *testing.T
	root    string
	changed chan struct{}
	done    chan error
	cancel  context.CancelFunc
}

func listen(t *testing.T, c Config) *listener {
	t.Helper()
	s := open(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	l := &listener{t: t, root: c.Root, changed: make(chan struct{}, 1), done: make(chan error, 1), cancel: cancel}
	ready := make(chan struct{})
	go func() {
		l.done <- s.Watch(ctx, func() { close(ready) }, func() {
			select {
			case l.changed <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := l.end(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		must(t, s.Close())
	})
	select {
	case <-ready:
	case err := <-l.done:
		l.done <- err
		t.Fatalf("not ready: %v", err)
	}
	return l
}

func (l *listener) end() error {
	err := <-l.done
	l.done <- nil
	return err
}

// hears fails unless the change of fn is told; it waits until what it set off has come.
func (l *listener) hears(what string, fn func(at func(string) string)) {
	l.t.Helper()
	fn(func(p string) string { return filepath.Join(l.root, filepath.FromSlash(p)) })
	select {
	case <-l.changed:
	case <-time.After(10 * time.Second):
		l.t.Fatalf("%s: nothing was heard", what)
	}
	l.quiet()
}

// quiet drains what still comes.
func (l *listener) quiet() {
	for {
		select {
		case <-l.changed:
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}

// hearsNothing fails if fn is told.
func (l *listener) hearsNothing(what string, fn func(at func(string) string)) {
	l.t.Helper()
	fn(func(p string) string { return filepath.Join(l.root, filepath.FromSlash(p)) })
	select {
	case <-l.changed:
		l.t.Errorf("%s was heard", what)
		l.quiet()
	case <-time.After(100 * time.Millisecond):
	}
}

// TestWatch: what happens to files and folders is heard, in folders that come later and have been renamed as well.
func TestWatch(t *testing.T) {
	l := listen(t, Config{Root: tree(t, "a.md", "dir/b.md", "dir/deep/c.md")})
	l.hears("an edit", func(at func(string) string) { write(t, at("a.md"), "new") })
	l.hears("an edit below", func(at func(string) string) { write(t, at("dir/deep/c.md"), "new") })
	l.hears("a new file", func(at func(string) string) { write(t, at("dir/d.md"), "new") })
	l.hears("a deletion", func(at func(string) string) { must(t, os.Remove(at("dir/d.md"))) })
	l.hears("a rename", func(at func(string) string) { must(t, os.Rename(at("a.md"), at("z.md"))) })
	l.hears("a file that replaces another", func(at func(string) string) {
		write(t, at("dir/.tmp"), "new")
		must(t, os.Rename(at("dir/.tmp"), at("dir/b.md")))
	})
	l.hears("new folders", func(at func(string) string) { must(t, os.MkdirAll(at("new/x/y"), 0o755)) })
	l.hears("a file in a new folder", func(at func(string) string) { write(t, at("new/x/y/e.md"), "new") })
	l.hears("a renamed folder", func(at func(string) string) { must(t, os.Rename(at("new"), at("other"))) })
	l.hears("an edit in a renamed folder", func(at func(string) string) { write(t, at("other/x/y/e.md"), "newer") })
	l.hears("a file in a renamed folder", func(at func(string) string) { write(t, at("other/f.md"), "new") })
	l.hears("a renamed folder below", func(at func(string) string) { must(t, os.Rename(at("other/x"), at("dir/x"))) })
	l.hears("an edit in it", func(at func(string) string) { write(t, at("dir/x/y/e.md"), "newest") })
	l.hears("a folder of the old name", func(at func(string) string) { must(t, os.MkdirAll(at("new/x"), 0o755)) })
	l.hears("a file in it", func(at func(string) string) { write(t, at("new/x/g.md"), "new") })
	elsewhere := t.TempDir()
	l.hears("a folder that moves out", func(at func(string) string) { must(t, os.Rename(at("dir"), filepath.Join(elsewhere, "dir"))) })
	l.hearsNothing("an edit outside", func(func(string) string) { write(t, filepath.Join(elsewhere, "dir/x/y/e.md"), "outside") })
	l.hears("a folder that moves in", func(at func(string) string) { must(t, os.Rename(filepath.Join(elsewhere, "dir"), at("back"))) })
	l.hears("an edit in it", func(at func(string) string) { write(t, at("back/deep/c.md"), "inside") })
	l.hears("the deletion of a folder", func(at func(string) string) { must(t, os.RemoveAll(at("back"))) })
	l.cancel()
	if err := l.end(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestWatchFilters: what is never listed is not heard, until an ignore file says otherwise.
func TestWatchFilters(t *testing.T) {
	root := tree(t, "a.md", "drafts/b.md", "build/out.md", ".git/index", ".hidden/x.md", "src/main.md")
	write(t, filepath.Join(root, ".gitignore"), "build/\n")
	l := listen(t, Config{Root: root, Exclude: []string{"drafts/**"}, Include: []string{"**/*.md"}, IgnoreFiles: []string{".gitignore"}})
	for _, p := range []string{"drafts/b.md", "build/out.md", ".git/index", ".hidden/x.md", "src/main.o", ".swp", "src/.main.md.swp"} {
		l.hearsNothing(p, func(at func(string) string) { write(t, at(p), "new") })
	}
	l.hearsNothing("an excluded folder", func(at func(string) string) { must(t, os.MkdirAll(at(".cache/x"), 0o755)) })
	l.hears("the ignore file", func(at func(string) string) { write(t, at(".gitignore"), "nothing\n") })
	l.hears("what it ignored before", func(at func(string) string) { write(t, at("build/out.md"), "newer") })
	l.hears("an ignore file below", func(at func(string) string) { write(t, at("src/.gitignore"), "*.md\n") })
	l.hearsNothing("what it ignores", func(at func(string) string) { write(t, at("src/main.md"), "newer") })
	l.hears("a document", func(at func(string) string) { write(t, at("a.md"), "new") })
}

// TestWatchLinks: no link is followed out of the root; with follow_links every folder inside counts, since a link may lead there.
func TestWatchLinks(t *testing.T) {
	outside := tree(t, "secret.md")
	l := listen(t, Config{Root: tree(t, "a.md", "out -> "+outside, ".store/b.md"), FollowLinks: true})
	l.hearsNothing("a file outside", func(func(string) string) { write(t, filepath.Join(outside, "secret.md"), "new") })
	l.hears("a link", func(at func(string) string) { must(t, os.Symlink(".store", at("ln"))) })
	l.hears("behind a link", func(at func(string) string) { write(t, at(".store/b.md"), "new") })
	real := tree(t, "a.md")
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(real, link))
	l = listen(t, Config{Root: link})
	l.hears("a root that is a link", func(at func(string) string) { write(t, at("a.md"), "new") })
}

// TestWatchEnds: a root that is missing, removed or renamed ends the watch with an error, so that the caller polls.
func TestWatchEnds(t *testing.T) {
	s := open(t, Config{Root: filepath.Join(t.TempDir(), "missing")})
	err := s.Watch(t.Context(), func() { t.Error("ready") }, func() { t.Error("changed") })
	if connector.ClassOf(err) != connector.ClassNotFound {
		t.Errorf("%v", err)
	}
	must(t, s.Close())
	for what, fn := range map[string]func(root string) error{
		"renamed": func(root string) error { return os.Rename(root, root+"-gone") },
		"removed": os.RemoveAll,
	} {
		l := listen(t, Config{Root: tree(t, "a.md")})
		must(t, fn(l.root))
		if err := l.end(); connector.ClassOf(err) != connector.ClassNotFound || !strings.Contains(err.Error(), l.root) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestWatchLimits: where the system's limit is reached, the error says which.
func TestWatchLimits(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC: "fs.inotify.max_user_watches", syscall.EMFILE: "fs.inotify.max_user_instances", syscall.ENFILE: "ulimit",
	} {
		got := limitError(&os.PathError{Op: "watch", Path: "/x", Err: err}, 5)
		if connector.ClassOf(got) != connector.ClassFull || !strings.Contains(got.Error(), want) {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// TestWatchManyFolders: a burst of new folders and files ends with all of them watched.
func TestWatchManyFolders(t *testing.T) {
	l := listen(t, Config{Root: t.TempDir()})
	l.hears("many folders", func(at func(string) string) {
		for i := range 300 {
			dir := at("d" + strings.Repeat("x", i%7) + "/" + string(rune('a'+i%26)) + "/" + strings.Repeat("y", i%11+1))
			mkdir(t, dir)
			write(t, filepath.Join(dir, "f.md"), "text")
		}
	})
	l.hears("the last of them", func(at func(string) string) { write(t, at("d/a/y/late.md"), "new") })
	for _, p := range []string{"d", "dx/b", "dxxxxxx/g"} {
		l.hears(p, func(at func(string) string) {
			mkdir(t, at(p))
			write(t, at(p+"/again.md"), "new")
		})
	}
}
