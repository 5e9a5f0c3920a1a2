// Package llmcall stands between a strategy and a language model: answers that are kept from before cost nothing, equal requests at the same
// time are sent once, and nothing is sent that might exceed the budget.
//
// It lies in internal because it is a part of the engine that strategies' tests use too, and because a strategy never sees it: a
// [Caller] is itself a [connector.LLM]. The engine puts its retries and its pace between the two halves, by Options.Send, so that a request
// that is tried again is counted again, while an answer that is kept is neither paced nor counted.
package llmcall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/kbsync/kbsync/connector"
)

// Key is what an answer is kept under.
type Key struct {
	// Content is a hash of all that is sent: what is to be done, the material, the shape of the answer, its length and the seed.
	Content string
	// Model is the model's identity.
	Model string
	// Prompt is the prompt's name and version.
	Prompt string
}

// KeyOf is the key of a request to a model.
func KeyOf(m connector.LLMModel, r connector.LLMRequest) Key {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %q %q %q %d %d", r.System, r.User, r.Name, r.Schema, r.MaxTokens, r.Seed)
	return Key{Content: hex.EncodeToString(h.Sum(nil)), Model: m.Identity(), Prompt: r.Prompt}
}

// Store keeps answers. Safe for concurrent use.
type Store interface {
	// Answer gives the answer that was kept under the key; ok is false where there is none.
	Answer(ctx context.Context, key Key) (a connector.LLMAnswer, ok bool, err error)
	// Keep keeps an answer for good: once it returns without an error, no crash loses it. One that is kept already is replaced.
	Keep(ctx context.Context, key Key, a connector.LLMAnswer) error
}

// Options of a Caller.
type Options struct {
	// Store of the answers; nil: they are forgotten when the Caller is.
	Store Store
	// Counter estimates the tokens of a request where the model has no counter of its own.
	Counter connector.Counter
	// Send calls send, as often as it takes, and gives its last error: the engine's retries. tokens is what the request may cost, for its pace.
	// nil: once.
	Send func(ctx context.Context, tokens int, send func() error) error
}

// Usage is what a Caller was used for so far.
type Usage struct {
	Calls  int // requests that were sent, those that failed included
	Kept   int // answers that were kept from before, or that an equal request had at the same time
	Tokens int // of requests and answers, as the service counted them, else as they are estimated
	Cost   float64
}

// ErrBlank refuses a request without material: nothing was sent.
var ErrBlank = errors.New("a request to a language model is blank: nothing was sent")

// Caller is a language model that remembers its answers and keeps its budget. Every answer that arrives is kept, also one that was cut off
// or refused, and one that nobody can read: asked again it would be the same, and cost the same. Safe for concurrent use.
type Caller struct {
	llm    connector.LLM
	model  connector.LLMModel
	opts   Options
	budget budget

	mu     sync.Mutex
	flying map[Key]*flight
	// unkept are answers that the store did not take: they are paid for, and offered to it again.
	unkept map[Key]connector.LLMAnswer
	kept   int
}

var _ connector.LLM = (*Caller)(nil)

// flight is a request that is under way.
type flight struct {
	done   chan struct{}
	answer connector.LLMAnswer
	err    error
}

// New makes a Caller of a model, within that model's budget. A budget of money needs the model's prices.
func New(llm connector.LLM, opts Options) (*Caller, error) {
	m := llm.Model()
	if m.Budget.Cost > 0 && m.PriceIn == 0 && m.PriceOut == 0 {
		return nil, fmt.Errorf("%s: max_cost needs the model's prices, and none are known of %s: set price_in and price_out", m.Provider, m.Name)
	}
	if m.Counter == nil && opts.Counter == nil {
		return nil, fmt.Errorf("%s: no counter estimates the tokens of a request", m.Provider)
	}
	if opts.Store == nil {
		opts.Store = &Memory{}
	}
	if opts.Send == nil {
		opts.Send = func(_ context.Context, _ int, send func() error) error { return send() }
	}
	return &Caller{llm: llm, model: m, opts: opts, budget: budget{model: m, freed: make(chan struct{})}, flying: map[Key]*flight{}, unkept: map[Key]connector.LLMAnswer{}}, nil
}

// Model implements [connector.LLM].
func (c *Caller) Model() connector.LLMModel { return c.model }

// Close closes the model.
func (c *Caller) Close() error { return c.llm.Close() }

// Usage is what was used so far.
func (c *Caller) Usage() Usage {
	u := c.budget.usage()
	c.mu.Lock()
	defer c.mu.Unlock()
	u.Kept = c.kept
	return u
}

// Complete implements [connector.LLM]. An error is a *[BudgetError], [ErrBlank], or one of the store or the model.
func (c *Caller) Complete(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
	if strings.TrimSpace(r.User) == "" {
		return connector.LLMAnswer{}, ErrBlank
	}
	key := KeyOf(c.model, r)
	for {
		if err := ctx.Err(); err != nil {
			return connector.LLMAnswer{}, context.Cause(ctx)
		}
		f, mine := c.board(key)
		if mine {
			return c.fly(ctx, key, f, r)
		}
		select {
		case <-ctx.Done():
			return connector.LLMAnswer{}, context.Cause(ctx)
		case <-f.done:
		}
		if f.err == nil {
			c.count()
			return f.answer, nil
		}
		if !ended(f.err) {
			return connector.LLMAnswer{}, f.err
		} // another's context has ended: that is no answer to this one
	}
}

// ended tells the error of a context that has ended. The cause may be any error, which is why the flight marks it.
func ended(err error) bool {
	var e *endedError
	return errors.As(err, &e)
}

// endedError marks what failed because its own context had ended.
type endedError struct{ err error }

func (e *endedError) Error() string { return e.err.Error() }
func (e *endedError) Unwrap() error { return e.err }

// board joins the flight of equal requests, or begins it.
func (c *Caller) board(key Key) (f *flight, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.flying[key]; ok {
		return f, false
	}
	f = &flight{done: make(chan struct{})}
	c.flying[key] = f
	return f, true
}

// fly finds the answer for all who wait for it. It lands also where the model panics.
func (c *Caller) fly(ctx context.Context, key Key, f *flight, r connector.LLMRequest) (connector.LLMAnswer, error) {
	f.err = &endedError{errors.New("the request came to no end")}
	defer func() {
		c.mu.Lock()
		delete(c.flying, key)
		c.mu.Unlock()
		close(f.done)
	}()
	f.answer, f.err = c.find(ctx, key, r)
	return f.answer, f.err
}

func (c *Caller) count() {
	c.mu.Lock()
	c.kept++
	c.mu.Unlock()
}

// find gives the answer that is kept, else asks.
func (c *Caller) find(ctx context.Context, key Key, r connector.LLMRequest) (connector.LLMAnswer, error) {
	c.mu.Lock()
	a, ok := c.unkept[key]
	c.mu.Unlock()
	if ok {
		return a, c.keep(ctx, key, a)
	}
	a, ok, err := c.opts.Store.Answer(ctx, key)
	switch {
	case err != nil:
		return connector.LLMAnswer{}, c.fail(ctx, fmt.Errorf("look for a kept answer: %w", err))
	case ok:
		c.count()
		return a, nil
	}
	if m := without(ctx); m != nil {
		m.add(key)
		return connector.LLMAnswer{Finish: connector.FinishRefused}, nil
	}
	if a, err = c.ask(ctx, r); err != nil {
		return connector.LLMAnswer{}, c.fail(ctx, err)
	}
	return a, c.keep(ctx, key, a)
}

// Probe sends a request, within the budget, whatever is kept, and keeps nothing: to find out whether the service takes any.
func (c *Caller) Probe(ctx context.Context, r connector.LLMRequest) error {
	_, err := c.ask(ctx, r)
	return err
}

// NewRun begins another run: nothing is used of the budget. No request may be under way.
func (c *Caller) NewRun() {
	c.mu.Lock()
	c.kept = 0
	c.mu.Unlock()
	c.budget.renew()
}

func (c *Caller) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &endedError{err}
	}
	return err
}

// ask sends the request, each time within the budget.
func (c *Caller) ask(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
	in := c.tokens(r)
	var a connector.LLMAnswer
	err := c.opts.Send(ctx, in+r.MaxTokens, func() error {
		held, err := c.budget.hold(ctx, in, r.MaxTokens)
		if err != nil {
			return err
		}
		a, err = c.llm.Complete(ctx, r)
		c.budget.settle(held, a, err)
		return err
	})
	return a, err
}

// keep stores what has arrived: it is paid for, also where the run is over.
func (c *Caller) keep(ctx context.Context, key Key, a connector.LLMAnswer) error {
	err := c.opts.Store.Keep(context.WithoutCancel(ctx), key, a)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.unkept[key] = a
		return fmt.Errorf("keep an answer of %s: %w", c.model.Provider, err)
	}
	delete(c.unkept, key)
	return nil
}

// tokens estimates those of a request, rather too high than too low: another tokenizer than the model's own is given half as much again, and a
// request has some of its own around each part.
func (c *Caller) tokens(r connector.LLMRequest) int {
	const around = 64
	counter := c.model.Counter
	if counter == nil {
		counter = c.opts.Counter
	}
	n := counter.Count(r.System) + counter.Count(r.User) + counter.Count(string(r.Schema))
	if c.model.Counter == nil {
		n += n / 2
	}
	return n + around
}
