package strategies

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/prompts"
	"github.com/kbsync/kbsync/internal/sentences"
)

// ContextualConfig configures the strategy "contextual".
type ContextualConfig struct {
	Of             *connector.Choice `yaml:"of" kinds:"strategy" doc:"the strategy that cuts the chunks; default: recursive without overlap. Its cap is that of a chunk with its context"`
	ContextTokens  int               `yaml:"context_tokens" doc:"tokens of the cap that are kept free for the context"`
	DocumentTokens int               `yaml:"document_tokens" doc:"about how much of the document around a chunk the model is shown"`
	AnswerTokens   int               `yaml:"answer_tokens" doc:"the most tokens of an answer; 0: four times context_tokens. Raise it for models that reason"`
}

// Validate checks what does not need the language model.
func (c ContextualConfig) Validate() error {
	switch {
	case c.ContextTokens < 1:
		return fmt.Errorf("context_tokens is %d: it must be above 0", c.ContextTokens)
	case c.DocumentTokens < 1:
		return fmt.Errorf("document_tokens is %d: it must be above 0", c.DocumentTokens)
	case c.AnswerTokens < 0:
		return fmt.Errorf("answer_tokens is %d: it must not be negative", c.AnswerTokens)
	}
	return nil
}

// contextual puts before each chunk what places it in its document (Anthropic, "Introducing Contextual Retrieval", 2024).
type contextual struct {
	of     connector.Strategy
	roomy  connector.Strategy // the same with room in its caps; nil: that cannot be told to it
	caps   []connector.Cap
	model  *llmModel
	c      ContextualConfig
	prompt int // tokens of an answer
}

var _ connector.Strategy = (*contextual)(nil)

// Contextual is the strategy "contextual".
func Contextual() connector.StrategyPlugin {
	return connector.Define("contextual", "An overlay: a language model writes one or two sentences that place each chunk of another strategy in its document.",
		ContextualConfig{ContextTokens: 100, DocumentTokens: 2000}, openContextual)
}

func openContextual(ctx context.Context, c *ContextualConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("contextual: %w", err)
	}
	choice := c.Of
	if choice == nil {
		choice = &connector.Choice{Kind: "recursive", Config: &RecursiveConfig{Sizing: Sizing{MinChars: 20}}}
	}
	of, err := env.Strategy(ctx, *choice)
	if err != nil {
		return nil, fmt.Errorf("contextual: of: %w", err)
	}
	s := &contextual{caps: of.Info().Caps, c: *c}
	if roomy, ok := withRoom(*choice, s.caps, c.ContextTokens); ok {
		if s.roomy, err = env.Strategy(ctx, roomy); err != nil {
			return nil, fmt.Errorf("contextual: of: with context_tokens (%d) kept free of its cap: %w", c.ContextTokens, err)
		}
	}
	s.of = of
	if s.model, err = openModel(ctx, env, c.AnswerTokens); err != nil {
		return nil, fmt.Errorf("contextual: %w", err)
	}
	s.prompt = s.model.most(4 * c.ContextTokens)
	return s, nil
}

// Info describes it: the caps are those of the strategy below as it was configured, and hold for a chunk with its context.
func (s *contextual) Info() connector.StrategyInfo {
	below := s.of.Info()
	below.Models = s.model.models(below, prompts.ContextVersion)
	below.Name, below.Version, below.Caps = "contextual", 1+100*below.Version, s.caps
	return below
}

// situated is a chunk and the text around it.
type situated struct {
	chunk  connector.Chunk
	around string
}

// Chunks yields those of the strategy below, each with its context.
func (s *contextual) Chunks(ctx context.Context, doc *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		var title titled
		w := &surroundings{tokens: s.model.tokens.Count, most: s.c.DocumentTokens}
		chunks := w.of(s.cut(ctx, doc, title.watch(elements)))
		for c, err := range ahead(ctx, chunks, func(ctx context.Context, x situated) (connector.Chunk, error) {
			return s.place(ctx, title.title, x)
		}) {
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// place asks for a chunk's context. One that is only stored has none, nor has one that is all there is.
func (s *contextual) place(ctx context.Context, title string, x situated) (connector.Chunk, error) {
	c := x.chunk
	if c.StoreOnly || x.around == "" {
		return c, nil
	}
	text, err := prompts.Context(ctx, s.model.llm, prompts.Passage{Title: title, Text: x.around}, prompts.Passage{Section: crumbs(c.Headings), Text: c.Text}, s.prompt)
	if err != nil {
		reason, ok := unusable(err)
		if !ok {
			return c, err
		}
		noted(&c, "context_missing", reason)
		return c, nil
	}
	for text != "" {
		if placed := text + "\n" + c.Context; keeps(s.caps, placed+c.Text) {
			c.Context, c.Vector = placed, nil
			c.Tokens, c.TokenUnit = 0, ""
			noted(&c, "context_generated", text)
			return c, nil
		}
		text = withoutLast(text)
	}
	noted(&c, "context_missing", "no room")
	return c, nil
}

// withoutLast is a text without its last sentence.
func withoutLast(text string) string {
	last := 0
	for at := 0; ; {
		next := sentences.Next(text, at)
		if next <= at || next >= len(text) {
			return strings.TrimSpace(text[:last])
		}
		at, last = next, next
	}
}

// sized is the configuration of every strategy that embeds a Sizing.
type sized interface{ sizing() *Sizing }

func (s *Sizing) sizing() *Sizing { return s }

// withRoom is a choice with smaller caps: tokens of each, at most a third of it, are kept free. false: that cannot be told to it; contexts
// are then added where they fit.
func withRoom(c connector.Choice, caps []connector.Cap, tokens int) (connector.Choice, bool) {
	smaller, ok := copyOf(c.Config)
	if !ok || len(caps) == 0 {
		return c, false
	}
	s := smaller.(sized).sizing()
	for k, limit := range slices.Backward(caps) { // the rule's own cap comes first, and wins
		if limit.Counter.Name() == unitChars {
			if s.MaxChars > 0 || k == 0 {
				s.MaxChars = limit.Max - min(4*tokens, limit.Max/3)
			}
			continue
		}
		s.MaxTokens = limit.Max - min(tokens, limit.Max/3)
	}
	return connector.Choice{Kind: c.Kind, Config: smaller}, true
}
