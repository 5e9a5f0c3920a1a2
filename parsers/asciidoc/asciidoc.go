// Package asciidoc parses AsciiDoc, as Asciidoctor reads it, into elements whose spans are exact: joined, they are the document without its
// comments.
//
// # Config
//
// max_tree_size bounds the documents that are read for structure.
//
// # Limits
//
// It is no preprocessor: include::, ifdef:: and attribute references such as {version} stay as they are written. A cell of a table is plain
// text, also where it holds blocks or another table. Blocks nested in more than sixteen others are not taken apart. A document over max_tree_size
// is read as plain paragraphs; a dropped element of reason "markup without text" says so.
package asciidoc

import (
	"context"
	"io"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// Config is the configuration of the parser.
type Config = lightmarkup.Config

// Parser yields the blocks of AsciiDoc documents.
type Parser struct{ maxTree int }

var _ connector.Parser = (*Parser)(nil)

// Plugin registers the parser.
func Plugin() connector.ParserPlugin {
	return connector.Define("asciidoc", "AsciiDoc: sections, delimited blocks, tables, lists and comments.", Config{MaxTreeSize: lightmarkup.DefaultMaxTreeSize},
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			return New(c.MaxTreeSize), nil
		})
}

// New returns a parser that reads documents of up to maxTree bytes for structure.
func New(maxTree int) *Parser { return &Parser{maxTree: maxTree} }

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo {
	return connector.ParserInfo{Name: "asciidoc", Version: 1}
}

// Parse yields headings and the blocks below them, those in lists and delimited blocks as Children.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return lightmarkup.Read(ctx, "asciidoc", p.maxTree, r, build)
}

// build makes the blocks of a document.
func build(s *lightmarkup.Source) ([]connector.Element, map[string]any) {
	b := newBuilder(s)
	els := b.header()
	return append(els, b.blocks(b.body, len(s.Lines), place{})...), b.properties
}
