package strategies

import (
	"github.com/kbsync/kbsync/connector"
)

// group is a run of sections that share a chunk: secs[i:j), its text starting at element from.
type group struct{ i, j, from int }

// siblings cuts secs[i:j), which share a parent. The text of the first starts at element from, which is before its
// heading where empty sections above lead into it. With own, the first is the parent itself without its children.
func (w *window) siblings(i, j, from int, own bool) {
	var g group
	for i < j && !w.f.done {
		e := i + 1
		if !own {
			e = w.subtree(i, j)
		}
		own = false
		if w.joinable(i, e, from) {
			if g.j > g.i && w.extends(g, e) {
				g.j = e
			} else {
				w.addGroup(g)
				g = group{i, e, from}
			}
		} else {
			w.addGroup(g)
			g = group{}
			w.divide(i, e, from)
		}
		if i = e; i < len(w.secs) {
			from = w.secs[i].first
		}
	}
	w.addGroup(g)
}

// subtree is the end of the subtree of section i: the next section of its level or above, at most j. What comes before
// the first heading has no subtree.
func (w *window) subtree(i, j int) int {
	s := &w.secs[i]
	e := i + 1
	if s.crumb == nil || w.els[s.first].Kind != connector.KindHeading {
		return e
	}
	for e < j && w.secs[e].level > s.level {
		e++
	}
	return e
}

// joinable tells whether secs[i:e) can be one chunk.
func (w *window) joinable(i, e, from int) bool {
	if w.f.lay.headingOut && (e-i > 1 || !w.secs[i].body) {
		return false
	}
	hi := w.start(e)
	return w.fits(w.bodyStart(i, from), hi, w.above(w.common(i, e), w.bodyStart(i, from)))
}

// extends tells whether the group may grow up to section e.
func (w *window) extends(g group, e int) bool {
	if w.f.lay.headingOut {
		return false
	}
	lo := w.at(g.from)
	return !w.anchor(w.start(g.j)) && w.fits(lo, w.start(e), w.above(w.common(g.i, e), lo))
}

// divide cuts secs[i:e), a subtree that is too large for one chunk.
func (w *window) divide(i, e, from int) {
	switch {
	case e-i == 1:
		w.cutSection(i, from)
	case w.secs[i].body:
		w.siblings(i, e, from, true)
	default:
		w.siblings(i+1, e, from, false)
	}
}

// addGroup makes a chunk of a group.
func (w *window) addGroup(g group) {
	if g.i == g.j {
		return
	}
	lo := w.bodyStart(g.i, g.from)
	w.f.out.add(w, draft{
		lo: lo, hi: w.start(g.j), crumb: w.common(g.i, g.j), first: g.from, last: w.endElement(g.j),
		pinned: lo > w.at(g.from), above: w.at(g.from),
	})
}

// endElement is the element at which section k starts; k may be the number of sections.
func (w *window) endElement(k int) int {
	if k >= len(w.secs) {
		return len(w.els)
	}
	return w.secs[k].first
}

// bodyStart is where the content of section k starts: at element from, or below the heading where headings stay out of
// the content and the breadcrumb names them in full.
func (w *window) bodyStart(k, from int) int {
	s := &w.secs[k]
	if !w.f.lay.headingOut || !s.body || s.crumb == nil || w.els[s.first].Kind != connector.KindHeading || !w.f.complete(s.crumb) {
		return w.at(from)
	}
	return w.at(s.first + 1)
}

// common is the innermost heading that all of secs[i:e) stand below. Empty sections above the next one do not count.
func (w *window) common(i, e int) *crumb {
	var c *crumb
	for k, some := i, false; k < e; k++ {
		s := &w.secs[k]
		if !s.body && k+1 < e && s.crumb != nil && w.secs[k+1].crumb.parentOf() == s.crumb {
			continue
		}
		if !some {
			c, some = s.crumb, true
			continue
		}
		c = c.meet(s.crumb)
	}
	return c
}

// above is the innermost heading at or above c that stands before lo: the breadcrumb of a chunk names no heading that
// its content shows.
func (w *window) above(c *crumb, lo int) *crumb {
	for c != nil && c.span.Start >= w.base+lo {
		c = c.parent
	}
	return c
}

// cutSection cuts the body of one section that does not fit.
func (w *window) cutSection(k, from int) {
	s := &w.secs[k]
	above := -1
	if w.bodyStart(k, from) > w.at(s.first) {
		above, from = w.at(from), s.first+1
	}
	w.pack(w.parts(from, s.end, s.crumb), s.crumb, above)
}
