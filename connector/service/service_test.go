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
