package acceptance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/sources/fs"
)

// faultyConfig is the file system with planted faults.
type faultyConfig struct {
	Root string `yaml:"root"`
	// Unreadable names documents whose Open fails, Cut those whose reader fails half-way, Lost those that the listing cannot read.
	Unreadable []string `yaml:"unreadable"`
	Cut        []string `yaml:"cut"`
	Lost       []string `yaml:"lost"`
	// BreakAfter ends the listing with an error after so many items; 0 means never.
	BreakAfter int `yaml:"break_after"`
	// Unordered promises no order, so that the engine must not rely on one.
	Unordered bool `yaml:"unordered"`
}

func faultyPlugin() connector.SourcePlugin {
	return connector.Define("faulty", "files with planted faults", faultyConfig{}, func(ctx context.Context, c *faultyConfig, env connector.Env) (connector.Source, error) {
		plugin := fs.Plugin()
		conf := plugin.Config()
		conf.(*fs.Config).Root = c.Root
		src, err := plugin.Open(ctx, conf, env)
		return &faulty{src, c}, err
	})
}

type faulty struct {
	connector.Source
	c *faultyConfig
}

func (f *faulty) Capabilities() connector.SourceCapabilities {
	caps := f.Source.Capabilities()
	if f.c.Unordered {
		caps.Order = connector.OrderNone
	}
	return caps
}

func (f *faulty) Changes(ctx context.Context) iter.Seq2[connector.Change, error] {
	return func(yield func(connector.Change, error) bool) {
		n := 0
		for ch, err := range f.Source.Changes(ctx) {
			if n++; f.c.BreakAfter > 0 && n > f.c.BreakAfter {
				yield(connector.Change{}, errors.New("the connection to the source was cut"))
				return
			}
			path := ch.Document.Path
			if slices.Contains(f.c.Lost, path) {
				err = &connector.DocError{Path: path, Err: errors.New("permission denied")}
				ch = connector.Change{}
			}
			open := ch.Document.Open
			switch {
			case slices.Contains(f.c.Unreadable, path):
				ch.Document.Open = func(context.Context) (io.ReadCloser, error) { return nil, errors.New("permission denied") }
			case slices.Contains(f.c.Cut, path):
				ch.Document.Open = func(ctx context.Context) (io.ReadCloser, error) {
					rc, err := open(ctx)
					return &cutReader{rc, 100}, err
				}
			}
			if !yield(ch, err) {
				return
			}
		}
	}
}

type cutReader struct {
	io.ReadCloser
	left int
}

func (c *cutReader) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, errors.New("connection reset")
	}
	n, err := c.ReadCloser.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

// faultyRig is a rig whose source has planted faults, given as YAML.
func faultyRig(t *testing.T, faults string) *rig {
	t.Helper()
	r := newRig(t, "", "")
	r.plant(faults)
	return r
}

func (r *rig) plant(faults string) {
	start := strings.Index(r.yaml, "sources:")
	end := start + strings.IndexByte(r.yaml[start:], '\n')
	r.yaml = r.yaml[:start] + fmt.Sprintf("sources: [{ name: docs, faulty: { root: %q, %s } }]", r.docs, faults) + r.yaml[end:]
}

// TestFailedDocumentKeepsItsOldChunks also holds for a listing that cannot read a document or a folder.
func TestFailedDocumentKeepsItsOldChunks(t *testing.T) {
	for _, fault := range []string{"unreadable: [b/bad.txt]", "cut: [b/bad.txt]", "lost: [b/bad.txt]"} {
		t.Run(fault, func(t *testing.T) {
			r := faultyRig(t, "unordered: false")
			r.write("good.txt", paragraphs("good", 5))
			r.write("b/bad.txt", paragraphs("bad", 5))
			r.sync()
			old := byDocument(r.export())["b/bad.txt"]
			r.write("good.txt", paragraphs("better", 6))
			r.write("b/bad.txt", paragraphs("worse", 6))
			r.plant(fault)
			for range 2 { // and it is named again, not forgotten
				res, err := r.trySync(pipeline.SyncOptions{})
				if pipeline.ExitCode(err) != pipeline.ExitFailed || res.Documents.Failed != 1 || len(res.Errors) != 1 ||
					res.Errors[0].Path != "b/bad.txt" || res.Errors[0].Error == "" {
					t.Fatalf("%v %+v", err, res)
				}
			}
			if now := byDocument(r.export()); fmt.Sprint(now["b/bad.txt"]) != fmt.Sprint(old) || len(now["good.txt"]) == 0 {
				t.Fatalf("old chunks %v, now %v", old, now)
			}
			r.plant("unordered: false")
			r.sync()
			r.exact()
		})
	}
}

func TestListingThatBreaksDeletesNothing(t *testing.T) {
	r := faultyRig(t, "unordered: false")
	for i := range 10 {
		r.write(fmt.Sprintf("%d.txt", i), paragraphs(fmt.Sprint(i), 3))
	}
	r.sync()
	r.remove("1.txt")
	r.write("0.txt", paragraphs("new", 3))
	r.plant("break_after: 4")
	res, err := r.trySync(pipeline.SyncOptions{})
	if pipeline.ExitCode(err) != pipeline.ExitUnreachable || res.Documents.Updated != 1 || res.Documents.Deleted != 0 {
		t.Fatalf("%v %+v", err, res)
	}
	if docs := byDocument(r.export()); len(docs) != 10 {
		t.Fatalf("%d documents are left", len(docs))
	}
	r.plant("unordered: false")
	r.sync()
	r.exact()
}

func TestSourceWithoutOrder(t *testing.T) {
	r := faultyRig(t, "unordered: true")
	for i := range 12 {
		r.write(fmt.Sprintf("%d/x.txt", i), paragraphs(fmt.Sprint(i), 3))
	}
	r.settle()
	r.sync()
	r.exact()
	if res := r.sync(); res.Documents.Unchanged != 12 || res.BytesRead != 0 {
		t.Fatalf("%+v", res)
	}
	r.remove("3")
	r.write("4/x.txt", "short")
	if res := r.sync(); res.Documents.Deleted != 1 || res.Documents.Updated != 1 {
		t.Fatalf("%+v", res)
	}
	r.exact()
}

// TestSinkFaultAtEveryCall makes each call to the sink fail once, in turn, before and after it did its work, and with every
// class of error; whatever that run comes to, the next one is exact.
func TestSinkFaultAtEveryCall(t *testing.T) {
	for _, class := range []connector.Class{connector.ClassUnknown, connector.ClassTransient, connector.ClassInvalid, connector.ClassFull} {
		t.Run(class.String(), func(t *testing.T) {
			for at := int64(1); ; at++ {
				r := newRig(t, "", "")
				s := &scenario{rig: r}
				s.first()
				r.sync()
				s.second()
				var calls atomic.Int64
				r.memory.Fault = func(op string, _ int) error {
					if op == "scan" || calls.Add(1) != at {
						return nil
					}
					return connector.Errorf(class, "planted fault in %s", op)
				}
				res, err := r.trySync(pipeline.SyncOptions{})
				r.memory.Fault = nil
				if calls.Load() < at {
					return
				}
				passing := class == connector.ClassTransient || class == connector.ClassThrottled
				if passing && err != nil {
					t.Fatalf("call %d: a passing fault ended the run: %v", at, err)
				}
				if err == nil && res.Documents.Failed > 0 {
					t.Fatalf("call %d: %d documents failed in silence", at, res.Documents.Failed)
				}
				r.sync()
				r.exact()
			}
		})
	}
}

// TestPoison: what the sink or the embedder will never accept stands alone at the end, named, and the rest goes on.
func TestPoison(t *testing.T) {
	const poison = "POISON"
	hasPoison := func(texts []string) bool {
		return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, poison) })
	}
	check := func(t *testing.T, r *rig, lift func()) {
		t.Helper()
		for i := range 100 {
			r.write(fmt.Sprintf("%02d.txt", i), paragraphs(fmt.Sprint(i), 2))
		}
		r.write("42.txt", paragraphs("42", 30)+poison+"\n")
		res, err := r.trySync(pipeline.SyncOptions{})
		if pipeline.ExitCode(err) != pipeline.ExitFailed || res.Documents.Failed != 1 || res.Documents.Added != 99 || res.Errors[0].Path != "42.txt" {
			t.Fatalf("%v %+v", err, res)
		}
		if left := byDocument(r.export())["42.txt"]; len(left) > 0 {
			t.Fatalf("%d chunks of the failed document were left", len(left))
		}
		lift()
		r.sync()
		r.exact()
	}
	t.Run("embedder", func(t *testing.T) {
		r := newRig(t, "", "")
		var off atomic.Bool
		inner := r.opts.WrapEmbedder
		r.opts.WrapEmbedder = func(e connector.Embedder) connector.Embedder {
			return &picky{inner(e), func(texts []string) error {
				if !off.Load() && hasPoison(texts) {
					return connector.Errorf(connector.ClassInvalid, "a text is not acceptable")
				}
				return nil
			}}
		}
		check(t, r, func() { off.Store(true) })
	})
	for _, class := range []connector.Class{connector.ClassInvalid, connector.ClassTooLarge} {
		t.Run("sink "+class.String(), func(t *testing.T) {
			r := newRig(t, "", "")
			var off atomic.Bool
			r.opts.WrapSink = func(s connector.Sink) connector.Sink {
				return &pickySink{s, func(points []connector.Point) error {
					if !off.Load() && slices.ContainsFunc(points, func(p connector.Point) bool { return strings.Contains(p.Content, poison) }) {
						return connector.Errorf(class, "the request was refused")
					}
					return nil
				}}
			}
			check(t, r, func() { off.Store(true) })
		})
	}
}

type picky struct {
	connector.Embedder
	refuse func([]string) error
}

func (p *picky) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := p.refuse(texts); err != nil {
		return nil, err
	}
	return p.Embedder.Embed(ctx, texts)
}

type pickySink struct {
	connector.Sink
	refuse func([]connector.Point) error
}

func (p *pickySink) Create(ctx context.Context, s connector.Schema) (connector.Collection, error) {
	c, err := p.Sink.Create(ctx, s)
	return &pickyCollection{c, p}, err
}

type pickyCollection struct {
	connector.Collection
	p *pickySink
}

func (c *pickyCollection) Upsert(ctx context.Context, points []connector.Point) error {
	if err := c.p.refuse(points); err != nil {
		return err
	}
	return c.Collection.Upsert(ctx, points)
}

// TestDiskFull fills the ledger's disk at many points of a run; the run says so, and with more room the next one is exact.
func TestDiskFull(t *testing.T) {
	full := 0
	for pages := 20; ; pages += pages/8 + 1 {
		r := newRig(t, "", "sink: { sqlite: { path: ./kb.sqlite } }")
		for i := range 40 {
			r.write(fmt.Sprintf("%03d.txt", i), paragraphs(fmt.Sprint(i), 10))
		}
		r.opts.MaxLedgerPages = pages
		_, err := r.trySync(pipeline.SyncOptions{})
		if err == nil {
			break
		}
		if connector.ClassOf(err) != connector.ClassFull || !strings.Contains(err.Error(), "no space left") {
			t.Fatalf("with %d pages: %v", pages, err)
		}
		full++
		r.opts.MaxLedgerPages = 0
		r.sync()
		r.exact()
	}
	if full < 3 {
		t.Fatalf("the disk was full %d times only", full)
	}
}

func TestTwoRunsDoNotInterleave(t *testing.T) {
	r := newRig(t, "", "")
	r.write("a.txt", "text")
	lock, err := ledger.Acquire(pipeline.LedgerPath(r.config()), "kbsync sync -c other")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.trySync(pipeline.SyncOptions{})
	var locked *ledger.LockedError
	if !errors.As(err, &locked) || locked.Holder.PID != os.Getpid() || !strings.Contains(err.Error(), "kbsync sync -c other") {
		t.Fatalf("a second run was let in, or the holder was not named: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	r.sync()
}

// TestDamagedLedger: a ledger that is no database is refused with what to do, and doing it loses nothing.
// panics is a progress that fails as a plugin may.
type panics struct{ pipeline.Progress }

func (panics) Stage(string) { panic("a plugin's fault") }

// TestPanicGivesTheLockBack: a service goes on after a run that panicked.
func TestPanicGivesTheLockBack(t *testing.T) {
	r := newRig(t, "", "")
	r.write("a.txt", paragraphs("a", 3))
	r.opts.Progress = panics{}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was lost")
			}
		}()
		_, _ = r.trySync(pipeline.SyncOptions{})
	}()
	r.opts.Progress = nil
	r.sync()
	r.exact()
}

func TestDamagedLedger(t *testing.T) {
	r := newRig(t, "", "sink: { sqlite: { path: ./kb.sqlite } }")
	r.write("a.txt", paragraphs("a", 9))
	r.sync()
	path := pipeline.LedgerPath(r.config())
	for _, junk := range []string{strings.Repeat("not a database ", 1000), ""} {
		for _, suffix := range []string{"-wal", "-shm"} {
			_ = os.Remove(path + suffix)
		}
		if err := os.WriteFile(path, []byte(junk), 0o644); err != nil {
			t.Fatal(err)
		}
		if junk != "" {
			if _, err := r.trySync(pipeline.SyncOptions{}); err == nil || !strings.Contains(err.Error(), "delete it") {
				t.Fatalf("a damaged ledger: %v", err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		r.embeds.Store(0)
		r.sync()
		if r.embeds.Load() != 0 {
			t.Fatalf("%d texts were embedded again", r.embeds.Load())
		}
		r.exact()
	}
}

// TestCollectionDeletedBehindItsBack: the marker tells, and everything is written again without embedding.
func TestCollectionDeletedBehindItsBack(t *testing.T) {
	r := newRig(t, "", "sink: { sqlite: { path: ./kb.sqlite } }")
	for i := range 5 {
		r.write(fmt.Sprintf("%d.txt", i), paragraphs(fmt.Sprint(i), 9))
	}
	r.sync()
	files, err := filepath.Glob(filepath.Join(r.dir, "kb.sqlite*"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	r.embeds.Store(0)
	res := r.sync()
	if r.embeds.Load() != 0 || res.Chunks.Upserted == 0 {
		t.Fatalf("%+v, %d embedded", res, r.embeds.Load())
	}
	r.exact()
}

// TestVerify finds and repairs points that were removed, added and changed behind kbsync's back.
func TestVerify(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, "", "")
	for i := range 5 {
		r.write(fmt.Sprintf("%d.txt", i), paragraphs(fmt.Sprint(i), 40))
	}
	r.sync()
	verify := func(repair bool) (*pipeline.Verified, error) {
		p := r.open()
		defer func() { _ = p.Close() }()
		return p.Verify(ctx, repair)
	}
	if v, err := verify(false); err != nil || v.Checked != len(r.export()) {
		t.Fatalf("%v %+v", err, v)
	}
	coll := must(r.memory.Live(ctx))
	recs := r.export()
	points := must(coll.Fetch(ctx, []string{recs[1].ChunkID, recs[2].ChunkID, recs[3].ChunkID}, true))
	points[0].EmbedText, points[0].Content = "tampered", "tampered"
	points[1].Metadata["title"] = "tampered"
	points[2].ChunkID = "00000000-0000-5000-8000-000000000001"
	if err := errors.Join(coll.Upsert(ctx, points), coll.Delete(ctx, []string{recs[0].ChunkID})); err != nil {
		t.Fatal(err)
	}
	v, err := verify(false)
	if pipeline.ExitCode(err) != pipeline.ExitFailed || v.Missing != 1 || v.Orphan != 1 || v.Drifted != 2 {
		t.Fatalf("%v %+v", err, v)
	}
	r.embeds.Store(0)
	if v, err = verify(true); err != nil || !v.Repaired || r.embeds.Load() != 0 {
		t.Fatalf("repair: %v %+v, %d embedded", err, v, r.embeds.Load())
	}
	if v, err = verify(false); err != nil {
		t.Fatalf("after the repair: %v %+v", err, v)
	}
	r.exact()
}
