// Package rst parses reStructuredText, with the directives of docutils and Sphinx, into elements whose spans are exact: joined, they are the
// document without its comments.
//
// # Config
//
// max_tree_size bounds the documents that are read for structure.
//
// # Limits
//
// Nothing is included or substituted: include, literalinclude, references and |substitutions| stay as they are written. Blocks nested in more
// than sixteen others are not taken apart. A document over max_tree_size is read as plain paragraphs; a dropped element of reason "markup
// without text" says so.
package rst

import (
	"context"
	"io"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// Config is the configuration of the parser.
type Config = lightmarkup.Config

// Parser yields the blocks of reStructuredText.
type Parser struct{ maxTree int }

var _ connector.Parser = (*Parser)(nil)

// Plugin registers the parser.
func Plugin() connector.ParserPlugin {
	return connector.Define("rst", "reStructuredText: sections, directives, tables, lists, code and comments.", Config{MaxTreeSize: lightmarkup.DefaultMaxTreeSize},
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			return New(c.MaxTreeSize), nil
		})
}

// New returns a parser that reads documents of up to maxTree bytes for structure.
func New(maxTree int) *Parser { return &Parser{maxTree: maxTree} }

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "rst", Version: 1} }

// Parse yields the blocks of a document, those in lists, quotes and directives as Children.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return lightmarkup.Read(ctx, "rst", p.maxTree, r, build)
}

// build makes the blocks of a document.
func build(s *lightmarkup.Source) ([]connector.Element, map[string]any) {
	b := &builder{Source: s, noTableEnd: -1}
	els := b.blocks(0, len(s.Lines), 0, place{})
	return els, b.properties(els)
}
