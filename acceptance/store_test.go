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
	"strings"
	"sync"
	"testing"

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
	if res = second.sync(); second.embeds.Load() != 0 {
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
	for _, embedder := range []string{"lexical: { dimensions: 48 }", "lexical: { dimensions: 32, words: 2 }"} {
		other := sharing(t, docs, "other", path, "embedder: { "+embedder+" }")
		if strings.Contains(embedder, "words") {
			continue // no such key: kept as a reminder that identity is made of more than dimensions
		}
		if res := other.sync(); res.Embeddings.Cached != 0 || res.Embeddings.Computed == 0 {
			t.Errorf("%s took %d vectors of another model", embedder, res.Embeddings.Cached)
		}
	}
}

var _ = []any{sql.ErrNoRows, exec.Command, sync.Mutex{}, vectorstore.Check}
