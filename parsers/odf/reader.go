package odf

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
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
	begun   bool         // something stands on the page
	nested  int
	list    *open // the innermost list
	light   bool  // there was text that is not bold
}

// open is a list that is being read.
type open struct {
	style   string
	level   int // from 0
	counter *counter
	pending bool // an item began and had no paragraph
	header  bool
	start   int // that the item says; -1 if it says none
}

// each visits the children of the current element.
func (r *reader) each(visit func(name []byte) error) error { return ooxml.Each(r.s, visit) }

// content reads blocks: the children of the current element, and of what only wraps them.
func (r *reader) content() error {
	return r.each(func(name []byte) error {
		if r.stopped != nil {
			if err := r.stopped(); err != nil {
				return err
			}
		}
		return r.block(string(name))
	})
}

func (r *reader) block(name string) error {
	switch name {
	case "p", "h":
		return r.paragraph(name == "h")
	case "list":
		return r.readList()
	case "table":
		return r.table()
	case "section":
		if r.d.of(r.s.String("style-name")).hidden || r.s.String("display") == "none" {
			return r.left(connector.DropHidden)
		}
		return r.content()
	case "table-of-content", "illustration-index", "table-index", "object-index", "user-index", "alphabetical-index":
		return r.left(connector.DropBoilerplate)
	case "bibliography", "index-body", "index-title", "numbered-paragraph":
		return r.content()
	case "tracked-changes":
		return r.changes()
	case "soft-page-break":
		r.turn()
	case "frame", "custom-shape", "rect", "ellipse", "circle", "line", "connector", "polygon", "polyline", "path", "caption", "g", "a", "regular-polygon", "measure":
		out, err := r.drawn(name)
		for _, b := range out {
			r.put(b)
		}
		return err
	}
	return nil
}

// turn goes to the next page.
func (r *reader) turn() {
	if r.page > 0 && r.d.pages {
		r.page++
		r.begun = false
	}
}

// put adds a block on the current page.
func (r *reader) put(b blocks.Block) {
	if b.Page == 0 {
		b.Page = r.page
	}
	r.out(b)
}

// drop reports what is left out.
func (r *reader) drop(reason connector.DropReason, text string) {
	r.out(blocks.Block{Kind: connector.KindDropped, Reason: reason, Text: text})
}

// inner reads the content of the current element in a place of its own.
func (r *reader) inner() ([]blocks.Block, error) {
	var out []blocks.Block
	sub := *r
	sub.out = func(b blocks.Block) { out = append(out, b) }
	sub.list = nil
	sub.nested++
	err := sub.content()
	r.page, r.begun = sub.page, sub.begun
	return out, err
}

// left reads what is left out as a whole.
func (r *reader) left(reason connector.DropReason) error {
	if r.nested >= maxNested {
		return r.content()
	}
	out, err := r.inner()
	var text strings.Builder
	for _, b := range out {
		plain(&text, b)
	}
	r.drop(reason, text.String())
	return err
}

// changes reports the deleted text of tracked changes. What was inserted stands in the text.
func (r *reader) changes() error {
	return r.each(func([]byte) error {
		return r.each(func(name []byte) error {
			if string(name) != "deletion" {
				return nil
			}
			return r.left(connector.DropDeleted)
		})
	})
}

// readList reads a list.
func (r *reader) readList() error {
	s, outer := r.s, r.list
	one := &open{style: s.String("style-name"), start: -1}
	var id string
	for i := range s.Attrs() {
		if space, local, value := s.AttrAt(i); string(local) == "id" && len(space) > 0 {
			id = string(value)
		}
	}
	switch {
	case outer != nil:
		one.level, one.counter = min(outer.level+1, levels-1), outer.counter
		if one.style == "" {
			one.style = outer.style
		}
	case r.d.known[s.String("continue-list")] != nil:
		one.counter = r.d.known[s.String("continue-list")]
	case s.String("continue-numbering") == "true" && r.d.last[one.style] != nil:
		one.counter = r.d.last[one.style]
	default:
		r.d.count++
		one.counter = &counter{number: r.d.count}
	}
	if outer == nil {
		r.d.last[one.style] = one.counter
		if id != "" {
			r.d.known[id] = one.counter
		}
	}
	r.list = one
	err := r.items()
	r.list = outer
	return err
}

// items reads the items of the current list.
func (r *reader) items() error {
	return r.each(func(name []byte) error {
		switch string(name) {
		case "list-item", "list-header":
		default:
			return nil
		}
		r.list.pending, r.list.header, r.list.start = true, string(name) == "list-header", r.s.Int("start-value", -1)
		return r.item()
	})
}

// item reads one item: its paragraphs are one block, as far as they are plain.
func (r *reader) item() error {
	outer := r.out
	var held *blocks.Block
	flush := func() {
		if held != nil {
			outer(*held)
			held = nil
		}
	}
	r.out = func(b blocks.Block) {
		switch {
		case b.Kind == connector.KindItem && held == nil && b.Marker != "":
			held = &b
		case held != nil && b.Kind == connector.KindText && len(held.Text) < maxItem:
			held.Text += "\n" + b.Text
			held.PageEnd = b.PageEnd
		default:
			flush()
			outer(b)
		}
	}
	err := r.content()
	flush()
	r.out = outer
	return err
}

// maxItem is the size from which on the paragraphs of an item are blocks of their own.
const maxItem = 64 << 10

// marker is what stands before the current paragraph, if it is the first one of an item; list and level say where.
func (r *reader) marker() (text string, list, level int) {
	o := r.list
	if o == nil || !o.pending {
		return "", 0, 0
	}
	o.pending = false
	if o.header {
		return "", 0, 0
	}
	st := r.d.lists[o.style]
	if st == nil {
		return "-", o.counter.number, o.level + 1
	}
	return o.counter.next(st, o.level, o.start), o.counter.number, o.level + 1
}
