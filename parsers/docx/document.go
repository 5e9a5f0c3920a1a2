package docx

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/xmlscan"
	"github.com/kbsync/kbsync/internal/zipdoc"
)

// document is what is known of one document while it is read.
type document struct {
	pkg       *ooxml.Document
	rels      map[string]ooxml.Rel
	styles    *styles
	numbering *numbering
	footnotes map[string]*note
	endnotes  map[string]*note
	comments  map[string]*note
	counts    map[*note]int // numbers of notes, in order of reference
	footCount int
	endCount  int
	lists     int  // numbers of lists that are no list of Word
	keep      bool // comments
}

// note is a footnote, an endnote or a comment.
type note struct {
	kind   byte // 'f', 'e', 'c'
	author string
	blocks []blocks.Block
	used   bool
}

// open reads the parts that the main part needs.
func open(pkg *ooxml.Document, comments bool) (*document, error) {
	rels, err := pkg.Rels(pkg.Main)
	if err != nil {
		return nil, err
	}
	d := &document{pkg: pkg, rels: rels, keep: comments, counts: map[*note]int{}, styles: newStyles(), numbering: newNumbering(), lists: 1 << 30}
	for _, part := range []struct {
		kind string
		read func(*xmlscan.Scanner) error
	}{
		{"styles", d.styles.read},
		{"numbering", d.numbering.read},
		{"footnotes", func(s *xmlscan.Scanner) (err error) { d.footnotes, err = d.notes(s, 'f'); return err }},
		{"endnotes", func(s *xmlscan.Scanner) (err error) { d.endnotes, err = d.notes(s, 'e'); return err }},
		{"comments", func(s *xmlscan.Scanner) (err error) { d.comments, err = d.notes(s, 'c'); return err }},
	} {
		if err := d.scan(part.kind, part.read); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// scan reads the first part of a type of relationship. Without one nothing happens; one that is not there is like none.
func (d *document) scan(kind string, read func(*xmlscan.Scanner) error) error {
	names := d.targets(kind)
	if len(names) == 0 {
		return nil
	}
	if err := d.pkg.Scan(names[0], read); err != nil && !errors.Is(err, zipdoc.ErrMissing) {
		return err
	}
	return nil
}

// targets are the parts that the main part refers to by relationships of one type, sorted.
func (d *document) targets(kind string) []string {
	var out []string
	for _, rel := range d.rels {
		if rel.Type == kind && !rel.External {
			out = append(out, rel.Target)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// notes reads a part of notes.
func (d *document) notes(s *xmlscan.Scanner, kind byte) (map[string]*note, error) {
	out := map[string]*note{}
	err := ooxml.Each(s, func(name []byte) error {
		switch string(name) {
		case "footnote", "endnote", "comment":
		default:
			return nil
		}
		if t := s.String("type"); t != "" && t != "normal" {
			return nil // separators
		}
		n := &note{kind: kind, author: strings.TrimSpace(s.String("author"))}
		id := s.String("id")
		r := &reader{d: d, s: s, out: func(b blocks.Block) { n.blocks = append(n.blocks, b) }}
		if err := r.content(0); err != nil {
			return err
		}
		out[id] = n
		return nil
	})
	return out, err
}

// write writes the main part, and what is left out of the others.
func (d *document) write(w *blocks.Writer) error {
	data, err := d.pkg.Bytes(d.pkg.Main)
	if err != nil {
		return err
	}
	page := 0
	if bytes.Contains(data, []byte("lastRenderedPageBreak")) {
		page = 1
	}
	err = ooxml.ScanBytes(data, func(s *xmlscan.Scanner) error {
		r := &reader{d: d, s: s, page: page, out: w.Add, stopped: w.Err}
		return ooxml.Each(s, func(name []byte) error {
			if string(name) != "body" {
				return nil
			}
			return r.content(0)
		})
	})
	if w.Err() != nil {
		return w.Err()
	}
	if err != nil {
		return connector.Errorf(connector.ClassOf(err), "part %s: %w", d.pkg.Main, err)
	}
	d.rest(w)
	if err := d.furniture(w); err != nil {
		return err
	}
	return w.Close()
}

// rest writes the notes to which nothing refers.
func (d *document) rest(w *blocks.Writer) {
	for _, notes := range []map[string]*note{d.footnotes, d.endnotes, d.comments} {
		var ids []string
		for id, n := range notes {
			if !n.used {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		for _, id := range ids {
			for _, b := range d.noteBlocks(notes[id], "") {
				w.Add(b)
			}
		}
	}
}

// furniture reports headers and footers, each text once.
func (d *document) furniture(w *blocks.Writer) error {
	seen := map[string]bool{}
	for _, name := range append(d.targets("header"), d.targets("footer")...) {
		var text strings.Builder
		err := d.pkg.Scan(name, func(s *xmlscan.Scanner) error {
			r := &reader{d: d, s: s, out: func(b blocks.Block) { plain(&text, b) }}
			return r.content(0)
		})
		if err != nil && !errors.Is(err, zipdoc.ErrMissing) {
			return err
		}
		if s := strings.TrimSpace(text.String()); s != "" && !seen[s] {
			seen[s] = true
			w.Add(blocks.Block{Kind: connector.KindDropped, Reason: connector.DropFurniture, Text: s})
		}
	}
	return nil
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
