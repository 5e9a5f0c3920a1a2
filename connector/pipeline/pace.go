package pipeline

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/time/rate"

	"github.com/kbsync/kbsync/connector"
)

// pace keeps what all workers together ask of an embedder within its limits over time and within the budget, and asks less at a
// time of one that is overloaded.
type pace struct {
	model    connector.Model
	requests *rate.Limiter // nil: no limit
	tokens   *rate.Limiter

	mu      sync.Mutex
	most    int     // requests at a time
	allowed float64 // of them, now; at least 1
	flying  int
	freed   chan struct{} // closed, and made anew, when a place may be free
	spent   float64
}

// newPace makes the pace of one run; most is how many requests there may be at a time.
func newPace(m connector.Model, most int) *pace {
	p := &pace{model: m, most: most, allowed: float64(most), freed: make(chan struct{})}
	if m.RequestsPerMinute > 0 {
		p.requests = rate.NewLimiter(rate.Limit(float64(m.RequestsPerMinute)/60), 1)
	}
	if m.TokensPerMinute > 0 {
		p.tokens = rate.NewLimiter(rate.Limit(float64(m.TokensPerMinute)/60), m.TokensPerMinute)
	}
	return p
}

// begin waits until a request of so many tokens may be sent. After it, end must be called.
func (p *pace) begin(ctx context.Context, tokens int) error {
	if p == nil {
		return nil
	}
	if err := p.pay(tokens); err != nil {
		return err
	}
	if err := p.place(ctx); err != nil {
		return err
	}
	var err error
	if p.requests != nil {
		err = p.requests.Wait(ctx)
	}
	if err == nil && p.tokens != nil {
		err = p.tokens.WaitN(ctx, min(tokens, p.tokens.Burst()))
	}
	if err != nil {
		p.end(err) // nothing was sent
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("wait for the embedder's limits: %w", err)
	}
	return nil
}

// pay takes the price of a request out of the budget. A request that is tried again is paid again: providers may count both.
func (p *pace) pay(tokens int) error {
	price := float64(tokens) / 1e6 * p.model.PricePerMillion
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.model.Budget > 0 && p.spent+price > p.model.Budget {
		return &GuardError{fmt.Sprintf("the budget of %g %s is spent (%.4f so far, by the price of %g a million tokens): what was embedded is kept, "+
			"and the next run goes on; raise embedder.%s.budget to go further", p.model.Budget, p.model.Currency, p.spent, p.model.PricePerMillion, p.model.Provider)}
	}
	p.spent += price
	return nil
}

// place waits for one of the allowed places.
func (p *pace) place(ctx context.Context) error {
	for {
		p.mu.Lock()
		if p.flying < max(1, int(p.allowed)) {
			p.flying++
			p.mu.Unlock()
			return nil
		}
		freed := p.freed
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-freed:
		}
	}
}

// end gives the place back. Half as many requests are sent at a time after one that was throttled, and one more after a round of
// good ones (additive increase, multiplicative decrease, as TCP does it).
func (p *pace) end(err error) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flying--
	switch {
	case err == nil:
		p.allowed = min(float64(p.most), p.allowed+1/p.allowed)
	case connector.ClassOf(err) == connector.ClassThrottled:
		p.allowed = max(1, p.allowed/2)
	}
	close(p.freed)
	p.freed = make(chan struct{})
}
