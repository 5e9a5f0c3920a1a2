// Package mhtml reads web pages saved as one file (RFC 2557: .mht, .mhtml): the page is read as HTML is, what it shows beside its text is
// left out.
//
// # Limits
//
// The file is held in memory. Frames, which are pages of their own, follow the page.
package mhtml

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
	"github.com/kbsync/kbsync/internal/htmltext"
)

// DefaultMaxTreeSize is the default of max_tree_size, in bytes.
const DefaultMaxTreeSize = 64 << 20

// Bounds.
const (
	maxPage = 32 << 20
	maxLeft = 64 // names of parts left out that are told
)

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize     int  `yaml:"max_tree_size" doc:"files over this many bytes are an error"`
	KeepBoilerplate bool `yaml:"keep_boilerplate" doc:"keep navigation, footers and asides"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 {
		return errors.New("max_tree_size must be at least 1")
	}
	return nil
}

func defaults() Config { return Config{MaxTreeSize: DefaultMaxTreeSize} }

// Parser reads saved pages.
type Parser struct{ cfg Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry.
func Plugin() connector.ParserPlugin {
	return connector.Define("mhtml", "Web pages saved as one file (MHTML)", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("mhtml: %w", err)
			}
			return &Parser{cfg: *c}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "mhtml", Version: 1} }

// errStopped says that the consumer wants no more.
var errStopped = errors.New("stopped")

// Parse yields the blocks of the page.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil && !errors.Is(err, errStopped) {
			yield(connector.Element{}, fmt.Errorf("mhtml: %w", err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	data, err := io.ReadAll(io.LimitReader(r, int64(p.cfg.MaxTreeSize)+1))
	if err != nil {
		return err
	}
	if len(data) > p.cfg.MaxTreeSize {
		return connector.Errorf(connector.ClassInvalid, "the file is larger than %d bytes: raise max_tree_size", p.cfg.MaxTreeSize)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	s, err := open(data)
	if err != nil {
		return err
	}
	pos, tables := 0, 0
	for _, page := range s.pages {
		els, err := p.page(page)
		if err != nil {
			return connector.Errorf(connector.ClassInvalid, "%s: %w", page.name, err)
		}
		htmltext.Move(els, pos, tables)
		for _, el := range els {
			if err := ctx.Err(); err != nil {
				return err
			}
			if el.Kind != connector.KindDropped {
				pos = el.Span.End
				el.Properties, s.properties = s.properties, nil
			}
			if t := el.Table; t != nil {
				tables = max(tables, t.ID)
			}
			if !yield(el, nil) {
				return errStopped
			}
		}
	}
	for _, name := range s.left {
		if !yield(connector.Element{Kind: connector.KindDropped, Reason: connector.DropEmbedded, Text: name, Span: connector.Span{Start: pos, End: pos}}, nil) {
			return errStopped
		}
	}
	return nil
}

// page reads one page.
func (p *Parser) page(page part) ([]connector.Element, error) {
	declared := func(head []byte) string {
		if page.charset != "" {
			return page.charset
		}
		return htmltext.DeclaredCharset(head)
	}
	src := decode.NewReader(bytes.NewReader(page.body), decode.Options{Declared: declared})
	text, whole, err := src.ReadUpTo(maxPage)
	if err != nil {
		return nil, err
	}
	if !whole {
		return nil, fmt.Errorf("the page is larger than %d bytes", maxPage)
	}
	return htmltext.Elements(text, src.Dropped(), htmltext.Options{KeepBoilerplate: p.cfg.KeepBoilerplate}), nil
}

// part is one page.
type part struct {
	name, charset string
	body          []byte
}

// saved is what a file holds.
type saved struct {
	pages      []part
	left       []string
	properties map[string]any
}

// open reads the parts of a file. A part that the end of the file cuts short is an error.
func open(data []byte) (*saved, error) {
	head, err := mail.ReadMessage(bufio.NewReader(bytes.NewReader(bytes.TrimLeft(data, "\r\n"))))
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "this is no saved page: its header does not parse: %w", err)
	}
	s := &saved{}
	s.facts(head.Header)
	kind, params, err := mime.ParseMediaType(head.Header.Get("Content-Type"))
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "this is no saved page: its header names no content type")
	}
	if !strings.HasPrefix(kind, "multipart/") {
		if err := s.add(textproto.MIMEHeader(head.Header), head.Body); err != nil {
			return nil, err
		}
	} else if err := s.parts(multipart.NewReader(head.Body, params["boundary"])); err != nil {
		return nil, err
	}
	if len(s.pages) == 0 {
		return nil, connector.Errorf(connector.ClassInvalid, "the file holds no page of HTML")
	}
	return s, nil
}

func (s *saved) parts(r *multipart.Reader) error {
	for {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return connector.Errorf(connector.ClassInvalid, "the file is damaged or cut short: %w", err)
		}
		if err := s.add(p.Header, p); err != nil {
			return err
		}
	}
}

// add keeps a page, and the name of whatever else.
func (s *saved) add(h textproto.MIMEHeader, body io.Reader) error {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		kind = "application/octet-stream"
	}
	name := decode.Clip(strings.ToValidUTF8(h.Get("Content-Location"), "\uFFFD"))
	if name == "" {
		name = kind
	}
	if kind != "text/html" && kind != "application/xhtml+xml" {
		if len(s.left) < maxLeft {
			s.left = append(s.left, name)
		}
		return nil
	}
	switch strings.ToLower(strings.TrimSpace(h.Get("Content-Transfer-Encoding"))) {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return connector.Errorf(connector.ClassInvalid, "%s: the page is damaged or cut short: %w", name, err)
	}
	s.pages = append(s.pages, part{name: name, charset: params["charset"], body: data})
	return nil
}

// facts are what the header says of the page.
func (s *saved) facts(h mail.Header) {
	props := map[string]any{}
	decoder := mime.WordDecoder{}
	for key, name := range map[string]string{"Subject": "title", "Snapshot-Content-Location": "url", "Date": "created"} {
		v, err := decoder.DecodeHeader(h.Get(key))
		if err != nil {
			v = h.Get(key)
		}
		if v = strings.TrimSpace(strings.ToValidUTF8(v, "")); v != "" {
			props[name] = v
		}
	}
	if len(props) > 0 {
		s.properties = props
	}
}
