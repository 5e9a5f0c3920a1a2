package odf

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/slideorder"
)

// shape is a drawing with its place.
type shape struct {
	box    *connector.Box
	title  bool
	blocks []blocks.Block
}

// ordered are the shapes in the order in which they are read.
func ordered(shapes []shape) []shape {
	return slideorder.Sort(shapes, func(one shape) (*connector.Box, bool) { return one.box, one.title })
}

// slides reads the pages of a presentation or drawing.
func (r *reader) slides() error {
	r.page = 0
	return r.each(func(name []byte) error {
		if r.stopped != nil {
			if err := r.stopped(); err != nil {
				return err
			}
		}
		if string(name) != "page" {
			return nil
		}
		r.page++
		return r.slide()
	})
}

// slide reads one page with its notes.
func (r *reader) slide() error {
	hidden := r.d.of(r.s.String("style-name")).hidden && !r.d.cfg.HiddenSlides
	var shapes []shape
	var notes []blocks.Block
	one := r.sub(&drawing{})
	one.nested = 0
	err := r.each(func(name []byte) error {
		if string(name) == "notes" {
			more, err := one.notes()
			notes = append(notes, more...)
			return err
		}
		return one.member(string(name), &shapes)
	})
	var out []blocks.Block
	for _, s := range ordered(shapes) {
		for _, b := range s.blocks {
			if b.Page, b.PageEnd = r.page, 0; b.Box == nil {
				b.Box = s.box
			}
			out = append(out, b)
		}
	}
	out = append(out, notes...)
	if hidden {
		var text strings.Builder
		for _, b := range out {
			plain(&text, b)
		}
		r.drop(connector.DropHidden, strings.TrimSpace("hidden slide: "+text.String()))
		return err
	}
	for _, b := range out {
		r.out(b)
	}
	return err
}

// member reads the current element if it is a shape.
func (r *reader) member(name string, to *[]shape) error {
	switch name {
	case "frame", "custom-shape", "rect", "ellipse", "circle", "line", "connector", "polygon", "polyline", "path", "caption", "g", "a", "regular-polygon", "measure":
	case "annotation":
		var p paragraph
		err := r.annotation(&p)
		*to = append(*to, shape{blocks: p.after})
		return err
	default:
		return nil
	}
	var one shape
	class := r.s.String("class")
	x, ok := length(r.s, "x")
	y, too := length(r.s, "y")
	if ok && too {
		w, _ := length(r.s, "width")
		h, _ := length(r.s, "height")
		one.box = &connector.Box{X0: x, Y0: y, X1: x + max(0, w), Y1: y + max(0, h)}
	}
	inner, err := r.drawn(name)
	one.blocks = inner
	switch class {
	case "title":
		one.head(r)
	case "header", "footer", "date-time", "page-number":
		var text strings.Builder
		for _, b := range one.blocks {
			plain(&text, b)
		}
		r.d.report(text.String())
		one.blocks = nil
	}
	if (name == "g" || name == "a") && one.box == nil {
		one.box = around(one.blocks)
	}
	for i := range one.blocks {
		if one.blocks[i].Box == nil {
			one.blocks[i].Box = one.box
		}
	}
	if len(one.blocks) > 0 {
		*to = append(*to, one)
	}
	return err
}

// around is the smallest box around blocks; nil where none has a place.
func around(all []blocks.Block) *connector.Box {
	var out *connector.Box
	for _, b := range all {
		switch {
		case b.Box == nil:
		case out == nil:
			box := *b.Box
			out = &box
		default:
			out.X0, out.Y0, out.X1, out.Y1 = min(out.X0, b.Box.X0), min(out.Y0, b.Box.Y0), max(out.X1, b.Box.X1), max(out.Y1, b.Box.Y1)
		}
	}
	return out
}

// head makes one heading of the paragraphs of a title.
func (one *shape) head(r *reader) {
	var out []blocks.Block
	text := ""
	for _, b := range one.blocks {
		if b.Kind == connector.KindDropped || b.Kind == connector.KindImage || b.Kind == connector.KindTable {
			out = append(out, b)
			continue
		}
		for line := range strings.SplitSeq(b.Text, "\n") {
			text = blocks.Glued(text, strings.TrimSpace(line))
		}
	}
	if text != "" {
		one.title = true
		out = append([]blocks.Block{{Kind: connector.KindHeading, Level: 1, Text: text, Page: r.page, Box: one.box}}, out...)
	}
	one.blocks = out
}

// notes are the speaker notes of a slide, as quotes of which the first says what they are.
func (r *reader) notes() ([]blocks.Block, error) {
	var shapes []shape
	err := r.each(func(name []byte) error { return r.member(string(name), &shapes) })
	var out []blocks.Block
	marker := "Notes:"
	for _, s := range ordered(shapes) {
		for _, b := range s.blocks {
			b.Page, b.Box = r.page, nil
			if b.Kind == connector.KindDropped || b.Kind == connector.KindTable {
				out = append(out, b)
				continue
			}
			if b.Text = strings.TrimSpace(b.Text); b.Text == "" {
				continue
			}
			if !r.d.cfg.Notes {
				out = append(out, blocks.Block{Kind: connector.KindDropped, Reason: connector.DropHidden, Text: "notes: " + b.Text})
				continue
			}
			b.Kind, b.Marker = connector.KindQuote, strings.TrimSpace(marker+" "+b.Marker)
			out = append(out, b)
			marker = ""
		}
	}
	return out, err
}
