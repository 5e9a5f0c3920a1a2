package acceptance

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/internal/keywords"
)

// keywordIndex reads the ledger's index: chunk ids by keyword.
func (r *rig) keywordIndex() map[string][]string {
	r.tb.Helper()
	ctx := context.Background()
	p := r.open()
	defer func() { _ = p.Close() }()
	coll, err := p.Collection(ctx)
	if err != nil {
		r.tb.Fatal(err)
	}
	l, err := ledger.Open(ctx, pipeline.LedgerPath(r.config()), ledger.Options{ReadOnly: true})
	if err != nil {
		r.tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	t, ok, err := l.FindTarget(ctx, p.Target(), coll.Schema().Generation)
	if err != nil || !ok {
		r.tb.Fatal("no target: ", err)
	}
	index, err := t.KeywordIndex(ctx)
	if err != nil {
		r.tb.Fatal(err)
	}
	out := map[string][]string{}
	for k, ids := range index {
		for _, id := range ids {
			out[k] = append(out[k], id.String())
		}
	}
	return out
}

// indexed fails unless the index says what the metadata in the sink say.
func (r *rig) indexed(when string) {
	r.tb.Helper()
	want := map[string][]string{}
	for _, rec := range r.export() {
		list, ok := rec.Metadata["keywords"]
		if !ok {
			r.tb.Fatalf("%s: chunk %s of %s has no keywords", when, rec.ChunkID, rec.Path)
		}
		for _, w := range words(list) {
			if key := keywords.Key(w); !slices.Contains(want[key], rec.ChunkID) {
				want[key] = append(want[key], rec.ChunkID)
			}
		}
	}
	for _, ids := range want {
		slices.Sort(ids)
	}
	if got := r.keywordIndex(); !maps.EqualFunc(got, want, slices.Equal) {
		r.tb.Fatalf("%s: the index has %d keywords, the sink %d\n got %v\nwant %v", when, len(got), len(want), got, want)
	}
}

func words(v any) (out []string) {
	switch list := v.(type) {
	case []string:
		return list
	case []any:
		for _, w := range list {
			out = append(out, fmt.Sprint(w))
		}
	}
	return out
}

func keywordDocs(r *rig) {
	r.write("gateway.md", "# Gateway\n\nThe gateway reads its routes from a file.\n\n# Logs\n\nThe log names each route and each client.\n")
	r.write("年假.md", "# 年假\n\n员工入职满一年后享有带薪年假。年假天数按照工龄计算，未休的年假可以结转到下一年度。\n")
	r.write("mixed.md", "The portal of the gateway shows 年假 balances. 年假 requests go through the gateway.\n")
	r.write("long.txt", paragraphs("kubernetes", 60))
}

// TestKeywordIndexFollows: after an edit, a deletion, a renaming, a change of the settings and a lost ledger the index says what the sink holds.
func TestKeywordIndexFollows(t *testing.T) {
	r := newRig(t, "", "keywords: { top: 4 }")
	keywordDocs(r)
	r.sync()
	r.indexed("first")
	r.write("mixed.md", "The portal shows parking lots. Meals of the canteen are 另行通知。\n")
	r.remove("gateway.md")
	if err := os.Rename(r.docs+"/年假.md", r.docs+"/leave.md"); err != nil {
		t.Fatal(err)
	}
	r.sync()
	r.indexed("edited, deleted, renamed")
	r.exact()

	embeds := r.embeds.Load()
	r.yaml = strings.Replace(r.yaml, "top: 4", "top: 2, method: textrank", 1)
	if res := r.sync(); res.Documents.Updated == 0 {
		t.Errorf("another setting changed nothing: %+v", res.Documents)
	}
	r.indexed("another setting")
	if now := r.embeds.Load(); now != embeds {
		t.Errorf("another setting embedded %d texts", now-embeds)
	}
	if err := os.Remove(pipeline.LedgerPath(r.config())); err != nil {
		t.Fatal(err)
	}
	r.sync()
	r.indexed("lost ledger")

	on := r.yaml
	r.yaml = strings.Replace(on, "keywords: { top: 2, method: textrank }", "", 1)
	r.sync()
	if index := r.keywordIndex(); len(index) != 0 {
		t.Errorf("without keywords the index has %d", len(index))
	}
	for _, rec := range r.export() {
		if _, ok := rec.Metadata["keywords"]; ok {
			t.Errorf("%s still has keywords", rec.Path)
		}
	}
	r.yaml = on
	r.sync()
	r.indexed("asked for again")
	if res := r.sync(); res.Documents.Unchanged == 0 || res.Documents.Updated > 0 {
		t.Errorf("a second sync: %+v", res.Documents)
	}
}

// TestKeywordIndexRefilled: keywords that were switched off and on again between two runs, the first of which was killed once it had dropped the index, are
// read back from the sink.
func TestKeywordIndexRefilled(t *testing.T) {
	r := newRig(t, "", "keywords: { top: 4 }")
	keywordDocs(r)
	r.sync()
	on := r.yaml
	r.yaml = strings.Replace(on, "keywords: { top: 4 }", "", 1)
	r.opts.LedgerHook = func(op string) error {
		if op == "drop-keywords:after" {
			return context.Canceled
		}
		return nil
	}
	if _, err := r.trySync(pipeline.SyncOptions{}); err == nil {
		t.Fatal("the run was not cut short")
	}
	r.opts.LedgerHook = nil
	r.yaml = on
	if res := r.sync(); res.Documents.Updated > 0 {
		t.Errorf("documents were cut again: %+v", res.Documents)
	}
	r.indexed("refilled")
}

// TestKeywordIndexSurvives cuts runs short at every write of the ledger: the next run settles the index.
func TestKeywordIndexSurvives(t *testing.T) {
	for at := 1; ; at++ {
		r := newRig(t, "", "keywords: { top: 4 }")
		keywordDocs(r)
		r.sync()
		r.write("mixed.md", "The portal shows parking lots of the gateway.\n")
		r.remove("年假.md")
		calls := 0
		r.opts.LedgerHook = func(string) error {
			if calls++; calls == at {
				return context.Canceled
			}
			return nil
		}
		_, err := r.trySync(pipeline.SyncOptions{})
		r.opts.LedgerHook = nil
		if err == nil && calls < at {
			break
		}
		r.sync()
		r.indexed(fmt.Sprintf("cut short at %d", at))
	}
}

// TestRelated asks the library: other documents alone, the best first, in both languages.
func TestRelated(t *testing.T) {
	r := newRig(t, "", "keywords: { top: 5 }")
	keywordDocs(r)
	r.sync()
	p := r.open()
	defer func() { _ = p.Close() }()
	ask := func(text string) (paths []string) {
		t.Helper()
		hits, err := p.Related(context.Background(), pipeline.RelatedOptions{Text: text, K: 10})
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range hits {
			if h.Score <= 0 || h.Score > 1 || len(h.Shared) == 0 || i > 0 && h.Score > hits[i-1].Score {
				t.Errorf("%q: hit %d has score %v and shares %q", text, i, h.Score, h.Shared)
			}
			paths = append(paths, h.Path)
		}
		return paths
	}
	if got := ask("员工的年假按照工龄如何计算？"); len(got) != 2 || got[0] != "年假.md" || got[1] != "mixed.md" {
		t.Errorf("Chinese: %q", got)
	}
	if got := ask("Which routes does the gateway have?"); len(got) < 2 || got[0] != "gateway.md" {
		t.Errorf("English: %q", got)
	}
	for _, rec := range r.export() {
		for _, path := range ask(rec.ChunkID) {
			if path == rec.Path {
				t.Errorf("a chunk of %s is related to its own document", path)
			}
		}
	}
}

// TestKeywordsDeterministic: what else is in the corpus, and how many work on it, changes no keyword.
func TestKeywordsDeterministic(t *testing.T) {
	of := func(extra bool, concurrency int) map[string]string {
		r := newRig(t, "", fmt.Sprintf("keywords: { top: 5 }\nsync: { concurrency: %d }", concurrency))
		keywordDocs(r)
		if extra {
			for i := range 20 {
				r.write(fmt.Sprintf("extra/%d.md", i), "gateway routes 年假 "+paragraphs(fmt.Sprint(i), 3))
			}
		}
		r.sync()
		out := map[string]string{}
		for _, rec := range r.export() {
			if !strings.HasPrefix(rec.Path, "extra/") {
				out[rec.ChunkID] = strings.Join(words(rec.Metadata["keywords"]), ",")
			}
		}
		return out
	}
	if a, b := of(false, 1), of(true, 4); !maps.Equal(a, b) {
		t.Errorf("alone %v\nin company %v", a, b)
	}
}
