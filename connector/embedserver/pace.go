package embedserver

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/time/rate"

	"github.com/kbsync/kbsync/connector"
)

// pace keeps the model's limits over time and its budget, which the life of the server counts as one run.
type pace struct {
	model    connector.Model
	requests *rate.Limiter // nil: no limit
	tokens   *rate.Limiter

	mu    sync.Mutex
	spent float64
}

func newPace(m connector.Model) *pace {
	p := &pace{model: m}
	if m.RequestsPerMinute > 0 {
		p.requests = rate.NewLimiter(rate.Limit(float64(m.RequestsPerMinute)/60), 1)
	}
	if m.TokensPerMinute > 0 {
		p.tokens = rate.NewLimiter(rate.Limit(float64(m.TokensPerMinute)/60), m.TokensPerMinute)
	}
	return p
}

// pay takes the price of a call out of the budget.
func (p *pace) pay(tokens int) error {
	price := float64(tokens) / 1e6 * p.model.PricePerMillion
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.model.Budget > 0 && p.spent+price > p.model.Budget {
		return &failure{status: http.StatusTooManyRequests, kind: kindQuota, code: "insufficient_quota", message: fmt.Sprintf(
			"the budget of %g %s is spent (%.4f since the server started): raise the embedder's budget, or start the server anew", p.model.Budget, p.model.Currency, p.spent)}
	}
	p.spent += price
	return nil
}

// wait returns when a call of so many tokens may be made.
func (p *pace) wait(ctx context.Context, tokens int) (err error) {
	if p.requests != nil {
		err = p.requests.Wait(ctx)
	}
	if err == nil && p.tokens != nil {
		err = p.tokens.WaitN(ctx, min(tokens, p.tokens.Burst()))
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errTimeout // it would end before its turn
}
