// Package odf reads text documents and presentations of OpenDocument (ISO/IEC 26300): headings, numbered and nested lists, tables, notes, text
// boxes, equations and the values of charts, in the final view; presentations slide by slide with their notes. Flat XML files are read too.
//
// # Limits
//
// The file and its content are held in memory; elements are yielded as they are read. Pages of a text are those at which the program that
// wrote it broke the document; a document that no such program laid out has none.
package odf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/xmlscan"
	"github.com/kbsync/kbsync/internal/zipdoc"
)

// Defaults of the configuration, in bytes.
const (
	DefaultMaxTreeSize = 256 << 20
	DefaultMaxUnpacked = 512 << 20
)

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize  int64 `yaml:"max_tree_size" doc:"documents over this many bytes are an error"`
	MaxUnpacked  int64 `yaml:"max_unpacked" doc:"the most bytes that the parts which are read may unpack to"`
	Notes        bool  `yaml:"notes" doc:"keep the speaker notes of presentations, below their slides"`
	Comments     bool  `yaml:"comments" doc:"keep the comments of reviewers, below the paragraphs they are about"`
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

// Parser reads documents of OpenDocument.
type Parser struct{ cfg Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry.
func Plugin() connector.ParserPlugin {
	return connector.Define("odf", "OpenDocument texts and presentations: headings, lists, tables, notes and equations", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("odf: %w", err)
			}
			return &Parser{cfg: *c}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "odf", Version: 1} }

// Parse yields the blocks of the document.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil && !errors.Is(err, blocks.ErrStopped) {
			yield(connector.Element{}, fmt.Errorf("odf: %w", err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	data, err := io.ReadAll(io.LimitReader(r, p.cfg.MaxTreeSize+1))
	if err != nil {
		return err
	}
	if int64(len(data)) > p.cfg.MaxTreeSize {
		return connector.Errorf(connector.ClassInvalid, "the document is larger than %d bytes: raise max_tree_size, or divide it", p.cfg.MaxTreeSize)
	}
	if len(data) == 0 {
		return nil
	}
	d := newDocument(p.cfg)
	if flat(data) {
		return p.flat(ctx, d, data, yield)
	}
	if d.pkg, err = zipdoc.Open(data, zipdoc.Limits{Input: p.cfg.MaxTreeSize, Total: p.cfg.MaxUnpacked}); err != nil {
		return err
	}
	content, err := d.open()
	if err != nil {
		return err
	}
	w := blocks.NewWriter(ctx, yield, d.properties())
	if err := ooxml.ScanBytes(content, func(s *xmlscan.Scanner) error { return d.root(s, w) }); err != nil {
		return in("content.xml", err, w)
	}
	return w.Close()
}

// flat says that data is XML and no package.
func flat(data []byte) bool {
	head := bytes.TrimLeft(bytes.TrimPrefix(data[:min(len(data), 200)], []byte("\xEF\xBB\xBF")), " \t\r\n")
	return bytes.HasPrefix(head, []byte("<"))
}

// flat reads a document of one XML file. Its properties and styles stand before its text.
func (p *Parser) flat(ctx context.Context, d *document, data []byte, yield func(connector.Element, error) bool) error {
	w := blocks.NewWriter(ctx, yield, metadata(data))
	d.pages = bytes.Contains(data, []byte("soft-page-break"))
	if err := ooxml.ScanBytes(data, func(s *xmlscan.Scanner) error { return d.root(s, w) }); err != nil {
		return in("the document", err, w)
	}
	return w.Close()
}

// in says in which part an error is, unless it is the consumer's.
func in(part string, err error, w *blocks.Writer) error {
	if w.Err() != nil {
		return w.Err()
	}
	return connector.Errorf(connector.ClassOf(err), "%s: %w", part, err)
}
