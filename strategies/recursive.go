package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/kbsync/kbsync/connector"
)

// RecursiveConfig configures the strategy "recursive".
type RecursiveConfig struct {
	Sizing     `yaml:",inline"`
	Separators []string `yaml:"separators" doc:"where to cut, best first; the default list serves prose in Chinese, Japanese and English"`
	Language   string   `yaml:"language" doc:"take the list of a programming or markup language instead: see docs"`
	Compat     string   `yaml:"compat" enum:"langchain" doc:"cut exactly as another library does; laws 2 and 3 are waived"`
	// KeepSeparator is a pointer because its default depends on nothing but its absence.
	KeepSeparator *bool `yaml:"keep_separator" doc:"compat only: separators start the piece behind them (true, the default) or are dropped"`
}

// Validate checks what does not need the embedder.
func (c RecursiveConfig) Validate() error {
	switch {
	case c.Compat != "" && c.Compat != "langchain":
		return fmt.Errorf("compat is %q: choose langchain, or leave it out", c.Compat)
	case c.Compat == "" && c.KeepSeparator != nil:
		return errors.New("keep_separator goes with compat: langchain only; leave it out, separators always stay with the text before them")
	case c.Language != "" && len(c.Separators) > 0:
		return errors.New("separators and language are both set: choose one")
	}
	if c.Language != "" {
		if _, ok := languageSeparators(c.Language); !ok {
			return fmt.Errorf("language is %q: there is no list of separators for it; give separators instead", c.Language)
		}
	}
	return c.Sizing.Validate()
}

// Recursive cuts at the best separators that give pieces within the cap.
type recursive struct {
	b *budget
	c textCut
}

var _ connector.Strategy = (*recursive)(nil)

// Recursive is the strategy "recursive".
func Recursive() connector.StrategyPlugin {
	return connector.Define("recursive", "Cuts at paragraphs, lines, sentences, clauses and words, the best that fit.",
		RecursiveConfig{Sizing: Sizing{Overlap: Amount{N: 10, Percent: true}, MinChars: 20}}, openRecursive)
}

// proseDefaults are the caps of the strategies for running text.
var proseDefaults = defaults{tokens: 512, chars: 500}

func openRecursive(_ context.Context, c *RecursiveConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("recursive: %w", err)
	}
	b, err := c.open(env, proseDefaults)
	if err != nil {
		return nil, fmt.Errorf("recursive: %w", err)
	}
	list := c.Separators
	if c.Language != "" {
		list, _ = languageSeparators(c.Language)
	}
	if c.Compat != "" {
		return newLangChain(b, list, c.KeepSeparator == nil || *c.KeepSeparator), nil
	}
	seps, good := defaultSeparators(), levelLatinSemi
	if len(list) > 0 {
		seps = customSeparators(list)
		good = seps.word / 2
	}
	return &recursive{b: b, c: textCut{cutting: cutting{seps: seps, fill: minFill}, anchored: true, good: good}}, nil
}

// Info describes it.
func (s *recursive) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "recursive", Version: 2, Caps: s.b.caps}
}

// Chunks streams: it holds a window of the text.
func (s *recursive) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return chunkText(ctx, s.b, s.c, elements)
}
