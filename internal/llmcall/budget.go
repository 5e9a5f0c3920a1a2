package llmcall

import (
	"context"
	"fmt"
	"sync"

	"github.com/kbsync/kbsync/connector"
)

// BudgetError says that a request was not sent, because with it more might have been used than one run may use.
type BudgetError struct {
	// Key of the configuration that sets the limit: max_calls, max_tokens or max_cost.
	Key string
	// Provider is the kind under llm.
	Provider string
	Limit    float64
	// Used so far; Next is what the request might have used.
	Used, Next float64
	Currency   string
}

// Error says which limit, how much of it is used, and what to do.
func (e *BudgetError) Error() string {
	unit := map[string]string{"max_calls": "requests", "max_tokens": "tokens", "max_cost": e.Currency}[e.Key]
	return fmt.Sprintf("the budget of %.6g %s is used up (%.6g so far, and the next request may take %.6g): what was answered is kept, and the next run goes on; raise llm.%s.%s to go further",
		e.Limit, unit, e.Used, e.Next, e.Provider, e.Key)
}

// budget holds what requests under way may take and what those that ended have taken. Safe for concurrent use.
type budget struct {
	model connector.LLMModel

	mu    sync.Mutex
	spent spending      // by ended requests
	held  spending      // by requests under way
	freed chan struct{} // closed, and made anew, when a request has ended
}

// spending is an amount of everything that has a limit.
type spending struct {
	calls, tokens int
	cost          float64
}

func (s *spending) add(o spending, sign int) {
	s.calls += sign * o.calls
	s.tokens += sign * o.tokens
	s.cost += float64(sign) * o.cost
}

// of is what so many tokens are.
func (b *budget) of(in, out int) spending {
	return spending{1, in + out, (float64(in)*b.model.PriceIn + float64(out)*b.model.PriceOut) / 1e6}
}

// holding is the part of the budget that one request under way may take.
type holding struct {
	most spending
	in   int // tokens of the request
}

// hold takes the most that a request may cost out of the budget, before it is sent. Where that fits only if the requests under way take less
// than they may, it waits for them: how much a budget buys does not depend on how many ask at a time.
func (b *budget) hold(ctx context.Context, in, out int) (holding, error) {
	if most := b.model.MaxOutputTokens; most > 0 {
		out = min(out, most)
	}
	h := holding{b.of(in, out), in}
	for {
		b.mu.Lock()
		used := b.spent
		if err := b.over(used, h.most); err != nil {
			b.mu.Unlock()
			return h, err
		}
		used.add(b.held, 1)
		if b.over(used, h.most) == nil {
			b.held.add(h.most, 1)
			b.mu.Unlock()
			return h, nil
		}
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return h, context.Cause(ctx)
		case <-freed:
		}
	}
}

// over is the error for a request that does not fit beside what is used.
func (b *budget) over(used, next spending) error {
	limit := b.model.Budget
	e := &BudgetError{Provider: b.model.Provider, Currency: b.model.Currency}
	switch {
	case limit.Calls > 0 && used.calls+next.calls > limit.Calls:
		e.Key, e.Limit, e.Used, e.Next = "max_calls", float64(limit.Calls), float64(used.calls), 1
	case limit.Tokens > 0 && used.tokens+next.tokens > limit.Tokens:
		e.Key, e.Limit, e.Used, e.Next = "max_tokens", float64(limit.Tokens), float64(used.tokens), float64(next.tokens)
	case limit.Cost > 0 && used.cost+next.cost > limit.Cost:
		e.Key, e.Limit, e.Used, e.Next = "max_cost", limit.Cost, used.cost, next.cost
	default:
		return nil
	}
	return e
}

// settle books what the request took in place of the most that it might have. One that the service refused counts as a call; one that
// broke off may have been billed in full, and is booked so.
func (b *budget) settle(h holding, a connector.LLMAnswer, err error) {
	took := h.most
	switch connector.ClassOf(err) {
	case connector.ClassThrottled, connector.ClassDenied, connector.ClassCredentials, connector.ClassInvalid, connector.ClassTooLarge, connector.ClassNotFound, connector.ClassUnsupported:
		took = spending{calls: 1}
	}
	if err == nil {
		in, out := a.TokensIn, a.TokensOut
		if in == 0 {
			in = h.in
		}
		took = b.of(in, out)
		if out == 0 && a.Text != "" { // the service does not say
			took = b.of(in, h.most.tokens-h.in)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held.add(h.most, -1)
	b.spent.add(took, 1)
	close(b.freed)
	b.freed = make(chan struct{})
}

func (b *budget) renew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = spending{}
}

func (b *budget) usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Usage{Calls: b.spent.calls, Tokens: b.spent.tokens, Cost: b.spent.cost}
}
