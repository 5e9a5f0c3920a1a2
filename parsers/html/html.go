// Package html parses web pages into headings, paragraphs, lists, tables, code and quotes, in document order.
//
// The parsed text is made from the page: white space collapsed as browsers do, blocks separated by blank lines, list items with
// markers, tables as rows of cells between "|", preformatted text unchanged. Scripts, hidden elements, comments
// and navigation are left out and reported. Navigation stays where it holds most of the page.
//
// # Config
//
// max_tree_size bounds the documents for which a tree is built. keep_scripts keeps scripts and styles, each as code. Code of at least 256 bytes has
// its declarations as Children, by the [Divider] that [Plugin] was given.
//
// # Limits
//
// Over max_tree_size the source is read as plain paragraphs; a dropped element of reason "markup without text" says so.
// Containers nested deeper than 200 lose their structure, not their text.
package html

import (
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

// DefaultMaxTreeSize is the default of max_tree_size, in bytes.
const DefaultMaxTreeSize = 32 << 20

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize     int  `yaml:"max_tree_size" doc:"documents over this many bytes are read as plain paragraphs"`
	KeepBoilerplate bool `yaml:"keep_boilerplate" doc:"keep navigation, footers and asides"`
	KeepScripts     bool `yaml:"keep_scripts" doc:"keep scripts and styles, as code in their own language"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 {
		return errors.New("max_tree_size must be at least 1")
	}
	return nil
}

// Parser yields the blocks of web pages.
type Parser struct {
	cfg  Config
	code Divider // nil: code has no children
}

// Divider divides source code by its syntax.
type Divider interface {
	// Backend names what does the work, as [connector.ParserInfo] has it.
	Backend() string
	// Divide returns elements of kind symbol that tile text; none where the language, in go-enry's name and lower case, is not known or the
	// text does not parse.
	Divide(ctx context.Context, language, text string) ([]connector.Element, error)
}

var _ connector.Parser = (*Parser)(nil)

// Plugin registers the parser. The code in pages is divided by code, if there is one.
func Plugin(code ...Divider) connector.ParserPlugin {
	return connector.Define("html", "HTML and XHTML: blocks in document order, without boilerplate.", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			p := New(*c)
			for _, d := range code {
				p.code = d
			}
			return p, nil
		})
}

func defaults() Config { return Config{MaxTreeSize: DefaultMaxTreeSize} }

// New returns a parser.
func New(cfg Config) *Parser { return &Parser{cfg: cfg} }

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo {
	info := connector.ParserInfo{Name: "html", Version: 3}
	if p.code != nil {
		info.Backend = p.code.Backend()
	}
	return info
}

// Parse yields the blocks of the page.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		src := decode.NewReader(r, decode.Options{Declared: htmltext.DeclaredCharset})
		text, whole, err := src.ReadUpTo(p.cfg.MaxTreeSize)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(connector.Element{}, fmt.Errorf("html: %w", err))
			return
		}
		if !whole {
			p.plain(ctx, io.MultiReader(strings.NewReader(text), src), src, yield)
			return
		}
		for _, el := range htmltext.Elements(text, src.Dropped(), htmltext.Options{KeepBoilerplate: p.cfg.KeepBoilerplate, KeepScripts: p.cfg.KeepScripts}) {
			if err := ctx.Err(); err != nil {
				yield(connector.Element{}, fmt.Errorf("html: %w", err))
				return
			}
			if err := p.divide(ctx, &el); err != nil {
				yield(connector.Element{}, fmt.Errorf("html: %w", err))
				return
			}
			if !yield(el, nil) {
				return
			}
		}
	}
}

func (p *Parser) plain(ctx context.Context, text io.Reader, src *decode.Reader, yield func(connector.Element, error) bool) {
	note := fmt.Sprintf("over max_tree_size (%d bytes): read as plain paragraphs", p.cfg.MaxTreeSize)
	if !yield(connector.Element{Kind: connector.KindDropped, Reason: connector.DropMarkup, Text: note}, nil) {
		return
	}
	for el, err := range decode.TextElements(ctx, text, src, 0) {
		if err != nil {
			err = fmt.Errorf("html: %w", err)
		}
		if !yield(el, err) || err != nil {
			return
		}
	}
}
