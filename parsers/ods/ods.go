// Package ods reads spreadsheets of OpenDocument: every visible sheet, divided into its tables, cell by cell as the program shows them.
//
// Formulas are the values that were stored with them. Comments and the texts of drawings follow the rows of their sheet.
//
// # Limits
//
// Rows and columns that the file repeats are repeated as long as they hold nothing, or up to a bound. The file is held in memory, its
// content is streamed.
package ods

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sheets"
)

// Defaults of the configuration, in bytes.
const (
	DefaultMaxTreeSize = 64 << 20
	DefaultMaxUnpacked = 256 << 20
)

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize int   `yaml:"max_tree_size" doc:"spreadsheets over this many bytes are an error"`
	MaxUnpacked int64 `yaml:"max_unpacked" doc:"the most bytes that the content may unpack to"`
	Hidden      bool  `yaml:"hidden" doc:"read hidden sheets too"`
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

// Parser reads spreadsheets.
type Parser struct{ cfg Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry.
func Plugin() connector.ParserPlugin {
	return connector.Define("ods", "OpenDocument spreadsheets: the tables of every sheet", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("ods: %w", err)
			}
			return &Parser{cfg: *c}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "ods", Version: 1} }

// Parse yields the sheets one after another.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil && !errors.Is(err, sheets.ErrStopped) {
			yield(connector.Element{}, fmt.Errorf("ods: %w", err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	data, err := io.ReadAll(io.LimitReader(r, int64(p.cfg.MaxTreeSize)+1))
	if err != nil {
		return err
	}
	if len(data) > p.cfg.MaxTreeSize {
		return connector.Errorf(connector.ClassInvalid, "the spreadsheet is larger than %d bytes: raise max_tree_size, or save it as CSV", p.cfg.MaxTreeSize)
	}
	if len(data) == 0 {
		return nil
	}
	parts, err := p.parts(data)
	if err != nil {
		return err
	}
	content, err := parts.open("content.xml")
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	w := sheets.New(ctx, yield, parts.properties())
	in := &reader{d: decoder(content), w: w, alive: ctx.Err, hidden: p.cfg.Hidden, hide: map[string]bool{}, budget: maxRepeated}
	if err := in.read(); err != nil {
		return err
	}
	for _, name := range parts.pictures {
		if err := w.Drop(connector.DropEmbedded, name); err != nil {
			return err
		}
	}
	return w.Close()
}

// pack are the parts of a package.
type pack struct {
	byName   map[string]*zip.File
	pictures []string
}

const (
	maxParts = 10_000
	maxLeft  = 64 // names of parts left out that are told
	maxSmall = 8 << 20
)

// parts opens the package and checks what can be told before anything is unpacked.
func (p *Parser) parts(data []byte) (*pack, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "this is no spreadsheet, or one that is cut short: %w", err)
	}
	if len(z.File) > maxParts {
		return nil, connector.Errorf(connector.ClassInvalid, "the spreadsheet has %d parts, over %d", len(z.File), maxParts)
	}
	out := &pack{byName: map[string]*zip.File{}}
	for _, f := range z.File {
		out.byName[f.Name] = f
		if (strings.HasPrefix(f.Name, "Pictures/") || strings.HasPrefix(f.Name, "media/")) && len(out.pictures) < maxLeft && !strings.HasSuffix(f.Name, "/") {
			out.pictures = append(out.pictures, f.Name)
		}
	}
	content := out.byName["content.xml"]
	switch {
	case content == nil:
		return nil, connector.Errorf(connector.ClassInvalid, "it has no content.xml, so it is no spreadsheet")
	case content.UncompressedSize64 > uint64(p.cfg.MaxUnpacked):
		return nil, connector.Errorf(connector.ClassInvalid, "its content unpacks to %d bytes, over the limit: raise max_unpacked if the file is sound", content.UncompressedSize64)
	}
	if manifest, err := out.small("META-INF/manifest.xml"); err == nil && bytes.Contains(manifest, []byte("encryption-data")) {
		return nil, connector.Errorf(connector.ClassInvalid, "the spreadsheet is encrypted: save it without a password")
	}
	return out, nil
}

func (p *pack) open(name string) (io.ReadCloser, error) {
	r, err := p.byName[name].Open()
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "%s: %w", name, err)
	}
	return r, nil
}

// small reads a small part.
func (p *pack) small(name string) ([]byte, error) {
	f := p.byName[name]
	if f == nil || f.UncompressedSize64 > maxSmall {
		return nil, fmt.Errorf("no part %s", name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(io.LimitReader(r, maxSmall))
}

// properties are what the spreadsheet says about itself; none where that is not legible.
func (p *pack) properties() map[string]any {
	data, err := p.small("meta.xml")
	if err != nil {
		return nil
	}
	var doc struct {
		Meta struct {
			Title    string   `xml:"title"`
			Subject  string   `xml:"subject"`
			About    string   `xml:"description"`
			Creator  string   `xml:"initial-creator"`
			Author   string   `xml:"creator"`
			Created  string   `xml:"creation-date"`
			Modified string   `xml:"date"`
			Language string   `xml:"language"`
			Keywords []string `xml:"keyword"`
		} `xml:"meta"`
	}
	if err := decoder(bytes.NewReader(data)).Decode(&doc); err != nil {
		return nil
	}
	m, props := doc.Meta, map[string]any{}
	if m.Creator == "" {
		m.Creator = m.Author
	}
	for _, f := range [...][2]string{{"title", m.Title}, {"subject", m.Subject}, {"description", m.About}, {"author", m.Creator}, {"created", m.Created},
		{"modified", m.Modified}, {"language", m.Language}, {"keywords", strings.Join(m.Keywords, ", ")}} {
		if v := strings.TrimSpace(f[1]); v != "" {
			props[f[0]] = v
		}
	}
	if len(props) == 0 {
		return nil
	}
	return props
}

func decoder(r io.Reader) *xml.Decoder {
	d := xml.NewDecoder(r)
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // OpenDocument is UTF-8
	return d
}
