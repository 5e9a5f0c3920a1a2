package pptx

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// reader reads the shapes of a slide or of a page of notes.
type reader struct {
	d      *deck
	s      *xmlscan.Scanner
	rels   map[string]ooxml.Rel
	layout *layout
	page   int
	nested int // inside of so many groups
}

// maxNested is how deep groups nest; the shapes of deeper ones join those around them.
const maxNested = 16

// each visits the children of the current element.
func (r *reader) each(visit func(name []byte) error) error { return ooxml.Each(r.s, visit) }

// off says that an attribute is set to false.
func off(s *xmlscan.Scanner, attr string) bool {
	v, ok := s.Attr(attr)
	return ok && (string(v) == "0" || string(v) == "false")
}

// on says that an attribute is set to true.
func on(s *xmlscan.Scanner, attr string) bool {
	v, ok := s.Attr(attr)
	return ok && string(v) != "0" && string(v) != "false"
}

// tree reads the root of a slide: the shapes in it, in order.
func (r *reader) tree() ([]blocks.Block, error) {
	var shapes []shape
	err := r.each(func(name []byte) error {
		if string(name) != "cSld" {
			return nil
		}
		return r.each(func(name []byte) error {
			if string(name) != "spTree" {
				return nil
			}
			return r.shapes(&shapes)
		})
	})
	var out []blocks.Block
	for _, one := range ordered(shapes) {
		for _, b := range one.blocks {
			b.Page = r.page
			if b.Box == nil {
				b.Box = one.place.box()
			}
			out = append(out, b)
		}
	}
	return out, err
}

// shapes reads the shapes that the current element holds.
func (r *reader) shapes(to *[]shape) error {
	return r.each(func(name []byte) error { return r.member(string(name), to) })
}

// member reads the current element if it is a shape.
func (r *reader) member(name string, to *[]shape) error {
	var one shape
	var err error
	switch name {
	case "grpSp":
		if r.nested >= maxNested {
			return r.shapes(to)
		}
		one, err = r.group()
	case "sp", "cxnSp", "pic", "graphicFrame":
		one, err = r.shape(name)
	case "AlternateContent":
		return r.alternate(func() error { return r.shapes(to) }, func() int { return len(*to) })
	case "contentPart":
		one.blocks = []blocks.Block{{Kind: connector.KindDropped, Reason: connector.DropEmbedded, Text: r.target("ink")}}
	}
	if len(one.blocks) > 0 {
		*to = append(*to, one)
	}
	return err
}

// alternate reads the first choice of an AlternateContent element that gives something, as count says, or what stands in for it.
func (r *reader) alternate(read func() error, count func() int) error {
	before := count()
	return r.each(func(name []byte) error {
		if count() > before || string(name) != "Choice" && string(name) != "Fallback" {
			return nil
		}
		return read()
	})
}

// group reads a group: its shapes stay together, in their own order.
func (r *reader) group() (shape, error) {
	var frame place
	var inner []shape
	hidden := false
	r.nested++
	defer func() { r.nested-- }()
	err := r.each(func(name []byte) error {
		switch string(name) {
		case "nvGrpSpPr":
			return r.each(func(name []byte) error {
				hidden = hidden || string(name) == "cNvPr" && on(r.s, "hidden")
				return nil
			})
		case "grpSpPr":
			return r.transform(&frame)
		}
		return r.member(string(name), &inner)
	})
	out := shape{}
	for i := range inner {
		inner[i].place = frame.outer(inner[i].place)
	}
	for _, one := range ordered(inner) {
		out.place = out.place.union(one.place)
		out.title = out.title || one.title
		for _, b := range one.blocks {
			if b.Box != nil {
				in := place{known: true, x: b.Box.X0 * emu, y: b.Box.Y0 * emu, w: (b.Box.X1 - b.Box.X0) * emu, h: (b.Box.Y1 - b.Box.Y0) * emu}
				in = frame.outer(in)
				b.Box = in.box()
			} else {
				b.Box = one.place.box()
			}
			out.blocks = append(out.blocks, b)
		}
	}
	if hidden {
		out.hide()
	}
	return out, err
}

// transform reads the transformation among the properties of a shape.
func (r *reader) transform(to *place) error {
	return r.each(func(name []byte) error {
		if string(name) == "xfrm" {
			return to.read(r.s)
		}
		return nil
	})
}

// hide makes what a shape holds text that is left out.
func (one *shape) hide() {
	var text strings.Builder
	for _, b := range one.blocks {
		plain(&text, b)
	}
	one.blocks = []blocks.Block{{Kind: connector.KindDropped, Reason: connector.DropHidden, Text: text.String()}}
}

// drawing is a shape that is being read.
type drawing struct {
	shape
	alt    string
	hidden bool
	is     bool // a placeholder
	kind   string
	idx    string
	object string // what it shows that has no text
	styles styles
}

// shape reads one shape, picture or frame.
func (r *reader) shape(kind string) (shape, error) {
	dr := &drawing{}
	if kind == "pic" {
		dr.object = "picture"
	}
	err := r.each(func(name []byte) error {
		switch string(name) {
		case "nvSpPr", "nvPicPr", "nvGraphicFramePr", "nvCxnSpPr":
			return r.about(dr)
		case "spPr":
			return r.transform(&dr.place)
		case "xfrm":
			return dr.place.read(r.s)
		case "txBody":
			body, err := r.body(dr)
			dr.blocks = append(dr.blocks, body...)
			return err
		case "blipFill":
			return r.each(func(name []byte) error {
				if string(name) == "blip" && kind == "pic" {
					dr.object = r.target(dr.object)
				}
				return nil
			})
		case "graphic":
			return r.graphic(dr)
		}
		return nil
	})
	r.finish(dr)
	return dr.shape, err
}

// about reads what a shape is called, and which placeholder it fills.
func (r *reader) about(dr *drawing) error {
	return r.each(func(name []byte) error {
		switch string(name) {
		case "cNvPr":
			dr.hidden = on(r.s, "hidden")
			if dr.alt = strings.TrimSpace(r.s.String("descr")); dr.alt == "" {
				dr.alt = strings.TrimSpace(r.s.String("title"))
			}
		case "nvPr":
			return r.each(func(name []byte) error {
				switch string(name) {
				case "ph":
					dr.is, dr.kind, dr.idx = true, r.s.String("type"), r.s.String("idx")
				case "videoFile", "audioFile", "wavAudioFile", "quickTimeFile":
					dr.object = r.target("video or sound")
				}
				return nil
			})
		}
		return nil
	})
}

// target is the part that the current element's relationship names; otherwise where it names none.
func (r *reader) target(otherwise string) string {
	for _, attr := range [...]string{"id", "embed", "link"} {
		if rel, ok := r.rels[relation(r.s, attr)]; ok && rel.Target != "" {
			return rel.Target
		}
	}
	return otherwise
}

// finish decides what a shape means: furniture, a title, or what it holds.
func (r *reader) finish(dr *drawing) {
	text := false
	for _, b := range dr.blocks {
		text = text || b.Kind != connector.KindDropped
	}
	switch {
	case text && dr.alt != "" && dr.blocks[0].Kind == connector.KindTable && dr.blocks[0].Table.Caption == "":
		dr.blocks[0].Table.Caption = dr.alt
	case text:
	case dr.alt != "":
		dr.blocks = append(dr.blocks, blocks.Block{Kind: connector.KindImage, Text: dr.alt})
	case dr.object != "":
		dr.blocks = append(dr.blocks, blocks.Block{Kind: connector.KindDropped, Reason: connector.DropEmbedded, Text: dr.object})
	}
	if dr.hidden && len(dr.blocks) > 0 {
		dr.hide()
		return
	}
	if !dr.is {
		return
	}
	switch dr.kind {
	case "dt", "ftr", "sldNum", "hdr":
		r.furniture(dr)
	case "title", "ctrTitle":
		dr.head()
	}
	if !dr.place.known {
		for _, p := range r.layout.chain(dr.kind, dr.idx) {
			if p.place.known {
				dr.place = p.place
				break
			}
		}
	}
}

// furniture reports the text of a footer, a date or a number, once.
func (r *reader) furniture(dr *drawing) {
	var text strings.Builder
	for _, b := range dr.blocks {
		plain(&text, b)
	}
	dr.blocks = nil
	s := strings.TrimSpace(text.String())
	if s == "" || r.d.seen[s] {
		return
	}
	r.d.seen[s] = true
	dr.blocks = []blocks.Block{{Kind: connector.KindDropped, Reason: connector.DropFurniture, Text: s}}
}

// head makes one heading of the paragraphs of a title.
func (dr *drawing) head() {
	var out []blocks.Block
	text := ""
	for _, b := range dr.blocks {
		switch b.Kind {
		case connector.KindDropped, connector.KindImage:
			out = append(out, b)
			continue
		case connector.KindMath:
			b.Text = "$" + b.Text + "$"
		}
		for line := range strings.SplitSeq(strings.TrimSpace(b.Marker+"\n"+b.Text), "\n") {
			text = blocks.Glued(text, strings.TrimSpace(line))
		}
	}
	if text != "" {
		level := 0
		if dr.kind == "ctrTitle" {
			level = 1
		}
		dr.title = true
		out = append([]blocks.Block{{Kind: connector.KindHeading, Level: level, Text: text}}, out...)
	}
	dr.blocks = out
}
