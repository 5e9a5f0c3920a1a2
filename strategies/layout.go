package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/kbsync/kbsync/connector"
)

// LayoutConfig configures the strategy layout. Its keys are those of unstructured's chunk_by_title: max_characters is max_chars,
// new_after_n_chars is new_after, combine_text_under_n_chars is combine_under, multipage_sections is multipage.
type LayoutConfig struct {
	Sizing       `yaml:",inline"`
	NewAfter     Amount `yaml:"new_after" doc:"a chunk that has reached this size takes no further block, in the unit or as a percentage of the cap"`
	CombineUnder Amount `yaml:"combine_under" doc:"sections that fit join the ones before while these are smaller than this; 0: every title starts a chunk"`
	Multipage    bool   `yaml:"multipage" doc:"whether a chunk may go on across the end of a page"`
	Breadcrumb   string `yaml:"breadcrumb" enum:"prefix,metadata,both" doc:"where the path of titles goes: into the context (prefix, both) or only into the metadata, which always has it"`
}

func layoutDefaults() LayoutConfig {
	all := Amount{N: 100, Percent: true}
	return LayoutConfig{Sizing: Sizing{MinChars: 20}, NewAfter: all, CombineUnder: all, Multipage: true, Breadcrumb: "both"}
}

// Validate reports what cannot work.
func (c LayoutConfig) Validate() error {
	if err := c.Sizing.Validate(); err != nil {
		return err
	}
	switch {
	case c.NewAfter.N < 1:
		return fmt.Errorf("new_after is %s: it must be positive (100%% lets chunks grow to the cap)", c.NewAfter)
	case c.CombineUnder.N < 0:
		return fmt.Errorf("combine_under is %s: it must not be negative (0: every title starts a chunk)", c.CombineUnder)
	case c.NewAfter.Percent && c.NewAfter.N > 100, c.CombineUnder.Percent && c.CombineUnder.N > 100:
		return errors.New("new_after and combine_under are at most 100% of the cap")
	}
	switch c.Breadcrumb {
	case "", "prefix", "metadata", "both":
		return nil
	}
	return fmt.Errorf("breadcrumb is %q: choose prefix, metadata or both", c.Breadcrumb)
}

// layoutStrategy cuts documents whose pages were laid out.
type layoutStrategy struct {
	b     *budget
	c     LayoutConfig
	soft  int // a chunk of this size takes no further block, in the primary unit
	under int // a group of sections of this size takes no further one
}

var _ connector.Strategy = (*layoutStrategy)(nil)

// Layout is the strategy layout: sections by title in reading order, as unstructured's chunk_by_title makes them. A title never ends a
// chunk, a caption stays with its figure or table, a table shares a chunk with nothing but its title and caption and is cut between rows
// with its header repeated, a list stays whole while it fits. Pages go to the metadata.
func Layout() connector.StrategyPlugin {
	return connector.Define("layout", "Sections by title over the elements of laid-out documents, with page numbers; tables apart, captions with their figures",
		layoutDefaults(), openLayout)
}

func openLayout(_ context.Context, c *LayoutConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("layout: %w", err)
	}
	b, err := c.open(env, blockCaps)
	if err != nil {
		return nil, fmt.Errorf("layout: %w", err)
	}
	size := b.caps[0].Max
	return &layoutStrategy{b: b, c: *c, soft: min(c.NewAfter.of(size), size), under: min(c.CombineUnder.of(size), size)}, nil
}

// Info describes the strategy.
func (s *layoutStrategy) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "layout", Version: 1, Caps: s.b.caps}
}

// Chunks cuts one document. It holds up to 12 MiB of the text.
func (s *layoutStrategy) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		l := &layoutFlow{s: s}
		l.f = newFlow(s.b, layout{prefix: s.c.Breadcrumb != "metadata"}, func(c connector.Chunk, err error) bool {
			l.describe(&c)
			return yield(c, err)
		})
		for el, err := range textual(ctx, elements) {
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			if el.Text == "" {
				continue
			}
			if l.add(el); l.f.done {
				return
			}
		}
		l.cut(true)
	}
}
