package pptx

import (
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// levels is how many levels the text of a shape has.
const levels = 9

// bullet is what stands before a paragraph.
type bullet struct {
	kind  byte // 0 unsaid, 'n' none, 'c' a character or picture, 'a' a number
	auto  string
	start int
}

// styles are the bullets by level.
type styles [levels]bullet

// read reads a list of styles: lvl1pPr and so on.
func (st *styles) read(s *xmlscan.Scanner) error {
	return ooxml.Each(s, func(name []byte) error {
		if len(name) != len("lvl1pPr") || string(name[:3]) != "lvl" || name[3] < '1' || name[3] > '9' {
			return nil
		}
		return st[name[3]-'1'].read(s)
	})
}

// read reads the properties of a paragraph.
func (b *bullet) read(s *xmlscan.Scanner) error {
	return ooxml.Each(s, func(name []byte) error {
		b.property(s, name)
		return nil
	})
}

func (b *bullet) property(s *xmlscan.Scanner, name []byte) {
	switch string(name) {
	case "buNone":
		*b = bullet{kind: 'n'}
	case "buChar", "buBlip":
		*b = bullet{kind: 'c'}
	case "buAutoNum":
		*b = bullet{kind: 'a', auto: s.String("type"), start: max(1, s.Int("startAt", 1))}
	}
}

// placeholder is a place that a layout sets out for a shape.
type placeholder struct {
	kind, idx string
	place     place
	styles    styles
}

// layout is what slides inherit from a layout, or a layout from its master.
type layout struct {
	kind   string // "title", "secHead" …
	places []placeholder
	title  styles // of a master
	body   styles
	other  styles
	master *layout
}

// layoutOf reads a layout with its master, once.
func (d *deck) layoutOf(part string) (*layout, error) {
	if l := d.layouts[part]; l != nil {
		return l, nil
	}
	l := &layout{}
	d.layouts[part] = l
	rels, err := d.pkg.Rels(part)
	if err != nil {
		return nil, err
	}
	for _, rel := range sorted(rels) {
		if rel.Type == "slideMaster" && d.layouts[rel.Target] == nil { // a master has none, whatever it says
			m := &layout{}
			d.layouts[rel.Target] = m
			if err := d.optional(rel.Target, m.read); err != nil {
				return nil, err
			}
		}
		if rel.Type == "slideMaster" && d.layouts[rel.Target] != l {
			l.master = d.layouts[rel.Target]
		}
	}
	return l, d.optional(part, l.read)
}

func (l *layout) read(s *xmlscan.Scanner) error {
	l.kind = s.String("type")
	for depth := s.Depth(); s.Depth() >= depth; {
		k, err := s.Next()
		if err != nil {
			return err
		}
		if k != xmlscan.Start {
			continue
		}
		switch string(s.Name()) {
		case "sp":
			err = l.shape(s)
		case "titleStyle":
			err = l.title.read(s)
		case "bodyStyle":
			err = l.body.read(s)
		case "otherStyle":
			err = l.other.read(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shape reads a shape of a layout, of which only placeholders matter.
func (l *layout) shape(s *xmlscan.Scanner) error {
	var p placeholder
	is := false
	for depth := s.Depth(); s.Depth() >= depth; {
		k, err := s.Next()
		if err != nil {
			return err
		}
		if k != xmlscan.Start {
			continue
		}
		switch string(s.Name()) {
		case "ph":
			is = true
			p.kind, p.idx = s.String("type"), s.String("idx")
		case "xfrm":
			err = p.place.read(s)
		case "lstStyle":
			err = p.styles.read(s)
		case "p":
			err = s.Skip() // what stands there tells authors what to do
		}
		if err != nil {
			return err
		}
	}
	if is {
		l.places = append(l.places, p)
	}
	return nil
}

// family is what kinds of placeholders inherit from: that of titles, or of bodies.
func family(kind string) string {
	switch kind {
	case "title", "ctrTitle":
		return "title"
	case "dt", "ftr", "sldNum", "hdr":
		return kind
	}
	return "body"
}

// find is the placeholder that one of a slide stands for; nil if there is none.
func (l *layout) find(kind, idx string) *placeholder {
	for i := range l.places {
		if p := &l.places[i]; p.idx == idx && idx != "" || idx == "" && p.kind == kind {
			return p
		}
	}
	for i := range l.places {
		if p := &l.places[i]; family(p.kind) == family(kind) && idx == "" {
			return p
		}
	}
	return nil
}

// chain is where a placeholder inherits from, nearest first.
func (l *layout) chain(kind, idx string) []*placeholder {
	var out []*placeholder
	if p := l.find(kind, idx); p != nil {
		out = append(out, p)
		if kind == "" {
			kind = p.kind
		}
	}
	if l.master != nil {
		if p := l.master.find(family(kind), ""); p != nil {
			out = append(out, p)
		}
	}
	return out
}

// of are the styles of all text of a family.
func (l *layout) of(kind string, is bool) *styles {
	m := l.master
	switch {
	case m == nil:
		return &styles{}
	case !is:
		return &m.other
	case family(kind) == "title":
		return &m.title
	case family(kind) == "body":
		return &m.body
	}
	return &m.other
}
