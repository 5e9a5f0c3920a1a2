package ledger

import (
	"crypto/sha256"
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// downgrade makes a ledger's file what version 1 wrote.
func downgrade(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	check(t, err)
	for _, q := range []string{"ALTER TABLE chunks DROP COLUMN vec", "PRAGMA user_version = 1"} {
		_, err = db.ExecContext(t.Context(), q)
		check(t, err)
	}
	check(t, db.Close())
}

// TestUpgrade: a ledger of version 1 is read as it is, and brought up to date where it is written; nothing in it is lost.
func TestUpgrade(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "l.db")
	l, err := Open(ctx, path, Options{})
	check(t, err)
	tg, _ := target(t, l, "m")
	check(t, tg.Complete(ctx))
	numbers, err := l.Put(ctx, "model", []Entry{{Hash: sha256.Sum256([]byte("x")), Text: "x", Vector: []float32{1}}, {Hash: sha256.Sum256([]byte("y")), Text: "y"}})
	check(t, err)
	doc := Doc{N: l.NextDoc(), Source: "s", Path: "a"}
	c := Chunk{ID: connector.UUID{1}, Text: numbers[0]}
	check(t, tg.Finish(ctx, []Outcome{{Doc: doc, Changed: []Chunk{c}}}))
	check(t, l.Close())
	downgrade(t, path)

	l, err = Open(ctx, path, Options{ReadOnly: true})
	check(t, err)
	if s, err := l.Stats(ctx); err != nil || s.Texts != 2 || s.Unused != 1 || l.version != 1 {
		t.Errorf("read only: %+v, %v, version %d", s, err, l.version)
	}
	check(t, l.Close())
	for range 2 {
		l, err = Open(ctx, path, Options{})
		check(t, err)
		tg, known := target(t, l, "m")
		chunks, err := tg.Chunks(ctx, doc.N)
		if err != nil || !known || l.version != schemaVersion || len(chunks) != 1 || chunks[0] != c {
			t.Errorf("upgraded: %v, %v, version %d, %+v", err, known, l.version, chunks)
		}
		check(t, l.Close())
	}
}

// TestContexts: a vector in context stays as long as a chunk has its address, apart from the chunk's text.
func TestContexts(t *testing.T) {
	ctx, l := t.Context(), open(t)
	tg, _ := target(t, l, "m")
	used, unused := Hash{1}, Hash{2}
	numbers, err := l.Put(ctx, "model", []Entry{{Hash: sha256.Sum256([]byte("x")), Text: "x"}, {Hash: used, Vector: []float32{1}}, {Hash: unused, Vector: []float32{2}}})
	check(t, err)
	doc := Doc{N: l.NextDoc(), Source: "s", Path: "a"}
	c := Chunk{ID: connector.UUID{1}, Text: numbers[0], Vector: used, State: ChunkWriting}
	check(t, tg.Intend(ctx, []Intent{{Doc: doc, New: true, Writing: []Chunk{c}}}))
	ref := Ref{Doc: doc.N, ID: c.ID}
	if got, ok, err := tg.Chunk(ctx, ref); err != nil || !ok || got != c {
		t.Errorf("intended: %+v, %v, %v", got, ok, err)
	}
	c.State = ChunkLive
	check(t, tg.Finish(ctx, []Outcome{{Doc: doc, Changed: []Chunk{c}}}))
	if s, err := l.Stats(ctx); err != nil || s.Texts != 1 || s.Contexts != 2 || s.Unused != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if n, err := l.Prune(ctx); err != nil || n != 1 {
		t.Errorf("pruned %d: %v", n, err)
	}
	found, err := l.Lookup(ctx, "model", []Hash{used, unused})
	if err != nil || !slices.Equal(found[0].Vector, []float32{1}) || found[1].N != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	other, _, err := l.OpenTarget(ctx, connector.Target{Kind: "k", Address: "b"}, "g", "m")
	check(t, err)
	check(t, other.CopyFrom(ctx, tg))
	d, _, err := other.Doc(ctx, "s", "a")
	check(t, err)
	if got, _, err := other.Chunk(ctx, Ref{Doc: d.N, ID: c.ID}); err != nil || got.Vector != used {
		t.Errorf("copied: %+v, %v", got, err)
	}
}
