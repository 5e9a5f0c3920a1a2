// Package text parses plain text of any character set into paragraphs.
//
// # Config
//
// None.
//
// # Limits
//
// Streams: memory does not grow with the input. A paragraph over 64 KiB arrives as several elements.
package text

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// Config has no settings.
type Config struct{}

// Parser yields paragraphs of plain text.
type Parser struct{}

var _ connector.Parser = (*Parser)(nil)

// Plugin registers the parser.
func Plugin() connector.ParserPlugin {
	return connector.Define("text", "Plain text, cut into paragraphs.", Config{}, open)
}

func open(context.Context, *Config, connector.Env) (connector.Parser, error) { return New(), nil }

// New returns the parser.
func New() *Parser { return &Parser{} }

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo {
	return connector.ParserInfo{Name: "text", Version: 1}
}

// Parse yields one KindText element per paragraph, its trailing blank lines included.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		text := decode.NewReader(r, decode.Options{})
		for el, err := range decode.TextElements(ctx, text, text, 0) {
			if err != nil {
				err = fmt.Errorf("text: %w", err)
			}
			if !yield(el, err) || err != nil {
				return
			}
		}
	}
}
