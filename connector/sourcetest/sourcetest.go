// Package sourcetest is the conformance suite of sources: what the engine relies on, one subtest a rule.
//
//	func TestConformance(t *testing.T) {
//		sourcetest.Run(t, func(tb testing.TB) sourcetest.Fixture { … })
//	}
package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kbsync/kbsync/connector"
)

// Fixture is a fresh, empty system and the ways to change it. Paths are those of Document.Path.
type Fixture struct {
	// Open opens a source onto the system. The suite closes it.
	Open func(tb testing.TB) connector.Source
	// Put creates a document or replaces its content. It waits, if it must, until the system's clock shows another
	// time than at the last change.
	Put    func(tb testing.TB, path string, content []byte)
	Delete func(tb testing.TB, path string)
	// Rename is nil where the system has no such thing.
	Rename func(tb testing.TB, from, to string)
	// Spoil makes one document, or the folder of that path, impossible to list; nil where that cannot happen.
	Spoil func(tb testing.TB, path string)
	// Break makes the whole listing fail, as an unplugged disk does.
	Break func(tb testing.TB)
	// Outage makes every call to the system fail, as an overloaded server does, until end is called; nil where that cannot
	// happen. A source that is a connector.Resumer has one, and lists in pages of at most 5 documents here.
	Outage func(tb testing.TB) (end func())
	// Extra are further paths that the system can hold, beside those that every one can.
	Extra []string
}

// Run checks every rule, each on a fixture of its own.
func Run(t *testing.T, fresh func(tb testing.TB) Fixture) {
	t.Helper()
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			if err := r.run(t, fresh(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// rule is one promise. check returns an error where the source breaks it.
type rule struct {
	name  string
	check func(tb testing.TB, f Fixture, s connector.Source) error
}

// run adds what holds for every rule: no panic, no goroutine left after Close.
func (r rule) run(tb testing.TB, f Fixture) (err error) {
	before := goleak.IgnoreCurrent()
	s := f.Open(tb)
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, fmt.Errorf("panic: %v", p))
		}
		if closeErr := s.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("Close: %w", closeErr))
		}
		if leak := goleak.Find(before); leak != nil {
			err = errors.Join(err, fmt.Errorf("goroutines are left after Close: %w", leak))
		}
	}()
	return r.check(tb, f, s)
}

func rules() []rule {
	return []rule{
		{"complete", complete},
		{"order", order},
		{"repeatable", repeatable},
		{"content", content},
		{"versions", versions},
		{"absence", absence},
		{"rename", rename},
		{"folders", folders},
		{"one spoilt document", spoilt},
		{"broken listing", broken},
		{"cancelled", cancelled},
		{"consumer stops", consumerStops},
		{"changed since listed", changedSinceListed},
		{"changed while read", changedWhileRead},
		{"resumed reading", resumedReading},
		{"resumed listing", resumedListing},
	}
}

// corpus has paths that tell the orders apart, and names in both Unicode forms.
func corpus(f Fixture) map[string][]byte {
	docs := map[string][]byte{"empty.txt": {}}
	for _, p := range append([]string{
		"a.md", "a/b.md", "a/b/c.md", "a-b.md", "a b.md", "a0.md", "B.md", "z/last.md", "手册/第一章.md",
		"caf\u00e9.md", "cafe\u0301.md", "100%.md", "q#1?.md",
	}, f.Extra...) {
		docs[p] = []byte("content of " + p + "\n")
	}
	return docs
}

func fill(tb testing.TB, f Fixture, docs map[string][]byte) {
	for _, p := range slices.Sorted(maps.Keys(docs)) {
		f.Put(tb, p, docs[p])
	}
}

// list drains a listing that must have no fault.
func list(ctx context.Context, s connector.Source) ([]connector.Document, error) {
	var docs []connector.Document
	for c, err := range s.Changes(ctx) {
		if err != nil {
			return docs, fmt.Errorf("listing: %w", err)
		}
		if c.Kind == connector.ChangeUpsert {
			docs = append(docs, c.Document)
		}
	}
	return docs, nil
}

func byPath(docs []connector.Document) map[string]connector.Document {
	m := make(map[string]connector.Document, len(docs))
	for _, d := range docs {
		m[d.Path] = d
	}
	return m
}

func read(ctx context.Context, d connector.Document) ([]byte, error) {
	r, err := d.Open(ctx)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

func paths(docs []connector.Document) []string {
	out := make([]string, len(docs))
	for i, d := range docs {
		out[i] = d.Path
	}
	return out
}

func complete(tb testing.TB, f Fixture, s connector.Source) error {
	if docs, err := list(tb.Context(), s); err != nil || len(docs) > 0 {
		return fmt.Errorf("an empty system lists %q, error %v", paths(docs), err)
	}
	want := corpus(f)
	fill(tb, f, want)
	docs, err := list(tb.Context(), s)
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range docs {
		switch {
		case d.Path == "" || strings.HasPrefix(d.Path, "/"):
			errs = append(errs, fmt.Errorf("path %q is empty or starts with a slash", d.Path))
		case d.URI == "":
			errs = append(errs, fmt.Errorf("%s: no URI", d.Path))
		case d.Open == nil:
			errs = append(errs, fmt.Errorf("%s: no Open", d.Path))
		case d.Version == "" && s.Capabilities().Versions:
			errs = append(errs, fmt.Errorf("%s: no version, though the capabilities promise one", d.Path))
		}
	}
	got := paths(docs)
	slices.Sort(got)
	if expected := slices.Sorted(maps.Keys(want)); !slices.Equal(got, expected) {
		errs = append(errs, fmt.Errorf("listed %q\nwant   %q", got, expected))
	}
	return errors.Join(errs...)
}

func order(tb testing.TB, f Fixture, s connector.Source) error {
	fill(tb, f, corpus(f))
	docs, err := list(tb.Context(), s)
	if err != nil {
		return err
	}
	key := func(p string) string { return p }
	switch s.Capabilities().Order {
	case connector.OrderNone:
		return nil
	case connector.OrderTree:
		key = connector.TreeKey
	}
	for i := 1; i < len(docs); i++ {
		if key(docs[i-1].Path) >= key(docs[i].Path) {
			return fmt.Errorf("%q is listed before %q, against the promised order", docs[i-1].Path, docs[i].Path)
		}
	}
	return nil
}

func repeatable(tb testing.TB, f Fixture, s connector.Source) error {
	fill(tb, f, corpus(f))
	type facts struct {
		path, uri, version, media string
		size                      int64
		modified                  int64
	}
	var runs [2][]facts
	for i := range runs {
		docs, err := list(tb.Context(), s)
		if err != nil {
			return err
		}
		for _, d := range docs {
			runs[i] = append(runs[i], facts{d.Path, d.URI, d.Version, d.MediaType, d.Size, d.ModifiedAt.UnixNano()})
		}
		slices.SortFunc(runs[i], func(a, b facts) int { return strings.Compare(a.path, b.path) })
	}
	if !slices.Equal(runs[0], runs[1]) {
		return fmt.Errorf("two listings of an unchanged system differ:\n%v\n%v", runs[0], runs[1])
	}
	return nil
}

func content(tb testing.TB, f Fixture, s connector.Source) error {
	want := corpus(f)
	want["large.bin"] = bytes.Repeat([]byte("0123456789abcde\n"), 20_000)
	fill(tb, f, want)
	docs, err := list(tb.Context(), s)
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range docs {
		if d.Size >= 0 && d.Size != int64(len(want[d.Path])) {
			errs = append(errs, fmt.Errorf("%s: size %d, want %d", d.Path, d.Size, len(want[d.Path])))
		}
		for pass := range 2 {
			if got, err := read(tb.Context(), d); err != nil || !bytes.Equal(got, want[d.Path]) {
				errs = append(errs, fmt.Errorf("%s: reading %d gives %d bytes, error %v; want %d bytes", d.Path, pass+1, len(got), err, len(want[d.Path])))
			}
		}
	}
	return errors.Join(append(errs, twoReaders(tb, byPath(docs)["large.bin"], want["large.bin"]))...)
}

// twoReaders reads a document through two readers in turns.
func twoReaders(tb testing.TB, d connector.Document, want []byte) error {
	if d.Open == nil {
		return errors.New("large.bin is not listed")
	}
	var readers [2]io.ReadCloser
	var got [2][]byte
	for i := range readers {
		r, err := d.Open(tb.Context())
		if err != nil {
			return err
		}
		readers[i] = r
	}
	var errs []error
	buf := make([]byte, 100_000)
	for range len(want)/len(buf) + 2 {
		for i, r := range readers {
			n, err := io.ReadFull(r, buf)
			got[i] = append(got[i], buf[:n]...)
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				errs = append(errs, err)
			}
		}
	}
	for i, r := range readers {
		errs = append(errs, r.Close())
		if !bytes.Equal(got[i], want) {
			errs = append(errs, fmt.Errorf("of two readers used in turns, one gives %d bytes that are not the content", len(got[i])))
		}
	}
	return errors.Join(errs...)
}

func versions(tb testing.TB, f Fixture, s connector.Source) error {
	if !s.Capabilities().Versions {
		return nil
	}
	fill(tb, f, corpus(f))
	before, err := list(tb.Context(), s)
	if err != nil {
		return err
	}
	f.Put(tb, "a.md", []byte("CONTENT OF a.md\n")) // the same size
	f.Put(tb, "B.md", []byte("longer than it was before\n"))
	after, err := list(tb.Context(), s)
	if err != nil {
		return err
	}
	var errs []error
	old := byPath(before)
	for _, d := range after {
		edited := d.Path == "a.md" || d.Path == "B.md"
		same := d.Version == old[d.Path].Version
		if edited && same {
			errs = append(errs, fmt.Errorf("%s: the content changed and the version did not", d.Path))
		}
		if !edited && !same {
			errs = append(errs, fmt.Errorf("%s: the version changed and the content did not", d.Path))
		}
	}
	return errors.Join(errs...)
}

func absence(tb testing.TB, f Fixture, s connector.Source) error {
	docs := corpus(f)
	fill(tb, f, docs)
	if _, err := list(tb.Context(), s); err != nil {
		return err
	}
	for _, p := range []string{"a.md", "a/b/c.md", "手册/第一章.md"} {
		f.Delete(tb, p)
		delete(docs, p)
	}
	f.Put(tb, "new.md", []byte("new\n"))
	docs["new.md"] = nil
	return same(tb.Context(), s, docs)
}

// same compares the listed paths with the keys of want.
func same(ctx context.Context, s connector.Source, want map[string][]byte) error {
	docs, err := list(ctx, s)
	if err != nil {
		return err
	}
	got := paths(docs)
	slices.Sort(got)
	if expected := slices.Sorted(maps.Keys(want)); !slices.Equal(got, expected) {
		return fmt.Errorf("listed %q\nwant   %q", got, expected)
	}
	return nil
}

func rename(tb testing.TB, f Fixture, s connector.Source) error {
	if f.Rename == nil {
		return nil
	}
	docs := corpus(f)
	fill(tb, f, docs)
	if _, err := list(tb.Context(), s); err != nil {
		return err
	}
	text := docs["a.md"]
	f.Rename(tb, "a.md", "z/moved.md")
	delete(docs, "a.md")
	docs["z/moved.md"] = text
	if err := same(tb.Context(), s, docs); err != nil {
		return err
	}
	listed, err := list(tb.Context(), s)
	if err != nil {
		return err
	}
	if got, err := read(tb.Context(), byPath(listed)["z/moved.md"]); err != nil || !bytes.Equal(got, text) {
		return fmt.Errorf("the renamed document reads as %q, error %v", got, err)
	}
	return nil
}

// folders: one name in two folders is two documents.
func folders(tb testing.TB, f Fixture, s connector.Source) error {
	docs := map[string][]byte{"2024/q1.pdf": []byte("old"), "2025/q1.pdf": []byte("new")}
	fill(tb, f, docs)
	listed, err := list(tb.Context(), s)
	if err != nil {
		return err
	}
	var errs []error
	for p, want := range docs {
		d, ok := byPath(listed)[p]
		if !ok {
			errs = append(errs, fmt.Errorf("%s is not listed, but %q", p, paths(listed)))
			continue
		}
		if got, err := read(tb.Context(), d); err != nil || !bytes.Equal(got, want) {
			errs = append(errs, fmt.Errorf("%s reads as %q, error %v", p, got, err))
		}
	}
	return errors.Join(errs...)
}
