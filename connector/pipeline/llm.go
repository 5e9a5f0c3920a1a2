package pipeline

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/counters"
	"github.com/kbsync/kbsync/internal/llmcall"
)

// lazyLLM is the language model, opened when a strategy first asks for it.
type lazyLLM struct {
	once   sync.Once
	caller *llmcall.Caller
	err    error
}

// languageModel is the configured language model as strategies see it: its answers are kept, its requests retried and within the budget.
func (p *Pipeline) languageModel(ctx context.Context) (connector.LLM, error) {
	if p.file.LLM == nil {
		return nil, UsageErrorf("the configuration names no language model: add llm: with one of %s", strings.Join(p.reg.LLMs.Kinds(), ", "))
	}
	p.llm.once.Do(func() { p.llm.caller, p.llm.err = p.openLLM(ctx) })
	if p.llm.err != nil {
		return nil, p.llm.err
	}
	return p.llm.caller, nil
}

func (p *Pipeline) openLLM(ctx context.Context) (*llmcall.Caller, error) {
	kind := p.file.LLM.Kind
	plugin, ok := p.reg.LLMs.Get(kind)
	if !ok {
		return nil, UsageErrorf("llm %q is not in this build: choose one of %s", kind, strings.Join(p.reg.LLMs.Kinds(), ", "))
	}
	conf := p.file.LLM.Config
	if conf == nil {
		conf = plugin.Config()
	}
	llm, err := plugin.Open(ctx, conf, p.env())
	if err != nil {
		return nil, fmt.Errorf("llm %s: %w", kind, err)
	}
	counter, err := counters.Named("cl100k")
	if err != nil {
		return nil, err
	}
	return llmcall.New(llm, llmcall.Options{Counter: counter, Send: func(ctx context.Context, _ int, send func() error) error {
		return p.retry(ctx, "ask "+kind, send)
	}})
}
