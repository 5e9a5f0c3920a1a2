package llmtest

import (
	"context"
	"slices"
	"sync"

	"github.com/kbsync/kbsync/connector"
)

// Double is a language model without a network, for tests of what asks one: Says answers, and what was asked is kept.
type Double struct {
	// Is the model; its empty names are filled.
	Is connector.LLMModel
	// Forgets what was asked: for long tests.
	Forgets bool
	// Says may be called concurrently.
	Says func(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error)

	mu    sync.Mutex
	asked []connector.LLMRequest
}

var _ connector.LLM = (*Double)(nil)

// Texts is a double that gives these answers in turn, the last one for ever.
func Texts(texts ...string) *Double {
	d := &Double{}
	var mu sync.Mutex
	next := 0
	d.Says = func(context.Context, connector.LLMRequest) (connector.LLMAnswer, error) {
		mu.Lock()
		defer mu.Unlock()
		text := texts[min(next, len(texts)-1)]
		next++
		return connector.LLMAnswer{Text: text, TokensIn: 10, TokensOut: len(text)/4 + 1}, nil
	}
	return d
}

// Model implements [connector.LLM].
func (d *Double) Model() connector.LLMModel {
	m := d.Is
	if m.Provider == "" {
		m.Provider, m.Name, m.Version = "double", "double", "1"
	}
	return m
}

// Complete implements [connector.LLM].
func (d *Double) Complete(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
	if err := ctx.Err(); err != nil {
		return connector.LLMAnswer{}, err
	}
	d.mu.Lock()
	if !d.Forgets {
		d.asked = append(d.asked, r)
	}
	d.mu.Unlock()
	if r.MaxTokens < 1 {
		return connector.LLMAnswer{}, connector.Errorf(connector.ClassInvalid, "double: an answer of %d tokens", r.MaxTokens)
	}
	return d.Says(ctx, r)
}

// Close implements [connector.LLM].
func (d *Double) Close() error { return nil }

// Asked are the requests so far.
func (d *Double) Asked() []connector.LLMRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked)
}
