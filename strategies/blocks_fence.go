package strategies

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// code adds the declarations of a code block, or its lines where these are not known, each group of them to be opened again by the fence's first
// line.
func (k *cutter) code(el *connector.Element, lo, hi int) {
	first := len(k.parts)
	open, fence := fenceLine(k.w.text[lo:hi])
	var again *extra
	if fence {
		again = k.newExtra(open+"\n", connector.Span{Start: k.w.base + lo, End: k.w.base + lo + len(open)})
	}
	if len(el.Children) > 0 {
		d := &fencedCode{k: k, code: &coder{w: k.w}, again: again, opened: fence, below: map[*extra]*extra{}}
		d.block(el, lo, hi)
	} else {
		k.codeLines(lo, hi, again, fence)
	}
	k.parts[first].extra = nil
	k.parts[first].fresh = true
	k.freshHeading(first)
}

// codeLines adds groups of lines below again.
func (k *cutter) codeLines(lo, hi int, again *extra, fence bool) {
	first := len(k.parts)
	room := k.extraRoom(again)
	pieces := k.w.m.splitLines(lo, hi, room)
	if n := len(pieces); fence && n > 1 {
		k.joinClosing(pieces, room)
	}
	for _, p := range pieces {
		part := k.add(p.Start, p.End)
		part.cutLo, part.cutHi = p.forcedLo, p.forcedHi
	}
	for i := first; i < len(k.parts); i++ {
		k.parts[i].extra = again
	}
}

// joinClosing moves the line before the closing fence to it, lest that line of marks be a chunk of its own.
func (k *cutter) joinClosing(pieces []linePiece, room []int) {
	last, prev := &pieces[len(pieces)-1], &pieces[len(pieces)-2]
	if t := strings.TrimSpace(k.w.text[last.Start:last.End]); strings.Trim(t, "`~") != "" {
		return
	}
	at := strings.LastIndexByte(strings.TrimRight(k.w.text[prev.Start:prev.End], "\r\n"), '\n')
	if at >= 0 && !prev.forcedLo && !prev.forcedHi && k.fits(prev.Start+at+1, last.End, room) {
		prev.End = prev.Start + at + 1
		last.Start = prev.End
	}
}

// fencedCode cuts a code block between the declarations in it, as [Code] cuts a file.
type fencedCode struct {
	k      *cutter
	code   *coder
	again  *extra            // the first line of the fence; nil where there is none
	opened bool              // the block starts with a fence
	below  map[*extra]*extra // the declarations around code, below the first line of the fence
	fresh  bool              // the next part starts a chunk: it has other declarations around it
}

// block adds the parts of a code block. The line that opens the fence stays with what follows it, the one that closes it with what precedes it.
func (d *fencedCode) block(el *connector.Element, lo, hi int) {
	regions := d.code.members(&region{lo: lo, hi: hi, top: d.k.el, el: el})
	if n := len(regions); n > 2 && regions[n-1].el == nil {
		if p := &regions[n-2]; d.k.fits(p.lo, hi, d.k.extraRoom(d.again)) {
			p.hi = hi
			regions = regions[:n-1]
		}
	}
	if d.opened && len(regions) > 1 && regions[0].el == nil && d.k.fits(regions[0].lo, regions[0].hi, d.k.room) {
		d.k.add(regions[0].lo, regions[0].hi).glue = true
		regions = regions[1:]
	}
	d.add(regions, nil)
}

// add adds regions that stand in sc, each whole below the richest context that leaves room for it, or cut.
func (d *fencedCode) add(regions []region, sc *scope) {
	for _, r := range d.code.expand(regions) {
		in := sc.of(r.lo)
		x, ok := d.context(in, r.lo, r.hi)
		if ok {
			d.part(r.lo, r.hi, x)
			continue
		}
		if r.el == nil || isStatement(r.el) {
			d.lines(&r, in)
			continue
		}
		inner := newScope(in, &r, d.k.w)
		d.fresh = true
		if members := d.code.members(&r); len(members) > 1 && inner.depth <= maxScopes {
			d.add(members, inner)
		} else {
			d.lines(&r, inner)
		}
		d.fresh = true
	}
}

// part adds text[lo:hi) as a part below x.
func (d *fencedCode) part(lo, hi int, x *extra) *part {
	p := d.k.add(lo, hi)
	p.extra = x
	if d.fresh {
		p.fresh, d.fresh = true, false
		d.k.freshHeading(len(d.k.parts) - 1)
	}
	return p
}

// lines adds a region between lines, the first piece below the fence's line alone, as it holds the region's own header.
func (d *fencedCode) lines(r *region, below *scope) {
	x := d.again
	if all := below.contexts(d.code); len(all) > 0 {
		x = d.join(all[0])
	}
	for _, p := range d.k.w.m.splitLines(r.lo, r.hi, d.k.extraRoom(x)) {
		own := x
		if below != nil && p.Start < below.headEnd {
			own, _ = d.context(below.of(p.Start), p.Start, p.End)
		}
		part := d.part(p.Start, p.End, own)
		part.cutLo, part.cutHi = p.forcedLo, p.forcedHi
	}
}

// context is the richest context below which a range fits, the line of the fence the least of them.
func (d *fencedCode) context(sc *scope, lo, hi int) (x *extra, ok bool) {
	for _, c := range sc.contexts(d.code) {
		if x := d.join(c); d.k.fits(lo, hi, d.k.extraRoom(x)) {
			return x, true
		}
	}
	return d.again, d.k.fits(lo, hi, d.k.extraRoom(d.again))
}

// join is c below the line of the fence.
func (d *fencedCode) join(c *extra) *extra {
	if d.again == nil {
		return c
	}
	x, ok := d.below[c]
	if !ok {
		x = &extra{text: d.again.text + c.text, spans: append(d.again.spans[:1:1], c.spans...)}
		d.below[c] = x
	}
	return x
}

// fenceLine is the first line of a code block if it opens a fence.
func fenceLine(text string) (line string, ok bool) {
	line = text
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		line = text[:i]
	}
	line = strings.TrimRight(line, " \t")
	t := strings.TrimLeft(line, " ")
	return line, strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~")
}
