package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/connector/pipeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeEngine stands in for the engine: it keeps the books of a ledger and does what a test says.
type fakeEngine struct {
	mu      sync.Mutex
	runs    []ledger.Run
	at      int // runs under way
	overlap bool
	// do is a run; n counts from 1.
	do func(ctx context.Context, n int) (pipeline.Result, error)
	// opened is the error of check.
	opened error
}

func (e *fakeEngine) last(context.Context, *config.File) (ledger.Run, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.runs) == 0 {
		return ledger.Run{}, false, nil
	}
	return e.runs[len(e.runs)-1], true, nil
}

func (e *fakeEngine) check(context.Context, *config.File) (*pipeline.Status, error) {
	return &pipeline.Status{Documents: 7}, e.opened
}

func (e *fakeEngine) sync(ctx context.Context, _ *config.File, p pipeline.Progress) (pipeline.Result, *pipeline.Status, error) {
	e.mu.Lock()
	e.at++
	e.overlap = e.overlap || e.at > 1
	e.runs = append(e.runs, ledger.Run{ID: int64(len(e.runs) + 1), Started: time.Now(), Outcome: "interrupted"})
	n := len(e.runs)
	e.mu.Unlock()
	p.Listed("docs")
	var res pipeline.Result
	var err error
	if e.do != nil {
		res, err = e.do(ctx, n)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at--
	if ctx.Err() != nil {
		return res, nil, context.Cause(ctx) // killed: the ledger hears nothing more
	}
	r := &e.runs[n-1]
	r.Ended, r.Outcome = time.Now(), "ok"
	if err != nil {
		r.Outcome = err.Error()
	}
	return res, &pipeline.Status{Documents: n}, err
}

// starts are the times of the runs' starts since a time, in seconds.
func (e *fakeEngine) starts(since time.Time) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, r := range e.runs {
		out = append(out, strconv.FormatFloat(r.Started.Sub(since).Seconds(), 'f', -1, 64))
	}
	return strings.Join(out, " ")
}

func (e *fakeEngine) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.runs)
}

// parse is an Options.Load.
func parse(t *testing.T, yaml string) func() (*config.File, error) {
	t.Helper()
	return func() (*config.File, error) {
		return config.Parse("kbsync.yaml", []byte("name: test\n"+yaml), &connector.Registry{}, config.Options{Partial: true})
	}
}

// running is a service on its own goroutine.
type running struct {
	t      *testing.T
	s      *Service
	drain  chan struct{}
	reload chan os.Signal
	cancel context.CancelCauseFunc
	done   chan error
}

var errKilled = errors.New("killed")

func start(t *testing.T, e engine, opts Options) *running {
	t.Helper()
	r := &running{t: t, drain: make(chan struct{}), reload: make(chan os.Signal), done: make(chan error, 1)}
	opts.Drain, opts.Reload = r.drain, r.reload
	s, err := create(opts, e)
	if err != nil {
		t.Fatal(err)
	}
	r.s = s
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel = cancel
	go func() { r.done <- s.Run(ctx) }()
	return r
}

// stop drains it.
func (r *running) stop() {
	r.t.Helper()
	close(r.drain)
	if err := <-r.done; err != nil {
		r.t.Errorf("a drained service ended with %v", err)
	}
	r.cancel(nil)
}

// kill tears it down.
func (r *running) kill() {
	r.t.Helper()
	r.cancel(errKilled)
	if err := <-r.done; !errors.Is(err, errKilled) {
		r.t.Errorf("a killed service ended with %v", err)
	}
}

func (r *running) get(path string) (int, string) {
	w := httptest.NewRecorder()
	r.s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// code fails unless a path answers so.
func (r *running) code(path string, want int) {
	r.t.Helper()
	if got, body := r.get(path); got != want {
		r.t.Errorf("%s: %d, want %d: %s", path, got, want, body)
	}
}

// metric is the value of a line of /metrics; labels as they are printed, without the pipeline.
func (r *running) metric(name, labels string) float64 {
	r.t.Helper()
	if labels != "" {
		labels += ","
	}
	_, body := r.get("/metrics")
	prefix := fmt.Sprintf(`%s{%spipeline="test"} `, name, labels)
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				r.t.Fatal(err)
			}
			return v
		}
	}
	r.t.Fatalf("no %s in\n%s", prefix, body)
	return 0
}

func (r *running) metrics(want map[string]float64) {
	r.t.Helper()
	for name, v := range want {
		base, labels, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
		if got := r.metric(base, labels); got != v {
			r.t.Errorf("%s is %v, want %v", name, got, v)
		}
	}
}

// service is the part of /status that is the service's own.
func (r *running) service() scheduled {
	r.t.Helper()
	_, body := r.get("/status")
	var v struct {
		Documents int       `json:"documents"`
		Service   scheduled `json:"service"`
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		r.t.Fatalf("%v: %s", err, body)
	}
	return v.Service
}

// until sleeps up to a moment after a start.
func until(start time.Time, d time.Duration) {
	time.Sleep(time.Until(start.Add(d)))
	synctest.Wait()
}

// TestHour is an hour of @every 1m: one run is slow, one fails, one is killed. All is made up for, nothing overlaps.
func TestHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		e := &fakeEngine{do: func(ctx context.Context, n int) (pipeline.Result, error) {
			d := 2 * time.Second
			var res pipeline.Result
			res.Documents.Unchanged, res.Documents.Added, res.Embeddings.Computed = 3, 1, 2
			switch n {
			case 10:
				d = 150 * time.Second // two ticks pass
			case 20:
				return res, &pipeline.UnreachableError{Err: errors.New("the sink is away")}
			case 32:
				d = time.Hour // until it is killed
			}
			select {
			case <-time.After(d):
			case <-ctx.Done():
			}
			return res, nil
		}}
		opts := Options{Load: parse(t, "sync: { schedule: '@every 1m' }"), StuckAfter: 4 * time.Minute}
		r := start(t, e, opts)
		synctest.Wait()
		r.code("/readyz", 503) // none ended yet
		r.code("/healthz", 200)
		r.metrics(map[string]float64{"kbsync_run_in_progress": 1, "kbsync_last_success_timestamp_seconds": 0})

		until(begin, 8*time.Minute+30*time.Second)
		r.code("/readyz", 200)
		r.metrics(map[string]float64{
			`kbsync_runs_total{outcome="ok"}`: 9, "kbsync_runs_missed_total": 0, "kbsync_run_in_progress": 0, "kbsync_documents": 9,
			`kbsync_documents_total{outcome="added"}`: 9, `kbsync_documents_total{outcome="unchanged"}`: 27, `kbsync_embeddings_total{origin="computed"}`: 18,
			"kbsync_next_run_timestamp_seconds": seconds(begin.Add(9 * time.Minute)), "kbsync_last_run_timestamp_seconds": seconds(begin.Add(8*time.Minute + 2*time.Second)),
			"kbsync_run_duration_seconds_count": 9, "kbsync_run_duration_seconds_sum": 18,
		})
		until(begin, 10*time.Minute+30*time.Second) // the slow one, from 9:00 to 11:30
		r.metrics(map[string]float64{"kbsync_run_in_progress": 1})
		r.code("/healthz", 200)
		r.code("/readyz", 200)
		if s := r.service(); s.State != "running" || s.Current.Listed != 1 || s.Runs != 9 {
			t.Errorf("%+v", s)
		}
		until(begin, 11*time.Minute+31*time.Second) // the ticks of 10:00 and 11:00 are one run at 11:30
		r.metrics(map[string]float64{"kbsync_runs_missed_total": 2, "kbsync_run_in_progress": 1, `kbsync_runs_total{outcome="ok"}`: 10})
		if s := r.service(); s.Current == nil || s.Current.Reason != "missed" {
			t.Errorf("%+v", s)
		}

		until(begin, 20*time.Minute+1*time.Second) // the 20th run, at 20:00, failed at once
		r.metrics(map[string]float64{`kbsync_runs_total{outcome="unreachable"}`: 1, "kbsync_last_success_timestamp_seconds": seconds(begin.Add(19*time.Minute + 2*time.Second))})
		r.code("/readyz", 503)
		r.code("/healthz", 200)
		if _, body := r.get("/readyz"); !strings.Contains(body, "the sink is away") {
			t.Errorf("the reason is not told: %s", body)
		}
		if s := r.service(); s.Failures != 1 || s.Next.Before(begin.Add(20*time.Minute+5*time.Second)) || s.Next.After(begin.Add(20*time.Minute+10*time.Second)) {
			t.Errorf("%+v", s)
		}
		until(begin, 20*time.Minute+13*time.Second) // tried again
		r.code("/readyz", 200)
		if n := e.count(); n != 21 {
			t.Errorf("%d runs", n)
		}

		until(begin, 33*time.Minute) // the 32nd hangs since 31:00
		r.code("/healthz", 200)
		until(begin, 36*time.Minute)
		r.code("/healthz", 503)
		r.kill()
		r.code("/healthz", 503)
		if got := e.count(); got != 32 {
			t.Errorf("%d runs before the kill", got)
		}
		until(begin, 37*time.Minute+30*time.Second)
		r = start(t, e, opts)
		synctest.Wait() // a run that did not end is made up for at once
		if s := r.service(); s.Current == nil || s.Current.Reason != "the last run did not end" || s.Missed != 6 {
			t.Errorf("%+v", s)
		}
		until(begin, time.Hour+30*time.Second)
		r.code("/readyz", 200)
		r.metrics(map[string]float64{`kbsync_runs_total{outcome="ok"}`: 24, "kbsync_documents": 56})
		r.stop()
		r.code("/healthz", 503)
		if e.overlap {
			t.Error("two runs overlapped")
		}
		// 0 … 9, 11:30, 12 … 20, the retry, 21 … 31, killed, 37:30, 38 … 60
		if n := e.count(); n != 56 {
			t.Errorf("%d runs: %s", n, e.starts(begin))
		}
	})
}

// TestFirstRun: the first run is at once where the last one is older than the last tick, or did not end well.
func TestFirstRun(t *testing.T) {
	tests := map[string]struct {
		age    time.Duration
		ended  bool
		result string
		watch  bool
		want   string
	}{
		"none":      {want: "0 60"},
		"recent":    {age: 20 * time.Second, ended: true, result: "ok", want: "-20 40"},
		"old":       {age: 5*time.Minute + 10*time.Second, ended: true, result: "ok", want: "-310 0 50"},
		"killed":    {age: 20 * time.Second, want: "-20 0 40"},
		"failed":    {age: 20 * time.Second, ended: true, result: "1 document failed", want: "-20 0 40"},
		"watch too": {age: 20 * time.Second, ended: true, result: "ok", watch: true, want: "-20 0 40"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				e := &fakeEngine{}
				if test.age > 0 {
					run := ledger.Run{ID: 1, Started: begin.Add(-test.age), Outcome: test.result}
					if test.ended {
						run.Ended = run.Started.Add(time.Second)
					}
					e.runs = append(e.runs, run)
				}
				r := start(t, e, Options{Load: parse(t, "sync: { schedule: '@every 1m' }"), Watch: test.watch})
				synctest.Wait()
				if test.result == "ok" {
					r.code("/readyz", 200)
				}
				until(begin, 65*time.Second)
				r.stop()
				if got := e.starts(begin); got != test.want && got != test.want+" 60" {
					t.Errorf("runs at %s, want %s", got, test.want)
				}
			})
		})
	}
}

// TestBackoff: a run that fails again and again waits longer each time, and never beyond the next tick.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		e := &fakeEngine{do: func(context.Context, int) (pipeline.Result, error) {
			return pipeline.Result{}, &ledger.LockedError{Path: "x"}
		}}
		r := start(t, e, Options{Load: parse(t, "sync: { schedule: '@every 3h' }")})
		until(begin, 3*time.Hour-time.Second)
		for i := 1; i < len(e.runs); i++ {
			most := min(10*time.Second<<(i-1), 10*time.Minute)
			if d := e.runs[i].Started.Sub(e.runs[i-1].Started); d > most || d < most/2 {
				t.Errorf("the wait after failure %d was %s, want %s to %s", i, d, most/2, most)
			}
		}
		if n := e.count(); n < 20 || n > 50 {
			t.Errorf("%d tries", n)
		}
		n := e.count()
		until(begin, 3*time.Hour+time.Second)
		if e.count() != n+1 {
			t.Error("the tick had no run")
		}
		r.metrics(map[string]float64{`kbsync_runs_total{outcome="error"}`: float64(n + 1)})
		r.stop()
	})
}

// TestRefused: a guard's refusal waits for the next tick, and shows.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		e := &fakeEngine{do: func(_ context.Context, n int) (pipeline.Result, error) {
			if n == 1 {
				return pipeline.Result{}, &pipeline.GuardError{Reason: "docs lists nothing"}
			}
			return pipeline.Result{}, nil
		}}
		r := start(t, e, Options{Load: parse(t, "sync: { schedule: '@every 10m' }")})
		until(begin, 9*time.Minute)
		if e.count() != 1 {
			t.Errorf("runs at %s", e.starts(begin))
		}
		if code, body := r.get("/readyz"); code != 503 || !strings.Contains(body, "refused: docs lists nothing") {
			t.Errorf("%d %s", code, body)
		}
		if s := r.service(); s.Last.Outcome != "refused" {
			t.Errorf("%+v", s)
		}
		until(begin, 11*time.Minute)
		r.code("/readyz", 200)
		r.stop()
	})
}

// TestFirstRunCannotRun: a configuration that cannot be run ends the service; one that may work later does not.
func TestFirstRunCannotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		usage := pipeline.UsageErrorf("sink nowhere is not in this build")
		for _, e := range []*fakeEngine{
			{do: func(context.Context, int) (pipeline.Result, error) { return pipeline.Result{}, usage }},
			{runs: []ledger.Run{{ID: 1, Started: time.Now(), Ended: time.Now(), Outcome: "ok"}}, opened: usage},
		} {
			r := start(t, e, Options{Load: parse(t, "sync: { schedule: '@every 1h' }")})
			if err := <-r.done; !errors.Is(err, usage) || pipeline.ExitCode(err) != pipeline.ExitUsage {
				t.Errorf("%v", err)
			}
		}
		e := &fakeEngine{do: func(_ context.Context, n int) (pipeline.Result, error) {
			if n == 2 { // a file that the configuration names is gone for a while
				return pipeline.Result{}, usage
			}
			return pipeline.Result{}, nil
		}}
		begin := time.Now()
		r := start(t, e, Options{Load: parse(t, "sync: { schedule: '@every 1h' }")})
		until(begin, time.Hour+time.Minute)
		if e.count() != 3 {
			t.Errorf("runs at %s", e.starts(begin))
		}
		r.stop()
	})
	for _, yaml := range []string{"sources: []", "sync: { schedule: 'now and then' }", "nonsense: 1"} {
		if _, err := create(Options{Load: parse(t, yaml)}, &fakeEngine{}); pipeline.ExitCode(err) != pipeline.ExitUsage {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}

// TestPanic: a run that panics failed, and the next one runs.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &fakeEngine{}
		e.do = func(_ context.Context, n int) (pipeline.Result, error) {
			if n == 1 {
				e.mu.Lock()
				e.at--
				e.mu.Unlock()
				panic("a plugin's fault")
			}
			return pipeline.Result{}, nil
		}
		begin := time.Now()
		r := start(t, e, Options{Load: parse(t, "sync: { schedule: '@every 1h' }")})
		synctest.Wait()
		if s := r.service(); s.Last.Outcome != "error" || !strings.Contains(s.Last.Error, "a plugin's fault") {
			t.Errorf("%+v", s)
		}
		until(begin, 11*time.Second)
		r.code("/readyz", 200)
		r.stop()
	})
}

// TestStop: draining ends an idle service at once and a busy one after its run; a cancelled one ends at once.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		e := &fakeEngine{}
		drains := make(chan chan struct{}, 1)
		e.do = func(ctx context.Context, n int) (pipeline.Result, error) {
			drain := <-drains
			select {
			case <-drain:
				time.Sleep(3 * time.Second) // finishes what it began
				return pipeline.Result{}, pipeline.ErrDrained
			case <-ctx.Done():
				return pipeline.Result{}, context.Cause(ctx)
			case <-time.After(10 * time.Second):
				return pipeline.Result{}, nil
			}
		}
		opts := Options{Load: parse(t, "sync: { schedule: '@every 1h' }")}
		r := start(t, e, opts)
		drains <- r.drain
		until(begin, 20*time.Second)
		r.stop()
		if d := time.Since(begin); d != 20*time.Second {
			t.Errorf("idle, it took until %s", d)
		}
		e.runs[0].Ended = time.Time{}
		r = start(t, e, opts)
		drains <- r.drain
		until(begin, 25*time.Second)
		close(r.drain)
		synctest.Wait()
		r.code("/readyz", 503)
		r.code("/healthz", 200)
		if s := r.service(); s.State != "stopping" || s.Current == nil {
			t.Errorf("%+v", s)
		}
		if err := <-r.done; err != nil || time.Since(begin) != 28*time.Second {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		r.metrics(map[string]float64{`kbsync_runs_total{outcome="drained"}`: 1, `kbsync_runs_total{outcome="ok"}`: 0})
		r = start(t, e, opts) // a drained run left something to do
		drains <- r.drain
		until(begin, 30*time.Second)
		r.kill()
		if time.Since(begin) != 30*time.Second {
			t.Error("it did not end at once")
		}
	})
}

// TestReload: a new configuration counts from then on; a broken one changes nothing.
func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		yaml := "sync: { schedule: '@every 1h' }"
		e := &fakeEngine{}
		r := start(t, e, Options{Load: func() (*config.File, error) { return parse(t, yaml)() }})
		until(begin, time.Minute)
		for _, yaml = range []string{"nonsense: 1", "ids: content", "sync: { schedule: '@every 10m' }"} {
			r.reload <- os.Interrupt
			synctest.Wait()
			want := "@every 1h"
			if strings.Contains(yaml, "10m") {
				want = "@every 10m"
			}
			if s := r.service(); s.Schedule != want {
				t.Errorf("%s: %+v", yaml, s)
			}
		}
		until(begin, 22*time.Minute)
		r.stop()
		if got := e.starts(begin); got != "0 660 1260" {
			t.Errorf("runs at %s", got)
		}
	})
}

// TestJitter: each run starts within the jitter after its tick, and every tick has its run.
func TestJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		e := &fakeEngine{}
		r := start(t, e, Options{Load: parse(t, "sync: { schedule: '@every 1m', jitter: 10m }")})
		until(begin, time.Hour+time.Minute-1)
		r.stop()
		late := 0
		for i, run := range e.runs[1:] {
			d := run.Started.Sub(begin.Add(time.Duration(i+1) * time.Minute))
			if d < 0 || d >= time.Minute {
				t.Errorf("run %d is %s late", i+1, d)
			}
			if d > time.Second {
				late++
			}
		}
		if len(e.runs) != 61 || late < 30 {
			t.Errorf("%d runs, %d late", len(e.runs), late)
		}
	})
}

// TestRequests: requests while a run is under way are one run after it; changes wait for quiet, but not for ever.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		e := &fakeEngine{do: func(_ context.Context, n int) (res pipeline.Result, err error) {
			time.Sleep(10 * time.Second)
			res.Documents.Added = 1
			return res, nil
		}}
		r := start(t, e, Options{Load: parse(t, "sync: { debounce: 2s }"), Watch: true})
		until(begin, 5*time.Second)
		r.s.Trigger()
		r.s.Trigger()
		until(begin, 30*time.Second) // 0–10, 10–20
		r.s.Notify()
		until(begin, 31*time.Second)
		r.s.Notify() // 33–43
		until(begin, 60*time.Second)
		for range 25 {
			r.s.Notify() // after ten times as long as the quiet, at 80: 80–90
			time.Sleep(time.Second)
		}
		until(begin, 100*time.Second) // 90, for the changes from 80 to 84
		r.stop()
		if got := e.starts(begin); got != "0 10 33 80 90" {
			t.Errorf("runs at %s", got)
		}
	})
}

// TestNoise: changes that lead to nothing, such as a program's that writes beside the documents, are answered ever more rarely.
func TestNoise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		e := &fakeEngine{}
		var r *running
		set := make(chan struct{})
		e.do = func(context.Context, int) (pipeline.Result, error) {
			<-set
			r.s.Notify() // the run itself is the noise
			return pipeline.Result{}, nil
		}
		r = start(t, e, Options{Load: parse(t, "sync: { debounce: 1s, poll: 1m }"), Watch: true})
		close(set)
		until(begin, time.Hour)
		r.stop()
		if n := e.count(); n < 55 || n > 70 {
			t.Errorf("%d runs: %s", n, e.starts(begin))
		}
	})
}
