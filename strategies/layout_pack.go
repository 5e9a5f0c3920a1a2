package strategies

import (
	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sentences"
)

// pack makes chunks of the parts of a section. What a title leads into stays with it: at the cost of the breadcrumb, or cut so that its
// first sentences fit below the title.
func (l *layoutFlow) pack(w *window, parts []part, c *crumb) {
	var ready []part
	p := packer{w: w, c: c, parts: parts}
	for i := 0; i < len(parts) && !w.f.done; i++ {
		s := i
		for i+1 < len(parts) && parts[i].glue {
			i++
		}
		if s == i || parts[i].glue || !l.leads(w, parts[s]) || p.fits(s, i+1) {
			ready = append(ready, parts[s:i+1]...)
			continue
		}
		if lo, hi := trimSpan(w.text, parts[s].lo, parts[i].hi); w.m.fits(lo, hi, nil) {
			l.fill(w, ready, c)
			ready = nil
			w.f.out.add(w, draft{lo: lo, hi: hi, crumb: c, forced: parts[i].cutHi, first: parts[s].el, last: parts[i].el + 1})
			continue
		}
		ready = append(ready, parts[s:i]...)
		if more := l.firstOf(w, parts[s].lo, parts[i], c); len(more) > 1 {
			ready = append(ready, more...)
		} else {
			ready = append(ready, parts[i])
		}
	}
	l.fill(w, ready, c)
}

// leads tells the parts that make no sense without what follows them: titles, and captions of tables.
func (l *layoutFlow) leads(w *window, p part) bool {
	return w.els[p.el].Kind == connector.KindHeading || w.captionOf(p.el) == p.el+1
}

// fill makes chunks of parts of which none needs special care.
func (l *layoutFlow) fill(w *window, parts []part, c *crumb) {
	if len(parts) > 0 && !w.f.done {
		l.soften(w, parts, c)
		w.pack(parts, c, -1)
	}
}

// rowsOf cuts a table that would fit by itself between its rows, so that some of them stand with the title and the caption above.
func (l *layoutFlow) rowsOf(w *window, p part, c *crumb) []part {
	t := w.els[p.el].Table
	k := &cutter{w: w, c: c, room: w.f.room(c), el: p.el}
	var again *extra
	if t.HeaderText != "" {
		again = k.newExtra(t.HeaderText, trimmedSpan(t.HeaderText, t.HeaderSpan))
	}
	room := k.extraRoom(again)
	lo := p.lo
	k.header(t, &lo, p.hi, room)
	k.extra = again
	for i := range t.Rows {
		if lo >= p.hi { // the part is a piece of the table
			break
		}
		end := p.hi
		if i+1 < len(t.Rows) {
			end = min(max(t.Rows[i+1].Span.Start-w.base, lo), p.hi)
		}
		k.row(lo, end, room)
		lo = end
	}
	if len(k.parts) == 0 {
		return nil
	}
	k.parts[0].cutLo = k.parts[0].cutLo || p.cutLo
	k.parts[0].fresh = p.fresh
	last := &k.parts[len(k.parts)-1]
	last.cutHi, last.glue = last.cutHi || p.cutHi, p.glue
	return k.parts
}

// firstOf cuts a part of text or a table so that its first piece fits below the titles from lo on; nil where that cannot be.
func (l *layoutFlow) firstOf(w *window, lo int, p part, c *crumb) []part {
	el := &w.els[p.el]
	if isTable(el) && p.lo == w.at(p.el) && p.extra == nil {
		return l.rowsOf(w, p, c)
	}
	if isAtom(el) || keepsTogether(el) || isTable(el) || el.Kind == connector.KindHeading || len(el.Children) > 0 { // children may be atoms
		return nil
	}
	above := w.f.room(w.above(c, lo))
	room := make([]int, len(l.s.b.caps))
	for k, limit := range l.s.b.caps {
		room[k] = w.m.limit(k, above) - w.m.ruler(k).Count(lo, p.lo) - 1
		if room[k] < limit.Max/4 {
			return nil
		}
	}
	k := &cutter{w: w, c: c, room: room, el: p.el, extra: p.extra}
	text := w.text[:p.hi]
	at := p.lo
	for at < p.hi {
		next := sentences.Next(text, at)
		if next <= at {
			next = p.hi
		}
		if !k.fits(p.lo, next, room) {
			break
		}
		at = next
	}
	if at > p.lo {
		k.add(p.lo, at)
	} else {
		at = max(sentences.Next(text, at), p.lo)
		k.split(p.lo, at, room)
	}
	if at < p.hi {
		k.add(at, p.hi)
	}
	k.parts[0].cutLo = p.cutLo
	k.parts[0].fresh = p.fresh
	last := &k.parts[len(k.parts)-1]
	last.cutHi, last.glue = last.cutHi || p.cutHi, p.glue
	return k.parts
}
