package acceptance

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// TestMain lets the test binary be the child processes that are killed, and the sink's server.
func TestMain(m *testing.M) {
	switch os.Getenv("KBSYNC_TEST_CHILD") {
	case "":
		code := m.Run()
		if err := goleak.Find(); err != nil { // whatever a run begins, it ends
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	case "sync":
		os.Exit(childSync())
	case "hostile":
		os.Exit(childHostile())
	case "plain":
		os.Exit(childPlain())
	case "sink":
		fmt.Fprintln(os.Stderr, serveSink(os.Getenv("KBSYNC_TEST_SOCKET")))
		os.Exit(1)
	}
}

// killer ends its own process with SIGKILL at the n-th call; n 0 only counts.
type killer struct {
	at    int64
	calls atomic.Int64
}

func (k *killer) hit(string) error {
	if n := k.calls.Add(1); n == k.at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
	return nil
}

// childSync runs one sync of the rig in KBSYNC_TEST_DIR, which kills itself at call KBSYNC_TEST_KILL, and prints how many calls there were.
func childSync() int {
	at, _ := strconv.ParseInt(os.Getenv("KBSYNC_TEST_KILL"), 10, 64)
	k := &killer{at: at}
	yaml, err := os.ReadFile(filepath.Join(os.Getenv("KBSYNC_TEST_DIR"), "kbsync.yaml"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	r := &rig{tb: &panicTB{}, dir: os.Getenv("KBSYNC_TEST_DIR"), yaml: string(yaml)}
	r.reg = registry(r.tb, r)
	r.opts.LedgerHook, r.opts.RetryWait = k.hit, time.Millisecond
	r.opts.WrapSink = func(s connector.Sink) connector.Sink { return &hookedSink{s, k.hit} }
	_, err = r.trySync(pipeline.SyncOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return pipeline.ExitCode(err) + 10
	}
	fmt.Println(k.calls.Load())
	return 0
}

// panicTB stands in for a test in a child process.
type panicTB struct{ testing.TB }

func (*panicTB) Helper()                   {}
func (*panicTB) Error(args ...any)         { panic(fmt.Sprint(args...)) }
func (*panicTB) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (*panicTB) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

// hookedSink calls hook before and after every operation.
type hookedSink struct {
	connector.Sink
	hook func(op string) error
}

func (s *hookedSink) around(op string, fn func() error) error {
	if err := s.hook(op); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	return s.hook(op + ":done")
}

func (s *hookedSink) Create(ctx context.Context, schema connector.Schema) (c connector.Collection, err error) {
	err = s.around("create", func() (err error) {
		c, err = s.Sink.Create(ctx, schema)
		return err
	})
	return &hookedCollection{c, s}, err
}

func (s *hookedSink) Promote(ctx context.Context, g string) error {
	return s.around("promote", func() error { return s.Sink.Promote(ctx, g) })
}

func (s *hookedSink) Drop(ctx context.Context, g string) error {
	return s.around("drop", func() error { return s.Sink.Drop(ctx, g) })
}

type hookedCollection struct {
	connector.Collection
	s *hookedSink
}

func (c *hookedCollection) Upsert(ctx context.Context, p []connector.Point) error {
	return c.s.around("upsert", func() error { return c.Collection.Upsert(ctx, p) })
}

func (c *hookedCollection) UpdatePayload(ctx context.Context, r []connector.Record) error {
	return c.s.around("payload", func() error { return c.Collection.UpdatePayload(ctx, r) })
}

func (c *hookedCollection) Delete(ctx context.Context, ids []string) error {
	return c.s.around("delete", func() error { return c.Collection.Delete(ctx, ids) })
}

func (c *hookedCollection) Scan(ctx context.Context, vectors bool) iter.Seq2[connector.Point, error] {
	return func(yield func(connector.Point, error) bool) {
		if err := c.s.hook("scan"); err != nil {
			yield(connector.Point{}, err)
			return
		}
		for pt, err := range c.Collection.Scan(ctx, vectors) {
			if !yield(pt, err) {
				return
			}
		}
	}
}

// child runs a sync of the rig in a process of its own. kill 0 lets it end; after, if not 0, kills it from outside.
func (r *rig) child(kill int, after time.Duration) (calls int, err error) {
	r.tb.Helper()
	r.config() // writes the file
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "KBSYNC_TEST_CHILD=sync", "KBSYNC_TEST_DIR="+r.dir, "KBSYNC_TEST_KILL="+strconv.Itoa(kill))
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		r.tb.Fatal(err)
	}
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		r.tb.Fatalf("the child failed by itself: %v\n%s", err, errs.String())
	}
	_, _ = fmt.Sscan(out.String(), &calls)
	return calls, err
}

// scenario is a folder in two versions.
type scenario struct {
	rig      *rig
	large    bool                // one document that goes through the spool, in place of many small ones
	old, new map[string][]string // chunk ids by document
}

func (s *scenario) first() {
	if s.large {
		s.rig.write("large.txt", paragraphs("large", 2600))
		return
	}
	for _, e := range must(os.ReadDir(s.rig.docs)) {
		s.rig.remove(e.Name())
	}
	for i := range 6 {
		s.rig.write(fmt.Sprintf("%d.txt", i), paragraphs(fmt.Sprint(i), 40))
	}
}

func (s *scenario) second() {
	r := s.rig
	if s.large {
		r.write("large.txt", "One line more.\n\n"+paragraphs("large", 1400)+paragraphs("other", 1000))
		return
	}
	r.write("0.txt", "One line more.\n\n"+paragraphs("0", 40))
	r.write("1.txt", paragraphs("1", 5))
	r.remove("2.txt")
	if err := os.Rename(filepath.Join(r.docs, "3.txt"), filepath.Join(r.docs, "moved.txt")); err != nil {
		r.tb.Fatal(err)
	}
	r.write("4.txt", paragraphs("entirely new", 30))
	r.write("new.txt", paragraphs("new", 20))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func byDocument(records []connector.Record) map[string][]string {
	m := map[string][]string{}
	for _, r := range records {
		m[r.Path] = append(m[r.Path], r.ChunkID)
	}
	return m
}

// oldOrNew fails unless every document has all chunks of its old version or all of its new one.
func (s *scenario) oldOrNew(when string) {
	s.rig.tb.Helper()
	have := map[string]bool{}
	for _, rec := range s.rig.export() {
		have[rec.ChunkID] = true
	}
	all := func(ids []string) bool {
		for _, id := range ids {
			if !have[id] {
				return false
			}
		}
		return true
	}
	for path, ids := range s.old {
		if next, stays := s.new[path]; stays && !all(ids) && !all(next) {
			s.rig.tb.Errorf("%s: %s has neither its old chunks nor its new ones", when, path)
		}
	}
}

// killTest kills a run at each of its calls, and at random instants, and demands that the next run converges.
func killTest(t *testing.T, s *scenario, reset func()) {
	t.Helper()
	prepare := func() {
		reset()
		s.first()
		s.rig.sync()
	}
	prepare()
	s.old = byDocument(s.rig.export())
	s.second()
	calls, err := s.rig.child(0, 0)
	if err != nil || calls < 10 {
		t.Fatalf("an undisturbed run made %d calls: %v", calls, err)
	}
	s.rig.exact()
	s.new = byDocument(s.rig.export())
	step := 1
	if testing.Short() || s.large {
		step = 5
	}
	for at := 1; at <= calls; at += step {
		s.once(prepare, fmt.Sprintf("killed at call %d of %d", at, calls), at, 0)
		s.back(prepare, fmt.Sprintf("killed at call %d of %d", at, calls), at)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 12 / step {
		after := time.Duration(rng.Int64N(int64(250 * time.Millisecond)))
		s.once(prepare, fmt.Sprintf("killed after %s", after), 0, after+1)
	}
}

func (s *scenario) once(prepare func(), what string, at int, after time.Duration) {
	t := s.rig.tb
	prepare()
	s.second()
	_, _ = s.rig.child(at, after)
	s.oldOrNew(what)
	if _, err := s.rig.child(0, 0); err != nil {
		t.Fatalf("%s: the next run failed: %v", what, err)
	}
	got, want := byDocument(s.rig.export()), s.new
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: the next run did not converge: %v, want %v", what, got, want)
	}
	s.rig.exact()
}

// back kills a run over the second version and then finds the first one again: whatever the killed run wrote or deleted is undone.
func (s *scenario) back(prepare func(), what string, at int) {
	t := s.rig.tb
	prepare()
	keep := t.TempDir()
	if out, err := exec.Command("cp", "-a", s.rig.docs+"/.", keep).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.second()
	_, _ = s.rig.child(at, 0)
	for _, e := range must(os.ReadDir(s.rig.docs)) {
		if err := os.RemoveAll(filepath.Join(s.rig.docs, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("cp", "-a", keep+"/.", s.rig.docs).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := s.rig.trySync(pipeline.SyncOptions{AllowDelete: true}); err != nil {
		t.Fatalf("%s, then turned back: %v", what, err)
	}
	if got := byDocument(s.rig.export()); fmt.Sprint(got) != fmt.Sprint(s.old) {
		t.Fatalf("%s, then turned back: the sink holds %v, want %v", what, got, s.old)
	}
	s.rig.exact()
}

func TestKillAnywhereSQLite(t *testing.T) {
	r := newRig(t, "", "sink: { sqlite: { path: ./kb.sqlite } }")
	killTest(t, &scenario{rig: r}, func() {
		for _, e := range must(os.ReadDir(r.dir)) {
			if err := os.RemoveAll(filepath.Join(r.dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestKillAnywhereLarge kills runs over a document of so many chunks that they are spooled and written in several windows.
func TestKillAnywhereLarge(t *testing.T) {
	r := newRig(t, "", "sink: { sqlite: { path: ./kb.sqlite } }\nrules: [{ strategy: { recursive: { max_tokens: 48, overlap: 0 } } }]")
	killTest(t, &scenario{rig: r, large: true}, func() {
		for _, e := range must(os.ReadDir(r.dir)) {
			if err := os.RemoveAll(filepath.Join(r.dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n := len(r.export()); n < 1100 {
		t.Fatalf("%d chunks are too few for a spool", n)
	}
}

func TestKillAnywhereRemote(t *testing.T) {
	r := newRig(t, "", "sync: { retries: 20 } # a fault at every third call, at random")
	socket := startSink(t)
	r.yaml = strings.Replace(r.yaml, "sink: { memory: {} }", fmt.Sprintf("sink: { remote: { socket: %q } }", socket), 1)
	admin := &remote{socket: socket}
	defer func() { _ = admin.Close() }()
	killTest(t, &scenario{rig: r}, func() {
		if err := os.RemoveAll(filepath.Join(r.dir, ".kbsync")); err != nil {
			t.Fatal(err)
		}
		for _, c := range []Call{{Op: "reset"}, {Op: "faults", Name: "on"}} {
			if _, err := admin.call(c); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// startSink starts the sink's server and ends it with the test.
func startSink(t *testing.T) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "kbsync") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "sink")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "KBSYNC_TEST_CHILD=sink", "KBSYNC_TEST_SOCKET="+socket)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	for range 200 {
		if _, err := os.Stat(socket); err == nil {
			return socket
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the sink's server did not start")
	return ""
}
