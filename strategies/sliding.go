package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/kbsync/kbsync/connector"
)

// SlidingConfig configures the strategy "sliding".
type SlidingConfig struct {
	Sizing `yaml:",inline"`
	Window string            `yaml:"window" enum:"text,sentence" doc:"what is embedded: the text of a window, or each sentence alone, with the window around it in the metadata"`
	Size   int               `yaml:"size" doc:"window: text, how many sentences a window has"`
	Step   int               `yaml:"step" doc:"window: text, by how many sentences it moves on"`
	Around int               `yaml:"around" doc:"window: sentence, how many sentences before and behind it the window has"`
	Of     *connector.Choice `yaml:"of" kinds:"strategy" doc:"slide over the chunks of this strategy in place of sentences"`
}

// maxWindow bounds the sentences of a window.
const maxWindow = 1000

// Validate checks what does not need the embedder.
func (c SlidingConfig) Validate() error {
	switch {
	case c.Window != "" && c.Window != "text" && c.Window != "sentence":
		return fmt.Errorf("window is %q: choose text or sentence", c.Window)
	case c.Size < 1 || c.Size > maxWindow:
		return fmt.Errorf("size is %d: it must be 1 to %d sentences", c.Size, maxWindow)
	case c.Step < 1 || c.Step > c.Size:
		return fmt.Errorf("step is %d: it must be at least 1 and at most size (%d), or sentences would be left out", c.Step, c.Size)
	case c.Around < 0 || c.Around > maxWindow:
		return fmt.Errorf("around is %d: it must be 0 to %d sentences", c.Around, maxWindow)
	case c.Overlap.N != 0:
		return errors.New("overlap does not go with sliding: step says what windows share")
	}
	return c.Sizing.Validate()
}

// sliding makes windows over sentences or over the chunks of another strategy.
type sliding struct {
	c    *SlidingConfig
	b    *budget
	base connector.Strategy // nil: sentences
}

var _ connector.Strategy = (*sliding)(nil)

// Sliding is the strategy "sliding". With window: sentence it is LlamaIndex's SentenceWindowNodeParser: one sentence is embedded, and the
// sentences around it are the answer.
func Sliding() connector.StrategyPlugin {
	return connector.Define("sliding", "Windows of sentences, or sentences that answer with the window around them",
		SlidingConfig{Sizing: Sizing{MinChars: 10}, Window: "text", Size: 6, Step: 3, Around: 3}, openSliding)
}

func openSliding(ctx context.Context, c *SlidingConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("sliding: %w", err)
	}
	b, err := c.open(env, proseDefaults)
	if err != nil {
		return nil, fmt.Errorf("sliding: %w", err)
	}
	s := &sliding{c: c, b: b}
	if c.Of == nil {
		return s, nil
	}
	base, err := openBase(ctx, c.Of, Sizing{}, env)
	if err != nil {
		return nil, fmt.Errorf("sliding: %w", err)
	}
	s.base = base.chosen
	return s, nil
}

// Info describes it. Chunks of another strategy that are over the cap of windows stand alone and keep the caps of that strategy; what it
// had to cut at its caps, the larger windows may cut too.
func (s *sliding) Info() connector.StrategyInfo {
	info := connector.StrategyInfo{Name: "sliding", Version: 1, Caps: s.b.caps}
	if s.base != nil {
		base := s.base.Info()
		info.Version, info.Models, info.Exempt = info.Version+base.Version, base.Models, true
		info.Caps = larger(s.b.caps, base.Caps)
	}
	return info
}

// larger are the caps that both sides keep: of two with one counter the larger one, and none that only one side has.
func larger(a, b []connector.Cap) []connector.Cap {
	var out []connector.Cap
	for _, x := range a {
		for _, y := range b {
			if x.Counter.Name() == y.Counter.Name() {
				out = append(out, connector.Cap{Max: max(x.Max, y.Max), Counter: x.Counter})
			}
		}
	}
	return out
}

// Chunks yields windows in reading order. It holds what the strategy below holds, and the text of a window.
func (s *sliding) Chunks(ctx context.Context, doc *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		r := &slide{sliding: s, yield: yield, caps: s.b.caps}
		units := chunkSentences(ctx, s.b, r.text.tap(elements))
		if s.base != nil {
			r.caps = s.base.Info().Caps
			units = s.base.Chunks(ctx, doc, r.text.tap(elements))
		}
		for c, err := range units {
			if err == nil && (c.StoreOnly || c.ParentKey != "") {
				err = fmt.Errorf("sliding: of: %s makes parents of its own: choose a strategy that only cuts", s.base.Info().Name)
			}
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			r.units = append(r.units, unit{Chunk: c})
			if !r.advance(false) {
				return
			}
		}
		r.advance(true)
	}
}

// unit is a sentence or a chunk of the strategy below.
type unit struct{ connector.Chunk }

func (u *unit) start() int { return u.Spans[0].Start }
func (u *unit) end() int   { return u.Spans[len(u.Spans)-1].End }

// joins tells that the units may share a window: both are one passage of the text, in order, below the same context.
func (u *unit) joins(next *unit) bool {
	return u.passage() && next.passage() && next.start() > u.start() && u.Context == next.Context && slices.Equal(u.ContextSpans, next.ContextSpans)
}

func (u *unit) passage() bool { return len(u.Spans) == 1 && !u.Rendered && !u.Generated }
