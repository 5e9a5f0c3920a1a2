package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/kbsync/kbsync/connector"
)

// MarkdownConfig configures the strategy markdown, and html, which is the same over the blocks of a page.
type MarkdownConfig struct {
	Sizing `yaml:",inline"`
	// Heading and Breadcrumb say where headings are shown; see the constants of their enums.
	Heading     string `yaml:"heading" enum:"in,out" doc:"in: headings stand in the content; out: in the context alone"`
	Breadcrumb  string `yaml:"breadcrumb" enum:"prefix,metadata,both" doc:"where the path of headings goes: into the context (prefix, both) or only into the metadata, which always has it"`
	TitleChunks bool   `yaml:"title_chunks" doc:"make one more chunk of every heading"`
}

func markdownDefaults() MarkdownConfig {
	return MarkdownConfig{Sizing: Sizing{MinChars: 20}, Heading: "in", Breadcrumb: "both"}
}

// blockCaps are the caps of markdown and html where none is set.
var blockCaps = defaults{tokens: 512, chars: 2000}

// Validate reports what cannot work.
func (c MarkdownConfig) Validate() error {
	if err := c.Sizing.Validate(); err != nil {
		return err
	}
	switch c.Heading {
	case "", "in", "out":
	default:
		return fmt.Errorf("heading is %q: choose in or out", c.Heading)
	}
	switch c.Breadcrumb {
	case "", "prefix", "metadata", "both":
	default:
		return fmt.Errorf("breadcrumb is %q: choose prefix, metadata or both", c.Breadcrumb)
	}
	if c.Heading == "out" && c.Breadcrumb == "metadata" {
		return errors.New("heading: out needs breadcrumb: prefix or both, else headings would be in no chunk's text")
	}
	return nil
}

func (c MarkdownConfig) layout() layout {
	return layout{headingOut: c.Heading == "out", prefix: c.Breadcrumb != "metadata", titles: c.TitleChunks}
}

// blockStrategy cuts documents of headings and blocks.
type blockStrategy struct {
	name string
	b    *budget
	lay  layout
}

var _ connector.Strategy = (*blockStrategy)(nil)

// Markdown is the strategy markdown: sections of a heading tree with breadcrumbs. A subtree that fits the cap is one
// chunk, small neighbours below one heading share one, longer sections are cut between blocks, then between list items,
// table rows (with the header repeated), lines of code (with the fence opened again), then sentences.
func Markdown() connector.StrategyPlugin {
	return connector.Define("markdown", "Heading sections with breadcrumbs; code, tables and lists stay whole while they fit",
		markdownDefaults(), openBlocks("markdown"))
}

func openBlocks(name string) func(context.Context, *MarkdownConfig, connector.StrategyEnv) (connector.Strategy, error) {
	return func(_ context.Context, c *MarkdownConfig, env connector.StrategyEnv) (connector.Strategy, error) {
		if err := c.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b, err := c.open(env, blockCaps)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return &blockStrategy{name: name, b: b, lay: c.layout()}, nil
	}
}

// Info describes the strategy.
func (s *blockStrategy) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: s.name, Version: 2, Caps: s.b.caps}
}

// Chunks cuts one document.
func (s *blockStrategy) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return cutBlocks(ctx, s.b, s.lay, nil, elements)
}
