package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/llmjson"
)

// Parts that the strategies share which ask a language model: propositions, llm and contextual.

// askedAtOnce is how many questions of one document are asked at a time.
const askedAtOnce = 8

// llmModel is the language model and whatever decides its answers.
type llmModel struct {
	llm connector.LLM
	// answer bounds every answer in tokens; 0: by what is asked.
	answer int
	// tokens counts what is asked: by one tokenizer for all embedders, for answers are kept under what was allowed for them.
	tokens connector.Counter
}

func openModel(ctx context.Context, env connector.StrategyEnv, answer int) (*llmModel, error) {
	if answer < 0 {
		return nil, fmt.Errorf("answer_tokens is %d: it must not be negative (0: as many as the text asks for)", answer)
	}
	if env.LLM == nil {
		return nil, errors.New("no language model is configured: add llm: to the configuration")
	}
	llm, err := env.LLM(ctx)
	if err != nil {
		return nil, err
	}
	tokens, err := env.Counter("cl100k")
	if err != nil {
		return nil, err
	}
	return &llmModel{llm: llm, answer: answer, tokens: tokens}, nil
}

// models are the model's identity under each prompt, and those of the strategy below.
func (m *llmModel) models(below connector.StrategyInfo, versions ...string) []string {
	var out []string
	for _, v := range versions {
		out = append(out, m.llm.Model().Identity()+" "+v)
	}
	return append(out, below.Models...)
}

// most is how many tokens an answer of about n tokens may have: in steps, so that a text that changes a little is allowed the same.
func (m *llmModel) most(n int) int {
	const step = 256
	if m.answer > 0 {
		return m.answer
	}
	return (n + step - 1) / step * step
}

// unusable tells an error that leaves the passage as it is, with its reason in a word or two; false: it is the document's or the run's.
func unusable(err error) (reason string, ok bool) {
	var u *llmjson.UnusableError
	switch {
	case errors.Is(err, llmjson.ErrBlank):
		return "nothing to ask about", true
	case !errors.As(err, &u):
		return "", false
	case errors.Is(err, llmjson.ErrRefused):
		return "refused", true
	case errors.Is(err, llmjson.ErrCutOff):
		return "cut off", true
	case connector.ClassOf(err) == connector.ClassInvalid || connector.ClassOf(err) == connector.ClassTooLarge:
		return "not taken", true
	}
	return "no usable answer", true
}

// noted adds a note to a chunk's metadata, which are another's.
func noted(c *connector.Chunk, key string, value any) {
	m := maps.Clone(c.Metadata)
	if m == nil {
		m = map[string]any{}
	}
	m[key] = value
	c.Metadata = m
}

// titled passes elements on and notes the document's title: that of its front matter, or of a heading that it begins with. The title does not
// depend on how far the elements were read.
type titled struct {
	title   string
	settled bool
}

func (t *titled) watch(elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		for el, err := range elements {
			if err == nil {
				t.see(&el)
			}
			if !yield(el, err) {
				return
			}
		}
	}
}

func (t *titled) see(el *connector.Element) {
	if t.settled || el.Kind == connector.KindDropped {
		return
	}
	switch {
	case el.Kind == connector.KindFrontMatter:
		t.title, _ = el.Front["title"].(string)
		t.settled = t.title != ""
	case el.Kind == connector.KindHeading:
		t.title, t.settled = el.Title, true
	default:
		t.settled = strings.TrimSpace(el.Text) != ""
	}
}

// ahead does work for several items at a time and yields what comes of them in their order. An error ends it, after the work that
// was begun: what was asked is paid for, and its answer is kept.
func ahead[T, R any](ctx context.Context, items iter.Seq2[T, error], work func(context.Context, T) (R, error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var none R
		batch := make([]T, 0, askedAtOnce)
		flush := func() bool {
			results, failures := make([]R, len(batch)), make([]error, len(batch))
			var g errgroup.Group
			for i := range batch {
				g.Go(func() error {
					results[i], failures[i] = work(ctx, batch[i])
					return nil
				})
			}
			_ = g.Wait()
			batch = batch[:0]
			for i := range results {
				if failures[i] != nil {
					yield(none, failures[i])
					return false
				}
				if !yield(results[i], nil) {
					return false
				}
			}
			return true
		}
		for item, err := range items {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				if flush() {
					yield(none, err)
				}
				return
			}
			if batch = append(batch, item); len(batch) == askedAtOnce && !flush() {
				return
			}
		}
		flush()
	}
}

// crumbs is the breadcrumb as prompts have it.
func crumbs(headings []string) string { return strings.Join(headings, " > ") }
