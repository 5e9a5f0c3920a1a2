package docx

import (
	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/omml"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// maxNested is how deep tables and text boxes nest; the content of deeper ones joins that around them.
const maxNested = 16

// reader reads the content of a part, a cell, a note or a text box.
type reader struct {
	d       *document
	s       *xmlscan.Scanner
	out     func(blocks.Block)
	stopped func() error // nil where nobody can stop it
	page    int          // 0 where pages are unknown
	fields  []bool       // open fields: whether their instruction is being read
	carry   string       // text of a paragraph whose end was deleted
	nested  int
	gone    int // inside of so many deletions
}

// each visits the children of the current element.
func (r *reader) each(visit func(name []byte) error) error { return ooxml.Each(r.s, visit) }

// content reads blocks: the children of the current element, and of what only wraps them.
func (r *reader) content(depth int) error {
	err := r.each(func(name []byte) error {
		if r.stopped != nil {
			if err := r.stopped(); err != nil {
				return err
			}
		}
		return r.block(string(name), depth)
	})
	if depth == 0 && r.carry != "" {
		r.out(blocks.Block{Kind: connector.KindText, Text: r.carry, Page: r.page})
		r.carry = ""
	}
	return err
}

func (r *reader) block(name string, depth int) error {
	switch name {
	case "p":
		return r.paragraph()
	case "tbl":
		return r.table()
	case "sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag", "txbxContent":
		return r.content(depth + 1)
	case "del", "moveFrom":
		r.gone++
		err := r.content(depth + 1)
		r.gone--
		return err
	case "AlternateContent":
		return r.alternate(func() error { return r.content(depth + 1) })
	case "oMathPara", "oMath":
		tex, err := omml.Read(r.s)
		r.out(blocks.Block{Kind: connector.KindMath, Text: tex, Page: r.page})
		return err
	case "altChunk":
		r.embedded(r.target("altChunk"))
	}
	return nil
}

// alternate reads the first choice of an AlternateContent element, or what stands in for it where there is none.
func (r *reader) alternate(read func() error) error {
	done := false
	return r.each(func(name []byte) error {
		if done || string(name) != "Choice" && string(name) != "Fallback" {
			return nil
		}
		done = true
		return read()
	})
}

// relationships is the namespace of ids of relationships, which differs between transitional and strict documents; other attributes that are
// called id have none, so the first attribute with a prefix will do.
func (r *reader) relation(attr string) string {
	for i := range r.s.Attrs() {
		if space, local, value := r.s.AttrAt(i); len(space) > 0 && string(local) == attr {
			return string(value)
		}
	}
	return ""
}

// target is the part that the current element's relationship names; otherwise where it names none.
func (r *reader) target(otherwise string) string {
	for _, attr := range [...]string{"id", "embed", "link"} {
		if rel, ok := r.d.rels[r.relation(attr)]; ok {
			return rel.Target
		}
	}
	return otherwise
}

// embedded reports an object that has no text.
func (r *reader) embedded(name string) {
	r.out(blocks.Block{Kind: connector.KindDropped, Reason: connector.DropEmbedded, Text: name})
}

// inner reads a text box, in a place of its own.
func (r *reader) inner() ([]blocks.Block, error) {
	var out []blocks.Block
	sub := *r
	sub.out = func(b blocks.Block) { out = append(out, b) }
	sub.fields, sub.carry = nil, ""
	sub.nested++
	err := sub.content(0)
	return out, err
}
