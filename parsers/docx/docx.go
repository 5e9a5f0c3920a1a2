// Package docx reads documents of Word (Office Open XML, ISO/IEC 29500): headings, paragraphs, numbered and nested lists, tables, notes,
// text boxes, equations and the texts of charts, in the order of the document and in its final view.
//
// # Limits
//
// The file and its main part are held in memory; elements are yielded as they are read. Pages are those at which Word last broke the
// document; a document that no such program laid out has none.
package docx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/zipdoc"
)

// Defaults of the configuration, in bytes.
const (
	DefaultMaxTreeSize = 256 << 20
	DefaultMaxUnpacked = 512 << 20
)

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize int64 `yaml:"max_tree_size" doc:"documents over this many bytes are an error"`
	MaxUnpacked int64 `yaml:"max_unpacked" doc:"the most bytes that the parts which are read may unpack to"`
	Comments    bool  `yaml:"comments" doc:"keep the comments of reviewers, below the paragraphs they are about"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 || c.MaxUnpacked < 1 {
		return errors.New("max_tree_size and max_unpacked must be at least 1")
	}
	return nil
}

func defaults() Config {
	return Config{MaxTreeSize: DefaultMaxTreeSize, MaxUnpacked: DefaultMaxUnpacked, Comments: true}
}

// Parser reads documents of Word.
type Parser struct{ cfg Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry.
func Plugin() connector.ParserPlugin {
	return connector.Define("docx", "Word documents: headings, lists, tables, notes and equations in their final view", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("docx: %w", err)
			}
			return &Parser{cfg: *c}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "docx", Version: 1} }

// Parse yields the blocks of the document.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil && !errors.Is(err, blocks.ErrStopped) {
			yield(connector.Element{}, fmt.Errorf("docx: %w", err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	pkg, err := ooxml.Open(r, zipdoc.Limits{Input: p.cfg.MaxTreeSize, Total: p.cfg.MaxUnpacked}, "word/document.xml", "Word document")
	if errors.Is(err, zipdoc.ErrEmpty) {
		return nil
	}
	if err != nil {
		return err
	}
	d, err := open(pkg, p.cfg.Comments)
	if err != nil {
		return err
	}
	w := blocks.NewWriter(ctx, yield, pkg.Properties())
	return d.write(w)
}
