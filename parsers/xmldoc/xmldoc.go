// Package xmldoc reads XML: feeds (RSS, Atom) as articles, documents of DocBook, JATS and TEI as documents, the texts of SVG, and other XML as
// headings and records of "name: value".
//
// # Limits
//
// The file is held in memory. Document types are skipped: no entity is expanded and nothing outside of the file is read. XML that is not well
// formed is read as plain text, which a dropped element says.
package xmldoc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/decode"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// DefaultMaxTreeSize is the default of max_tree_size, in bytes.
const DefaultMaxTreeSize = 64 << 20

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize int `yaml:"max_tree_size" doc:"documents over this many bytes are read as plain text"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 {
		return errors.New("max_tree_size must be at least 1")
	}
	return nil
}

func defaults() Config { return Config{MaxTreeSize: DefaultMaxTreeSize} }

// Parser reads XML.
type Parser struct{ cfg Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry.
func Plugin() connector.ParserPlugin {
	return connector.Define("xml", "XML: feeds, DocBook, JATS and TEI, texts of SVG, and records of any other", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("xml: %w", err)
			}
			return &Parser{cfg: *c}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "xml", Version: 1} }

// Parse yields the blocks of the document.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil && !errors.Is(err, blocks.ErrStopped) {
			yield(connector.Element{}, fmt.Errorf("xml: %w", err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	src := decode.NewReader(r, decode.Options{Declared: xmlscan.Declared})
	text, whole, err := src.ReadUpTo(p.cfg.MaxTreeSize)
	if err != nil {
		return err
	}
	if !whole {
		return plain(ctx, io.MultiReader(strings.NewReader(text), src), src, "over max_tree_size: read as plain text", yield)
	}
	if strings.TrimSpace(text) == "" {
		return plain(ctx, strings.NewReader(text), src, "", yield)
	}
	root, err := tree([]byte(text))
	if err != nil {
		return plain(ctx, strings.NewReader(text), src, "read as plain text: "+err.Error(), yield)
	}
	d := &document{props: map[string]any{}}
	d.root(root)
	w := blocks.NewWriter(ctx, yield, d.props)
	for _, drop := range src.Dropped() {
		w.Add(blocks.Block{Kind: connector.KindDropped, Reason: drop.Reason, Text: drop.Element().Text})
	}
	for _, b := range d.out {
		w.Add(b)
		if err := w.Err(); err != nil {
			return err
		}
	}
	return w.Close()
}

// plain reads the source as paragraphs of text.
func plain(ctx context.Context, text io.Reader, src *decode.Reader, note string, yield func(connector.Element, error) bool) error {
	if note != "" && !yield(connector.Element{Kind: connector.KindDropped, Reason: connector.DropMarkup, Text: decode.Clip(note)}, nil) {
		return blocks.ErrStopped
	}
	for el, err := range decode.TextElements(ctx, text, src, 0) {
		if err != nil {
			return err
		}
		if !yield(el, nil) {
			return blocks.ErrStopped
		}
	}
	return nil
}

// node is an element, a piece of text (no name) or a comment (name "!").
type node struct {
	name  string
	text  string
	attrs []attr
	kids  []*node
}

type attr struct{ name, value string }

// tree reads the elements of a document.
func tree(data []byte) (*node, error) {
	s, err := xmlscan.New(data)
	if err != nil {
		return nil, err
	}
	top := &node{}
	stack := []*node{top}
	notes := comments(data)
	for {
		kind, err := s.Next()
		if errors.Is(err, io.EOF) {
			for _, c := range notes {
				top.kids = append(top.kids, &node{name: "!", text: c.text})
			}
			return top, nil
		}
		if err != nil {
			return nil, err
		}
		at := stack[len(stack)-1]
		for len(notes) > 0 && notes[0].at < s.Offset() {
			at.kids = append(at.kids, &node{name: "!", text: notes[0].text})
			notes = notes[1:]
		}
		switch kind {
		case xmlscan.Start:
			n := &node{name: string(s.Name())}
			for i := range s.Attrs() {
				_, local, value := s.AttrAt(i)
				n.attrs = append(n.attrs, attr{string(local), string(value)})
			}
			at.kids = append(at.kids, n)
			stack = append(stack, n)
		case xmlscan.End:
			stack = stack[:len(stack)-1]
		case xmlscan.Text:
			at.kids = append(at.kids, &node{text: string(s.Text())})
		case xmlscan.None:
		}
	}
}

type comment struct {
	at   int
	text string
}

// comments finds the comments, those in CDATA sections aside.
func comments(data []byte) []comment {
	var out []comment
	for pos := 0; ; {
		n := bytes.Index(data[pos:], []byte("<!"))
		if n < 0 {
			return out
		}
		pos += n
		end, isComment := "]]>", bytes.HasPrefix(data[pos:], []byte("<!--"))
		switch {
		case isComment:
			end = "-->"
		case !bytes.HasPrefix(data[pos:], []byte("<![CDATA[")):
			pos += 2
			continue
		}
		from := min(pos+4, len(data))
		m := bytes.Index(data[from:], []byte(end))
		if m < 0 {
			return out
		}
		if isComment {
			out = append(out, comment{pos, string(data[from : from+m])})
		}
		pos = from + m + 3
	}
}
