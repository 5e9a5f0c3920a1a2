package odf

import (
	"bytes"
	"errors"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/xmlscan"
	"github.com/kbsync/kbsync/internal/zipdoc"
)

// document is what is known of one document while it is read.
type document struct {
	cfg       Config
	pkg       *zipdoc.Package // nil of a flat document
	styles    map[string]*style
	lists     map[string]*listStyle
	outline   listStyle
	chapters  counter
	pages     bool // breaks of pages are marked
	furniture []string
	seen      map[string]bool     // furniture, and objects that were read
	known     map[string]*counter // lists by their ids
	last      map[string]*counter // and by their styles
	count     int                 // of lists
}

func newDocument(cfg Config) *document {
	return &document{cfg: cfg, styles: map[string]*style{}, lists: map[string]*listStyle{}, seen: map[string]bool{}, known: map[string]*counter{}, last: map[string]*counter{}}
}

// open reads the parts that the content needs, and returns the content.
func (d *document) open() ([]byte, error) {
	if manifest, err := d.pkg.Bytes("META-INF/manifest.xml"); err == nil && bytes.Contains(manifest, []byte("encryption-data")) {
		return nil, connector.Errorf(connector.ClassInvalid, "the document is encrypted: save it without a password")
	}
	if !d.pkg.Has("content.xml") {
		return nil, connector.Errorf(connector.ClassInvalid, "it has no content.xml, so it is no OpenDocument file: its extension may be wrong")
	}
	if err := d.part("styles.xml", func(s *xmlscan.Scanner) error { return d.root(s, nil) }); err != nil {
		return nil, err
	}
	content, err := d.pkg.Bytes("content.xml")
	d.pages = bytes.Contains(content, []byte("soft-page-break"))
	return content, err
}

// part reads a part that may be missing.
func (d *document) part(name string, read func(*xmlscan.Scanner) error) error {
	data, err := d.pkg.Bytes(name)
	if errors.Is(err, zipdoc.ErrMissing) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := ooxml.ScanBytes(data, read); err != nil {
		return connector.Errorf(connector.ClassOf(err), "%s: %w", name, err)
	}
	return nil
}

// root reads the root of a part: its styles, and its body if there is a writer for it.
func (d *document) root(s *xmlscan.Scanner, w *blocks.Writer) error {
	return ooxml.Each(s, func(name []byte) error {
		switch string(name) {
		case "styles", "automatic-styles":
			return d.readStyles(s)
		case "master-styles":
			return d.masters(s)
		case "body":
			if w == nil {
				return nil
			}
			return ooxml.Each(s, func(name []byte) error { return d.body(string(name), s, w) })
		}
		return nil
	})
}

// body reads the current element: a text, or a presentation or drawing of pages.
func (d *document) body(name string, s *xmlscan.Scanner, w *blocks.Writer) error {
	r := &reader{d: d, s: s, out: w.Add, stopped: w.Err}
	switch name {
	case "text":
		if d.pages {
			r.page = 1
		}
		if err := r.content(); err != nil {
			return err
		}
	case "presentation", "drawing":
		if err := r.slides(); err != nil {
			return err
		}
	case "spreadsheet":
		return connector.Errorf(connector.ClassInvalid, "it is a spreadsheet, which the parser ods reads: its extension may be wrong")
	}
	for _, text := range d.furniture {
		w.Add(blocks.Block{Kind: connector.KindDropped, Reason: connector.DropFurniture, Text: text})
	}
	return w.Err()
}

// masters reads the headers and footers of pages, each text once.
func (d *document) masters(s *xmlscan.Scanner) error {
	for depth := s.Depth(); s.Depth() >= depth; {
		k, err := s.Next()
		if err != nil {
			return err
		}
		if k != xmlscan.Start {
			continue
		}
		switch string(s.Name()) {
		case "header", "footer", "header-left", "footer-left", "header-first", "footer-first":
			var text strings.Builder
			r := &reader{d: d, s: s, out: func(b blocks.Block) { plain(&text, b) }}
			if err := r.content(); err != nil {
				return err
			}
			d.report(text.String())
		}
	}
	return nil
}

// report keeps a text of page furniture to be reported, once.
func (d *document) report(text string) {
	if text = strings.TrimSpace(text); text != "" && !d.seen[text] {
		d.seen[text] = true
		d.furniture = append(d.furniture, text)
	}
}

// properties are what the document says about itself. Damage in them is no error of the document.
func (d *document) properties() map[string]any {
	data, err := d.pkg.Bytes("meta.xml")
	if err != nil {
		return nil
	}
	return metadata(data)
}

// metadata reads the properties at the start of a part.
func metadata(data []byte) map[string]any {
	out := map[string]any{}
	var keywords []string
	_ = ooxml.ScanBytes(data, func(s *xmlscan.Scanner) error {
		return ooxml.Each(s, func(name []byte) error {
			if string(name) != "meta" {
				return nil
			}
			return ooxml.Each(s, func(name []byte) error {
				key := propertyKey(string(name))
				if key == "" {
					return nil
				}
				text, err := ooxml.Content(s)
				text = strings.Join(strings.Fields(text), " ")
				switch {
				case text == "":
				case key == "keywords":
					keywords = append(keywords, text)
				case key == "author" && string(name) == "creator" && out[key] != nil: // the first author counts
				default:
					out[key] = text
				}
				return err
			})
		})
	})
	if len(keywords) > 0 {
		out["keywords"] = strings.Join(keywords, ", ")
	}
	return out
}

func propertyKey(name string) string {
	switch name {
	case "initial-creator", "creator":
		return "author"
	case "creation-date":
		return "created"
	case "date":
		return "modified"
	case "keyword":
		return "keywords"
	case "title", "subject", "description", "language":
		return name
	}
	return ""
}

// plain writes the texts of a block, and of the cells of a table.
func plain(to *strings.Builder, b blocks.Block) {
	if b.Table != nil {
		for _, row := range b.Table.Rows {
			for _, c := range row.Cells {
				for _, inner := range c.Blocks {
					plain(to, inner)
				}
			}
		}
		return
	}
	to.WriteString(b.Text)
	to.WriteByte(' ')
}
