package strategies

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

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
	return connector.StrategyInfo{Name: "paragraph", Version: 2, Caps: s.b.caps}
}

// Chunks streams: it holds a window of the text.
func (s *paragraph) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return chunkText(ctx, s.b, s.c, elements)
}

// joinsNext tells whether the paragraph text[lo:hi) goes with the one below it: a title, which is a short line that ends in no stop, or
// what is shorter than min_chars.
func (b *budget) joinsNext(text string, lo, hi int) bool {
	if lo < 0 || hi-lo > paragraphBytes/2 {
		return false
	}
	lo, hi = trimSpan(text, lo, hi)
	n := utf8.RuneCountInString(text[lo:hi])
	if n < b.minChars {
		return true
	}
	if n > titleChars || strings.ContainsAny(text[lo:hi], "\n\r") {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(text[lo:hi])
	return !strings.ContainsRune(".!?。！？…；;”\"", last)
}

// indentAt tells whether the line at p starts a paragraph by its indent: an ideographic space, or blanks below a line without them.
func indentAt(text string, p int) bool {
	if strings.HasPrefix(text[p:], "\u3000") {
		return true
	}
	if !strings.HasPrefix(text[p:], "  ") && !strings.HasPrefix(text[p:], "\t") {
		return false
	}
	from := max(0, p-paragraphBytes)
	above := text[from:max(from, p-1)]
	line := above[strings.LastIndexByte(above, '\n')+1:]
	return line != "" && line[0] != ' ' && line[0] != '\t'
}
