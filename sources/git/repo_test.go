package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/kbsync/kbsync/connector"
)

// repo is a bare repository that tests write, object by object, so that it can hold what git itself would refuse.
type repo struct {
	dir     string
	files   map[string]entry   // by path
	raw     map[string][]entry // further entries of a folder, as they are
	storage *filesystem.Storage
	tip     plumbing.Hash
	commits int
}

func newRepo(tb testing.TB, dir string) *repo {
	tb.Helper()
	git(tb, "", "init", "-q", "--bare", "-b", "main", dir)
	r := &repo{dir: dir, files: map[string]entry{}, raw: map[string][]entry{}}
	r.storage = filesystem.NewStorage(osfs.New(dir), newCache())
	r.commit(tb, "main")
	return r
}

// git runs the git program, which tests need; the source does not.
func git(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) object(tb testing.TB, kind plumbing.ObjectType, data []byte) plumbing.Hash {
	tb.Helper()
	o := &plumbing.MemoryObject{}
	o.SetType(kind)
	_, _ = o.Write(data)
	h, err := r.storage.SetEncodedObject(o)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func (r *repo) blob(tb testing.TB, data []byte) plumbing.Hash {
	tb.Helper()
	return r.object(tb, plumbing.BlobObject, data)
}

// tree writes a tree object with these entries, in this order.
func (r *repo) tree(tb testing.TB, entries []entry) plumbing.Hash {
	tb.Helper()
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%o %s\x00%s", e.mode, e.name, e.hash[:])
	}
	return r.object(tb, plumbing.TreeObject, b.Bytes())
}

// put sets a file for the next commit.
func (r *repo) put(tb testing.TB, path string, data []byte) {
	tb.Helper()
	r.files[path] = entry{mode: 0o100644, hash: r.blob(tb, data)}
}

// commit writes what is set as the next commit of a branch.
func (r *repo) commit(tb testing.TB, branch string) plumbing.Hash {
	tb.Helper()
	r.commits++
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", r.folder(tb, "", sortedPaths(r.files)))
	if !r.tip.IsZero() {
		fmt.Fprintf(&b, "parent %s\n", r.tip)
	}
	fmt.Fprintf(&b, "author a <a@b> %d +0000\ncommitter a <a@b> %[1]d +0000\n\ncommit %d\n", 1_700_000_000+r.commits, r.commits)
	r.tip = r.object(tb, plumbing.CommitObject, b.Bytes())
	r.point(tb, "refs/heads/"+branch, r.tip)
	return r.tip
}

func (r *repo) point(tb testing.TB, ref string, h plumbing.Hash) {
	tb.Helper()
	if err := r.storage.SetReference(plumbing.NewHashReference(plumbing.ReferenceName(ref), h)); err != nil {
		tb.Fatal(err)
	}
}

func sortedPaths(files map[string]entry) []string {
	var out []string
	for p := range files {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

func (r *repo) folder(tb testing.TB, prefix string, paths []string) plumbing.Hash {
	tb.Helper()
	below := map[string][]string{}
	var entries []entry
	for _, p := range paths {
		name, _, deeper := strings.Cut(p[len(prefix):], "/")
		if deeper {
			below[name] = append(below[name], p)
			continue
		}
		e := r.files[p]
		e.name = []byte(name)
		entries = append(entries, e)
	}
	for name, list := range below {
		entries = append(entries, entry{mode: modeTree, name: []byte(name), hash: r.folder(tb, prefix+name+"/", list)})
	}
	entries = append(entries, r.raw[strings.TrimSuffix(prefix, "/")]...)
	gitName := func(e entry) string {
		if e.mode == modeTree {
			return string(e.name) + "/"
		}
		return string(e.name)
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(gitName(a), gitName(b)) })
	return r.tree(tb, entries)
}

// open opens a source with the defaults, changed by edit.
func open(tb testing.TB, url, cache string, edit ...func(*Config)) *Source {
	tb.Helper()
	c := defaults()
	c.URL = url
	for _, e := range edit {
		e(&c)
	}
	s, err := Open(c, "", cache)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// listing is what one listing gave.
type listing struct {
	docs   []connector.Document
	skips  map[string]string
	failed map[string]*connector.DocError
	err    error
}

func list(ctx context.Context, s connector.Source) listing {
	l := listing{skips: map[string]string{}, failed: map[string]*connector.DocError{}}
	for c, err := range s.Changes(ctx) {
		doc, isDoc := err.(*connector.DocError) //nolint:errorlint // as the engine gets it
		switch {
		case isDoc:
			l.failed[doc.Path] = doc
		case err != nil:
			l.err = err
		case c.Kind == connector.ChangeSkip:
			l.skips[c.Document.Path] = c.Reason
		default:
			l.docs = append(l.docs, c.Document)
		}
	}
	return l
}

// sound fails the test unless the listing has these paths, in order, and no error.
func (l listing) sound(tb testing.TB, want ...string) listing {
	tb.Helper()
	if l.err != nil {
		tb.Fatalf("listing: %v", l.err)
	}
	var got []string
	for _, d := range l.docs {
		got = append(got, d.Path)
	}
	if !slices.Equal(got, want) {
		tb.Fatalf("listed %q, want %q", got, want)
	}
	return l
}

func (l listing) doc(tb testing.TB, path string) connector.Document {
	tb.Helper()
	for _, d := range l.docs {
		if d.Path == path {
			return d
		}
	}
	tb.Fatalf("%s is not listed", path)
	return connector.Document{}
}

func read(ctx context.Context, d connector.Document) (string, error) {
	r, err := d.Open(ctx)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(r)
	if err == nil {
		err = r.Close()
	}
	return string(data), err
}

func wantRead(tb testing.TB, d connector.Document, want string) {
	tb.Helper()
	if got, err := read(tb.Context(), d); err != nil || got != want {
		tb.Fatalf("%s reads as %.80q, error %v; want %.80q", d.Path, got, err, want)
	}
}
