package strategies

import (
	"context"
	"iter"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// How structured documents are cut (markdown, html, and the text around tables).
//
//   - Elements gather in a window, which a heading may close (see flow.safeToFlush); nothing that is decided inside a
//     window depends on where it ends.
//   - The headings make sections, which form a tree. A subtree that fits the cap is one chunk, small subtrees of one
//     parent are packed together, and a section that does not fit is cut by its blocks (blocks_cut.go) and packed again
//     (blocks_pack.go). So a heading always starts packing afresh, except among small siblings.
//   - What is decided are drafts: ranges of the window's text. The last step (blocks_emit.go) joins those under
//     min_chars with a neighbour, writes the breadcrumb above and shortens it where room is short.

// layout says how headings and breadcrumbs are shown.
type layout struct {
	headingOut bool // headings stand in the context alone
	prefix     bool // the breadcrumb stands in the context
	titles     bool // one more chunk for each heading
	window     int  // the size from which on a heading may end a window
}

// section is a heading with the elements up to the next heading, or the elements before the first one.
type section struct {
	crumb      *crumb // nil before the first heading
	level      int
	first, end int  // its elements; the heading is the first, if there is one
	body       bool // something but the heading is there
}

// flow cuts one document.
type flow struct {
	b      *budget
	lay    layout
	limit  []int // what a breadcrumb may take of each cap
	yield  func(connector.Chunk, error) bool
	done   bool // the consumer has left
	crumb  *crumb
	els    []connector.Element
	next   int  // the window's size at which it may be flushed
	begun  bool // a window was flushed before
	tables tableSink
	out    emitter
}

// tableSink takes tables and records out of the flow; nil where they are blocks like others.
type tableSink interface {
	// take handles el if it is a table or a record. The flow has been flushed before.
	take(f *flow, el connector.Element) bool
	// owns tells whether take would handle el.
	owns(el *connector.Element) bool
	// close writes what take holds back.
	close(f *flow) bool
}

// Window sizes in bytes: from windowSize on, a heading may end a window; at windowLimit any element does, so that a
// text without headings is held in parts too.
const (
	windowSize  = 1 << 20
	windowLimit = 12 << 20
)

func newFlow(b *budget, lay layout, yield func(connector.Chunk, error) bool) *flow {
	if lay.window == 0 {
		lay.window = windowSize
	}
	f := &flow{b: b, lay: lay, yield: yield, next: lay.window}
	f.limit = b.share(breadcrumbShare)
	f.out.f = f
	return f
}

// cutBlocks is the whole way of one document.
func cutBlocks(ctx context.Context, b *budget, lay layout, tables tableSink, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		f := newFlow(b, lay, yield)
		f.tables = tables
		for el, err := range textual(ctx, elements) {
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			if el.Text == "" {
				continue
			}
			if f.add(el); f.done {
				return
			}
		}
		f.flush(true)
		if f.tables != nil && !f.done {
			f.tables.close(f)
		}
	}
}

// add takes the next element.
func (f *flow) add(el connector.Element) {
	if f.tables != nil {
		if f.tables.owns(&el) {
			f.flush(false)
			if !f.done {
				f.tables.take(f, el)
			}
			return
		}
		if strings.TrimSpace(el.Text) != "" || el.Kind == connector.KindHeading {
			f.tables.close(f)
		}
		if f.done {
			return
		}
	}
	if len(f.els) > 0 && f.size() >= f.next {
		f.tryFlush(&el)
		if len(f.els) > 0 && f.size() >= windowLimit {
			f.flush(false)
		}
	}
	f.els = append(f.els, el)
}

// size is the length of the window so far.
func (f *flow) size() int {
	return f.els[len(f.els)-1].Span.End - f.els[0].Span.Start
}

// tryFlush flushes the window before el if that changes nothing: el is a heading whose sibling before it is a section
// too large for one chunk, for packing starts afresh there anyhow. Otherwise the window grows and the next attempt
// comes when it is twice as large, so that all attempts together stay linear.
func (f *flow) tryFlush(el *connector.Element) {
	if el.Kind != connector.KindHeading {
		return
	}
	w := f.window()
	k := len(w.secs) - 1
	for k >= 0 && w.secs[k].level > el.Level {
		k--
	}
	if k >= 0 && w.secs[k].level == el.Level && !w.fits(w.start(k), len(w.text), nil) {
		f.cut(w)
		f.begun = true
		f.next = f.lay.window
		return
	}
	f.crumb = w.before
	f.next = 2 * f.size()
}

// flush cuts what the window holds.
func (f *flow) flush(final bool) {
	if len(f.els) == 0 {
		if final {
			f.out.flush()
		}
		return
	}
	w := f.window()
	if final && !f.begun && w.wholeFits() {
		w.whole()
		f.els = f.els[:0]
	} else {
		f.cut(w)
	}
	f.begun = true
	f.next = f.lay.window
	f.out.flush()
}

func (f *flow) cut(w *window) {
	w.siblings(0, len(w.secs), 0, false)
	f.out.flush()
	w.titles(len(w.text))
	clear(f.els)
	f.els = f.els[:0]
}

// window is a stretch of the document that is cut at once.
type window struct {
	f      *flow
	base   int // where its text starts in the parsed text
	text   string
	els    []connector.Element
	secs   []section
	m      *measure
	before *crumb       // the heading that was open when it started
	titled int          // sections whose title chunk is out
	starts map[int]bool // anchors among the starts of sections; nil until needed
}

// window makes the window of the elements gathered, and opens their headings.
func (f *flow) window() *window {
	w := &window{f: f, base: f.els[0].Span.Start, els: f.els, before: f.crumb}
	if len(f.els) == 1 {
		w.text = f.els[0].Text
	} else {
		var text strings.Builder
		text.Grow(f.size())
		for i := range f.els {
			text.WriteString(f.els[i].Text)
		}
		w.text = text.String()
	}
	w.m = f.b.measure(w.text)
	for i := range w.els {
		el := &w.els[i]
		heading := el.Kind == connector.KindHeading
		if heading || i == 0 {
			if heading {
				f.crumb = f.crumb.open(el, w.base, w.text)
			}
			w.secs = append(w.secs, section{crumb: f.crumb, level: f.crumb.levelOf(), first: i})
		}
		s := &w.secs[len(w.secs)-1]
		s.end = i + 1
		if !heading && !s.body {
			s.body = strings.TrimSpace(el.Text) != ""
		}
	}
	return w
}

// at is where element i starts in the window's text; i may be the number of elements.
func (w *window) at(i int) int {
	if i >= len(w.els) {
		return len(w.text)
	}
	return w.els[i].Span.Start - w.base
}

// start is where section k starts; k may be the number of sections.
func (w *window) start(k int) int {
	if k >= len(w.secs) {
		return len(w.text)
	}
	return w.at(w.secs[k].first)
}

// fits tells whether the trimmed range, below the context of c, keeps the caps.
func (w *window) fits(lo, hi int, c *crumb) bool {
	lo, hi = trimSpan(w.text, lo, hi)
	return lo == hi || w.m.fits(lo, hi, w.f.room(c))
}

// wholeFits tells whether the window, which is the whole document, is one chunk.
func (w *window) wholeFits() bool {
	if !w.fits(0, len(w.text), nil) {
		return false
	}
	if !w.f.lay.headingOut {
		return true
	}
	bodies := 0
	for k := range w.secs {
		if w.secs[k].body {
			bodies++
		}
	}
	return bodies > 1
}

// whole makes one chunk of a document that fits.
func (w *window) whole() {
	w.f.out.add(w, draft{lo: 0, hi: len(w.text), crumb: w.common(0, len(w.secs)), first: 0, last: len(w.els)})
}
