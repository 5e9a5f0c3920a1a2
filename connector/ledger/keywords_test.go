package ledger

import (
	"crypto/sha256"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// keyworded is a target with two documents: a has two chunks, b one.
func keyworded(t *testing.T, l *Ledger) (*Target, []Doc) {
	t.Helper()
	ctx := t.Context()
	check(t, l.KeepKeywords(ctx, true))
	tg, _ := target(t, l, "m")
	check(t, tg.Complete(ctx))
	check(t, tg.KeywordsComplete(ctx))
	numbers, err := l.Put(ctx, "model", []Entry{{Hash: sha256.Sum256([]byte("x")), Text: "x"}})
	check(t, err)
	docs := []Doc{{N: l.NextDoc(), Source: "s", Path: "a", ID: connector.UUID{1}}, {N: l.NextDoc(), Source: "s", Path: "b", ID: connector.UUID{2}}}
	chunk := func(id byte) Chunk { return Chunk{ID: connector.UUID{id}, Text: numbers[0]} }
	check(t, tg.Finish(ctx, []Outcome{
		{Doc: docs[0], Changed: []Chunk{chunk(1), chunk(2)}, Keywords: map[connector.UUID][]string{{1}: {"vector", "数据库"}, {2}: {"vector", "go"}}},
		{Doc: docs[1], Changed: []Chunk{chunk(3)}, Keywords: map[connector.UUID][]string{{3}: {"数据库"}}},
	}))
	return tg, docs
}

func index(t *testing.T, tg *Target) map[string]string {
	t.Helper()
	all, err := tg.KeywordIndex(t.Context())
	check(t, err)
	out := map[string]string{}
	for k, ids := range all {
		for _, id := range ids {
			out[k] += string('0' + id[0])
		}
	}
	return out
}

// TestKeywords: the index follows the chunks, whatever removes or replaces them.
func TestKeywords(t *testing.T) {
	ctx, l := t.Context(), open(t)
	tg, docs := keyworded(t, l)
	want := func(what string, m map[string]string) {
		t.Helper()
		if got := index(t, tg); !maps.Equal(got, m) {
			t.Errorf("%s: got %v, want %v", what, got, m)
		}
	}
	want("finished", map[string]string{"vector": "12", "数据库": "13", "go": "2"})
	chunks, err := tg.Chunks(ctx, docs[0].N)
	check(t, err)
	check(t, tg.Finish(ctx, []Outcome{{Doc: docs[0], Changed: chunks[1:], Deleted: [][16]byte{{1}}, Keywords: map[connector.UUID][]string{{2}: {"rust"}}}}))
	want("changed and deleted", map[string]string{"rust": "2", "数据库": "3"})
	check(t, tg.SetKeywords(ctx, []Keyworded{{Ref{docs[1].N, connector.UUID{3}}, []string{"go"}}, {Ref{docs[1].N, connector.UUID{9}}, []string{"unknown"}}}))
	want("set", map[string]string{"rust": "2", "go": "3"})
	check(t, tg.Remove(ctx, docs[:1]))
	want("removed", map[string]string{"go": "3"})

	if ok, err := tg.HasKeywords(ctx); !ok || err != nil {
		t.Errorf("the index is said to be incomplete: %v", err)
	}
	if _, known := target(t, l, "another marker"); known {
		t.Fatal("another collection is known")
	}
	want("another collection", map[string]string{})
	check(t, l.KeepKeywords(ctx, false))
	want("not kept", map[string]string{})
	check(t, l.KeepKeywords(ctx, true))
	if ok, err := tg.HasKeywords(ctx); ok || err != nil {
		t.Errorf("a new index is said to be complete: %v", err)
	}
}

func TestRelated(t *testing.T) {
	ctx, l := t.Context(), open(t)
	tg, docs := keyworded(t, l)
	counts, err := tg.KeywordCounts(ctx, []string{"vector", "数据库", "nothing"})
	if check(t, err); !maps.Equal(counts, map[string]int{"vector": 2, "数据库": 2}) {
		t.Errorf("counts %v", counts)
	}
	for _, c := range []struct {
		weights map[string]int64
		without int64
		k       int
		want    []Related
	}{
		{map[string]int64{"vector": 3, "数据库": 2, "nothing": 9}, 0, 9, []Related{{connector.UUID{1}, 5}, {connector.UUID{2}, 3}, {connector.UUID{3}, 2}}},
		{map[string]int64{"vector": 3, "数据库": 2}, docs[0].N, 9, []Related{{connector.UUID{3}, 2}}},
		{map[string]int64{"vector": 1}, 0, 1, []Related{{connector.UUID{1}, 1}}},
		{map[string]int64{"nothing": 1}, 0, 9, nil},
		{nil, 0, 9, nil},
	} {
		got, err := tg.Related(ctx, c.weights, c.without, c.k)
		if check(t, err); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.weights, got, c.want)
		}
	}
}

// TestKeywordsCopied: another target gets the keywords of the documents that it takes over.
func TestKeywordsCopied(t *testing.T) {
	ctx, l := t.Context(), open(t)
	tg, _ := keyworded(t, l)
	other, _, err := l.OpenTarget(ctx, connector.Target{Kind: "other"}, "g", "m")
	check(t, err)
	check(t, other.CopyFrom(ctx, tg))
	if got, want := index(t, other), index(t, tg); len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestKeywordsReopened: a ledger that is opened again, to write or only to read, goes on with its index.
func TestKeywordsReopened(t *testing.T) {
	ctx, l := t.Context(), open(t)
	tg, _ := keyworded(t, l)
	want := index(t, tg)
	for _, readOnly := range []bool{false, true} {
		again, err := Open(ctx, l.Path(), Options{ReadOnly: readOnly})
		check(t, err)
		found, ok, err := again.FindTarget(ctx, connector.Target{Kind: "k", Address: "a", Collection: "c"}, "g")
		if check(t, err); !ok || !maps.Equal(index(t, found), want) {
			t.Errorf("read only %v: got %v", readOnly, index(t, found))
		}
		check(t, again.Close())
	}
	if info, err := os.Stat(l.Path()); err != nil || info.Size() == 0 {
		t.Error("no file")
	}
}
