package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/prompts"
)

// LLMConfig configures the strategy "llm".
type LLMConfig struct {
	Sizing       `yaml:",inline"`
	Title        bool `yaml:"title" doc:"have a title of each chunk written into its metadata (title_generated)"`
	Summary      bool `yaml:"summary" doc:"have a summary of each chunk written into its metadata (summary)"`
	WindowTokens int  `yaml:"window_tokens" doc:"about how much of the document the model is shown at a time"`
	AnswerTokens int  `yaml:"answer_tokens" doc:"the most tokens of an answer; 0: by what is asked. Raise it for models that reason"`
}

// Validate checks what does not need the language model.
func (c LLMConfig) Validate() error {
	switch {
	case c.Overlap.N > 0:
		return errors.New("overlap does not go with boundaries that a model chooses: leave it out")
	case c.WindowTokens < 1:
		return fmt.Errorf("window_tokens is %d: it must be above 0", c.WindowTokens)
	case c.AnswerTokens < 0:
		return fmt.Errorf("answer_tokens is %d: it must not be negative", c.AnswerTokens)
	}
	return c.Sizing.Validate()
}

// boundaries cuts where a language model says, by numbers of sentences (Duarte et al. 2024, "LumberChunker", arXiv 2406.17526; Chroma's
// LLMSemanticChunker).
type boundaries struct {
	b     *budget
	model *llmModel
	c     LLMConfig
}

var _ connector.Strategy = (*boundaries)(nil)

// LLM is the strategy "llm".
func LLM() connector.StrategyPlugin {
	return connector.Define("llm", "A language model proposes where to cut, by numbers of sentences; optional title and summary of each chunk.",
		LLMConfig{Sizing: Sizing{MinChars: 100}, WindowTokens: 2000}, openLLM)
}

func openLLM(ctx context.Context, c *LLMConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	b, err := c.open(env, proseDefaults)
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	m, err := openModel(ctx, env, c.AnswerTokens)
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	return &boundaries{b: b, model: m, c: *c}, nil
}

// Info describes it.
func (s *boundaries) Info() connector.StrategyInfo {
	versions := []string{prompts.BoundariesVersion}
	if s.c.Title || s.c.Summary {
		versions = append(versions, prompts.TitleVersion)
	}
	return connector.StrategyInfo{Name: "llm", Version: 1, Caps: s.b.caps, Models: s.model.models(connector.StrategyInfo{}, versions...)}
}

// stretchBytes is about how much text is cut at a time; a stretch ends with an element.
const stretchBytes = 1 << 20

// Chunks holds a stretch of the text.
func (s *boundaries) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	var title titled
	chunks := s.cut(ctx, &title, title.watch(elements))
	if !s.c.Title && !s.c.Summary {
		return chunks
	}
	return ahead(ctx, chunks, func(ctx context.Context, c connector.Chunk) (connector.Chunk, error) {
		return s.describe(ctx, title.title, c)
	})
}

// cut yields the chunks of stretch after stretch.
func (s *boundaries) cut(ctx context.Context, title *titled, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		text := s.stretch(0, mark{})
		for el, err := range textual(ctx, elements) {
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			text.add(&el)
			if text.waiting < stretchBytes || !strings.HasSuffix(el.Text, "\n") {
				continue
			}
			if !s.process(ctx, title, text, yield) {
				return
			}
			text = s.stretch(el.Span.End, text.marks[len(text.marks)-1])
		}
		s.process(ctx, title, text, yield)
	}
}

// stretch is an empty one that starts at a place in the parsed text, below what was noted last.
func (s *boundaries) stretch(base int, last mark) *stream {
	return &stream{b: s.b, c: textCut{cutting: cutting{seps: sentenceSeparators()}}, base: base, marks: []mark{last}}
}

// process cuts one stretch.
func (s *boundaries) process(ctx context.Context, title *titled, text *stream, yield func(connector.Chunk, error) bool) bool {
	text.gather()
	m := s.b.measure(text.text)
	n := &numbered{m: m, stream: text, atoms: text.fitting(m)}
	n.read()
	if err := s.ask(ctx, title, n); err != nil {
		yield(connector.Chunk{}, err)
		return false
	}
	for _, p := range n.parts() {
		if c, ok := n.chunk(p); ok && !yield(c, nil) {
			return false
		}
	}
	return true
}

// ask has the cuts of every window.
func (s *boundaries) ask(ctx context.Context, title *titled, n *numbered) error {
	windows := func(yield func(shown, error) bool) {
		for _, w := range n.windows(s.model.tokens.Count, s.c.WindowTokens) {
			if !yield(w, nil) {
				return
			}
		}
	}
	for w, err := range ahead(ctx, windows, func(ctx context.Context, w shown) (shown, error) {
		headings, _ := n.stream.markAt(n.stream.base + n.units[w.lo].start)
		cuts, err := prompts.Boundaries(ctx, s.model.llm, prompts.Passage{Title: title.title, Section: crumbs(headings)}, n.texts(w), s.model.most(128+8*(w.hi-w.lo)))
		if err != nil {
			reason, ok := unusable(err)
			if !ok {
				return w, err
			}
			w.reason = reason
		}
		w.cuts = cuts
		return w, nil
	}) {
		if err != nil {
			return err
		}
		n.decide(w)
	}
	return nil
}

// describe asks for a title and a summary of a chunk.
func (s *boundaries) describe(ctx context.Context, title string, c connector.Chunk) (connector.Chunk, error) {
	got, err := prompts.Title(ctx, s.model.llm, prompts.Passage{Title: title, Section: crumbs(c.Headings), Text: c.Text}, s.model.most(768))
	if err != nil {
		if _, ok := unusable(err); !ok {
			return c, err
		}
		return c, nil
	}
	if s.c.Title && got.Title != "" {
		noted(&c, "title_generated", got.Title)
	}
	if s.c.Summary && got.Summary != "" {
		noted(&c, "summary", got.Summary)
	}
	return c, nil
}
