package acceptance

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kbsync/kbsync/connector/pipeline"
)

// A command reads what a rule gives it, once: what changed, and everything when the command itself is another version.
func TestConverterCommand(t *testing.T) {
	r := newRig(t, "", "")
	script := filepath.Join(r.dir, "convert.sh")
	log := filepath.Join(r.dir, "calls")
	install := func(version, body string) {
		t.Helper()
		text := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo " + version + "; exit; fi\necho call >> " + log + "\n" + body + "\n"
		if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	calls := func() int {
		b, err := os.ReadFile(log)
		if err != nil {
			return 0
		}
		return strings.Count(string(b), "call")
	}
	install("one", `echo "# Converted"; echo; tr a-z A-Z < "$1"`)
	r.yaml += fmt.Sprintf("rules: [{ match: { path: \"*.scan\" }, parser: { exec: { command: [%q, \"{file}\"], version_command: [%q, --version] } } }]\n", script, script)
	r.write("a.scan", "words of the first scan\n")
	r.write("b.scan", "第二份扫描 second\n")
	r.write("c.md", "# C\n\nNot converted.\n")
	r.settle()
	r.sync()
	got := r.holds("at first", "a.scan", "b.scan", "c.md")
	if !strings.Contains(got["a.scan"], "WORDS OF THE FIRST") || !strings.Contains(got["b.scan"], "第二份扫描 SECOND") || calls() != 2 {
		t.Fatalf("%q after %d calls", got, calls())
	}
	r.still("at first", 3)
	r.write("a.scan", "other words\n")
	r.settle()
	r.sync()
	if got := r.holds("edited", "a.scan", "b.scan", "c.md"); !strings.Contains(got["a.scan"], "OTHER WORDS") || calls() != 3 {
		t.Fatalf("edited: %q after %d calls", got, calls())
	}

	install("one", `echo "no such page" >&2; exit 3`)
	r.write("b.scan", "第二份扫描 again\n")
	res, err := r.trySync(pipeline.SyncOptions{})
	if pipeline.ExitCode(err) != pipeline.ExitFailed || len(res.Errors) != 1 || !strings.Contains(res.Errors[0].Error, "no such page") {
		t.Fatalf("a command that fails: %v %+v", err, res)
	}
	if got := r.holds("failed", "a.scan", "b.scan", "c.md"); !strings.Contains(got["b.scan"], "SECOND") {
		t.Errorf("the failed document: %q", got["b.scan"])
	}

	install("two", `echo "# Anew"; echo; cat "$1"`)
	r.settle()
	res = r.sync()
	if got := r.holds("another version", "a.scan", "b.scan", "c.md"); !strings.Contains(got["a.scan"], "other words") || !strings.Contains(got["b.scan"], "again") || res.Documents.Unchanged != 1 {
		t.Errorf("another version: %q, %+v", got, res.Documents)
	}
	r.still("another version", 3)
	r.exact()
}

// tikaFake answers as a Tika server does, in as many ways as the test asks.
type tikaFake struct {
	status atomic.Int32 // of the answers; 0: converts
	calls  atomic.Int32
	faults atomic.Int32 // so many requests are answered by 503 first
}

func (f *tikaFake) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	f.calls.Add(1)
	body, err := io.ReadAll(req.Body)
	status := int(f.status.Load())
	if f.faults.Add(-1) >= 0 {
		status = http.StatusServiceUnavailable
	}
	switch {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case status != 0:
		w.WriteHeader(status)
	default:
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<html><body><h1>Scan</h1><p>Read: %s</p></body></html>", body)
	}
}

// A service is asked once for each document; passing faults are waited out; what would end every document ends the run, and nothing is lost.
func TestConverterService(t *testing.T) {
	fake := &tikaFake{}
	server := httptest.NewServer(fake)
	defer server.Close()
	r := newRig(t, "", fmt.Sprintf("rules: [{ match: { path: \"*.scan\" }, parser: { tika: { url: %q } } }]\n", server.URL))
	var all []string
	for i := range 9 {
		name := fmt.Sprintf("%d.scan", i)
		r.write(name, fmt.Sprintf("page %d 第%d页", i, i))
		all = append(all, name)
	}
	fake.faults.Store(3)
	r.settle()
	r.sync()
	if got := r.holds("at first", all...); !strings.Contains(got["4.scan"], "Read: page 4 第4页") || fake.calls.Load() != 12 {
		t.Fatalf("%q after %d calls", got, fake.calls.Load())
	}
	r.still("at first", 9)

	for i := range all {
		r.write(all[i], fmt.Sprintf("page %d, edited", i))
	}
	for _, c := range []struct {
		status, exit int
	}{{http.StatusUnauthorized, pipeline.ExitUnreachable}, {http.StatusNotFound, pipeline.ExitUsage}, {http.StatusServiceUnavailable, pipeline.ExitUnreachable}} {
		fake.status.Store(int32(c.status))
		before := fake.calls.Load()
		_, err := r.trySync(pipeline.SyncOptions{})
		if pipeline.ExitCode(err) != c.exit || !strings.Contains(err.Error(), "parser tika") {
			t.Errorf("HTTP %d: exit %d: %v", c.status, pipeline.ExitCode(err), err)
		}
		if n := fake.calls.Load() - before; n > 60 {
			t.Errorf("HTTP %d: %d calls", c.status, n)
		}
		r.holds("refused", all...)
	}
	fake.status.Store(http.StatusUnsupportedMediaType) // the documents' own fault: the run goes on
	if res, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitFailed || res.Documents.Failed != 9 {
		t.Errorf("HTTP 415: %v, %+v", err, res.Documents)
	}
	r.holds("not read", all...)
	fake.status.Store(0)
	r.sync()
	if got := r.holds("mended", all...); !strings.Contains(got["8.scan"], "page 8, edited") {
		t.Errorf("mended: %q", got["8.scan"])
	}
	r.exact()
}
