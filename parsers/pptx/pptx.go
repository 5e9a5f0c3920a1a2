// Package pptx reads presentations of PowerPoint (Office Open XML, ISO/IEC 29500): slide by slide in the order in which they are shown, with
// titles as headings, nested lists, tables, the values of charts, the texts of diagrams, equations, speaker notes and comments.
//
// # Limits
//
// The file is held in memory, and one slide at a time; elements are yielded slide by slide. Shapes are read in the order in which a reader
// would take them by their places, which is a guess where they lie across each other.
package pptx

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
	MaxTreeSize  int64 `yaml:"max_tree_size" doc:"presentations over this many bytes are an error"`
	MaxUnpacked  int64 `yaml:"max_unpacked" doc:"the most bytes that the parts which are read may unpack to"`
	Notes        bool  `yaml:"notes" doc:"keep the speaker notes, below their slides"`
	Comments     bool  `yaml:"comments" doc:"keep the comments of reviewers, below their slides"`
	HiddenSlides bool  `yaml:"hidden_slides" doc:"read the slides that are not shown too"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 || c.MaxUnpacked < 1 {
		return errors.New("max_tree_size and max_unpacked must be at least 1")
	}
	return nil
}

func defaults() Config {
	return Config{MaxTreeSize: DefaultMaxTreeSize, MaxUnpacked: DefaultMaxUnpacked, Notes: true, Comments: true}
}

// Parser reads presentations.
type Parser struct{ cfg Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry.
func Plugin() connector.ParserPlugin {
	return connector.Define("pptx", "PowerPoint presentations: titles, lists, tables, charts and notes, slide by slide", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("pptx: %w", err)
			}
			return &Parser{cfg: *c}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "pptx", Version: 1} }

// Parse yields the blocks of the slides.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil && !errors.Is(err, blocks.ErrStopped) {
			yield(connector.Element{}, fmt.Errorf("pptx: %w", err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	pkg, err := ooxml.Open(r, zipdoc.Limits{Input: p.cfg.MaxTreeSize, Total: p.cfg.MaxUnpacked}, "ppt/presentation.xml", "presentation of PowerPoint")
	if errors.Is(err, zipdoc.ErrEmpty) {
		return nil
	}
	if err != nil {
		return err
	}
	d, err := open(pkg, p.cfg)
	if err != nil {
		return err
	}
	return d.write(blocks.NewWriter(ctx, yield, pkg.Properties()))
}
