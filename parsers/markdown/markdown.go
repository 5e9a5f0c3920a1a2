// Package markdown parses CommonMark with GitHub's tables, footnotes, definition lists, display math and front
// matter into elements whose spans are exact: joined, they are the document, byte for byte.
//
// # Config
//
// max_tree_size bounds the documents for which a tree is built.
//
// # Limits
//
// A document over max_tree_size, and one that is nested so deeply that its tree would cost more than linear time, is read
// as plain paragraphs; a dropped element of reason "markup without text" says so.
package markdown

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/yuin/goldmark/parser"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// DefaultMaxTreeSize is the default of max_tree_size, in bytes.
const DefaultMaxTreeSize = 32 << 20

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize int `yaml:"max_tree_size" doc:"documents over this many bytes are read as plain paragraphs"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 {
		return errors.New("max_tree_size must be at least 1")
	}
	return nil
}

// Parser yields the blocks of Markdown documents.
type Parser struct {
	maxTree int
	blocks  parser.Parser
	inlines parser.Parser
}

var _ connector.Parser = (*Parser)(nil)

// Plugin registers the parser.
func Plugin() connector.ParserPlugin {
	return connector.Define("markdown", "Markdown: CommonMark with tables, footnotes, math and front matter.", Config{MaxTreeSize: DefaultMaxTreeSize}, open)
}

func open(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
	return New(c.MaxTreeSize), nil
}

// New returns a parser that builds trees of documents up to maxTree bytes.
func New(maxTree int) *Parser {
	return &Parser{maxTree: maxTree, blocks: newBlockParser(), inlines: newInlineParser()}
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo {
	return connector.ParserInfo{Name: "markdown", Version: 1, Backend: "goldmark"}
}

// Parse yields the top-level blocks, lists and quotes with their blocks as Children.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		src := decode.NewReader(r, decode.Options{})
		text, whole, err := src.ReadUpTo(p.maxTree)
		if err != nil {
			yield(connector.Element{}, fmt.Errorf("markdown: %w", err))
			return
		}
		if !whole {
			note := fmt.Sprintf("over max_tree_size (%d bytes): read as plain paragraphs", p.maxTree)
			p.plain(ctx, io.MultiReader(strings.NewReader(text), src), src, note, yield)
			return
		}
		els, err := p.elements(text)
		if err != nil {
			p.plain(ctx, strings.NewReader(text), src, err.Error()+": read as plain paragraphs", yield)
			return
		}
		for _, el := range els {
			if !decode.YieldDrops(src, el.Span.Start, yield) {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(connector.Element{}, fmt.Errorf("markdown: %w", err))
				return
			}
			if !yield(el, nil) {
				return
			}
		}
		decode.YieldDrops(src, math.MaxInt, yield)
	}
}

// plain yields the text as paragraphs, after a note that says why.
func (p *Parser) plain(ctx context.Context, text io.Reader, src *decode.Reader, note string, yield func(connector.Element, error) bool) {
	if !yield(connector.Element{Kind: connector.KindDropped, Reason: connector.DropMarkup, Text: note}, nil) {
		return
	}
	for el, err := range decode.TextElements(ctx, text, src, 0) {
		if err != nil {
			err = fmt.Errorf("markdown: %w", err)
		}
		if !yield(el, err) || err != nil {
			return
		}
	}
}
