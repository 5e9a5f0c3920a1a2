package strategies

import (
	"context"
	"fmt"
	"iter"

	"github.com/kbsync/kbsync/connector"
)

// SentenceConfig configures the strategy "sentence".
type SentenceConfig struct {
	Sizing           `yaml:",inline"`
	OverlapSentences int `yaml:"overlap_sentences" doc:"repeat this many whole sentences of the chunk before, instead of overlap"`
}

// Validate checks what does not need the embedder.
func (c SentenceConfig) Validate() error {
	if c.OverlapSentences < 0 {
		return fmt.Errorf("overlap_sentences is %d: it must not be negative (0 leaves overlap in force)", c.OverlapSentences)
	}
	return c.Sizing.Validate()
}

type sentence struct {
	b *budget
	c textCut
}

var _ connector.Strategy = (*sentence)(nil)

// Sentence is the strategy "sentence".
func Sentence() connector.StrategyPlugin {
	return connector.Define("sentence", "Packs whole sentences, Chinese and English, up to the cap.",
		SentenceConfig{Sizing: Sizing{MinChars: 20}, OverlapSentences: 1}, openSentence)
}

func openSentence(_ context.Context, c *SentenceConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("sentence: %w", err)
	}
	b, err := c.open(env, proseDefaults)
	if err != nil {
		return nil, fmt.Errorf("sentence: %w", err)
	}
	cut := textCut{cutting: cutting{seps: sentenceSeparators()}, anchored: true, sentences: c.OverlapSentences}
	return &sentence{b: b, c: cut}, nil
}

// Info describes it.
func (s *sentence) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "sentence", Version: 2, Caps: s.b.caps}
}

// Chunks streams: it holds a window of the text.
func (s *sentence) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return chunkText(ctx, s.b, s.c, elements)
}
