// Package pdf reads PDF files: their text in reading order, with headings, lists, tables and notes found by layout (internal/pagelayout).
//
// PDFium does the reading, compiled to WebAssembly and run by wazero: without a C compiler, and in a sandbox that has neither files nor
// network. Every document has a sandbox of its own.
//
// # Config
//
// password opens encrypted files. timeout bounds the time that PDFium may take for one file; each page adds pageTime.
// ocr names a program or a service that reads pages of pictures.
//
// # Limits
//
// The file is held in memory. The sandboxes of a process take 512 MiB at most, one of them 320 MiB.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/pagelayout"
)

// Defaults of the configuration.
const (
	DefaultMaxTreeSize = 256 << 20 // bytes
	DefaultTimeout     = 30 * time.Second
)

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize int64            `yaml:"max_tree_size" doc:"documents over this many bytes are an error"`
	Password    connector.Secret `yaml:"password" doc:"opens encrypted documents"`
	Timeout     time.Duration    `yaml:"timeout" doc:"the longest time that reading a document may take; each page adds 50ms"`
	OCR         OCR              `yaml:"ocr" doc:"reads pages that have pictures and no text"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	switch {
	case c.MaxTreeSize < 1:
		return errors.New("max_tree_size must be at least 1")
	case c.Timeout <= 0:
		return errors.New("timeout must be more than 0")
	}
	return c.OCR.validate()
}

func defaults() Config {
	return Config{MaxTreeSize: DefaultMaxTreeSize, Timeout: DefaultTimeout, OCR: OCR{Request: "image", DPI: DefaultOCRDPI, Timeout: DefaultOCRTimeout}}
}

// Parser reads PDF files.
type Parser struct {
	cfg    Config
	engine *engine
}

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry. All parsers that it opens share one engine, which starts with the first document.
func Plugin() connector.ParserPlugin {
	e := &engine{}
	return connector.Define("pdf", "PDF files: text in reading order, headings, lists, tables and notes by their layout", defaults(),
		func(_ context.Context, c *Config, env connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("pdf: %w", err)
			}
			e.offer(env.Cache)
			return &Parser{cfg: *c, engine: e}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "pdf", Version: 1} }

// Parse reads the file and lays its pages out. The sandbox is given back when the last page was read.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil {
			yield(connector.Element{}, fmt.Errorf("pdf: %w", err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	d, err := p.open(ctx, r)
	if d == nil || err != nil {
		return err
	}
	defer d.close()
	outline, properties, err := d.about()
	if err != nil {
		return err
	}
	for el, err := range pagelayout.Elements(ctx, d.pages(), outline, properties) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if d.unplaced[el.Page] {
			unplace(&el)
		}
		if !yield(el, nil) {
			return nil
		}
	}
	return nil
}

// unplace takes out where an element stands: nobody knows.
func unplace(el *connector.Element) {
	el.Box = nil
	for i := range el.Children {
		unplace(&el.Children[i])
	}
}

// open reads r and opens it; nil for an empty file.
func (p *Parser) open(ctx context.Context, r io.Reader) (*document, error) {
	data, err := io.ReadAll(io.LimitReader(r, p.cfg.MaxTreeSize+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > p.cfg.MaxTreeSize {
		return nil, connector.Errorf(connector.ClassInvalid, "the file is larger than %d bytes: raise max_tree_size", p.cfg.MaxTreeSize)
	}
	if len(data) == 0 {
		return nil, nil
	}
	s, err := p.engine.sandbox(ctx, p.cfg.Timeout)
	if err != nil {
		return nil, err
	}
	d, err := openDocument(s, data, p.cfg.Password)
	if err != nil {
		s.close()
		return nil, err
	}
	d.ocr = &p.cfg.OCR
	return d, nil
}
