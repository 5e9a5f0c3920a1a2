package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/internal/shareddata"
)

// sinks are the sinks over which the engine's laws are tested.
var sinks = map[string]string{"memory": "", "sqlite": "sink: { sqlite: { path: ./kb.sqlite } }"}

func eachSink(t *testing.T, fn func(t *testing.T, extra string)) {
	t.Helper()
	for name, extra := range sinks {
		t.Run(name, func(t *testing.T) { fn(t, extra) })
	}
}

func TestSecondSyncDoesNothing(t *testing.T) {
	eachSink(t, func(t *testing.T, extra string) {
		r := newRig(t, "", extra)
		for i := range 20 {
			r.write(fmt.Sprintf("a/%d.md", i), "# Title\n\n"+paragraphs(fmt.Sprint(i), 12))
		}
		r.settle()
		first := r.sync()
		if first.Documents.Added != 20 || first.Chunks.Upserted == 0 || first.Embeddings.Computed == 0 {
			t.Fatalf("first sync: %+v", first)
		}
		r.exact()
		before := r.embeds.Load()
		second := r.sync()
		if second.Documents.Unchanged != 20 || second.BytesRead != 0 || second.Chunks.Upserted+second.Chunks.Repositioned+second.Chunks.Deleted != 0 ||
			second.Chunks.Unchanged != first.Chunks.Upserted || r.embeds.Load() != before {
			t.Fatalf("second sync: %+v", second)
		}
	})
}

func TestEdits(t *testing.T) {
	eachSink(t, func(t *testing.T, extra string) {
		r := newRig(t, "", extra)
		for _, name := range []string{"a.txt", "b.txt", "c/d.txt", "c/e.txt", "f.txt"} {
			r.write(name, paragraphs(name, 200))
		}
		r.sync()
		step := func(name string, want func(pipeline.Result) bool) {
			t.Helper()
			before := r.embeds.Load()
			res := r.sync()
			if !want(res) {
				t.Fatalf("%s: %+v, %d embedded", name, res, r.embeds.Load()-before)
			}
			r.exact()
		}
		embedded := func() int64 { return r.embeds.Swap(0) }
		embedded()

		r.age("a.txt")
		step("touch", func(x pipeline.Result) bool {
			return x.Documents.Unchanged == 5 && x.Chunks.Upserted+x.Chunks.Repositioned == 0 && embedded() == 0
		})
		if err := os.Chmod(filepath.Join(r.docs, "a.txt"), 0o600); err != nil {
			t.Fatal(err)
		}
		step("chmod", func(x pipeline.Result) bool {
			return x.Documents.Unchanged == 5 && x.Chunks.Upserted == 0 && embedded() == 0
		})
		r.write("b.txt", "A new first line.\n\n"+paragraphs("b.txt", 200))
		step("insert at the top", func(x pipeline.Result) bool {
			return x.Documents.Updated == 1 && embedded() <= 3 && x.Chunks.Upserted <= 3 && x.Chunks.Deleted <= 3
		})
		r.write("b.txt", paragraphs("b.txt", 3))
		step("shrink", func(x pipeline.Result) bool {
			return x.Documents.Updated == 1 && x.Chunks.Deleted > 0 && embedded() <= 1
		})
		if err := os.Rename(filepath.Join(r.docs, "c/d.txt"), filepath.Join(r.docs, "c/moved.txt")); err != nil {
			t.Fatal(err)
		}
		step("rename", func(x pipeline.Result) bool {
			return x.Documents.Moved == 1 && x.Documents.Added == 0 && x.Documents.Deleted == 0 && embedded() == 0
		})
		swap(t, filepath.Join(r.docs, "a.txt"), filepath.Join(r.docs, "f.txt"))
		step("swap", func(x pipeline.Result) bool { return x.Documents.Updated == 2 && embedded() == 0 })
		r.remove("f.txt")
		step("delete", func(x pipeline.Result) bool {
			return x.Documents.Deleted == 1 && x.Chunks.Deleted > 0 && embedded() == 0
		})
		r.write("empty.txt", " \n\n")
		step("blank", func(x pipeline.Result) bool {
			return x.Documents.Added == 1 && x.Chunks.Upserted == 0 && embedded() == 0
		})
	})
}

func swap(t *testing.T, a, b string) {
	t.Helper()
	for _, mv := range [][2]string{{a, a + ".x"}, {b, a}, {a + ".x", b}} {
		if err := os.Rename(mv[0], mv[1]); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEqualFilesStandApart(t *testing.T) {
	eachSink(t, func(t *testing.T, extra string) {
		r := newRig(t, "", extra)
		same := paragraphs("same", 30)
		r.write("one/q1.txt", same)
		r.write("two/q1.txt", same)
		res := r.sync()
		if res.Documents.Added != 2 {
			t.Fatalf("q1.txt in two folders are not two documents: %+v", res)
		}
		n := len(r.export())
		r.remove("one/q1.txt")
		r.sync()
		if left := r.export(); len(left) != n/2 || left[0].Path != "two/q1.txt" {
			t.Fatalf("after deleting one of two equal files %d of %d chunks are left", len(left), n)
		}
		r.exact()
	})
}

func TestGuards(t *testing.T) {
	r := newRig(t, "", "")
	for i := range 40 {
		r.write(fmt.Sprintf("%02d.txt", i), paragraphs(fmt.Sprint(i), 3))
	}
	r.sync()
	chunks := len(r.export())
	parked := r.docs + "-parked"
	refused := func(what string, code int) {
		t.Helper()
		res, err := r.trySync(pipeline.SyncOptions{})
		if pipeline.ExitCode(err) != code {
			t.Fatalf("%s: exit code %d (%v), want %d", what, pipeline.ExitCode(err), err, code)
		}
		if n := len(r.export()); n != chunks || res.Documents.Deleted != 0 {
			t.Fatalf("%s: %d chunks are left of %d, %d documents deleted", what, n, chunks, res.Documents.Deleted)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Rename(r.docs, parked))
	refused("the folder is gone", pipeline.ExitUnreachable)
	must(os.Mkdir(r.docs, 0o755))
	refused("the folder is empty", pipeline.ExitRefused)
	must(os.Remove(r.docs))
	must(os.Rename(parked, r.docs))
	for i := range 25 {
		r.remove(fmt.Sprintf("%02d.txt", i))
	}
	refused("over half is gone", pipeline.ExitRefused)
	full := r.yaml
	r.yaml = strings.Replace(r.yaml, "name: docs", "name: other", 1)
	_, err := r.trySync(pipeline.SyncOptions{})
	var guard *pipeline.GuardError
	if !errors.As(err, &guard) {
		t.Fatalf("a source was taken out of the configuration: %v", err)
	}
	r.yaml = full
	res, err := r.trySync(pipeline.SyncOptions{AllowDelete: true})
	if err != nil || res.Documents.Deleted != 40 { // 25 of docs and the 15 that were added as other
		t.Fatalf("with --allow-delete: %v %+v", err, res)
	}
	r.exact()
}

func TestModelChangeIsARebuild(t *testing.T) {
	eachSink(t, func(t *testing.T, extra string) {
		r := newRig(t, "", extra)
		r.write("a.txt", paragraphs("a", 20))
		r.sync()
		n := len(r.export())
		r.yaml = strings.Replace(r.yaml, "dimensions: 32", "dimensions: 64", 1)
		_, err := r.trySync(pipeline.SyncOptions{})
		if pipeline.ExitCode(err) != pipeline.ExitRefused {
			t.Fatalf("a changed model was not refused: %v", err)
		}
		res, err := r.trySync(pipeline.SyncOptions{AllowRebuild: true})
		if err != nil || res.Embeddings.Computed == 0 {
			t.Fatalf("rebuild: %v %+v", err, res)
		}
		if got := len(r.export()); got != n {
			t.Fatalf("%d chunks after the rebuild, want %d", got, n)
		}
		r.exact()
	})
}

func TestLostLedger(t *testing.T) {
	eachSink(t, func(t *testing.T, extra string) {
		r := newRig(t, "", extra)
		for i := range 10 {
			r.write(fmt.Sprintf("%d.md", i), "# T\n\n"+paragraphs(fmt.Sprint(i), 20))
		}
		r.sync()
		r.embeds.Store(0)
		if err := os.RemoveAll(filepath.Join(r.dir, ".kbsync")); err != nil {
			t.Fatal(err)
		}
		res := r.sync()
		if res.Documents.Unchanged != 10 || res.Chunks.Upserted+res.Chunks.Repositioned+res.Chunks.Deleted != 0 || r.embeds.Load() != 0 {
			t.Fatalf("after the ledger was lost: %+v, %d embedded", res, r.embeds.Load())
		}
		if err := os.RemoveAll(filepath.Join(r.dir, ".kbsync")); err != nil {
			t.Fatal(err)
		}
		r.remove("3.md")
		r.write("4.md", "# T\n\n"+paragraphs("4", 2))
		res = r.sync()
		if res.Documents.Deleted != 1 || res.Documents.Updated != 1 || r.embeds.Load() > 1 {
			t.Fatalf("edits while the ledger was lost: %+v, %d embedded", res, r.embeds.Load())
		}
		r.exact()
	})
}

func TestChangedRuleRecutsWhatItTouches(t *testing.T) {
	r := newRig(t, "", "")
	r.write("a.txt", paragraphs("a", 40))
	r.write("b.log", paragraphs("b", 40))
	r.settle()
	r.sync()
	r.yaml += "rules: [{ match: { path: '**/*.txt' }, strategy: { sentence: { max_tokens: 64 } } }]\n"
	res := r.sync()
	if res.Documents.Updated != 1 || res.Documents.Unchanged != 1 {
		t.Fatalf("%+v", res)
	}
	r.exact()
	if res := r.sync(); res.Documents.Unchanged != 2 || res.BytesRead != 0 {
		t.Fatalf("%+v", res)
	}
}

// TestOwnFilesAreNoDocuments syncs a folder that holds the database, the ledger and their side files.
func TestOwnFilesAreNoDocuments(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, dir, "sink: { sqlite: { path: ./kb.sqlite } }")
	r.dir = dir
	r.yaml = strings.Replace(r.yaml, fmt.Sprintf("root: %q", dir), fmt.Sprintf("root: %q, hidden: true", dir), 1)
	r.write("a.txt", paragraphs("a", 9))
	for range 3 {
		res := r.sync()
		if d := res.Documents; d.Added+d.Updated+d.Unchanged != 2 || d.Skipped != 0 { // a.txt and the configuration
			t.Fatalf("%+v %+v", d, res.Skips)
		}
	}
}

// TestLineOnTopOfALargeDocument: an edit stays local, however long the document.
func TestLineOnTopOfALargeDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(shareddata.Dir(t), "bench", "en.md"))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "", "")
	big := string(text) + string(text)
	r.write("big.md", big)
	first := r.sync()
	r.embeds.Store(0)
	r.write("big.md", "A line of plain prose that was not there before.\n\n"+big)
	res := r.sync()
	t.Logf("%d chunks; the edit: %d embedded, %d written, %d deleted, %d repositioned", first.Chunks.Upserted, r.embeds.Load(),
		res.Chunks.Upserted, res.Chunks.Deleted, res.Chunks.Repositioned)
	if r.embeds.Load() > 3 || res.Chunks.Upserted > 3 || res.Chunks.Deleted > 3 {
		t.Fatalf("%+v, %d embedded", res, r.embeds.Load())
	}
}

func TestBlankDocumentAmongMany(t *testing.T) {
	r := newRig(t, "", "")
	for i := range 100 {
		r.write(fmt.Sprintf("%d.md", i), "# T\n\n"+paragraphs(fmt.Sprint(i), 2))
	}
	r.write("50.md", "\n \t\n\u00a0\n")
	if res := r.sync(); res.Documents.Added != 100 || res.Documents.Failed != 0 {
		t.Fatalf("%+v", res)
	}
	for _, rec := range r.export() {
		if rec.Path == "50.md" || strings.TrimSpace(rec.Content) == "" {
			t.Fatalf("a blank chunk: %+v", rec)
		}
	}
}

// TestRenamedSource: everything moved, so nothing is lost, embedded or doubled.
func TestRenamedSource(t *testing.T) {
	r := newRig(t, "", "")
	for i := range 30 {
		r.write(fmt.Sprintf("%d.txt", i), paragraphs(fmt.Sprint(i), 3))
	}
	r.sync()
	n := len(r.export())
	r.embeds.Store(0)
	r.yaml = strings.Replace(r.yaml, "name: docs", "name: papers", 1)
	res := r.sync()
	if res.Documents.Moved != 30 || res.Documents.Added+res.Documents.Deleted != 0 || r.embeds.Load() != 0 || len(r.export()) != n {
		t.Fatalf("%+v, %d embedded", res, r.embeds.Load())
	}
	r.exact()
}

// TestAnotherBackendIsRefused: a build that lacks a grammar must not cut again what another build cut.
func TestAnotherBackendIsRefused(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, "", "")
	r.write("a.go", "package a\n\n// F does it.\nfunc F() {}\n")
	r.write("b.txt", "plain text")
	r.sync()
	l, err := ledger.Open(ctx, pipeline.LedgerPath(r.config()), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	noted, err := l.Meta(ctx, "backends")
	if err == nil && !strings.Contains(noted, `"code"`) {
		t.Errorf("the backend is not noted: %q", noted)
	}
	if err := errors.Join(err, l.SetMeta(ctx, "backends", `{"code":"another"}`), l.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitRefused || !strings.Contains(err.Error(), "another") {
		t.Fatalf("%v", err)
	}
	if _, err := r.trySync(pipeline.SyncOptions{AllowRebuild: true}); err != nil {
		t.Fatal(err)
	}
	r.sync() // consent was given once
	r.exact()
}

// NUL in front matter, which YAML can spell, is gone before it meets a database that cannot store it.
func TestNULInFrontMatter(t *testing.T) {
	r := newRig(t, "", "front_matter: [note, tags]")
	r.write("a.md", "---\ntitle: \"ef\\0fect\"\nnote: \"di\\0fferent\"\ntags: [\"x\\0y\", {\"k\\0\": \"v\\0\"}]\n---\n\nText.\n")
	r.sync()
	for _, rec := range r.export() {
		b, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), `\u0000`) || rec.Metadata["note"] != "different" {
			t.Errorf("%s", b)
		}
	}
}
