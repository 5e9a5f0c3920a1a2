package service

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/connector/pipeline"
)

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
