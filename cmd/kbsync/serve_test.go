//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// daemon is a kbsync that goes on until it is stopped.
type daemon struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string

	mu     sync.Mutex
	log    []map[string]any // lines of the log on stderr
	out    []string         // lines of stdout
	closed sync.WaitGroup
}

// daemonize starts `kbsync args…` in dir with a log of JSON.
func daemonize(t *testing.T, dir string, args ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, cmd: exec.Command("kbsync", append(args, "--log-format", "json")...)}
	d.cmd.Dir = dir
	stderr, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.closed.Go(func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			line := map[string]any{}
			if json.Unmarshal(lines.Bytes(), &line) != nil {
				line["msg"] = lines.Text()
			}
			d.mu.Lock()
			d.log = append(d.log, line)
			d.mu.Unlock()
		}
	})
	d.closed.Go(func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			d.mu.Lock()
			d.out = append(d.out, lines.Text())
			d.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it may have ended
		d.closed.Wait()
		_ = d.cmd.Wait()
		if t.Failed() {
			t.Log(args, d.log)
		}
	})
	return d
}

// eventually fails unless ok holds before long.
func (d *daemon) eventually(what string, ok func() bool) {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// said is the number of lines of the log with a message and an attribute.
func (d *daemon) said(msg, key, value string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, line := range d.log {
		if s, _ := line["msg"].(string); strings.Contains(s, msg) && (key == "" || strings.Contains(fmt.Sprint(line[key]), value)) {
			n++
		}
	}
	return n
}

// listens waits for the HTTP server.
func (d *daemon) listens() {
	d.t.Helper()
	d.eventually("the address", func() bool { return d.said("listening", "", "") > 0 })
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, line := range d.log {
		if line["msg"] == "listening" {
			d.address = "http://" + line["address"].(string)
		}
	}
}

// ask sends a request.
func (d *daemon) ask(method, path string) (int, string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.address+path, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// ends waits for the end of the process and gives its exit code.
func (d *daemon) ends() int {
	d.t.Helper()
	d.closed.Wait()
	_ = d.cmd.Wait() // the code says it
	return d.cmd.ProcessState.ExitCode()
}

// handbook writes a configuration and n documents.
func handbook(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	writeText(t, filepath.Join(dir, "kbsync.yaml"), "name: served\nsources: [{ name: docs, fs: { root: docs } }]\nembedder: { lexical: {} }\nsync: { debounce: 100ms, poll: 1s }\n")
	if err := os.Mkdir(filepath.Join(dir, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		writeText(t, filepath.Join(dir, "docs", fmt.Sprintf("%05d.md", i)), fmt.Sprintf("# Document %d\n\nThe text of number %d.\n", i, i))
	}
	return dir
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func kbsync(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("kbsync", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestServeDrains: SIGTERM in mid-run ends the run in order, exit 0, while HTTP answers; a second service meanwhile reports the lock
// and tries again until it has its run.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	dir := handbook(t, 6000)
	first := daemonize(t, dir, "serve", "--every", "1h", "--listen", "127.0.0.1:0")
	first.listens()
	first.eventually("a run", func() bool {
		_, body := first.ask("GET", "/status")
		return strings.Contains(body, `"state":"running"`)
	})
	second := daemonize(t, dir, "serve", "--every", "1h", "--listen", "127.0.0.1:0")
	second.listens()
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/metrics": 200} {
		if code, body := first.ask("GET", path); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	kbsync(t, dir, "serve", "--probe", "--listen", strings.TrimPrefix(first.address, "http://"))
	second.eventually("the lock", func() bool {
		return second.said("run ended", "error", "another run of this pipeline is at work: `kbsync serve`") > 0
	})
	if _, body := second.ask("GET", "/metrics"); !strings.Contains(body, `kbsync_runs_total{outcome="error",pipeline="served"} 1`) {
		t.Error(body)
	}
	if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := first.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if first.said("stopping", "", "") != 1 || first.said("run ended", "outcome", "drained") != 1 {
		t.Error("it did not drain")
	}
	second.eventually("its own run", func() bool {
		code, _ := second.ask("GET", "/readyz")
		return code == 200
	})
	if err := second.cmd.Process.Signal(os.Interrupt); err != nil { // idle now: at once
		t.Fatal(err)
	}
	if code := second.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	kbsync(t, dir, "verify")
	if out := kbsync(t, dir, "status", "--format", "json"); !strings.HasPrefix(out, `{"documents":6000,`) {
		t.Error(out)
	}
}

// TestServeStopsAtOnce: the second signal does not wait for what was begun, and the next run settles what it left.
func TestServeStopsAtOnce(t *testing.T) {
	t.Parallel()
	dir := handbook(t, 6000)
	d := daemonize(t, dir, "serve", "--every", "1h", "--listen", "127.0.0.1:0")
	d.listens()
	d.eventually("a run", func() bool {
		_, body := d.ask("GET", "/status")
		return strings.Contains(body, `"state":"running"`)
	})
	for range 2 {
		if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if code := d.ends(); code != 0 && code != 1 && code != exitInterrupted { // 0 where it was quicker
		t.Errorf("exit code %d", code)
	}
	kbsync(t, dir, "sync")
	kbsync(t, dir, "verify")
}

// TestServeReloads: SIGHUP loads the configuration again, a broken one keeps the old.
func TestServeReloads(t *testing.T) {
	t.Parallel()
	dir := handbook(t, 1)
	d := daemonize(t, dir, "serve", "--every", "1h", "--listen", "127.0.0.1:0")
	d.listens()
	d.eventually("a run", func() bool { return d.said("run ended", "outcome", "ok") == 1 })
	hup := func() {
		t.Helper()
		if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "kbsync.yaml")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, path, "nonsense: 1\n")
	hup()
	d.eventually("the refusal", func() bool { return d.said("the configuration is broken; the old one stays", "", "") == 1 })
	writeText(t, path, string(good)+"front_matter: [team]\n")
	hup()
	d.eventually("the new configuration", func() bool { return d.said("the configuration was loaded again", "", "") == 1 })
	if code, _ := d.ask("POST", "/sync"); code != 202 {
		t.Error(code)
	}
	d.eventually("a run", func() bool { return d.said("run ended", "outcome", "ok") == 2 })
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := d.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestWatchFollows: editing, creating, renaming and deleting files and folders lead to runs; a folder that is replaced is polled.
func TestWatchFollows(t *testing.T) {
	t.Parallel()
	dir := handbook(t, 3)
	docs := filepath.Join(dir, "docs")
	d := daemonize(t, dir, "watch", "--format", "json")
	documents := func() (n map[string]int) {
		n = map[string]int{}
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, line := range d.out {
			var r struct{ Documents map[string]int }
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			for k, v := range r.Documents {
				n[k] += v
			}
		}
		return n
	}
	expect := func(what, outcome string, n int) {
		t.Helper()
		d.eventually(what, func() bool { return documents()[outcome] >= n })
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	expect("the first run", "added", 3)
	writeText(t, filepath.Join(docs, "00000.md"), "# Edited\n\nAnother text.\n")
	expect("an edit", "updated", 1)
	must(os.MkdirAll(filepath.Join(docs, "new", "folder"), 0o755))
	writeText(t, filepath.Join(docs, "new", "folder", "x.md"), "# New\n\nIn a new folder.\n")
	expect("a new file in a new folder", "added", 4)
	must(os.Rename(filepath.Join(docs, "new"), filepath.Join(docs, "renamed")))
	expect("a renamed folder", "moved", 1)
	writeText(t, filepath.Join(docs, "renamed", "folder", "y.md"), "# Newer\n\nIn the renamed folder.\n")
	expect("a file in the renamed folder", "added", 5)
	must(os.Remove(filepath.Join(docs, "00001.md")))
	expect("a deletion", "deleted", 1)
	must(os.Rename(docs, docs+"-old"))
	d.eventually("polling", func() bool { return d.said("the source cannot be watched", "source", "docs") == 1 })
	writeText(t, filepath.Join(docs+"-old", "z.md"), "# Latest\n\nText.\n")
	must(os.Rename(docs+"-old", docs))
	expect("a file in a folder that is polled", "added", 6)
	must(d.cmd.Process.Signal(os.Interrupt))
	if code := d.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	kbsync(t, dir, "verify")
}
