package strategies

import (
	"regexp"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// layoutFlow cuts one document by title.
type layoutFlow struct {
	s *layoutStrategy
	f *flow
	w *window // the one that is being cut
}

// add takes the next element.
func (l *layoutFlow) add(el connector.Element) {
	if f := l.f; len(f.els) > 0 {
		size := f.size()
		if size >= windowLimit || size >= windowLimit/2 && el.Kind == connector.KindHeading && f.els[len(f.els)-1].Kind != connector.KindHeading {
			l.cut(false)
		}
	}
	l.f.els = append(l.f.els, el)
}

// cut cuts what was gathered.
func (l *layoutFlow) cut(final bool) {
	f := l.f
	if len(f.els) == 0 {
		return
	}
	w := f.window()
	l.w = w
	if final && !f.begun && w.wholeFits() && !l.over(w, 0, len(w.text)) && (l.s.c.Multipage || onePage(w.els)) {
		w.whole()
	} else {
		l.sections(w)
	}
	f.out.flush()
	f.begun = true
	clear(f.els)
	f.els = f.els[:0]
}

// sections groups small sections and cuts the others. Titles without text lead into the section below them.
func (l *layoutFlow) sections(w *window) {
	var g group
	for i := 0; i < len(w.secs) && !w.f.done; {
		e := i + 1
		for e < len(w.secs) && !w.secs[e-1].body {
			e++
		}
		switch simple := l.simple(w, i, e); {
		case simple && g.j > g.i && l.joins(w, g, e):
			g.j = e
		case simple:
			w.addGroup(g)
			g = group{i, e, w.secs[i].first}
		default:
			w.addGroup(g)
			g = group{}
			l.section(w, i, e)
		}
		i = e
	}
	w.addGroup(g)
}

// simple tells whether secs[i:e) may share one chunk.
func (l *layoutFlow) simple(w *window, i, e int) bool {
	lo, hi := w.start(i), w.start(e)
	if !w.fits(lo, hi, w.above(w.common(i, e), lo)) || l.over(w, lo, hi) {
		return false
	}
	first, last := w.secs[i].first, w.endElement(e)
	body := 0 // elements that are neither titles nor captions
	table := false
	for k := first; k < last; k++ {
		el := &w.els[k]
		if el.Kind == connector.KindHeading || strings.TrimSpace(el.Text) == "" || w.captionOf(k) != k {
			continue
		}
		body++
		table = table || isTable(el)
	}
	return (!table || body == 1) && (l.s.c.Multipage || onePage(w.els[first:last]))
}

// joins tells whether the group may grow up to section e.
func (l *layoutFlow) joins(w *window, g group, e int) bool {
	lo, end := w.at(g.from), w.start(g.j)
	last := w.endElement(e)
	switch {
	case l.size(w, lo, end) >= l.s.under, w.anchor(end), hasTable(w.els[g.from:last]):
		return false
	case !l.s.c.Multipage && !onePage(w.els[g.from:last]):
		return false
	}
	return w.fits(lo, w.start(e), w.above(w.common(g.i, e), lo))
}

func (l *layoutFlow) size(w *window, lo, hi int) int {
	lo, hi = trimSpan(w.text, lo, hi)
	return w.m.size(lo, hi)
}

// over tells whether a range is longer than a chunk should become.
func (l *layoutFlow) over(w *window, lo, hi int) bool {
	return l.s.soft < l.s.b.caps[0].Max && l.size(w, lo, hi) > l.s.soft
}

func isTable(el *connector.Element) bool {
	return el.Kind == connector.KindTable && el.Table != nil && len(el.Table.Rows) > 0
}

func hasTable(els []connector.Element) bool {
	for i := range els {
		if isTable(&els[i]) {
			return true
		}
	}
	return false
}

// onePage tells that all elements stand on one page.
func onePage(els []connector.Element) bool {
	page := 0
	for i := range els {
		if p := els[i].Page; p > 0 {
			if page > 0 && p != page || els[i].PageEnd > p {
				return false
			}
			page = p
		}
	}
	return true
}

// section cuts secs[i:e) by blocks.
func (l *layoutFlow) section(w *window, i, e int) {
	c := w.secs[e-1].crumb
	parts := w.parts(w.secs[i].first, w.secs[e-1].end, c)
	l.mark(w, parts)
	l.pack(w, parts, c)
}

// mark says which parts stay together and where chunks start: at tables and behind them, and at the pages' starts where
// sections end with their page.
func (l *layoutFlow) mark(w *window, parts []part) {
	for i := 0; i+1 < len(parts); i++ {
		at, next := parts[i].el, parts[i+1].el
		if at == next {
			continue
		}
		switch {
		case w.captionOf(at) == next, w.captionOf(next) == at,
			w.els[at].Kind == connector.KindItem && w.els[next].Kind == connector.KindItem:
			parts[i].glue = true
		case l.parted(&w.els[at], &w.els[next]):
			parts[i+1].fresh = true
		}
	}
	for i := len(parts) - 1; i > 0; i-- {
		if parts[i].fresh && parts[i-1].glue && !l.inList(w, parts, i) {
			parts[i].fresh, parts[i-1].fresh = false, true
		}
	}
}

// inList tells that part i goes on with a list of the part before.
func (l *layoutFlow) inList(w *window, parts []part, i int) bool {
	return w.els[parts[i-1].el].Kind == connector.KindItem && w.els[parts[i].el].Kind == connector.KindItem
}

// parted tells whether a chunk ends between two elements that follow each other.
func (l *layoutFlow) parted(a, b *connector.Element) bool {
	switch {
	case a.Kind == connector.KindHeading:
		return false
	case isTable(a) && isTable(b):
		return a.Table.ID != b.Table.ID
	case isTable(a) || isTable(b):
		return true
	}
	// What goes over pages itself stands alone.
	return !l.s.c.Multipage && a.Page > 0 && b.Page > 0 && (a.Page != b.Page || a.PageEnd > a.Page || b.PageEnd > b.Page)
}

// soften starts a chunk where the one before has reached its size.
func (l *layoutFlow) soften(w *window, parts []part, c *crumb) {
	if l.s.soft >= l.s.b.caps[0].Max || len(parts) < 2 {
		return
	}
	p := &packer{w: w, c: c, parts: parts}
	restart := w.restarts(parts)
	for s, j := 0, 1; j < len(parts); j++ {
		switch {
		case parts[j].fresh, restart[j], !p.fits(s, j+1):
			s = j
		case !parts[j-1].glue && l.size(w, parts[s].lo, parts[j-1].hi) >= l.s.soft:
			parts[j].fresh = true
			s = j
		}
	}
}

// captionText is how captions start, in several languages. A number must follow.
var captionText = regexp.MustCompile(`^\W{0,4}(?i:(fig(?:ure|\.)?|abb(?:ildung|\.)|chart|图表|图|圖|図|photo|image|scheme|plate|algorithm|listing)|(tab(?:le|elle|\.)|表格|表))\s{0,2}([0-9０-９]|[A-Z]?[.\-]?[0-9]|[IVX]+\b|[一二三四五六七八九十])`)

// maxCaption is the length in bytes up to which a paragraph may be a caption.
const maxCaption = 600

// captionOf is the element that element i is the caption of; i itself if it is none. A table's caption stands above it, a figure's
// below it, if there is the choice.
func (w *window) captionOf(i int) int {
	el := &w.els[i]
	if el.Kind != connector.KindText || len(el.Text) > maxCaption {
		return i
	}
	g := captionText.FindStringSubmatch(strings.TrimSpace(el.Text))
	if g == nil {
		return i
	}
	near := [2]int{i - 1, i + 1}
	if g[2] != "" {
		near = [2]int{i + 1, i - 1}
	}
	for _, table := range []bool{g[2] != "", g[2] == ""} {
		for _, k := range near {
			if k >= 0 && k < len(w.els) && (table && isTable(&w.els[k]) || !table && w.els[k].Kind == connector.KindImage) {
				return k
			}
		}
	}
	return i
}
