package acceptance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
	kbservice "github.com/kbsync/kbsync/connector/service"
)

// served is a service over a rig, under a clock that a test moves.
type served struct {
	*rig
	s      *kbservice.Service
	drain  chan struct{}
	cancel context.CancelCauseFunc
	done   chan error
}

// serve starts the service.
func (r *rig) serve(ended func(error)) *served {
	r.tb.Helper()
	file := r.config()
	v := &served{rig: r, drain: make(chan struct{}), done: make(chan error, 1)}
	s, err := kbservice.New(kbservice.Options{
		Load: func() (*config.File, error) { return file, nil }, Registry: r.reg, Pipeline: r.opts, Command: "kbsync serve", Drain: v.drain,
		Ended: func(_ pipeline.Result, err error) { ended(err) },
	})
	if err != nil {
		r.tb.Fatal(err)
	}
	v.s = s
	ctx, cancel := context.WithCancelCause(context.Background())
	v.cancel = cancel
	go func() { v.done <- s.Run(ctx) }()
	return v
}

func (v *served) get(path string) (int, string) {
	w := httptest.NewRecorder()
	v.s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// tells fails unless /metrics has these lines.
func (v *served) tells(lines ...string) {
	v.tb.Helper()
	_, body := v.get("/metrics")
	for _, line := range lines {
		if !strings.Contains(body, "\n"+line+"\n") {
			name, _, _ := strings.Cut(line, "{")
			v.tb.Errorf("no %q in:\n%s", line, linesWith(body, name))
		}
	}
}

func linesWith(text, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func (v *served) answers(path string, want int) {
	v.tb.Helper()
	if code, body := v.get(path); code != want {
		v.tb.Errorf("%s: %d, want %d: %s", path, code, want, body)
	}
}

// TestServeForAnHour is an hour of @every 1m over real documents that change between the runs. One run is slow, one fails, one is
// killed in the middle of its writing; nothing overlaps, and in the end the sink holds exactly what is there.
func TestServeForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "", "sync: { schedule: \"@every 1m\", retries: 0, concurrency: 2 }")
		var fault atomic.Pointer[func() error]
		plant := func(f func() error) { fault.Store(&f) }
		// A process that was killed does nothing more: not to the ledger, not to the sink.
		var dead atomic.Bool
		killed := errors.New("the process was killed")
		alive := func(string) error {
			if dead.Load() {
				return killed
			}
			return nil
		}
		r.opts.LedgerHook = alive
		r.opts.WrapSink = func(s connector.Sink) connector.Sink {
			return &hookedSink{s, func(op string) error {
				if f := fault.Load(); f != nil && op == "upsert" {
					return (*f)()
				}
				return alive(op)
			}}
		}
		var mu sync.Mutex
		var outcomes []string
		ended := func(err error) {
			mu.Lock()
			defer mu.Unlock()
			word := "ok"
			if err != nil {
				word = "failed"
			}
			outcomes = append(outcomes, word)
		}
		for i := range 12 {
			r.write(fmt.Sprintf("%02d/a.txt", i), paragraphs(fmt.Sprint(i), 6))
		}
		begin := time.Now()
		until := func(d time.Duration) {
			time.Sleep(time.Until(begin.Add(d)))
			synctest.Wait()
		}
		v := r.serve(ended)
		until(time.Second)
		v.answers("/readyz", 200)
		v.tells(`kbsync_documents{pipeline="acceptance"} 12`, `kbsync_documents_total{outcome="added",pipeline="acceptance"} 12`)
		for minute := 1; minute <= 60; minute++ {
			until(time.Duration(minute)*time.Minute - 30*time.Second)
			// The documents change in every minute: edited, deleted, added, moved.
			switch i := minute % 12; minute % 4 {
			case 0:
				r.write(fmt.Sprintf("%02d/a.txt", i), paragraphs(fmt.Sprintf("%d at %d", i, minute), 5+minute%7))
			case 1:
				r.write(fmt.Sprintf("new/%d.txt", minute), paragraphs(fmt.Sprint(minute), 4))
			case 2:
				r.remove(fmt.Sprintf("new/%d.txt", minute-1))
				r.write(fmt.Sprintf("%02d/b.txt", i), paragraphs(fmt.Sprint(minute), 3))
			case 3:
				r.write("one.txt", paragraphs(fmt.Sprintf("one %d", minute), 2))
			}
			switch minute {
			case 10: // slow: its first write takes until 12:20
				slow := sync.OnceFunc(func() { time.Sleep(140 * time.Second) })
				plant(func() error { slow(); return nil })
			case 20: // the sink goes away, until 20:04
				plant(func() error {
					return connector.Errorf(connector.ClassTransient, "memory: the sink is away")
				})
			case 30: // it hangs in its writing, until it is killed
				plant(func() error {
					time.Sleep(15 * time.Second)
					return killed
				})
			}
			until(time.Duration(minute)*time.Minute + 4*time.Second)
			switch minute {
			case 10:
				v.tells(`kbsync_run_in_progress{pipeline="acceptance"} 1`)
				v.answers("/healthz", 200)
			case 12:
				v.tells(`kbsync_runs_missed_total{pipeline="acceptance"} 0`, `kbsync_run_in_progress{pipeline="acceptance"} 1`)
			case 13:
				fault.Store(nil)
				v.tells(`kbsync_runs_missed_total{pipeline="acceptance"} 2`, `kbsync_runs_total{outcome="ok",pipeline="acceptance"} 13`)
			case 20:
				fault.Store(nil)
				v.answers("/readyz", 503)
				v.answers("/healthz", 200)
				v.tells(`kbsync_runs_total{outcome="unreachable",pipeline="acceptance"} 1`)
				until(20*time.Minute + 15*time.Second)
				v.answers("/readyz", 200)
			case 30: // the process dies, and a new one starts
				dead.Store(true)
				v.cancel(killed)
				if err := <-v.done; !errors.Is(err, killed) {
					t.Errorf("a killed service ended with %v", err)
				}
				fault.Store(nil)
				dead.Store(false)
				until(30*time.Minute + 24*time.Second)
				v = r.serve(ended)
				until(30*time.Minute + 28*time.Second)
				v.answers("/readyz", 200)
				v.tells(`kbsync_runs_total{outcome="ok",pipeline="acceptance"} 1`)
				if _, body := v.get("/status"); !strings.Contains(body, `"reason":"the last run did not end"`) {
					t.Error(body)
				}
			}
		}
		v.tells(`kbsync_runs_total{outcome="ok",pipeline="acceptance"} 31`, `kbsync_runs_missed_total{pipeline="acceptance"} 0`)
		v.answers("/readyz", 200)
		close(v.drain)
		if err := <-v.done; err != nil {
			t.Error(err)
		}
		v.cancel(nil)
		mu.Lock()
		// One at the start, 60 ticks of which two were made up for by one run, one that was tried again, one after the kill.
		if all := strings.Join(outcomes, " "); len(outcomes) != 62 || strings.Count(all, "failed") != 2 {
			t.Errorf("%d runs: %s", len(outcomes), all)
		}
		mu.Unlock()
		r.exact()
	})
}
