package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/kbsync/kbsync/connector"
)

// LateConfig configures the strategy "late".
type LateConfig struct {
	Of *connector.Choice `yaml:"of" kinds:"strategy" doc:"the strategy whose chunks get vectors that know the text around them; default: sentence with chunks of 128 tokens, without overlap"`
}

// lateTokens is the size of chunks where no strategy is named: a few of them share one reading of a model for 512 tokens.
const lateTokens = 128

type late struct{ of connector.Strategy }

var _ connector.Strategy = (*late)(nil)

// Late is the strategy "late": late chunking (Günther, Mohr, Williams, Wang and Xiao 2024). The chunks are another strategy's; the
// engine gives them their vectors.
func Late() connector.StrategyPlugin {
	return connector.Define("late", "Chunks of another strategy, whose vectors know the text around them: late chunking.", LateConfig{}, openLate)
}

func openLate(ctx context.Context, c *LateConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if env.Strategy == nil {
		return nil, errors.New("late: no other strategy can be opened here")
	}
	choice := connector.Choice{Kind: "sentence", Config: &SentenceConfig{Sizing: Sizing{MaxTokens: lateTokens, MinChars: 20}}}
	if c.Of != nil {
		choice = *c.Of
	}
	of, err := env.Strategy(ctx, choice)
	if err != nil {
		return nil, fmt.Errorf("late: %w", err)
	}
	return &late{of}, nil
}

// lateVersion is raised with anything that changes what Late is set on; below it the other strategy's own version counts.
const lateVersion = 1 << 16

// Info is the other strategy's, under this name.
func (s *late) Info() connector.StrategyInfo {
	info := s.of.Info()
	info.Name, info.Version = "late", lateVersion+info.Version
	return info
}

// Chunks marks what is embedded. It holds what the other strategy holds.
func (s *late) Chunks(ctx context.Context, doc *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		for c, err := range s.of.Chunks(ctx, doc, elements) {
			c.Late = err == nil && !c.StoreOnly && c.Vector == nil
			if !yield(c, err) {
				return
			}
		}
	}
}
