package strategies

import (
	"context"
	"fmt"
	"iter"

	"github.com/kbsync/kbsync/connector"
)

// ParagraphConfig configures the strategy "paragraph".
type ParagraphConfig struct {
	Sizing `yaml:",inline"`
	Pack   bool `yaml:"pack" doc:"put as many whole paragraphs into a chunk as fit; otherwise each is a chunk of its own"`
}

// Validate checks what does not need the embedder.
func (c ParagraphConfig) Validate() error { return c.Sizing.Validate() }

type paragraph struct {
	b *budget
	c textCut
}

var _ connector.Strategy = (*paragraph)(nil)

// Paragraph is the strategy "paragraph".
func Paragraph() connector.StrategyPlugin {
	return connector.Define("paragraph", "One chunk a paragraph, titles with the paragraph below; long ones are cut at sentences.",
		ParagraphConfig{Sizing: Sizing{MinChars: 20}}, openParagraph)
}

func openParagraph(_ context.Context, c *ParagraphConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("paragraph: %w", err)
	}
	b, err := c.open(env, proseDefaults)
	if err != nil {
		return nil, fmt.Errorf("paragraph: %w", err)
	}
	cut := textCut{cutting: cutting{seps: paragraphSeparators(), fill: minFill}, paragraphs: !c.Pack, anchored: c.Pack, good: 1}
	return &paragraph{b: b, c: cut}, nil
}

// Info describes it.
func (s *paragraph) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "paragraph", Version: 1, Caps: s.b.caps}
}

// Chunks streams: it holds a window of the text.
func (s *paragraph) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return chunkText(ctx, s.b, s.c, elements)
}
