// Package man reads manual pages: roff with the macros of man(7) and mdoc(7).
//
// # Limits
//
// The file is held in memory. No macro is expanded that a page defines itself, and no file is read that it names.
package man

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/decode"
)

// DefaultMaxTreeSize is the default of max_tree_size, in bytes.
const DefaultMaxTreeSize = 64 << 20

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize int64 `yaml:"max_tree_size" doc:"pages over this many bytes are an error"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 {
		return errors.New("max_tree_size must be at least 1")
	}
	return nil
}

func defaults() Config { return Config{MaxTreeSize: DefaultMaxTreeSize} }

// Parser reads manual pages.
type Parser struct{ cfg Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry.
func Plugin() connector.ParserPlugin {
	return connector.Define("man", "Manual pages (man and mdoc): sections, options, tables and examples", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("man: %w", err)
			}
			return &Parser{cfg: *c}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "man", Version: 2} }

// Parse yields the blocks of the page.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil && !errors.Is(err, blocks.ErrStopped) {
			yield(connector.Element{}, fmt.Errorf("man: %w", err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	in := &io.LimitedReader{R: r, N: p.cfg.MaxTreeSize + 1}
	text, drops, err := decode.All(in, 0)
	if err != nil {
		return err
	}
	if in.N <= 0 {
		return connector.Errorf(connector.ClassInvalid, "the page is larger than %d bytes: raise max_tree_size", p.cfg.MaxTreeSize)
	}
	pg := newPage(text)
	w := blocks.NewWriter(ctx, yield, pg.properties())
	for _, d := range drops {
		w.Add(blocks.Block{Kind: connector.KindDropped, Reason: d.Reason, Text: d.Element().Text})
	}
	pg.write(w)
	return w.Close()
}
