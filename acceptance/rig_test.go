// Package acceptance holds the tests that run the engine with its real plugins: the laws over real documents, the reported
// faults, runs that are killed, and the budgets of memory and work.
package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/embedtest"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/connector/sinktest"
)

// rig is one pipeline over a folder, with its own state, as a test drives it.
type rig struct {
	tb     testing.TB
	docs   string // the folder that is synced
	dir    string // configuration and state
	yaml   string
	memory *sinktest.Memory            // behind `sink: { memory: {} }`
	places map[string]*sinktest.Memory // further ones, by `memory: { name: … }`
	opts   pipeline.Options
	embeds atomic.Int64 // texts embedded
	reg    *connector.Registry
	paged  *pagedFaults // planted in `paged: {}` sources

	contexts []*embedtest.Contextual // those that `contextual: {}` opened
}

const pipelineName = "acceptance"

// newRig makes a rig whose documents are in docs (a fresh folder if empty) with the memory sink, unless extra configures another.
func newRig(tb testing.TB, docs, extra string) *rig {
	tb.Helper()
	if docs == "" {
		docs = tb.TempDir()
	}
	r := &rig{tb: tb, docs: docs, dir: tb.TempDir(), memory: sinktest.NewMemory()}
	r.yaml = fmt.Sprintf("name: %s\nsources: [{ name: docs, fs: { root: %q } }]\n%s\n", pipelineName, docs, extra)
	if !strings.Contains(extra, "sink:") {
		r.yaml += "sink: { memory: {} }\n"
	}
	if !strings.Contains(extra, "embedder:") {
		r.yaml += "embedder: { lexical: { dimensions: 32 } }\n"
	}
	r.reg = registry(tb, r)
	r.opts.RetryWait = time.Millisecond
	r.opts.WrapEmbedder = func(e connector.Embedder) connector.Embedder { return &counted{e, &r.embeds} }
	return r
}

// counted counts the texts that are embedded.
type counted struct {
	connector.Embedder
	n *atomic.Int64
}

func (c *counted) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	for _, t := range texts {
		if strings.TrimSpace(t) == "" {
			return nil, errors.New("a blank text was sent to the embedder")
		}
	}
	c.n.Add(int64(len(texts)))
	return c.Embedder.Embed(ctx, texts)
}

func (r *rig) config() *config.File {
	r.tb.Helper()
	path := filepath.Join(r.dir, "kbsync.yaml")
	if err := os.WriteFile(path, []byte(r.yaml), 0o644); err != nil {
		r.tb.Fatal(err)
	}
	file, err := config.Load([]string{path}, r.reg, config.Options{})
	if err != nil {
		r.tb.Fatalf("%v\n%s", err, r.yaml)
	}
	return file
}

func (r *rig) open() *pipeline.Pipeline {
	r.tb.Helper()
	p, err := pipeline.Open(context.Background(), r.config(), r.reg, r.opts)
	if err != nil {
		r.tb.Fatal(err)
	}
	return p
}

// trySync runs one sync.
func (r *rig) trySync(opts pipeline.SyncOptions) (pipeline.Result, error) {
	r.tb.Helper()
	p, err := pipeline.Open(context.Background(), r.config(), r.reg, r.opts)
	if err != nil {
		return pipeline.Result{}, err
	}
	res, err := p.Sync(context.Background(), opts)
	if cerr := p.Close(); cerr != nil {
		r.tb.Error(cerr)
	}
	return res, err
}

// sync runs one sync that must succeed.
func (r *rig) sync() pipeline.Result {
	r.tb.Helper()
	res, err := r.trySync(pipeline.SyncOptions{})
	if err != nil {
		r.tb.Fatalf("sync: %v (%+v)", err, res.Errors)
	}
	return res
}

// export reads back what the sink holds.
func (r *rig) export() []connector.Record {
	r.tb.Helper()
	p := r.open()
	defer func() { _ = p.Close() }()
	var out []connector.Record
	for pt, err := range p.Export(context.Background(), false) {
		if err != nil {
			r.tb.Fatal(err)
		}
		out = append(out, pt.Record)
	}
	return out
}

// exact fails unless the sink holds exactly what a fresh sync of the same documents gives. modified_at is left out: a fresh sync
// cannot know that a file was touched without a change.
func (r *rig) exact() {
	r.tb.Helper()
	fresh := newRig(r.tb, r.docs, "")
	fresh.yaml = rest(r.yaml)
	fresh.sync()
	got, want := canonical(r.tb, r.export()), canonical(r.tb, fresh.export())
	if diff := firstDifference(got, want); diff != "" {
		r.tb.Fatalf("the sink differs from a fresh sync (%d records, want %d): %.3000s", len(got), len(want), diff)
	}
	sameVectors(r.tb, r.vectors(), fresh.vectors())
}

// vectors reads back what the sink holds of vectors, by chunk.
func (r *rig) vectors() map[string][]float32 {
	r.tb.Helper()
	p := r.open()
	defer func() { _ = p.Close() }()
	out := map[string][]float32{}
	for pt, err := range p.Export(context.Background(), true) {
		if err != nil {
			r.tb.Fatal(err)
		}
		out[pt.ChunkID] = pt.Vector
	}
	return out
}

// sameVectors compares vectors, which a sink may have normalised.
func sameVectors(tb testing.TB, got, want map[string][]float32) {
	tb.Helper()
	for id, w := range want {
		g := got[id]
		if len(g) != len(w) {
			tb.Fatalf("chunk %s has a vector of %d dimensions, want %d", id, len(g), len(w))
		}
		for i := range w {
			if d := g[i] - w[i]; d > 1e-5 || d < -1e-5 {
				tb.Fatalf("chunk %s has another vector than a fresh sync gives: component %d is %v, want %v", id, i, g[i], w[i])
			}
		}
	}
}

// rest is a configuration with the memory sink in place of its own.
func rest(yaml string) string {
	var keep []string
	for _, line := range strings.Split(yaml, "\n") {
		if !strings.HasPrefix(line, "sink:") && !strings.HasPrefix(line, "state:") {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "\n") + "\nsink: { memory: {} }\n"
}

func canonical(tb testing.TB, records []connector.Record) []string {
	tb.Helper()
	out := make([]string, len(records))
	for i := range records {
		delete(records[i].Metadata, "modified_at")
		b, err := json.Marshal(records[i])
		if err != nil {
			tb.Fatal(err)
		}
		out[i] = string(b)
	}
	slices.Sort(out)
	return out
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return "missing " + want[i]
		case i >= len(want):
			return "too much " + got[i]
		case got[i] != want[i]:
			return fmt.Sprintf("\n got %s\nwant %s", got[i], want[i])
		}
	}
	return ""
}

// write puts a document and dates it back, so that its version is settled.
func (r *rig) write(path, text string) {
	r.tb.Helper()
	name := filepath.Join(r.docs, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		r.tb.Fatal(err)
	}
	r.age(path)
}

// age sets a file's modification time to a minute ago plus a little that differs each time.
var ages atomic.Int64

func (r *rig) age(path string) {
	r.tb.Helper()
	when := time.Now().Add(-time.Hour + time.Duration(ages.Add(1))*time.Millisecond)
	if err := os.Chtimes(filepath.Join(r.docs, filepath.FromSlash(path)), when, when); err != nil {
		r.tb.Fatal(err)
	}
}

// settle waits until no file counts as modified a moment ago.
func (r *rig) settle() { time.Sleep(2100 * time.Millisecond) }

func (r *rig) remove(path string) {
	r.tb.Helper()
	if err := os.RemoveAll(filepath.Join(r.docs, filepath.FromSlash(path))); err != nil {
		r.tb.Fatal(err)
	}
}

// paragraphs is prose with n distinct paragraphs.
func paragraphs(seed string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Paragraph %d of %s tells something about item %d. 第%d段说明了%s的内容。\n\n", i, seed, i*7, i, seed)
	}
	return b.String()
}

// loseLedger removes all state beside the sink.
func (r *rig) loseLedger() {
	r.tb.Helper()
	if err := os.RemoveAll(filepath.Join(r.dir, ".kbsync")); err != nil {
		r.tb.Fatal(err)
	}
}

// saveLedger keeps a copy of the state; what it returns puts that back in place of what is there then.
func (r *rig) saveLedger() (restore func()) {
	r.tb.Helper()
	state, saved := filepath.Join(r.dir, ".kbsync"), r.tb.TempDir()
	if err := os.CopyFS(saved, os.DirFS(state)); err != nil {
		r.tb.Fatal(err)
	}
	return func() {
		r.tb.Helper()
		r.loseLedger()
		if err := os.CopyFS(state, os.DirFS(saved)); err != nil {
			r.tb.Fatal(err)
		}
	}
}
