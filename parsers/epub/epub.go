// Package epub reads books of EPUB 2 and 3: the chapters in reading order, each as a web page is read.
//
// Title, authors and language of the book are properties. The table of contents is left out as navigation, pictures as embedded objects.
//
// # Limits
//
// The file is held in memory, and one chapter's tree at a time. A book whose chapters are encrypted is an error.
package epub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
	"github.com/kbsync/kbsync/internal/htmltext"
)

// Defaults of the configuration, in bytes.
const (
	DefaultMaxTreeSize = 128 << 20
	DefaultMaxUnpacked = 256 << 20
)

// maxChapter bounds one chapter, for whose tree there must be room.
const maxChapter = 32 << 20

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize int   `yaml:"max_tree_size" doc:"books over this many bytes are an error"`
	MaxUnpacked int64 `yaml:"max_unpacked" doc:"the most bytes that the chapters may unpack to"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 || c.MaxUnpacked < 1 {
		return errors.New("max_tree_size and max_unpacked must be at least 1")
	}
	return nil
}

func defaults() Config {
	return Config{MaxTreeSize: DefaultMaxTreeSize, MaxUnpacked: DefaultMaxUnpacked}
}

// Parser reads books.
type Parser struct{ cfg Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry.
func Plugin() connector.ParserPlugin {
	return connector.Define("epub", "EPUB books: the chapters in reading order", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("epub: %w", err)
			}
			return &Parser{cfg: *c}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "epub", Version: 1} }

// errStopped says that the consumer wants no more.
var errStopped = errors.New("stopped")

// Parse yields the chapters one after another.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil && !errors.Is(err, errStopped) {
			yield(connector.Element{}, fmt.Errorf("epub: %w", err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	data, err := io.ReadAll(io.LimitReader(r, int64(p.cfg.MaxTreeSize)+1))
	if err != nil {
		return err
	}
	if len(data) > p.cfg.MaxTreeSize {
		return connector.Errorf(connector.ClassInvalid, "the book is larger than %d bytes: raise max_tree_size", p.cfg.MaxTreeSize)
	}
	if len(data) == 0 {
		return nil
	}
	b, err := open(data, p.cfg.MaxUnpacked)
	if err != nil {
		return err
	}
	out := &writer{ctx: ctx.Err, yield: yield, props: b.properties}
	for _, c := range b.spine {
		els, err := b.chapter(c)
		if err != nil {
			return connector.Errorf(connector.ClassInvalid, "chapter %s: %w", c.name, err)
		}
		if err := out.chapter(els, c.nav); err != nil {
			return err
		}
	}
	for _, name := range b.pictures {
		if err := out.send(connector.Element{Kind: connector.KindDropped, Reason: connector.DropEmbedded, Text: name, Span: connector.Span{Start: out.pos, End: out.pos}}); err != nil {
			return err
		}
	}
	return nil
}

// chapter reads one document of the spine.
func (b *book) chapter(c item) ([]connector.Element, error) {
	data, err := b.read(c.name, maxChapter)
	if err != nil {
		return nil, err
	}
	src := decode.NewReader(bytes.NewReader(data), decode.Options{Declared: htmltext.DeclaredCharset})
	text, _, err := src.ReadUpTo(maxChapter)
	if err != nil {
		return nil, err
	}
	// An aside of a book is a note, not an advertisement.
	return htmltext.Elements(text, src.Dropped(), htmltext.Options{KeepBoilerplate: true, NoTitle: true}), nil
}

// writer puts the chapters' texts one after another.
type writer struct {
	ctx    func() error
	yield  func(connector.Element, error) bool
	props  map[string]any
	pos    int
	tables int
}

func (w *writer) chapter(els []connector.Element, nav bool) error {
	if nav {
		return w.drop(els)
	}
	htmltext.Move(els, w.pos, w.tables)
	for _, el := range els {
		if t := el.Table; t != nil {
			w.tables = max(w.tables, t.ID)
		}
		if el.Kind != connector.KindDropped {
			w.pos = el.Span.End
			el.Properties, w.props = w.props, nil
		}
		if err := w.send(el); err != nil {
			return err
		}
	}
	return nil
}

// drop reports a table of contents.
func (w *writer) drop(els []connector.Element) error {
	var b strings.Builder
	for _, el := range els {
		b.WriteString(strings.Join(strings.Fields(el.Text), " ") + " ")
	}
	rest := strings.TrimSpace(b.String())
	for rest != "" {
		piece := decode.Clip(rest)
		rest = rest[len(piece):]
		if strings.TrimSpace(piece) == "" {
			continue
		}
		if err := w.send(connector.Element{Kind: connector.KindDropped, Reason: connector.DropBoilerplate, Text: piece, Span: connector.Span{Start: w.pos, End: w.pos}}); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) send(el connector.Element) error {
	if err := w.ctx(); err != nil {
		return err
	}
	if !w.yield(el, nil) {
		return errStopped
	}
	return nil
}
