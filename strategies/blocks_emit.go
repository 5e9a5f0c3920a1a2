package strategies

import (
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

const headingKind = connector.KindHeading

// draft is a chunk to be: a range of a window's text.
type draft struct {
	lo, hi      int
	crumb       *crumb
	extra       *extra
	forced      bool
	first, last int                  // its elements
	pinned      bool                 // headings from above on stand in the context alone: the breadcrumb must stay
	above       int                  // where these start
	scope       *scope               // the declaration around code
	syms        []*connector.Element // the symbols in it
}

// emitter turns drafts into chunks. It holds the last one back: if it or the next is under min_chars, they are joined
// where that fits.
type emitter struct {
	f       *flow
	w       *window
	pending draft
	held    bool
}

// add takes the next draft.
func (e *emitter) add(w *window, d draft) {
	d.lo, d.hi = trimPiece(w.text, d.lo, d.hi)
	if d.lo == d.hi {
		return
	}
	if e.held && e.w == w && e.join(&d) {
		return
	}
	e.flush()
	e.w, e.pending, e.held = w, d, true
}

// trimPiece is trimSpan for a range that may start inside a line, where blank space is no indentation.
func trimPiece(text string, lo, hi int) (int, int) {
	if lo > 0 && text[lo-1] != '\n' && text[lo-1] != '\r' {
		lo = skipBlank(text, lo, hi)
	}
	return trimSpan(text, lo, hi)
}

// join makes the draft held back and d one, if either is too short for itself.
func (e *emitter) join(d *draft) bool {
	p := &e.pending
	if !e.short(p.lo, p.hi) && !e.short(d.lo, d.hi) || d.lo < p.lo {
		return false
	}
	switch {
	case d.scope != nil || p.scope != nil:
		if !e.w.sameScope(p, d) {
			return false
		}
	case d.extra != nil && d.extra != p.extra && d.first != p.last-1:
		return false
	}
	c := p.crumb.meet(d.crumb)
	if p.pinned && c != p.crumb {
		return false
	}
	if !e.w.m.fits(p.lo, d.hi, e.f.roomBelow(e.w.above(c, p.lo), p.extra)) {
		return false
	}
	p.hi, p.crumb, p.last = d.hi, c, d.last
	p.forced = p.forced || d.forced
	p.syms = append(p.syms, d.syms...)
	return true
}

// short tells whether a range has fewer characters than min_chars.
func (e *emitter) short(lo, hi int) bool {
	n := e.f.b.minChars
	return n > 0 && hi-lo < n*utf8.UTFMax && utf8.RuneCountInString(e.w.text[lo:hi]) < n
}

// flush emits the draft held back.
func (e *emitter) flush() {
	if !e.held {
		return
	}
	e.held = false
	e.w.titles(e.pending.hi)
	e.w.emit(&e.pending)
}

// yield hands a chunk to the consumer.
func (f *flow) emit(c connector.Chunk) {
	if !f.done && !f.yield(c, nil) {
		f.done = true
	}
}

// emit makes a draft a chunk.
func (w *window) emit(d *draft) {
	c := w.above(d.crumb, d.lo)
	text := w.text[d.lo:d.hi]
	line, shown := w.f.breadcrumb(c)
	x := d.extra
	var tokens int
	var unit string
	if (line == "" && x == nil) || w.holds(d, c, text, line) {
		tokens, unit = w.m.tokens(d.lo, d.hi, w.f.roomBelow(c, x))
	} else {
		line, shown, x = w.f.squeeze(c, x, text)
	}
	if d.pinned && c != nil && shown < c.depth {
		w.emit(&draft{lo: d.above, hi: d.headingsEnd(w), crumb: c.parentOf(), first: d.first, last: d.first})
	}
	chunk := connector.Chunk{
		Text:        text,
		Context:     line,
		Spans:       []connector.Span{{Start: w.base + d.lo, End: w.base + d.hi}},
		Headings:    d.crumb.path(),
		ForcedSplit: d.forced,
		Tokens:      tokens,
		TokenUnit:   unit,
	}
	if x != nil {
		chunk.Context += x.text
	}
	chunk.ContextSpans = contextSpans(c, shown, x)
	w.describe(d, &chunk)
	describeSymbols(d, &chunk)
	w.f.emit(chunk)
}

// headingsEnd is where the headings above a pinned draft end.
func (d *draft) headingsEnd(w *window) int {
	_, hi := trimSpan(w.text, d.above, d.lo)
	return hi
}

// holds tells whether the chunk with its context keeps the caps. Text that starts with blank space is counted whole: it
// may join the line end before it.
func (w *window) holds(d *draft, c *crumb, text, line string) bool {
	if !w.m.fits(d.lo, d.hi, w.f.roomBelow(c, d.extra)) {
		return false
	}
	if text[0] > ' ' && text[0] < utf8.RuneSelf || text[0] >= utf8.RuneSelf && !spaceStart(text) {
		return true
	}
	if d.extra != nil {
		line += d.extra.text
	}
	return w.f.b.fitsWhole(line + text)
}

// spaceStart tells whether text starts with blank space outside ASCII.
func spaceStart(text string) bool {
	return skipBlank(text, 0, len(text)) > 0
}

// squeeze finds the context that fits above a text for which the usual one is too long: the breadcrumb is shortened
// first, then left out, then what is repeated is left out.
func (f *flow) squeeze(c *crumb, x *extra, text string) (line string, shown int, kept *extra) {
	repeated := ""
	if x != nil {
		repeated = x.text
	}
	rest := func(repeated string) []int {
		out := f.b.share(breadcrumbShare)
		for k, limit := range f.b.caps {
			used := limit.Counter.Count(text) + 1
			if repeated != "" {
				used += limit.Counter.Count(repeated)
			}
			out[k] = min(out[k], limit.Max-used)
		}
		return out
	}
	if f.lay.prefix && c != nil {
		if line, shown = f.b.breadcrumb(c.path(), rest(repeated)); line != "" && f.b.fitsWhole(line+repeated+text) {
			return line, shown, x
		}
	}
	if x != nil && f.b.fitsWhole(repeated+text) {
		return "", 0, x
	}
	if f.lay.prefix && c != nil && x != nil {
		if line, shown = f.b.breadcrumb(c.path(), rest("")); line != "" && f.b.fitsWhole(line+text) {
			return line, shown, nil
		}
	}
	return "", 0, nil
}

// contextSpans are where a breadcrumb that shows the innermost headings up to c, and x, stand in the text.
func contextSpans(c *crumb, shown int, x *extra) []connector.Span {
	n := shown
	if x != nil {
		n += len(x.spans)
	}
	if n == 0 {
		return nil
	}
	out := make([]connector.Span, n)
	if x != nil {
		n -= len(x.spans)
		copy(out[n:], x.spans)
	}
	for ; c != nil && n > 0; c = c.parent {
		if c.title == "" {
			continue
		}
		n--
		out[n] = c.span
	}
	return out[n:]
}

// describe sets the page and the language of a chunk: those of its first element that is no heading, the language only
// if all its code is in one.
func (w *window) describe(d *draft, chunk *connector.Chunk) {
	code := true
	for i := d.first; i < d.last && i < len(w.els); i++ {
		el := &w.els[i]
		if chunk.Page == 0 {
			chunk.Page = el.Page
		}
		if el.Kind == headingKind {
			continue
		}
		if el.Language == "" || chunk.Language != "" && chunk.Language != el.Language {
			code = false
			continue
		}
		chunk.Language = el.Language
	}
	if !code {
		chunk.Language = ""
	}
}

// titles emits the title chunks of headings that start before hi.
func (w *window) titles(hi int) {
	if !w.f.lay.titles {
		return
	}
	for ; w.titled < len(w.secs) && w.start(w.titled) < hi; w.titled++ {
		s := &w.secs[w.titled]
		el := &w.els[s.first]
		if el.Kind != headingKind {
			continue
		}
		lo, end := trimSpan(w.text, w.at(s.first), w.at(s.first+1))
		if lo == end || !w.m.fits(lo, end, nil) {
			continue
		}
		line, shown := w.f.breadcrumb(s.crumb.parent)
		text := w.text[lo:end]
		if line != "" && !w.f.b.fitsWhole(line+text) {
			line, shown, _ = w.f.squeeze(s.crumb.parent, nil, text)
		}
		w.f.emit(connector.Chunk{
			Text: text, Context: line,
			Spans:        []connector.Span{{Start: w.base + lo, End: w.base + end}},
			ContextSpans: contextSpans(s.crumb.parent, shown, nil),
			Headings:     s.crumb.path(),
			Page:         el.Page,
			Metadata:     map[string]any{"title_chunk": true},
		})
	}
}
