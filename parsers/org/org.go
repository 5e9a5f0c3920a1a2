// Package org parses Org documents (Emacs org-mode) into elements whose spans are exact: joined, they are the document without its comments.
//
// # Config
//
// max_tree_size bounds the documents that are read for structure.
//
// # Limits
//
// Nothing is included, exported, computed or expanded: #+INCLUDE, macros, TBLFM formulas and noweb references stay as they are written.
// Keywords of headlines are TODO, DONE and those that the document declares. Blocks nested in more than sixteen others are not taken apart. A
// document over max_tree_size is read as plain paragraphs; a dropped element of reason "markup without text" says so.
package org

import (
	"context"
	"io"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// Config is the configuration of the parser.
type Config = lightmarkup.Config

// Parser yields the blocks of Org documents.
type Parser struct{ maxTree int }

var _ connector.Parser = (*Parser)(nil)

// Plugin registers the parser.
func Plugin() connector.ParserPlugin {
	return connector.Define("org", "Org: headlines, blocks, tables, lists, drawers and comments.", Config{MaxTreeSize: lightmarkup.DefaultMaxTreeSize},
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			return New(c.MaxTreeSize), nil
		})
}

// New returns a parser that reads documents of up to maxTree bytes for structure.
func New(maxTree int) *Parser { return &Parser{maxTree: maxTree} }

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "org", Version: 1} }

// Parse yields headlines and the blocks below them, those in lists, quotes and drawers as Children.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return lightmarkup.Read(ctx, "org", p.maxTree, r, build)
}

// build makes the blocks of a document.
func build(s *lightmarkup.Source) ([]connector.Element, map[string]any) {
	b := newBuilder(s)
	return b.document(), b.properties
}
