package odf

import (
	"path"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// drawing is one that is being read.
type drawing struct {
	blocks []blocks.Block
	alt    string
	object string // what it shows that has no text
}

// drawn reads a drawing: the text in it, its table, chart or equation, or what stands in for its picture.
func (r *reader) drawn(name string) ([]blocks.Block, error) {
	if r.nested >= maxNested {
		r.drop(connector.DropLimit, "a drawing inside of many others")
		return nil, nil
	}
	dr := &drawing{}
	var err error
	switch name {
	case "g", "a":
		dr.blocks, err = r.grouped(dr)
	case "frame":
		err = r.frame(dr)
	default: // shapes hold paragraphs
		err = r.shape(dr)
	}
	text := false
	for _, b := range dr.blocks {
		text = text || b.Kind != connector.KindDropped
	}
	switch {
	case text:
	case dr.alt != "":
		dr.blocks = append(dr.blocks, blocks.Block{Kind: connector.KindImage, Text: dr.alt})
	case dr.object != "":
		dr.blocks = append(dr.blocks, blocks.Block{Kind: connector.KindDropped, Reason: connector.DropEmbedded, Text: dr.object})
	}
	for i := range dr.blocks {
		if dr.blocks[i].Page == 0 {
			dr.blocks[i].Page = r.page
		}
	}
	return dr.blocks, err
}

// sub is a reader of what a drawing holds, which is not part of the list around it.
func (r *reader) sub(dr *drawing) *reader {
	one := *r
	one.out = func(b blocks.Block) { dr.blocks = append(dr.blocks, b) }
	one.list = nil
	one.nested++
	return &one
}

func (r *reader) grouped(dr *drawing) ([]blocks.Block, error) {
	var shapes []shape
	one := r.sub(dr)
	err := r.each(func(name []byte) error {
		if string(name) == "title" || string(name) == "desc" {
			return dr.read(r.s, string(name))
		}
		return one.member(string(name), &shapes)
	})
	var out []blocks.Block
	for _, s := range ordered(shapes) {
		out = append(out, s.blocks...)
	}
	return append(out, dr.blocks...), err
}

// read reads the description of a drawing.
func (dr *drawing) read(s *xmlscan.Scanner, name string) error {
	text, err := ooxml.Content(s)
	if text = strings.TrimSpace(text); text != "" && (dr.alt == "" || name == "desc") {
		dr.alt = text
	}
	return err
}

// shape reads a shape with paragraphs.
func (r *reader) shape(dr *drawing) error {
	one := r.sub(dr)
	return r.each(func(name []byte) error {
		if string(name) == "title" || string(name) == "desc" {
			return dr.read(r.s, string(name))
		}
		return one.block(string(name))
	})
}

// frame reads a frame: the first of its forms that has a text.
func (r *reader) frame(dr *drawing) error {
	one := r.sub(dr)
	return r.each(func(name []byte) error {
		var err error
		switch string(name) {
		case "title", "desc":
			return dr.read(r.s, string(name))
		case "text-box":
			err = one.content()
		case "table":
			err = one.table()
		case "object":
			err = r.object(dr)
		case "object-ole":
			dr.object = "object " + strings.TrimPrefix(r.s.String("href"), "./")
		case "image", "plugin":
			if dr.object == "" {
				if dr.object = strings.TrimPrefix(r.s.String("href"), "./"); dr.object == "" {
					dr.object = "picture"
				}
			}
		}
		return err
	})
}

// object reads an embedded document: an equation, or the values of a chart.
func (r *reader) object(dr *drawing) error {
	dr.object = "object"
	if href := r.s.String("href"); href != "" {
		name := strings.TrimPrefix(path.Clean("/"+href), "/") + "/content.xml"
		dr.object = "object " + strings.TrimPrefix(href, "./")
		if r.d.pkg == nil || r.d.seen["object "+name] {
			return nil
		}
		r.d.seen["object "+name] = true
		return r.d.part(name, func(s *xmlscan.Scanner) error { return r.embedded(dr, s) })
	}
	return r.each(func(name []byte) error {
		switch string(name) {
		case "math", "document":
			return r.embedded(dr, r.s)
		}
		return nil
	})
}

// embedded reads the root of an embedded document.
func (r *reader) embedded(dr *drawing, s *xmlscan.Scanner) error {
	if string(s.Name()) == "math" {
		tex, err := mathML(s)
		if tex != "" {
			dr.blocks = append(dr.blocks, blocks.Block{Kind: connector.KindMath, Text: tex})
		}
		return err
	}
	one := r.sub(dr)
	one.s = s
	title := ""
	for depth := s.Depth(); s.Depth() >= depth; {
		k, err := s.Next()
		if err != nil {
			return err
		}
		if k != xmlscan.Start {
			continue
		}
		switch string(s.Name()) {
		case "title":
			text, err := ooxml.Content(s)
			if err != nil {
				return err
			}
			if title == "" {
				title = strings.TrimSpace(text)
			}
		case "table":
			if err := one.table(); err != nil {
				return err
			}
		}
	}
	for i := range dr.blocks {
		if t := dr.blocks[i].Table; t != nil && t.Caption == "" {
			t.Caption = title
		}
	}
	return nil
}

// length is a length of the format in points; ok is false where there is none.
func length(s *xmlscan.Scanner, attr string) (points float64, ok bool) {
	v := s.String(attr)
	for _, u := range [...]struct {
		name   string
		points float64
	}{{"cm", 72 / 2.54}, {"mm", 72 / 25.4}, {"in", 72}, {"pt", 1}, {"pc", 12}, {"px", 0.75}} {
		if n, found := strings.CutSuffix(v, u.name); found {
			f, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
			return max(-maxLength, min(f, maxLength)) * u.points, err == nil && f == f
		}
	}
	return 0, false
}

// maxLength bounds lengths.
const maxLength = 1e5
