package strategies

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// LatexConfig configures the strategy latex.
type LatexConfig struct {
	MarkdownConfig `yaml:",inline"`
}

func latexDefaults() LatexConfig { return LatexConfig{MarkdownConfig: markdownDefaults()} }

// Latex is the strategy latex: what [Markdown] does, over the sections and environments that the LaTeX parser finds. Equations,
// theorems, figures, listings and comments stay whole while they fit, tables are cut between rows and lists between items; a
// paragraph is cut between sentences, and a sentence beside its math, references and comments, not inside them. The preamble shares no chunk
// with the text, unless both together are small.
func Latex() connector.StrategyPlugin {
	return connector.Define("latex", "Sections of a LaTeX document with breadcrumbs; equations, tables, theorems and listings stay whole while they fit",
		latexDefaults(), openLatex)
}

func openLatex(_ context.Context, c *LatexConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("latex: %w", err)
	}
	b, err := c.open(env, blockCaps)
	if err != nil {
		return nil, fmt.Errorf("latex: %w", err)
	}
	return &latexStrategy{b: b, lay: c.layout()}, nil
}

type latexStrategy struct {
	b   *budget
	lay layout
}

var _ connector.Strategy = (*latexStrategy)(nil)

// Info describes the strategy.
func (s *latexStrategy) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "latex", Parser: "latex", Version: 2, Caps: s.b.caps}
}

// Chunks cuts one document. The names of the labels in a chunk are in its metadata.
func (s *latexStrategy) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		for c, err := range cutBlocks(ctx, s.b, s.lay, nil, s.blocks(elements)) {
			if err == nil {
				c.Metadata = withLabels(c.Metadata, c.Text)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

var latexLabel = regexp.MustCompile(`\\label\{([^{}\s\\]{1,200})\}`)

// withLabels adds the labels that text defines outside of comments, if any.
func withLabels(metadata map[string]any, text string) map[string]any {
	if !strings.Contains(text, `\label{`) {
		return metadata
	}
	var labels []any
	for _, m := range latexLabel.FindAllStringSubmatchIndex(text, -1) {
		line := text[strings.LastIndexByte(text[:m[0]], '\n')+1 : m[0]]
		if !strings.HasPrefix(strings.TrimLeft(line, " \t"), "%") {
			labels = append(labels, text[m[2]:m[3]])
		}
	}
	if len(labels) == 0 {
		return metadata
	}
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["labels"] = labels
	return metadata
}

// blocks prepares elements for the block cutter: children are laid end to end, and what follows the preamble starts a
// section.
func (s *latexStrategy) blocks(elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		preamble := false
		for el, err := range elements {
			if err != nil {
				yield(el, err)
				return
			}
			if preamble && el.Kind == connector.KindText && el.Span.Len() > 0 {
				for _, part := range s.body(&el) {
					if !yield(part, nil) {
						return
					}
				}
				preamble = false
				continue
			}
			if el.Kind != connector.KindDropped {
				preamble = el.Kind == connector.KindFrontMatter
			}
			t := latexTiler{b: s.b, text: el.Text, base: el.Span.Start}
			el.Children = t.inside(&el, el.Span, 0)
			if !yield(el, nil) {
				return
			}
		}
	}
}
