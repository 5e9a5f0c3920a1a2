package acceptance

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/connector/vectorstore"
)

// sharing makes a rig over docs, with a pipeline name and a sink of its own, that uses the shared store at path.
func sharing(t *testing.T, docs, name, path, extra string) *rig {
	t.Helper()
	r := newRig(t, docs, fmt.Sprintf("store: %q\n%s", path, extra))
	r.yaml = strings.Replace(r.yaml, "name: "+pipelineName, "name: "+name, 1)
	return r
}

// warnings collects what a rig's pipelines log from level warn up.
func warnings(r *rig) *bytes.Buffer {
	b := &bytes.Buffer{}
	r.opts.Log = slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return b
}

func storeDocs(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, "", "")
	for i := range 8 {
		r.write(fmt.Sprintf("d%d.md", i), paragraphs(fmt.Sprint("document ", i), 12))
	}
	return r
}

func TestStoreIsSharedByPipelinesAndSinks(t *testing.T) {
	docs := storeDocs(t).docs
	path := filepath.Join(t.TempDir(), "vectors.db")
	first := sharing(t, docs, "first", path, "sink: { sqlite: { path: first.db } }")
	res := first.sync()
	if res.Embeddings.Computed == 0 || res.Embeddings.Cached != 0 {
		t.Fatalf("the first pipeline: %+v", res.Embeddings)
	}
	computed := res.Embeddings.Computed
	second := sharing(t, docs, "second", path, "")
	p := second.open()
	plan, err := p.Plan(context.Background(), pipeline.SyncOptions{})
	if err = errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
	if plan.Embeddings != 0 || plan.Cached != computed {
		t.Errorf("the plan of the second pipeline embeds %d and finds %d, want 0 and %d", plan.Embeddings, plan.Cached, computed)
	}
	if res = second.sync(); second.embeds.Load() != 0 || res.Embeddings.Computed != 0 || res.Embeddings.Cached != computed {
		t.Errorf("the second pipeline embedded %d texts: %+v", second.embeds.Load(), res.Embeddings)
	}
	second.exact()

	// What was found is the pipeline's own from then on.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second.write("again.md", paragraphs("document 3", 12))
	if second.sync(); second.embeds.Load() != 0 {
		t.Errorf("without the shared store %d texts were embedded again", second.embeds.Load())
	}
}

func TestStoreOutlivesLedgerAndSink(t *testing.T) {
	docs := storeDocs(t).docs
	path := filepath.Join(t.TempDir(), "vectors.db")
	sharing(t, docs, "first", path, "").sync()
	anew := sharing(t, docs, "first", path, "") // no ledger, an empty sink
	if anew.sync(); anew.embeds.Load() != 0 {
		t.Errorf("%d texts were embedded again", anew.embeds.Load())
	}
}

func TestStoreKeepsModelsApart(t *testing.T) {
	docs := storeDocs(t).docs
	path := filepath.Join(t.TempDir(), "vectors.db")
	sharing(t, docs, "first", path, "").sync()
	other := sharing(t, docs, "other", path, "embedder: { lexical: { dimensions: 48 } }")
	if res := other.sync(); res.Embeddings.Cached != 0 || res.Embeddings.Computed == 0 {
		t.Errorf("a model took %d vectors of another", res.Embeddings.Cached)
	}
}

// TestStoreUnderSyncsAtOnce runs pipelines over overlapping documents with one store at the same time.
func TestStoreUnderSyncsAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors.db")
	var rigs []*rig
	for i := range 3 {
		docs := storeDocs(t)
		docs.write("own.md", paragraphs(fmt.Sprint("pipeline ", i), 12))
		rigs = append(rigs, sharing(t, docs.docs, fmt.Sprint("pipeline ", i), path, ""))
	}
	results, errs, said := make([]pipeline.Result, len(rigs)), make([]error, len(rigs)), make([]*bytes.Buffer, len(rigs))
	var wg sync.WaitGroup
	for i, r := range rigs {
		said[i] = warnings(r)
		wg.Go(func() { results[i], errs[i] = r.trySync(pipeline.SyncOptions{}) })
	}
	wg.Wait()
	for i, r := range rigs {
		if errs[i] != nil || said[i].Len() > 0 {
			t.Fatalf("pipeline %d: %v %s", i, errs[i], said[i])
		}
		if e, first := results[i].Embeddings, results[0].Embeddings; e.Computed+e.Cached != first.Computed+first.Cached {
			t.Errorf("pipeline %d: %+v, the first: %+v", i, e, first)
		}
		r.exact()
	}
	last := sharing(t, rigs[2].docs, "last", path, "")
	if last.sync(); last.embeds.Load() != 0 {
		t.Errorf("%d texts were embedded once more", last.embeds.Load())
	}
}

// TestStoreUnderProcessesThatAreKilled kills syncs of other pipelines at several points; the store stays sound, and what they paid for is there.
func TestStoreUnderProcessesThatAreKilled(t *testing.T) {
	docs := storeDocs(t).docs
	path := filepath.Join(t.TempDir(), "vectors.db")
	for _, at := range []string{"5", "12", "20", "0"} {
		r := sharing(t, docs, "killed "+at, path, "sink: { sqlite: { path: k.db } }")
		r.config()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "KBSYNC_TEST_CHILD=sync", "KBSYNC_TEST_DIR="+r.dir, "KBSYNC_TEST_KILL="+at)
		if out, err := cmd.CombinedOutput(); (err == nil) != (at == "0") {
			t.Fatalf("killed at %s: %v %s", at, err, out)
		}
	}
	after := sharing(t, docs, "after", path, "")
	said := warnings(after)
	if after.sync(); after.embeds.Load() != 0 || said.Len() > 0 {
		t.Errorf("%d texts were embedded again: %s", after.embeds.Load(), said)
	}
	after.exact()
}

// TestStoreThatFails: whatever is wrong with the shared store, a sync does its work, says so once, and takes no wrong vector.
func TestStoreThatFails(t *testing.T) {
	docs := storeDocs(t).docs
	whole := filepath.Join(t.TempDir(), "vectors.db")
	computed := sharing(t, docs, "first", whole, "").sync().Embeddings.Computed
	sound, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(sound)
	copy(damaged[8192:], strings.Repeat("garbage ", len(sound)/8-1024))
	for name, c := range map[string]struct {
		file   []byte
		harm   string // to the sound file
		says   string // empty: nothing
		cached int
	}{
		"no database":     {file: []byte(strings.Repeat("notes ", 1000)), says: "no vector store"},
		"damaged":         {file: damaged, says: "damaged"},
		"cut":             {file: sound[:8192*2], says: "damaged"},
		"newer":           {file: sound, harm: "PRAGMA user_version=9", says: "format 9"},
		"another program": {file: sound, harm: "PRAGMA application_id=7", says: "another program"},
		"a folder":        {says: "is a folder"},
		"no place":        {says: "vector store"},
		"table gone":      {file: sound, harm: "DROP TABLE vectors", says: "no such table"},
		"wrong vectors":   {file: sound, harm: "UPDATE vectors SET n=-n; UPDATE vectors SET n=(SELECT max(-n) FROM vectors)+1+n"},
		"missing vectors": {file: sound, harm: "DELETE FROM vectors"},
		"sound":           {file: sound, cached: computed},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "folder", "vectors.db")
			harm(t, name, path, c.file, c.harm)
			r := sharing(t, docs, pipelineName, path, "sync: { concurrency: 4 }")
			said := warnings(r)
			res := r.sync()
			if res.Embeddings.Cached != c.cached || res.Embeddings.Computed != computed-c.cached || res.Documents.Failed > 0 {
				t.Errorf("%+v", res.Embeddings)
			}
			r.oneWarning(said.String(), c.says)
			r.sameVectors(docs)
			if c.says != "" {
				return
			}
			next := sharing(t, docs, "next", path, "") // what was absent was written anew
			if next.sync(); next.embeds.Load() != 0 {
				t.Errorf("%d texts were embedded again", next.embeds.Load())
			}
		})
	}
}

// harm puts a file where the store is to be, and alters it.
func harm(t *testing.T, name, path string, file []byte, statements string) {
	t.Helper()
	var err error
	switch name {
	case "no place":
		err = os.WriteFile(filepath.Dir(path), nil, 0o644)
	case "a folder":
		err = os.MkdirAll(path, 0o755)
	default:
		err = errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, file, 0o644))
	}
	if err == nil && statements != "" {
		var db *sql.DB
		if db, err = sql.Open("sqlite", path); err == nil {
			_, err = db.Exec(statements)
			err = errors.Join(err, db.Close())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sameVectors fails unless the sink holds the vectors that a pipeline without a shared store makes.
func (r *rig) sameVectors(docs string) {
	r.tb.Helper()
	alone := newRig(r.tb, docs, "")
	alone.sync()
	got, want := r.vectorsByText(), alone.vectorsByText()
	if len(got) != len(want) || len(want) == 0 {
		r.tb.Fatalf("%d texts, want %d", len(got), len(want))
	}
	for text, v := range want {
		if !slices.Equal(got[text], v) {
			r.tb.Fatalf("%.40q has another vector", text)
		}
	}
}

func (r *rig) vectorsByText() map[string][]float32 {
	r.tb.Helper()
	p := r.open()
	defer func() { _ = p.Close() }()
	out := map[string][]float32{}
	for pt, err := range p.Export(context.Background(), true) {
		if err != nil {
			r.tb.Fatal(err)
		}
		out[pt.EmbedText] = pt.Vector
	}
	return out
}

// oneWarning fails unless the log has one line, which contains what; none if that is empty.
func (r *rig) oneWarning(said, what string) {
	r.tb.Helper()
	n := 1
	if what == "" {
		n = 0
	}
	if strings.Count(said, "\n") != n || !strings.Contains(said, what) {
		r.tb.Errorf("it says %q, want %d lines with %q", said, n, what)
	}
}

func TestStoreOnAFullDisk(t *testing.T) {
	docs := storeDocs(t)
	for i := range 40 {
		docs.write(fmt.Sprintf("more%d.md", i), paragraphs(fmt.Sprint("more ", i), 12))
	}
	path := filepath.Join(t.TempDir(), "vectors.db")
	r := sharing(t, docs.docs, pipelineName, path, "embedder: { lexical: { dimensions: 2048 } }")
	r.opts.MaxSharedPages = 20
	said := warnings(r)
	res := r.sync()
	r.oneWarning(said.String(), "no space left")
	if res.Documents.Failed > 0 {
		t.Errorf("%+v", res)
	}
	r.exact()
}

func TestStoreThatOthersHold(t *testing.T) {
	docs := storeDocs(t)
	path := filepath.Join(t.TempDir(), "vectors.db")
	sharing(t, docs.docs, "first", path, "").sync()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	docs.write("more.md", paragraphs("more", 12))
	r := sharing(t, docs.docs, "second", path, "")
	said := warnings(r)
	res := r.sync()
	if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if res.Embeddings.Cached == 0 || res.Embeddings.Computed == 0 {
		t.Errorf("a store that another process writes to cannot be read: %+v", res.Embeddings)
	}
	r.oneWarning(said.String(), "other processes held it too long")
}

// TestStoreKeepsWhatIsPaidFor: what was embedded before the run failed is in the shared store.
func TestStoreKeepsWhatIsPaidFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors.db")
	r := sharing(t, storeDocs(t).docs, "first", path, "")
	r.opts.WrapSink = func(s connector.Sink) connector.Sink {
		return &hookedSink{s, func(op string) error {
			if op == "upsert" {
				return errors.New("the sink is broken")
			}
			return nil
		}}
	}
	if _, err := r.trySync(pipeline.SyncOptions{}); err == nil {
		t.Fatal("the sink is broken, and the run ended well")
	}
	s, err := vectorstore.Open(context.Background(), path, vectorstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Stats(context.Background())
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if len(st) != 1 || int64(st[0].Vectors) < r.embeds.Load() {
		t.Errorf("%d texts were embedded, the store has %+v", r.embeds.Load(), st)
	}
}
