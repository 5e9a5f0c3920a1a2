package pptx

import (
	"errors"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/xmlscan"
	"github.com/kbsync/kbsync/internal/zipdoc"
)

// deck is what is known of one presentation while it is read.
type deck struct {
	pkg      *ooxml.Document
	cfg      Config
	slides   []string // parts, in the order of the show; empty for those that are not there
	sections []string
	defaults styles             // of text that no placeholder holds
	layouts  map[string]*layout // by part, masters too
	authors  map[string]string  // of comments, by id
	shown    map[string]bool    // charts and diagrams that were read
	seen     map[string]bool    // page furniture that was reported
	lists    int
	titled   bool // a title slide came
	parted   bool // a section's slide came
}

// open reads the parts that all slides need.
func open(pkg *ooxml.Document, cfg Config) (*deck, error) {
	rels, err := pkg.Rels(pkg.Main)
	if err != nil {
		return nil, err
	}
	d := &deck{pkg: pkg, cfg: cfg, layouts: map[string]*layout{}, authors: map[string]string{}, shown: map[string]bool{}, seen: map[string]bool{}}
	if err := pkg.Scan(pkg.Main, func(s *xmlscan.Scanner) error { return d.presentation(s, rels) }); err != nil {
		return nil, err
	}
	for _, rel := range rels {
		if rel.Type != "commentAuthors" && rel.Type != "authors" {
			continue
		}
		if err := d.optional(rel.Target, d.readAuthors); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// optional reads a part that may be missing.
func (d *deck) optional(part string, read func(*xmlscan.Scanner) error) error {
	if err := d.pkg.Scan(part, read); err != nil && !errors.Is(err, zipdoc.ErrMissing) {
		return err
	}
	return nil
}

// presentation reads the main part: the order of the slides, and how text looks that says nothing itself.
func (d *deck) presentation(s *xmlscan.Scanner, rels map[string]ooxml.Rel) error {
	known := map[string]bool{}
	return ooxml.Each(s, func(name []byte) error {
		switch string(name) {
		case "sldIdLst":
			return ooxml.Each(s, func(name []byte) error {
				if string(name) != "sldId" {
					return nil
				}
				part := rels[relation(s, "id")].Target
				if known[part] {
					return nil // a slide is shown once
				}
				known[part] = part != ""
				d.slides = append(d.slides, part)
				return nil
			})
		case "defaultTextStyle":
			return d.defaults.read(s)
		case "extLst":
			return d.extensions(s)
		}
		return nil
	})
}

// extensions finds the names of sections.
func (d *deck) extensions(s *xmlscan.Scanner) error {
	for depth := s.Depth(); s.Depth() >= depth; {
		k, err := s.Next()
		if err != nil {
			return err
		}
		if k == xmlscan.Start && string(s.Name()) == "section" {
			if name := strings.TrimSpace(s.String("name")); name != "" {
				d.sections = append(d.sections, name)
			}
		}
	}
	return nil
}

func (d *deck) readAuthors(s *xmlscan.Scanner) error {
	return ooxml.Each(s, func([]byte) error {
		d.authors[s.String("id")] = strings.TrimSpace(s.String("name"))
		return nil
	})
}

// relation is the id of a relationship: an attribute with a prefix, since others of that name have none.
func relation(s *xmlscan.Scanner, attr string) string {
	for i := range s.Attrs() {
		if space, local, value := s.AttrAt(i); len(space) > 0 && string(local) == attr {
			return string(value)
		}
	}
	return ""
}

// write writes slide after slide.
func (d *deck) write(w *blocks.Writer) error {
	for i, part := range d.slides {
		if err := w.Err(); err != nil {
			return err
		}
		if part == "" || !d.pkg.Has(part) {
			continue
		}
		if err := d.slide(w, part, i+1); err != nil {
			return err
		}
	}
	for _, name := range d.sections {
		w.Add(blocks.Block{Kind: connector.KindDropped, Reason: connector.DropBoilerplate, Text: "section: " + name})
	}
	return w.Close()
}

// slide writes one slide with its notes and comments.
func (d *deck) slide(w *blocks.Writer, part string, page int) error {
	rels, err := d.pkg.Rels(part)
	if err != nil {
		return err
	}
	r := &reader{d: d, rels: rels, page: page, layout: &layout{}}
	var notes, comments []string
	for _, rel := range sorted(rels) {
		switch rel.Type {
		case "slideLayout":
			if r.layout, err = d.layoutOf(rel.Target); err != nil {
				return err
			}
		case "notesSlide":
			notes = append(notes, rel.Target)
		case "comments":
			comments = append(comments, rel.Target)
		}
	}
	hidden := false
	var out []blocks.Block
	err = d.pkg.Scan(part, func(s *xmlscan.Scanner) error {
		hidden = off(s, "show")
		r.s = s
		out, err = r.tree()
		return err
	})
	if err != nil {
		return err
	}
	for _, part := range notes {
		more, err := d.notes(part, page)
		if err != nil {
			return err
		}
		out = append(out, more...)
	}
	for _, part := range comments {
		more, err := d.comments(part, page)
		if err != nil {
			return err
		}
		out = append(out, more...)
	}
	if hidden && !d.cfg.HiddenSlides {
		var text strings.Builder
		for _, b := range out {
			plain(&text, b)
		}
		w.Add(blocks.Block{Kind: connector.KindDropped, Reason: connector.DropHidden, Text: strings.TrimSpace("hidden slide: " + text.String())})
		return nil
	}
	d.level(out, r.layout)
	for _, b := range out {
		w.Add(b)
	}
	return nil
}

// level sets the levels of a slide's headings: those of title slides stand above those of sections, and both above all others.
func (d *deck) level(out []blocks.Block, l *layout) {
	for i := range out {
		if out[i].Kind != connector.KindHeading {
			continue
		}
		level := 1
		switch {
		case l.kind == "title" || out[i].Level == 1:
			d.titled, d.parted = true, false
		case l.kind == "secHead":
			if d.titled {
				level++
			}
			d.parted = true
		default:
			for _, above := range [...]bool{d.titled, d.parted} {
				if above {
					level++
				}
			}
		}
		out[i].Level = level
	}
}

// plain writes the texts of a block, and of the cells of a table.
func plain(to *strings.Builder, b blocks.Block) {
	if b.Table != nil {
		to.WriteString(b.Table.Caption + " ")
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
