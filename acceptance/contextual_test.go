package acceptance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/embedtest"
	"github.com/kbsync/kbsync/connector/pipeline"
)

type contextualConfig struct {
	MaxItems  int `yaml:"max_items"`
	MaxTokens int `yaml:"max_tokens"`
	MaxBytes  int `yaml:"max_bytes"`
}

// contextualPlugin is the reference of contextual models.
func contextualPlugin(r *rig) connector.EmbedderPlugin {
	return connector.Define("contextual", "the reference of contextual models", contextualConfig{},
		func(_ context.Context, c *contextualConfig, _ connector.Env) (connector.Embedder, error) {
			e := embedtest.NewContextual(connector.Model{MaxItems: c.MaxItems, MaxTokens: c.MaxTokens, MaxBytes: c.MaxBytes})
			r.contexts = append(r.contexts, e)
			return e, nil
		})
}

// groupTokens holds about eight of the paragraphs' chunks.
const groupTokens = 400

// newContextual is a rig whose chunks are small and many, in groups of a few.
func newContextual(tb testing.TB, extra string) *rig {
	return newRig(tb, "", extra+fmt.Sprintf("\nembedder: { contextual: { max_tokens: %d } }\nrules: [{ strategy: { recursive: { max_tokens: 48, overlap: 0 } } }]", groupTokens))
}

// groups are those that were embedded since the last call.
func (r *rig) groups() (out [][]string) {
	for _, e := range r.contexts {
		out = append(out, e.Groups()...)
	}
	r.contexts = nil
	return out
}

func texts(groups [][]string) (n int) {
	for _, g := range groups {
		n += len(g)
	}
	return n
}

// ordered are the records of a document in order.
func (r *rig) ordered(path string) []connector.Record {
	r.tb.Helper()
	records := slices.DeleteFunc(r.export(), func(rec connector.Record) bool { return rec.Path != path })
	index := func(rec connector.Record) int64 {
		switch n := rec.Metadata["chunk_index"].(type) {
		case int:
			return int64(n)
		case int64:
			return n
		case float64:
			return int64(n)
		}
		return -1
	}
	slices.SortFunc(records, func(a, b connector.Record) int { return int(index(a) - index(b)) })
	return records
}

// Groups are consecutive chunks of one document, within the limits, each once.
func TestContextGroups(t *testing.T) {
	r := newContextual(t, "")
	for i := range 4 {
		r.write(fmt.Sprintf("%d.txt", i), paragraphs(fmt.Sprint("doc", i), 10+10*i))
	}
	r.write("short.txt", "One line alone.")
	res := r.sync()
	groups := r.groups()
	if texts(groups) != res.Embeddings.Computed || res.Embeddings.Computed != res.Chunks.Upserted {
		t.Errorf("%d texts in groups, %+v, %+v", texts(groups), res.Embeddings, res.Chunks)
	}
	var want, got []string
	for _, path := range []string{"0.txt", "1.txt", "2.txt", "3.txt", "short.txt"} {
		var all []string
		for _, rec := range r.ordered(path) {
			all = append(all, rec.EmbedText)
		}
		want = append(want, strings.Join(all, "\x00"))
		// The document is the concatenation of some of the groups, which no other document has.
		for joined := ""; len(joined) < len(want[len(want)-1]); {
			at := slices.IndexFunc(groups, func(g []string) bool {
				return strings.HasPrefix(want[len(want)-1], strings.TrimPrefix(joined+"\x00"+strings.Join(g, "\x00"), "\x00"))
			})
			if at < 0 {
				t.Fatalf("%s is not made of groups behind %.100q", path, joined)
			}
			joined = strings.TrimPrefix(joined+"\x00"+strings.Join(groups[at], "\x00"), "\x00")
			groups = slices.Delete(groups, at, at+1)
			if len(joined) == len(want[len(want)-1]) {
				got = append(got, joined)
			}
		}
	}
	if !slices.Equal(got, want) || len(groups) != 0 {
		t.Errorf("%d groups are of no document", len(groups))
	}
	r.exact()
}

// Edits leave the vectors that a fresh sync gives, embed no more than the groups near them, and count what is written.
func TestContextEdits(t *testing.T) {
	long := strings.Split(strings.TrimSpace(paragraphs("long", 200)), "\n\n")
	join := func(parts []string) string { return strings.Join(parts, "\n\n") }
	middle := slices.Clone(long)
	middle[60] = "Another paragraph stands in the middle. 中间换了一段。"
	last := slices.Clone(long)
	last[199] = "Another paragraph stands at the end."
	moved := append(append(slices.Clone(long[40:50]), long[:40]...), long[50:]...)
	for name, edit := range map[string][]string{
		"insert on top": append([]string{"A new first line."}, long...), "change in the middle": middle, "delete": slices.Delete(slices.Clone(long), 30, 33),
		"move": moved, "change at the end": last, "append": append(slices.Clone(long), "And one line more."),
	} {
		for _, sink := range []string{"sink: { memory: {} }", "sink: { sqlite: {} }", "ids: position\nsink: { memory: {} }"} {
			t.Run(name+" "+sink, func(t *testing.T) {
				t.Parallel()
				r := newContextual(t, sink)
				r.write("long.txt", join(long))
				r.write("other.txt", paragraphs("other", 12))
				whole := r.sync().Embeddings.Computed
				r.groups()
				r.write("long.txt", join(edit))
				plan := r.planned()
				res := r.sync()
				groups := r.groups()
				if n := texts(groups); n != res.Embeddings.Computed || plan.Embeddings != n || plan.Cached != res.Embeddings.Cached {
					t.Errorf("planned %d and %d of the store, sync %+v, embedded %d", plan.Embeddings, plan.Cached, res.Embeddings, n)
				}
				if most := whole / 2; res.Embeddings.Computed > most {
					t.Errorf("%d of %d texts were embedded again, in %d groups", res.Embeddings.Computed, whole, len(groups))
				}
				if name == "change at the end" && len(groups) > 2 {
					t.Errorf("an edit at the end embedded %d groups", len(groups))
				}
				if res.Chunks.Upserted < res.Embeddings.Computed {
					t.Errorf("%d chunks were written and %d texts embedded", res.Chunks.Upserted, res.Embeddings.Computed)
				}
				r.exact()
				r.settle()
				if res := r.sync(); res.Embeddings.Computed+res.Chunks.Upserted+res.Chunks.Repositioned+res.Chunks.Deleted != 0 || len(r.groups()) != 0 {
					t.Errorf("a second sync did something: %+v %+v", res.Chunks, res.Embeddings)
				}
			})
		}
	}
}

func (r *rig) planned() *pipeline.Plan {
	r.tb.Helper()
	p := r.open()
	defer func() { _ = p.Close() }()
	plan, err := p.Plan(r.tb.Context(), pipeline.SyncOptions{})
	if err != nil {
		r.tb.Fatal(err)
	}
	return plan
}

// Of a chunk whose neighbour alone changed, id and content_hash stay; it is written, and counted as written. A chunk of another group only has
// another place. What came back has its vectors in the store.
func TestContextOfANeighbour(t *testing.T) {
	r := newContextual(t, "")
	long := strings.Split(strings.TrimSpace(paragraphs("long", 60)), "\n\n")
	r.write("a.txt", strings.Join(long, "\n\n"))
	r.sync()
	before, vectors := r.ordered("a.txt"), r.vectors()
	r.write("a.txt", "A first line.\n\n"+strings.Join(long, "\n\n"))
	res := r.sync()
	after, now := r.ordered("a.txt"), r.vectors()
	changed, stayed := 0, 0
	for _, old := range before {
		at := slices.IndexFunc(after, func(rec connector.Record) bool { return rec.ChunkID == old.ChunkID })
		if at < 0 {
			continue
		}
		same := slices.Equal(vectors[old.ChunkID], now[old.ChunkID])
		if same != (old.Metadata["context_hash"] == after[at].Metadata["context_hash"]) || old.ContentHash != after[at].ContentHash {
			t.Errorf("chunk %d: the same vector: %v, but context_hash %v and %v", at, same, old.Metadata["context_hash"], after[at].Metadata["context_hash"])
		}
		if same {
			stayed++
		} else {
			changed++
		}
	}
	if changed == 0 || stayed < 20 || res.Chunks.Repositioned != stayed || res.Chunks.Upserted < changed {
		t.Errorf("%d chunks have another vector, %d the same: %+v", changed, stayed, res.Chunks)
	}
	r.groups()
	r.write("a.txt", strings.Join(long, "\n\n"))
	if res := r.sync(); len(r.groups()) != 0 || res.Embeddings.Cached == 0 {
		t.Errorf("what came back was embedded again: %+v", res.Embeddings)
	}
	r.exact()
}

// Two documents of the same text share their groups; other limits make other groups, and so other vectors, of documents that did not change.
func TestContextSharedAndRegrouped(t *testing.T) {
	r := newContextual(t, "")
	r.write("a.txt", paragraphs("same", 30))
	n := r.sync().Chunks.Upserted
	r.groups()
	r.write("b.txt", paragraphs("same", 30))
	r.sync()
	if groups := r.groups(); len(groups) != 0 {
		t.Errorf("the same document elsewhere was embedded again, %d groups", len(groups))
	}
	r.write("c.txt", paragraphs("twins", 30))
	r.write("d.txt", paragraphs("twins", 30))
	twins := r.sync()
	if embedded := texts(r.groups()); 2*embedded != twins.Chunks.Upserted {
		t.Errorf("twins of one run: %d texts were embedded for %d chunks", embedded, twins.Chunks.Upserted)
	}
	r.yaml = strings.Replace(r.yaml, fmt.Sprint("max_tokens: ", groupTokens), "max_tokens: 250", 1)
	if res := r.sync(); res.Documents.Updated != 4 || res.Embeddings.Computed != n+twins.Chunks.Upserted/2 {
		t.Errorf("other limits: %+v %+v, want %d texts", res.Documents, res.Embeddings, n+twins.Chunks.Upserted/2)
	}
	r.exact()
}

// A lost ledger is rebuilt from the sink with the address of every vector: nothing is embedded, and nothing is taken for what it is not.
func TestContextLedgerLost(t *testing.T) {
	for _, sink := range []string{"sink: { memory: {} }", "sink: { sqlite: {} }"} {
		r := newContextual(t, sink)
		r.write("a.txt", paragraphs("a", 60))
		r.write("b.txt", paragraphs("b", 5))
		r.sync()
		r.groups()
		r.settle()
		r.loseLedger()
		if res := r.sync(); len(r.groups()) != 0 || res.Chunks.Upserted+res.Chunks.Repositioned != 0 {
			t.Errorf("%s: after the ledger was lost: %+v %+v", sink, res.Embeddings, res.Chunks)
		}
		r.exact()
		r.loseLedger()
		r.write("a.txt", "A new first line.\n\n"+paragraphs("a", 60))
		if res := r.sync(); res.Embeddings.Computed == 0 || res.Embeddings.Computed > 30 {
			t.Errorf("%s: after the ledger was lost and the document changed: %+v", sink, res.Embeddings)
		}
		r.exact()
	}
}

// Migration copies the vectors with their addresses; verify finds a lost chunk and repair gives it the vector that it had.
func TestContextMigrateAndRepair(t *testing.T) {
	const other = "sink: { memory: { name: other } }"
	r := newContextual(t, "")
	r.write("a.txt", paragraphs("a", 60))
	r.sync()
	r.groups()
	r.settle()
	if rep, err := r.migrate(other, pipeline.MigrateOptions{}); err != nil || rep.Verified == nil || rep.Written == 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	r.use(other)
	r.quiet("after the migration")
	r.exact()
	live, err := r.place("other").Live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Delete(t.Context(), []string{r.ordered("a.txt")[7].ChunkID}); err != nil {
		t.Fatal(err)
	}
	p := r.open()
	v, err := p.Verify(t.Context(), true)
	if cerr := p.Close(); err != nil || cerr != nil || !v.Repaired || v.Missing != 1 {
		t.Errorf("%+v, %v, %v", v, err, cerr)
	}
	r.exact()
	if groups := r.groups(); len(groups) != 0 {
		t.Errorf("%d groups were embedded", len(groups))
	}
	p = r.open()
	defer func() { _ = p.Close() }()
	if _, err := p.Adopt(t.Context(), pipeline.AdoptOptions{Collection: "x", Content: "t", Source: "docs"}); pipeline.ExitCode(err) != pipeline.ExitUsage || !strings.Contains(err.Error(), "neighbours") {
		t.Errorf("vectors without context were adopted: %v", err)
	}
}

// poisoned refuses groups with a word in them: whole, or by naming the text.
type poisoned struct {
	connector.Embedder
	word string
	name bool
}

func (e *poisoned) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	at := slices.IndexFunc(texts, func(t string) bool { return e.word != "" && strings.Contains(t, e.word) })
	if at < 0 {
		return e.Embedder.Embed(ctx, texts)
	}
	err := connector.Errorf(connector.ClassInvalid, "no such text, please")
	if !e.name {
		return nil, err
	}
	out, oerr := e.Embedder.Embed(ctx, texts)
	return out, errors.Join(oerr, &connector.BatchError{Items: map[int]error{at: err}})
}

// A text that is refused fails its document, by name; its old chunks stay, and the other documents are embedded.
func TestContextPoison(t *testing.T) {
	for _, named := range []bool{false, true} {
		r := newContextual(t, "")
		evil := &poisoned{name: named}
		wrap := r.opts.WrapEmbedder
		r.opts.WrapEmbedder = func(e connector.Embedder) connector.Embedder {
			evil.Embedder = wrap(e)
			return evil
		}
		r.write("a.txt", paragraphs("a", 30))
		r.sync()
		before := r.ordered("a.txt")
		evil.word = "POISON"
		r.write("a.txt", "One POISON line.\n\n"+paragraphs("a", 30))
		r.write("b.txt", paragraphs("b", 30))
		res, err := r.trySync(pipeline.SyncOptions{})
		if pipeline.ExitCode(err) != pipeline.ExitFailed || res.Documents.Failed != 1 || res.Documents.Added != 1 || len(res.Errors) != 1 || res.Errors[0].Path != "a.txt" ||
			!strings.Contains(res.Errors[0].Error, "no such text") {
			t.Fatalf("%v, %+v", err, res)
		}
		if after := r.ordered("a.txt"); len(after) != len(before) || after[0].ChunkID != before[0].ChunkID {
			t.Errorf("%d chunks stay of %d", len(after), len(before))
		}
		r.write("a.txt", paragraphs("a", 31))
		r.sync()
		r.exact()
	}
}

func TestKillAnywhereContextual(t *testing.T) {
	r := newContextual(t, "sink: { sqlite: { path: ./kb.sqlite } }")
	killTest(t, &scenario{rig: r}, func() {
		for _, e := range must(os.ReadDir(r.dir)) {
			if err := os.RemoveAll(filepath.Join(r.dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestContextLarge is a document that is spooled and written in several windows, without a limit on tokens.
func TestContextLarge(t *testing.T) {
	r := newRig(t, "", "embedder: { contextual: {} }\nrules: [{ strategy: { recursive: { max_tokens: 48, overlap: 0 } } }]")
	r.write("large.txt", paragraphs("large", 2600))
	whole := r.sync().Embeddings.Computed
	if whole < 1100 {
		t.Fatalf("%d chunks are too few for a spool", whole)
	}
	for _, g := range r.groups() {
		if len(g) > 256 {
			t.Errorf("a group of %d texts", len(g))
		}
	}
	r.write("large.txt", "One line more.\n\n"+paragraphs("large", 2600))
	if res := r.sync(); res.Embeddings.Computed > whole/2 {
		t.Errorf("%d of %d texts were embedded again after one line on top", res.Embeddings.Computed, whole)
	}
	r.exact()
}
