package llmcall

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/internal/counters"
)

func request(user string) connector.LLMRequest {
	return connector.LLMRequest{Prompt: "p/1", System: "s", User: user, MaxTokens: 100}
}

func open(t *testing.T, l connector.LLM, opts Options) *Caller {
	t.Helper()
	opts.Counter = counters.Chars{}
	c, err := New(l, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func says(text string) func(context.Context, connector.LLMRequest) (connector.LLMAnswer, error) {
	return func(_ context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
		return connector.LLMAnswer{Text: text + r.User, TokensIn: 30, TokensOut: 20}, nil
	}
}

// TestConformance: with a Caller before it, a model still is one; its answers come from the store from the second rule on.
func TestConformance(t *testing.T) {
	store := &Memory{}
	llmtest.Run(t, func(t *testing.T) connector.LLM {
		return open(t, &llmtest.Double{Says: func(_ context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
			reply := llmtest.Reflect(llmtest.Call{User: r.User, JSON: r.Schema != nil})
			return connector.LLMAnswer{Text: reply.Text}, nil
		}}, Options{Store: store})
	})
}

// TestKept: the second run asks nothing, whatever the answer was like; whatever changes an answer is asked anew.
func TestKept(t *testing.T) {
	store := &Memory{}
	for _, finish := range []connector.Finish{connector.FinishStop, connector.FinishLength, connector.FinishRefused} {
		d := &llmtest.Double{Says: func(context.Context, connector.LLMRequest) (connector.LLMAnswer, error) {
			return connector.LLMAnswer{Text: "", Finish: finish, TokensIn: 1}, nil
		}}
		for range 3 {
			a, err := open(t, d, Options{Store: store}).Complete(t.Context(), request(finish.String()))
			if err != nil || a.Finish != finish {
				t.Fatalf("%+v, %v", a, err)
			}
		}
		if n := len(d.Asked()); n != 1 {
			t.Errorf("%v: asked %d times", finish, n)
		}
	}
	d := &llmtest.Double{Says: says("")}
	c := open(t, d, Options{Store: store})
	all := []connector.LLMRequest{request("x"), request("y")}
	for i := range 8 {
		r := request("x")
		switch i {
		case 0:
			r.System = "other"
		case 1:
			r.Prompt = "p/2"
		case 2:
			r.Schema, r.Name = llmtest.Schema(), "n"
		case 3:
			r.MaxTokens = 7
		case 4:
			r.Seed = 7
		case 5:
			r.System, r.User = r.System+"x", "y" // no running together of fields
		case 6:
			r.User = "xy"
		case 7:
			r.User = "x\" \"y"
		}
		all = append(all, r)
	}
	for range 2 {
		for _, r := range all {
			if _, err := c.Complete(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(d.Asked()); n != len(all) {
		t.Errorf("asked %d times, want %d", n, len(all))
	}
	other := &llmtest.Double{Is: connector.LLMModel{Provider: "p", Name: "other", Version: "1"}, Says: says("")}
	if _, err := open(t, other, Options{Store: store}).Complete(t.Context(), request("x")); err != nil || len(other.Asked()) != 1 {
		t.Errorf("another model had the answer of the first: %v", err)
	}
	if u := c.Usage(); u.Calls != len(all) || u.Kept != len(all) || u.Tokens != 50*len(all) {
		t.Errorf("%+v", u)
	}
}

func TestBlank(t *testing.T) {
	d := &llmtest.Double{Says: says("")}
	if _, err := open(t, d, Options{}).Complete(t.Context(), request(" \n\u3000")); !errors.Is(err, ErrBlank) || len(d.Asked()) != 0 {
		t.Errorf("%v after %d requests", err, len(d.Asked()))
	}
}

// TestSingleFlight: equal requests at the same time are one; one whose context ends does not take the others with it.
func TestSingleFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls atomic.Int64
		d := &llmtest.Double{Says: func(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
			if calls.Add(1) == 1 {
				<-ctx.Done()
				return connector.LLMAnswer{}, ctx.Err()
			}
			<-release
			return connector.LLMAnswer{Text: r.User}, nil
		}}
		c := open(t, d, Options{})
		first, cancel := context.WithCancelCause(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := c.Complete(first, request("x")); !errors.Is(err, context.Canceled) {
				t.Errorf("the first: %v", err)
			}
		})
		synctest.Wait()
		for range 10 {
			group.Go(func() {
				if a, err := c.Complete(t.Context(), request("x")); err != nil || a.Text != "x" {
					t.Errorf("%+v, %v", a, err)
				}
			})
		}
		gone, leave := context.WithCancel(t.Context())
		group.Go(func() {
			if _, err := c.Complete(gone, request("x")); !errors.Is(err, context.Canceled) {
				t.Errorf("one who left: %v", err)
			}
		})
		synctest.Wait()
		if n := calls.Load(); n != 1 {
			t.Errorf("%d calls, want one", n)
		}
		leave()
		cancel(errors.New("enough"))
		synctest.Wait()
		if n := calls.Load(); n != 2 {
			t.Errorf("%d calls, want the cancelled one and one more", n)
		}
		close(release)
		group.Wait()
		if u := c.Usage(); u.Kept != 9 || calls.Load() != 2 {
			t.Errorf("%+v after %d calls", u, calls.Load())
		}
	})
}

// full is a store that takes nothing until it is mended.
type full struct {
	Memory
	mended atomic.Bool
}

func (f *full) Keep(ctx context.Context, key Key, a connector.LLMAnswer) error {
	if !f.mended.Load() {
		return errors.New("disk full")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return f.Memory.Keep(ctx, key, a)
}

// TestPaidOnce: an answer that the store did not take is not asked for again, and one that arrives when the run is over is kept.
func TestPaidOnce(t *testing.T) {
	store := &full{}
	d := &llmtest.Double{Says: says("")}
	c := open(t, d, Options{Store: store})
	for range 2 {
		if _, err := c.Complete(t.Context(), request("x")); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%v", err)
		}
	}
	store.mended.Store(true)
	if a, err := c.Complete(t.Context(), request("x")); err != nil || a.Text != "x" || len(d.Asked()) != 1 || store.Len() != 1 {
		t.Errorf("%+v, %v, asked %d times", a, err, len(d.Asked()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	late := &llmtest.Double{Says: func(_ context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
		cancel()
		return connector.LLMAnswer{Text: r.User}, nil
	}}
	if _, err := open(t, late, Options{Store: store}).Complete(ctx, request("late")); err != nil || store.Len() != 2 {
		t.Errorf("%v, %d answers kept", err, store.Len())
	}
}

// TestWithoutAsking: what is kept is given, the rest is counted and not sent, and a refusal that nobody gave is not kept.
func TestWithoutAsking(t *testing.T) {
	d := &llmtest.Double{Says: says("said ")}
	store := &Memory{}
	c := open(t, d, Options{Store: store})
	if _, err := c.Complete(t.Context(), request("kept")); err != nil {
		t.Fatal(err)
	}
	var m Missing
	ctx := WithoutAsking(t.Context(), &m)
	for _, user := range []string{"kept", "a", "b", "a"} {
		a, err := c.Complete(ctx, request(user))
		if want := map[bool]connector.Finish{true: connector.FinishStop, false: connector.FinishRefused}[user == "kept"]; err != nil || a.Finish != want {
			t.Errorf("%s: %+v, %v", user, a, err)
		}
	}
	if m.Calls() != 4 || len(d.Asked()) != 1 || store.Len() != 1 {
		t.Errorf("%d calls missing, %d sent, %d kept", m.Calls(), len(d.Asked()), store.Len())
	}
	if a, err := c.Complete(t.Context(), request("a")); err != nil || a.Text != "said a" {
		t.Errorf("asked in earnest: %+v, %v", a, err)
	}
}

// TestNewRun: each run has the whole budget; a probe counts, and is neither looked up nor kept.
func TestNewRun(t *testing.T) {
	d := &llmtest.Double{Is: connector.LLMModel{Provider: "p", Name: "n", Version: "1", Budget: connector.LLMBudget{Calls: 2}}, Says: says("")}
	store := &Memory{}
	c := open(t, d, Options{Store: store})
	for run := range 3 {
		c.NewRun()
		if _, err := c.Complete(t.Context(), request(string(rune('a'+run)))); err != nil {
			t.Fatal(err)
		}
		if err := c.Probe(t.Context(), request("a")); err != nil {
			t.Fatal(err)
		}
		if err := c.Probe(t.Context(), request("a")); !errors.As(err, new(*BudgetError)) {
			t.Errorf("run %d: %v", run, err)
		}
		if u := c.Usage(); u.Calls != 2 || u.Kept != 0 || store.Len() != run+1 {
			t.Errorf("run %d: %+v, %d kept", run, u, store.Len())
		}
	}
}
