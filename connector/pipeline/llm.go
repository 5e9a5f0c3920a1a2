package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/internal/counters"
	"github.com/kbsync/kbsync/internal/llmcall"
)

// llmAtATime is how many requests to a language model there may be at a time, where the run is not allowed more: they are waited for, not
// worked on.
const llmAtATime = 8

// lazyLLM is the language model, opened when a strategy first asks for it.
type lazyLLM struct {
	once    sync.Once
	caller  *llmcall.Caller
	err     error
	answers answers
	pace    *pace
	proof   proof
}

// answers keeps them in the ledger of the operation that is at work; without one, of a preview, in memory.
type answers struct {
	memory llmcall.Memory
	mu     sync.Mutex
	ledger *ledger.Ledger
}

var _ llmcall.Store = (*answers)(nil)

// use makes l the ledger from now on; nil: none.
func (a *answers) use(l *ledger.Ledger) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ledger = l
}

func (a *answers) at() *ledger.Ledger {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ledger
}

// Answer implements llmcall.Store.
func (a *answers) Answer(ctx context.Context, key llmcall.Key) (connector.LLMAnswer, bool, error) {
	if l := a.at(); l != nil {
		return l.Answer(ctx, ledger.AnswerKey(key))
	}
	return a.memory.Answer(ctx, key)
}

// Keep implements llmcall.Store.
func (a *answers) Keep(ctx context.Context, key llmcall.Key, answer connector.LLMAnswer) error {
	if l := a.at(); l != nil {
		return l.KeepAnswers(ctx, ledger.KeptAnswer{Key: ledger.AnswerKey(key), Answer: answer})
	}
	return a.memory.Keep(ctx, key, answer)
}

// languageModel is the configured language model as strategies see it: its answers are kept, its requests retried, paced and within the budget.
func (p *Pipeline) languageModel(ctx context.Context) (connector.LLM, error) {
	if p.file.LLM == nil {
		return nil, &UsageError{absentError{fmt.Errorf("the configuration names no language model: add llm: with one of %s", strings.Join(p.reg.LLMs.Kinds(), ", "))}}
	}
	p.llm.once.Do(func() { p.llm.caller, p.llm.err = p.openLLM(ctx) })
	if p.llm.err != nil {
		return nil, p.llm.err
	}
	return &askLLM{p.llm.caller, p}, nil
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
	m := llm.Model()
	p.llm.pace = newPace(connector.Model{RequestsPerMinute: m.RequestsPerMinute, TokensPerMinute: m.TokensPerMinute}, max(llmAtATime, p.concurrency()))
	return llmcall.New(llm, llmcall.Options{Store: &p.llm.answers, Counter: counter, Send: p.sendLLM})
}

// sendLLM sends one request, as often as it takes.
func (p *Pipeline) sendLLM(ctx context.Context, tokens int, send func() error) error {
	return p.retry(ctx, "ask "+p.file.LLM.Kind, func() error {
		if err := p.llm.pace.begin(ctx, tokens); err != nil {
			return err
		}
		err := send()
		p.llm.pace.end(err)
		if err == nil {
			p.llm.proof.took.Store(true)
			if w, ok := p.opts.Progress.(AnswerProgress); ok {
				w.Answered(1)
			}
		}
		return err
	})
}

// runError is an error of a strategy that is really one of the run. It shows no class of what is in it but that of a service that is away:
// a strategy that sees a refused passage would keep the passage and go on.
type runError struct {
	err error
	// waits says that the document is looked at again next time, and that the others go on.
	waits bool
}

func (e *runError) Error() string { return e.err.Error() }
func (e *runError) Unwrap() error { return e.err }

// askLLM is a connector.LLM whose errors say whether they are those of the passage or of the run.
type askLLM struct {
	caller *llmcall.Caller
	p      *Pipeline
}

var _ connector.LLM = (*askLLM)(nil)

// Model implements connector.LLM.
func (a *askLLM) Model() connector.LLMModel { return a.caller.Model() }

// Close implements connector.LLM; the pipeline closes the model.
func (a *askLLM) Close() error { return nil }

// Complete implements connector.LLM. The document's time stands meanwhile: requests have limits of their own.
func (a *askLLM) Complete(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
	defer stopClock(ctx)()
	answer, err := a.caller.Complete(ctx, r)
	if err == nil {
		return answer, nil
	}
	err = a.ofRun(ctx, err)
	if refusedText(err) {
		if verdict := a.blame(ctx, r); verdict != nil {
			err = verdict
		}
	}
	return answer, err
}

// ofRun marks the errors that end the run, or would end it at every document.
func (a *askLLM) ofRun(ctx context.Context, err error) error {
	var over *llmcall.BudgetError
	switch class := connector.ClassOf(err); {
	case ctx.Err() != nil:
		return err
	case errors.As(err, &over):
		return &runError{err: &GuardError{over.Error()}, waits: true}
	case errors.As(err, new(*UnreachableError)):
		return &runError{err: err}
	case (class == connector.ClassNotFound || class == connector.ClassUnsupported) && !a.p.llm.proof.took.Load():
		return &runError{err: a.misconfigured(err)}
	}
	return err
}

func (a *askLLM) misconfigured(err error) error {
	m := a.caller.Model()
	return UsageErrorf("the language model %s refuses every request, so no document was blamed: check the keys of llm.%s, the model (%s) first: %v", m.Provider, m.Provider, m.Name, err)
}

// blame decides who is at fault where a request was refused for what is in it: the passage, or (the error) every request of this run, by a
// key that the service does not take, say. As long as the model took no request, it is asked the same of one word: if it refuses that,
// the run ends.
func (a *askLLM) blame(ctx context.Context, r connector.LLMRequest) error {
	proof := &a.p.llm.proof
	proof.mu.Lock()
	defer proof.mu.Unlock()
	if proof.took.Load() || proof.verdict != nil {
		return proof.verdict
	}
	r.User = probeText
	err := a.caller.Probe(ctx, r)
	switch {
	case err == nil:
		return nil
	case refusedText(err):
		err = &runError{err: a.misconfigured(err)}
		proof.verdict = err
	default:
		err = a.ofRun(ctx, err)
	}
	return err
}

// AnswerProgress is a [Progress] that is also told of answers of a language model.
type AnswerProgress interface {
	// Answered: so many requests had an answer; those whose answer was kept are not counted.
	Answered(n int)
}

// AskedLLM is what a run asked of a language model.
type AskedLLM struct {
	// Calls are requests that were sent, those that failed included; Kept are answers that needed none.
	Calls int `json:"calls"`
	Kept  int `json:"kept"`
	// Tokens of requests and answers.
	Tokens   int     `json:"tokens"`
	Cost     float64 `json:"cost"`
	Currency string  `json:"currency,omitempty"`
	// Waiting are documents for which the budget did not suffice: they are looked at again next time.
	Waiting int `json:"waiting"`
}

// beginLLM gives a run the whole budget.
func (p *Pipeline) beginLLM(t *tally) {
	if p.file.LLM == nil {
		return
	}
	if p.llm.caller != nil {
		p.llm.caller.NewRun()
	}
	t.do(func(r *Result) { r.LLM = &AskedLLM{} })
}

// countLLM reports what a run asked.
func (p *Pipeline) countLLM(t *tally) {
	if p.file.LLM == nil || p.llm.caller == nil {
		return
	}
	u := p.llm.caller.Usage()
	t.do(func(r *Result) {
		*r.LLM = AskedLLM{Calls: u.Calls, Kept: u.Kept, Tokens: u.Tokens, Cost: u.Cost, Currency: p.llm.caller.Model().Currency, Waiting: r.LLM.Waiting}
	})
}
