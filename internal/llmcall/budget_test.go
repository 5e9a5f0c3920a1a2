package llmcall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/internal/counters"
)

// TestBudget: never more than the limit is used, at any concurrency, and as much of it as one after another would use.
func TestBudget(t *testing.T) {
	for name, c := range map[string]struct {
		budget connector.LLMBudget
		key    string
		want   int
	}{
		"calls":  {connector.LLMBudget{Calls: 5}, "max_calls", 5},
		"tokens": {connector.LLMBudget{Tokens: 500}, "max_tokens", 7}, // a request may take 170 or so, and takes 50
		"cost":   {connector.LLMBudget{Cost: 0.0015}, "max_cost", 0},
	} {
		for _, workers := range []int{1, 8} {
			d := &llmtest.Double{Is: connector.LLMModel{Provider: "p", Name: "n", Version: "1", Budget: c.budget, PriceIn: 2, PriceOut: 10, Currency: "EUR"}, Says: says("")}
			caller := open(t, d, Options{})
			var group sync.WaitGroup
			var refused atomic.Int64
			for w := range workers {
				group.Go(func() {
					for i := range 40 / workers {
						_, err := caller.Complete(t.Context(), request(fmt.Sprintf("%02d", w*100+i)))
						var b *BudgetError
						if errors.As(err, &b) {
							refused.Add(1)
							if b.Key != c.key || !strings.Contains(err.Error(), "llm.p."+c.key) {
								t.Errorf("%s: %v", name, err)
							}
						} else if err != nil {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			u := caller.Usage()
			if c.budget.Calls > 0 && u.Calls > c.budget.Calls || c.budget.Tokens > 0 && u.Tokens > c.budget.Tokens || c.budget.Cost > 0 && u.Cost > c.budget.Cost {
				t.Errorf("%s: %+v is over %+v", name, u, c.budget)
			}
			if u.Calls == 0 || u.Calls == 40 || c.want > 0 && u.Calls != c.want || int(refused.Load())+u.Calls != 40 || len(d.Asked()) != u.Calls {
				t.Errorf("%s, %d workers: %+v, %d refused", name, workers, u, refused.Load())
			}
		}
	}
	if _, err := New(&llmtest.Double{Is: connector.LLMModel{Provider: "p", Name: "n", Version: "1", Budget: connector.LLMBudget{Cost: 1}}}, Options{Counter: counters.Chars{}}); err == nil || !strings.Contains(err.Error(), "price_in") {
		t.Errorf("a budget without a price: %v", err)
	}
}

// TestFailures: what a failed request takes out of the budget, and that nothing of it is kept.
func TestFailures(t *testing.T) {
	for class, tokens := range map[connector.Class]int{connector.ClassThrottled: 0, connector.ClassInvalid: 0, connector.ClassTransient: 166, connector.ClassUnknown: 166} {
		d := &llmtest.Double{Says: func(context.Context, connector.LLMRequest) (connector.LLMAnswer, error) {
			return connector.LLMAnswer{}, connector.Errorf(class, "no")
		}}
		store := &Memory{}
		tries := 0
		c := open(t, d, Options{Store: store, Send: func(_ context.Context, _ int, send func() error) error {
			tries++
			return errors.Join(send(), send())
		}})
		if _, err := c.Complete(t.Context(), request("x")); err == nil {
			t.Error("no error")
		}
		if u := c.Usage(); u.Calls != 2 || tries != 1 || store.Len() != 0 || u.Tokens < 2*tokens || u.Tokens > 2*tokens+10 {
			t.Errorf("%v: %+v", class, u)
		}
	}
}

// TestBudgetWaits: a request that fits only if those under way take less than they may is sent when they have.
func TestBudgetWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls atomic.Int64
		d := &llmtest.Double{Is: connector.LLMModel{Provider: "p", Name: "n", Version: "1", Budget: connector.LLMBudget{Tokens: 400}}, Says: func(context.Context, connector.LLMRequest) (connector.LLMAnswer, error) {
			calls.Add(1)
			<-release
			return connector.LLMAnswer{TokensIn: 30, TokensOut: 20}, nil
		}}
		c := open(t, d, Options{})
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				if _, err := c.Complete(t.Context(), request(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		gone, leave := context.WithCancel(t.Context())
		group.Go(func() {
			if _, err := c.Complete(gone, request("left")); !errors.Is(err, context.Canceled) {
				t.Errorf("one who left: %v", err)
			}
		})
		synctest.Wait()
		if n := calls.Load(); n != 2 {
			t.Errorf("%d requests under way, want 2 of about 166 tokens within 400", n)
		}
		leave()
		synctest.Wait()
		close(release)
		group.Wait()
		if u := c.Usage(); u.Calls > 5 || u.Tokens > 400 {
			t.Errorf("%+v", u)
		}
	})
}
