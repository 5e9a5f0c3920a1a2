// Package markdown parses CommonMark with GitHub's tables, footnotes, definition lists, display math and front
// matter into elements whose spans are exact: joined, they are the document, byte for byte.
//
// # Config
//
// max_tree_size bounds the documents for which a tree is built.
//
// # Code
//
// A fence of at least 256 bytes has the declarations of its code as Children, by the [Divider] that [Plugin] was given, for strategies that must cut
// it. That divider's backend is part of the parser's.
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
	code    Divider // nil: fences have no children
}

// Divider divides source code by its syntax.
type Divider interface {
	// Backend names what does the work, as [connector.ParserInfo] has it.
	Backend() string
	// Divide returns elements of kind symbol that tile text; none where the language, in go-enry's name and lower case, is not known or the
	// text does not parse.
	Divide(ctx context.Context, language, text string) ([]connector.Element, error)
}

var _ connector.Parser = (*Parser)(nil)

// Plugin registers the parser. The code in fences is divided by code, if there is one.
func Plugin(code ...Divider) connector.ParserPlugin {
	return connector.Define("markdown", "Markdown: CommonMark with tables, footnotes, math and front matter.", Config{MaxTreeSize: DefaultMaxTreeSize},
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			p := New(c.MaxTreeSize)
			for _, d := range code {
				p.code = d
			}
			return p, nil
		})
}

// New returns a parser that builds trees of documents up to maxTree bytes.
func New(maxTree int) *Parser {
	return &Parser{maxTree: maxTree, blocks: newBlockParser(), inlines: newInlineParser()}
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo {
	info := connector.ParserInfo{Name: "markdown", Version: 2, Backend: "goldmark"}
	if p.code != nil {
		info.Backend += ", " + p.code.Backend()
	}
	return info
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
		els, fences, err := p.elements(text)
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
			if err := p.divide(ctx, &el, fences); err != nil {
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
