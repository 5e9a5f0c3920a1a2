// Package latex parses LaTeX into elements whose spans are exact: joined, they are the document, byte for byte, comments included.
//
// It is a scanner, not TeX: it knows sections, environments, comments, verbatim text, math and definitions by their usual names, and runs no
// macro. What stands in comments, verbatim text, math or a definition is no structure: a \section there is no heading. What is not
// closed, or closed by another name, is text.
//
// # Config
//
// max_tree_size bounds the documents that are scanned for structure. With follow_inputs, what \input, \include, \import and \subimport name is
// read in their place, where the source can find it: the parsed text is then that of the whole.
//
// # Limits
//
// A document over max_tree_size is read as plain paragraphs; a dropped element of reason "markup without text" says so.
// Without follow_inputs \input and \include are text; with it, what is not there, leads out of the source, takes itself in, is nested more than
// ten deep or makes the whole larger than max_tree_size stays a command. Environments nested in more than eight others are not taken apart.
package latex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// DefaultMaxTreeSize is the default of max_tree_size, in bytes.
const DefaultMaxTreeSize = 32 << 20

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize  int  `yaml:"max_tree_size" doc:"documents over this many bytes are read as plain paragraphs"`
	FollowInputs bool `yaml:"follow_inputs" doc:"whether what \\input, \\include and \\import name is read in their place"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 {
		return errors.New("max_tree_size must be at least 1")
	}
	return nil
}

// Parser yields the blocks of LaTeX documents.
type Parser struct {
	maxTree int
	follow  bool
}

var _ connector.Parser = (*Parser)(nil)

// Plugin registers the parser.
func Plugin() connector.ParserPlugin {
	return connector.Define("latex", "LaTeX: sections, environments, math, tables and comments.", Config{MaxTreeSize: DefaultMaxTreeSize}, open)
}

func open(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
	return &Parser{maxTree: c.MaxTreeSize, follow: c.FollowInputs}, nil
}

// New returns a parser that scans documents of up to maxTree bytes for structure.
func New(maxTree int) *Parser { return &Parser{maxTree: maxTree} }

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo {
	return connector.ParserInfo{Name: "latex", Version: 1}
}

// Parse yields the preamble as front matter, then headings, paragraphs and environments.
//
// The children of a paragraph are what must not be cut inside it: math, verbatim text, comments, references, definitions.
// Those of an environment are its blocks, those of a list its items.
func (p *Parser) Parse(ctx context.Context, doc *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		src := decode.NewReader(r, decode.Options{})
		text, whole, err := src.ReadUpTo(p.maxTree)
		if err != nil {
			yield(connector.Element{}, fmt.Errorf("latex: %w", err))
			return
		}
		if !whole {
			p.plain(ctx, io.MultiReader(strings.NewReader(text), src), src, yield)
			return
		}
		x := &expansion{doc: doc, left: p.maxTree - len(text)}
		if p.follow && doc.Sibling != nil {
			if text, err = x.expand(ctx, text, doc.Path, 0); err != nil {
				yield(connector.Element{}, fmt.Errorf("latex: %w", err))
				return
			}
		}
		for _, el := range elements(text) {
			if !decode.YieldDrops(src, el.Span.Start, yield) {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(connector.Element{}, fmt.Errorf("latex: %w", err))
				return
			}
			if !yield(el, nil) {
				return
			}
		}
		for _, part := range append(x.parts, src) {
			if !decode.YieldDrops(part, math.MaxInt, yield) {
				return
			}
		}
	}
}

// plain yields the text as paragraphs, after a note that says why.
func (p *Parser) plain(ctx context.Context, text io.Reader, src *decode.Reader, yield func(connector.Element, error) bool) {
	note := fmt.Sprintf("over max_tree_size (%d bytes): read as plain paragraphs", p.maxTree)
	if !yield(connector.Element{Kind: connector.KindDropped, Reason: connector.DropMarkup, Text: note}, nil) {
		return
	}
	for el, err := range decode.TextElements(ctx, text, src, 0) {
		if err != nil {
			err = fmt.Errorf("latex: %w", err)
		}
		if !yield(el, err) || err != nil {
			return
		}
	}
}
