// Package rtf reads Rich Text Format (Microsoft's specification 1.9.1): headings, paragraphs, lists, tables, notes and text boxes, in the final
// view of the document, with the code pages of its fonts. Mail that was turned from HTML into RTF is read as that HTML.
//
// # Limits
//
// The file is held in memory; elements are yielded as they are read. Pages are not known.
package rtf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
)

// DefaultMaxTreeSize is the default of max_tree_size, in bytes.
const DefaultMaxTreeSize = 256 << 20

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize int64 `yaml:"max_tree_size" doc:"documents over this many bytes are an error"`
	Comments    bool  `yaml:"comments" doc:"keep the comments of reviewers, below the paragraphs they are about"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 {
		return errors.New("max_tree_size must be at least 1")
	}
	return nil
}

func defaults() Config { return Config{MaxTreeSize: DefaultMaxTreeSize, Comments: true} }

// Parser reads documents in Rich Text Format.
type Parser struct{ cfg Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry.
func Plugin() connector.ParserPlugin {
	return connector.Define("rtf", "Rich Text Format: headings, lists, tables and notes in their final view", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("rtf: %w", err)
			}
			return &Parser{cfg: *c}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "rtf", Version: 1} }

// Parse yields the blocks of the document.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil && !errors.Is(err, blocks.ErrStopped) {
			yield(connector.Element{}, fmt.Errorf("rtf: %w", err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	data, err := io.ReadAll(io.LimitReader(r, p.cfg.MaxTreeSize+1))
	if err != nil {
		return err
	}
	if int64(len(data)) > p.cfg.MaxTreeSize {
		return connector.Errorf(connector.ClassInvalid, "the document is larger than %d bytes: raise max_tree_size", p.cfg.MaxTreeSize)
	}
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")), " \t\r\n\x00")
	if len(data) == 0 {
		return nil
	}
	if !bytes.HasPrefix(data, []byte("{\\rtf")) {
		return connector.Errorf(connector.ClassInvalid, "this is no Rich Text Format: it does not begin with {\\rtf")
	}
	d := newReader(ctx, data, yield)
	d.comments = p.cfg.Comments
	return d.read()
}
