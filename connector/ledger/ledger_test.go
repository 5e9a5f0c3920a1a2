package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func open(t *testing.T) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), filepath.Join(t.TempDir(), "a b?", "l.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func target(t *testing.T, l *Ledger, marker string) (*Target, bool) {
	t.Helper()
	tg, known, err := l.OpenTarget(t.Context(), connector.Target{Kind: "k", Address: "a", Collection: "c"}, "g", marker)
	if err != nil {
		t.Fatal(err)
	}
	return tg, known
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestProtocol: what is intended is known, dirty and forgotten only when it is said to be deleted; and another marker forgets all.
func TestProtocol(t *testing.T) {
	ctx, l := t.Context(), open(t)
	tg, known := target(t, l, "m1")
	if known {
		t.Fatal("a new target is known")
	}
	check(t, tg.Complete(ctx))
	numbers, err := l.Put(ctx, "model", []Entry{{Hash: sha256.Sum256([]byte("x")), Text: "x", Vector: []float32{1, -0.5}}, {Hash: sha256.Sum256([]byte("y")), Text: "y"}})
	check(t, err)
	doc := Doc{N: l.NextDoc(), Source: "s", Path: "a/b", ID: connector.UUID{1}, Version: "v1", Fingerprint: "f"}
	c1, c2 := Chunk{ID: connector.UUID{1}, Text: numbers[0]}, Chunk{ID: connector.UUID{2}, Index: 1, Text: numbers[1]}
	check(t, tg.Intend(ctx, []Intent{{Doc: doc, New: true, Writing: []Chunk{c1, c2}}}))
	d, ok, err := tg.Doc(ctx, "s", "a/b")
	if err != nil || !ok || d.State != DocDirty || d.Version != "" {
		t.Fatalf("%v %v %+v", err, ok, d)
	}
	if chunks, err := tg.Chunks(ctx, doc.N); err != nil || len(chunks) != 2 || chunks[0].State != ChunkWriting {
		t.Fatalf("%v %+v", err, chunks)
	}
	doc.Chunks = 1
	check(t, tg.Finish(ctx, []Outcome{{Doc: doc, Changed: []Chunk{c1}, Deleted: [][16]byte{c2.ID}}}))
	if chunks, err := tg.Chunks(ctx, doc.N); err != nil || len(chunks) != 1 || chunks[0].State != ChunkLive {
		t.Fatalf("%v %+v", err, chunks)
	}
	found, err := l.Lookup(ctx, "model", []Hash{sha256.Sum256([]byte("x")), sha256.Sum256([]byte("y")), sha256.Sum256([]byte("z"))})
	if err != nil || !slices.Equal(found[0].Vector, []float32{1, -0.5}) || found[1].N == 0 || found[1].Vector != nil || found[2].N != 0 {
		t.Fatalf("%v %+v", err, found)
	}
	if found, err := l.Lookup(ctx, "another model", []Hash{sha256.Sum256([]byte("x"))}); err != nil || found[0].Vector != nil {
		t.Fatalf("a vector was given to another model: %v %+v", err, found)
	}
	if n, err := l.Prune(ctx); err != nil || n != 1 {
		t.Fatalf("pruned %d: %v", n, err)
	}
	if _, known := target(t, l, "m1"); !known {
		t.Fatal("the target was forgotten")
	}
	tg, known = target(t, l, "m2")
	if n, err := tg.Counts(ctx); known || err != nil || n.Documents != 0 {
		t.Fatalf("a collection with another marker is taken for the old one: %v %+v", err, n)
	}
}

// TestListOrder: the listing has the order of a walk, over many pages, and whatever the names hold.
func TestListOrder(t *testing.T) {
	ctx, l := t.Context(), open(t)
	tg, _ := target(t, l, "m")
	var outcomes []Outcome
	paths := []string{"a", "a/b", "a.txt", "a/b/c", "a\x01b", "a\x02/b", "中文/文", "z", "\xff"}
	for i := range pageRows + 10 {
		paths = append(paths, fmt.Sprintf("many/%d", i))
	}
	for i, p := range paths {
		outcomes = append(outcomes, Outcome{Doc: Doc{N: l.NextDoc(), Source: "s", Path: p, Version: fmt.Sprint(i)}})
	}
	check(t, tg.Finish(ctx, outcomes))
	slices.SortFunc(paths, func(a, b string) int {
		return slices.Compare([]byte(connector.TreeKey(a)), []byte(connector.TreeKey(b)))
	})
	var got []string
	for row, err := range tg.List(ctx, "s") {
		check(t, err)
		got = append(got, connector.TreePath(row.Key))
	}
	if !slices.Equal(got, paths) {
		t.Fatalf("%d rows in another order than %d paths", len(got), len(paths))
	}
	for range tg.List(ctx, "s") {
		break // the reader ends with the consumer: Close would hang else
	}
}

func TestReadOnlyNeedsAFile(t *testing.T) {
	if _, err := Open(context.Background(), filepath.Join(t.TempDir(), "no.db"), Options{ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

func TestSpool(t *testing.T) {
	ctx, l := t.Context(), open(t)
	a, b := l.NewSpool(), l.NewSpool()
	for i := range 1000 {
		check(t, a.Append(ctx, [][]byte{fmt.Append(nil, i)}))
		if i%100 == 0 {
			check(t, b.Append(ctx, [][]byte{[]byte("other")}))
		}
	}
	n := 0
	for item, err := range a.Items(ctx) {
		check(t, err)
		if string(item) != fmt.Sprint(n) {
			t.Fatalf("item %d is %q", n, item)
		}
		n++
	}
	check(t, a.Drop(ctx))
	for range a.Items(ctx) {
		t.Fatal("a dropped spool has items")
	}
	if n != 1000 {
		t.Fatalf("%d items", n)
	}
}
