package pagelayout

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// output numbers the text and hands elements on.
type output struct {
	yield      func(connector.Element, error) bool
	properties map[string]any
	pos        int
	widths     map[int]float64 // of the pages of the window
	waiting    []pageDrop      // in the order of the pages
	stopped    bool
}

type pageDrop struct {
	page int
	drop
}

// later notes what is left out of a page.
func (o *output) later(page int, d drop) {
	o.waiting = append(o.waiting, pageDrop{page, d})
}

// drops hands on what is left out of the pages up to one.
func (o *output) drops(page int) bool {
	n := 0
	for n < len(o.waiting) && (page <= 0 || o.waiting[n].page <= page) {
		if w := &o.waiting[n]; !o.drop(w.page, w.drop) {
			return false
		}
		n++
	}
	o.waiting = o.waiting[n:]
	return true
}

func (o *output) drop(page int, d drop) bool {
	text := decode.Clip(strings.TrimSpace(d.text))
	if text == "" {
		return true
	}
	return o.hand(connector.Element{Kind: connector.KindDropped, Reason: d.reason, Text: text, Page: page, Box: d.box, Span: connector.Span{Start: o.pos, End: o.pos}})
}

func (o *output) hand(el connector.Element) bool {
	if !o.stopped && !o.yield(el, nil) {
		o.stopped = true
	}
	return !o.stopped
}

// send hands on an element whose text comes next.
func (o *output) send(el connector.Element) bool {
	if el.Text == "" {
		return true
	}
	el.Span = connector.Span{Start: o.pos, End: o.pos + len(el.Text)}
	o.pos = el.Span.End
	el.Properties, o.properties = o.properties, nil
	return o.hand(el)
}
