package strategies

import (
	"context"
	"errors"
	"fmt"

	"github.com/kbsync/kbsync/connector"
)

// HierarchicalConfig configures the strategy "hierarchical".
type HierarchicalConfig struct {
	Levels     []int   `yaml:"levels" doc:"the sizes of the levels, largest first; the last one is that of the chunks that are embedded, unless of is set"`
	MergeRatio float64 `yaml:"merge_ratio" doc:"at query time a parent stands for its children if more than this share of them hit"`

	NestSizing `yaml:",inline"`
}

// Validate checks what does not need the embedder.
func (c HierarchicalConfig) Validate() error {
	if len(c.Levels) < 2 {
		return errors.New("levels needs two sizes or more, largest first, as in [2048, 512, 128]")
	}
	for k, n := range c.Levels {
		if n < 1 {
			return fmt.Errorf("levels: %d is no size", n)
		}
		if k > 0 && n >= c.Levels[k-1] {
			return fmt.Errorf("levels: %d follows %d: every level must be smaller than the one before", n, c.Levels[k-1])
		}
	}
	if c.MergeRatio <= 0 || c.MergeRatio >= 1 {
		return fmt.Errorf("merge_ratio is %v: it must be above 0 and below 1", c.MergeRatio)
	}
	return c.size(c.Levels[0]).Validate()
}

// Hierarchical is the strategy "hierarchical": the levels of LlamaIndex's HierarchicalNodeParser and the merging of its AutoMergingRetriever,
// made from the bottom up, so that every chunk lies in one parent of each level.
func Hierarchical() connector.StrategyPlugin {
	return connector.Define("hierarchical", "Levels of passages: the smallest are searched, and give way to larger ones where most of their parts hit",
		HierarchicalConfig{Levels: []int{2048, 512, 128}, MergeRatio: 0.5}, openHierarchical)
}

func openHierarchical(ctx context.Context, c *HierarchicalConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("hierarchical: %w", err)
	}
	lowest := len(c.Levels) - 1
	size := c.size(c.Levels[lowest])
	size.MinChars = 20
	base, err := openBase(ctx, c.Of, size, env)
	if err != nil {
		return nil, fmt.Errorf("hierarchical: %w", err)
	}
	s := &nest{name: "hierarchical", base: base, mergeRatio: c.MergeRatio}
	for k := lowest - 1; k >= 0; k-- {
		b, err := c.open(c.Levels[k], env)
		if err != nil {
			return nil, fmt.Errorf("hierarchical: %w", err)
		}
		s.levels = append(s.levels, nestLevel{b: b})
	}
	return s, nil
}
