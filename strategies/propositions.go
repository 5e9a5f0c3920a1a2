package strategies

import (
	"context"
	"fmt"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/prompts"
)

// PropositionsConfig configures the strategy "propositions".
type PropositionsConfig struct {
	Of           *connector.Choice `yaml:"of" kinds:"strategy" doc:"the strategy that cuts the passages; default: sentence with max_tokens 300 and no overlap"`
	AnswerTokens int               `yaml:"answer_tokens" doc:"the most tokens of an answer; 0: by the length of the passage. Raise it for models that reason"`
}

// Validate checks what does not need the language model.
func (c PropositionsConfig) Validate() error {
	if c.AnswerTokens < 0 {
		return fmt.Errorf("answer_tokens is %d: it must not be negative", c.AnswerTokens)
	}
	return nil
}

// propositions stores each passage once and searches for the facts in it (Chen et al. 2023, "Dense X Retrieval", arXiv 2312.06648).
type propositions struct {
	of    connector.Strategy
	model *llmModel
}

var _ connector.Strategy = (*propositions)(nil)

// Propositions is the strategy "propositions".
func Propositions() connector.StrategyPlugin {
	return connector.Define("propositions", "A language model takes passages apart into self-contained facts, each linked to its passage.",
		PropositionsConfig{}, openPropositions)
}

// factPassage is where passages come from if nothing else is chosen.
func factPassage() *connector.Choice {
	return &connector.Choice{Kind: "sentence", Config: &SentenceConfig{Sizing: Sizing{MaxTokens: 300, MinChars: 20}}}
}

func openPropositions(ctx context.Context, c *PropositionsConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("propositions: %w", err)
	}
	choice := c.Of
	if choice == nil {
		choice = factPassage()
	}
	of, err := env.Strategy(ctx, *choice)
	if err != nil {
		return nil, fmt.Errorf("propositions: of: %w", err)
	}
	m, err := openModel(ctx, env, c.AnswerTokens)
	if err != nil {
		return nil, fmt.Errorf("propositions: %w", err)
	}
	return &propositions{of: of, model: m}, nil
}

// Info describes it: facts, and passages that stay as they are, keep the caps of the strategy below.
func (s *propositions) Info() connector.StrategyInfo {
	below := s.of.Info()
	if len(below.ParentCaps) == 0 { // else passages keep these too, which are larger
		below.ParentCaps = below.Caps
	}
	below.Models = s.model.models(below, prompts.PropositionsVersion)
	below.Name, below.Version = "propositions", 1+100*below.Version
	return below
}

// stated is a passage with its facts; none: it stays as it is.
type stated struct {
	passage connector.Chunk
	facts   []connector.Chunk
}

// Chunks yields each passage, which is only stored, before its facts.
func (s *propositions) Chunks(ctx context.Context, doc *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		var title titled
		passages := s.of.Chunks(ctx, doc, title.watch(elements))
		n := 0
		for got, err := range ahead(ctx, passages, func(ctx context.Context, c connector.Chunk) (stated, error) {
			return s.facts(ctx, title.title, c)
		}) {
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			if len(got.facts) > 0 {
				got.passage.StoreOnly, got.passage.Late, got.passage.Vector = true, false, nil
				if got.passage.Key == "" {
					got.passage.Key = fmt.Sprintf("propositions/%d", n)
				}
			}
			n++
			if !yield(got.passage, nil) {
				return
			}
			for _, fact := range got.facts {
				fact.ParentKey = got.passage.Key
				if !yield(fact, nil) {
					return
				}
			}
		}
	}
}

// facts asks for those of a passage. One that is only stored has none.
func (s *propositions) facts(ctx context.Context, title string, c connector.Chunk) (stated, error) {
	if c.StoreOnly || c.Generated {
		return stated{passage: c}, nil
	}
	// Facts repeat what they refer to: they are two or three times as long together as the passage.
	most := s.model.most(256 + 4*s.model.tokens.Count(c.Text))
	texts, err := prompts.Propositions(ctx, s.model.llm, prompts.Passage{Title: title, Section: crumbs(c.Headings), Text: c.Text}, most)
	if err != nil {
		reason, ok := unusable(err)
		if !ok {
			return stated{}, err
		}
		noted(&c, "kept_whole", reason)
		return stated{passage: c}, nil
	}
	facts := make([]connector.Chunk, 0, len(texts))
	for _, text := range texts {
		fact, ok := s.fact(&c, text)
		if !ok {
			noted(&c, "kept_whole", "a fact over the cap")
			return stated{passage: c}, nil
		}
		facts = append(facts, fact)
	}
	return stated{c, facts}, nil
}

// fact is one of a passage. It stands below what stands above the passage, where that is text of the document which is nowhere else, and
// else alone; false: it is over the cap.
func (s *propositions) fact(passage *connector.Chunk, text string) (connector.Chunk, bool) {
	fact := connector.Chunk{Text: text, Generated: true, Spans: passage.Spans, Headings: passage.Headings, Page: passage.Page, Metadata: passage.Metadata}
	if len(passage.ContextSpans) > 0 {
		fact.Context, fact.ContextSpans = passage.Context, passage.ContextSpans
	}
	return fact, keeps(s.of.Info().Caps, fact.EmbedText())
}

// keeps tells whether a text keeps every cap, counted afresh.
func keeps(caps []connector.Cap, text string) bool {
	for _, c := range caps {
		if !underByBytes(c, len(text), c.Max) && c.Counter.Count(text) > c.Max {
			return false
		}
	}
	return true
}
