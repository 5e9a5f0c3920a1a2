package strategies

import (
	"slices"
	"sort"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sentences"
)

// stretch is a stretch of a document that is divided at once.
type stretch struct {
	p        *stretches
	text     string
	base     int // where it starts in the parsed text
	m        *measure
	reach    *measure // by the model's cap; nil where there is none
	atoms    atomSet
	headings []connector.Span
	trail    []trailMark
	units    []grain // they tile the text
}

// grain is a unit: what is never parted: a sentence, a small piece, an atom. One that is too long for a chunk is several.
type grain struct {
	lo, hi       int
	size         int  // in the primary unit
	cutLo, cutHi bool // its start, its end goes through a word
}

// fits tells whether the trimmed range keeps the caps.
func (t *stretch) fits(lo, hi int) bool {
	lo, hi = trimSpan(t.text, lo, hi)
	return lo == hi || t.m.fits(lo, hi, nil)
}

// fitting sorts what is to be kept together: the outermost spans that fit are kept whole, and atoms that do not fit are noted. The start of one
// that began before the text is below 0.
func (t *stretch) fitting(atoms, whole []connector.Span) {
	type candidate struct {
		connector.Span
		atom, begun bool
	}
	all := make([]candidate, 0, len(atoms)+len(whole))
	for i, list := range [][]connector.Span{atoms, whole} {
		for _, s := range list {
			all = append(all, candidate{connector.Span{Start: s.Start - t.base, End: s.End - t.base}, i == 0, s.Start < t.base})
		}
	}
	sort.SliceStable(all, func(i, k int) bool {
		if all[i].Start != all[k].Start {
			return all[i].Start < all[k].Start
		}
		return all[i].End > all[k].End
	})
	end := 0
	for _, c := range all {
		switch {
		case c.End <= end: // inside one that is kept
		case !c.begun && c.Start >= end && t.fits(c.Start, min(c.End, len(t.text))):
			t.atoms.keep = append(t.atoms.keep, c.Span)
			end = c.End
		case c.atom:
			t.atoms.big = append(t.atoms.big, c.Span)
		}
	}
}

// split makes the units. open says that the text before ended inside a word.
func (t *stretch) split(open bool) {
	c := cutting{seps: t.p.seps, fill: minFill, atoms: &t.atoms}
	k := 0
	for lo := 0; lo < len(t.text); {
		for k < len(t.atoms.keep) && t.atoms.keep[k].End <= lo {
			k++
		}
		end, atom := len(t.text), false
		if k < len(t.atoms.keep) {
			if a := t.atoms.keep[k]; a.Start <= lo {
				end, atom = min(a.End, end), true
			} else {
				end = a.Start
			}
		}
		hi := end
		if !atom {
			if hi = sentences.Next(t.text[:end], lo); hi <= lo {
				hi = end
			}
		}
		if t.fits(lo, hi) {
			t.add(grain{lo: lo, hi: hi, cutLo: open})
			open = false
		} else {
			open = t.cutLong(lo, hi, c, open)
		}
		lo = hi
	}
	if t.p.piece != nil {
		t.pieces(c)
	}
	t.glueHeadings()
	for i := range t.units {
		lo, hi := trimSpan(t.text, t.units[i].lo, t.units[i].hi)
		t.units[i].size = t.m.size(lo, hi)
	}
}

// add appends a unit; blank text belongs to the unit before it, or to the first one.
func (t *stretch) add(u grain) {
	n := len(t.units)
	lo, hi := trimSpan(t.text, u.lo, u.hi)
	switch {
	case lo == hi && n > 0:
		t.units[n-1].hi = u.hi
		return
	case n == 1 && t.blank(t.units[0]):
		if t.fits(t.units[0].lo, u.hi) { // else an indentation that does not fit
			u.lo = t.units[0].lo
		}
		t.units = t.units[:0]
	}
	t.units = append(t.units, u)
}

func (t *stretch) blank(u grain) bool {
	lo, hi := trimSpan(t.text, u.lo, u.hi)
	return lo == hi
}

// cutLong adds the parts of text[lo:hi), which is too long for a chunk.
func (t *stretch) cutLong(lo, hi int, c cutting, open bool) bool {
	for lo < hi {
		got := t.m.next(lo, hi, nil, c)
		t.add(grain{lo: lo, hi: got.at, cutLo: open, cutHi: got.forced})
		lo, open = got.at, got.forced
	}
	return open
}

// pieces packs the units into pieces, and parts those at clauses that are longer than one.
func (t *stretch) pieces(c cutting) {
	small := t.p.piece.measure(t.text)
	fits := func(lo, hi int) bool {
		lo, hi = trimSpan(t.text, lo, hi)
		return lo == hi || small.fits(lo, hi, nil)
	}
	whole := t.units
	t.units = nil
	for _, u := range whole {
		if n := len(t.units); n > 0 && !t.units[n-1].cutHi && !u.cutLo && fits(t.units[n-1].lo, u.hi) {
			t.units[n-1].hi, t.units[n-1].cutHi = u.hi, u.cutHi
			continue
		}
		if t.holdsAtom(u) || fits(u.lo, u.hi) {
			t.units = append(t.units, u)
			continue
		}
		for lo, from := u.lo, u.lo; lo < u.hi; { // a blank start belongs to the first part
			got := small.next(lo, u.hi, nil, c)
			if got.forced || got.level == levelNone { // a word that is longer than a piece stays whole
				got.at = t.wordEnd(max(lo+1, got.at), u.hi)
			}
			part := grain{lo: from, hi: got.at, cutLo: u.cutLo && from == u.lo, cutHi: u.cutHi && got.at == u.hi}
			switch lo = got.at; {
			case !t.blank(part):
				t.units = append(t.units, part)
				from = lo
			case from > u.lo:
				t.units[len(t.units)-1].hi = lo
				from = lo
			}
		}
	}
}

// holdsAtom tells that a unit is an atom that is kept whole.
func (t *stretch) holdsAtom(u grain) bool {
	k := sort.Search(len(t.atoms.keep), func(k int) bool { return t.atoms.keep[k].End > u.lo })
	return k < len(t.atoms.keep) && t.atoms.keep[k].Start < u.hi
}

// wordEnd is the first place behind p where blank space ends a word, at most hi.
func (t *stretch) wordEnd(p, hi int) int {
	for ; p < hi; p++ {
		if asciiSpace(t.text[p-1]) && !asciiSpace(t.text[p]) && !markAt(t.text, p) {
			return p
		}
	}
	return hi
}

// glueHeadings makes a heading and the unit below it one, if they fit a chunk.
func (t *stretch) glueHeadings() {
	if len(t.headings) == 0 {
		return
	}
	out := t.units[:0]
	glue := false
	for _, u := range t.units {
		if n := len(out); glue && t.fits(out[n-1].lo, u.hi) {
			out[n-1].hi, out[n-1].cutHi = u.hi, u.cutHi
		} else {
			out = append(out, u)
		}
		glue = !u.cutHi && t.isHeading(u)
	}
	t.units = out
}

func (t *stretch) isHeading(u grain) bool {
	lo, hi := trimSpan(t.text, u.lo, u.hi)
	k := sort.Search(len(t.headings), func(k int) bool { return t.headings[k].End >= hi })
	return k < len(t.headings) && t.headings[k].Start <= lo
}

// window is unit i with those around it, as many of buffer on either side as the model takes.
func (t *stretch) window(i, buffer int) string {
	for ; ; buffer-- {
		from, to := max(0, i-buffer), min(len(t.units)-1, i+buffer)
		lo, hi := trimSpan(t.text, t.units[from].lo, t.units[to].hi)
		if buffer == 0 || t.reach == nil || t.reach.fits(lo, hi, nil) {
			return t.text[lo:hi]
		}
	}
}

// span is the trimmed range of a segment.
func (t *stretch) span(s segment) (lo, hi int) {
	return trimSpan(t.text, t.units[s.from].lo, t.units[s.to-1].hi)
}

// emit makes a segment a chunk, with the overlap that fits of the units from before on.
func (t *stretch) emit(s segment, before int, yield func(connector.Chunk, error) bool) bool {
	lo, hi := t.span(s)
	if lo == hi {
		return true
	}
	fresh := lo
	for from, most := s.from, t.p.b.overlap; from > before && most > 0; from-- {
		at, end := t.span(segment{from - 1, s.from})
		if at >= lo || t.m.size(at, end) > most || !t.m.fits(at, hi, nil) {
			break
		}
		s.from, lo = from-1, at
	}
	c := connector.Chunk{Text: t.text[lo:hi], Spans: []connector.Span{{Start: t.base + lo, End: t.base + hi}}}
	c.Tokens, c.TokenUnit = t.m.tokens(lo, hi, nil)
	c.ForcedSplit = t.units[s.from].cutLo || t.units[s.to-1].cutHi || t.cutsBig(lo) || t.cutsBig(hi)
	k := sort.Search(len(t.trail), func(k int) bool { return t.trail[k].at > t.base+fresh }) - 1
	if k >= 0 {
		c.Page = t.trail[k].page
		c.Headings = slices.DeleteFunc(slices.Clone(t.trail[k].headings), func(title string) bool { return title == "" })
	}
	return yield(c, nil)
}

// cutsBig tells that p parts the text of an atom that does not fit.
func (t *stretch) cutsBig(p int) bool {
	const most = 4096 // atoms nest, but not so deep
	k := sort.Search(len(t.atoms.big), func(k int) bool { return t.atoms.big[k].Start >= p }) - 1
	for n := 0; k >= 0 && n < most; k, n = k-1, n+1 {
		a := t.atoms.big[k]
		if stop := min(a.End, len(t.text)); p < stop && (a.Start < 0 || skipBlank(t.text, a.Start, p) < p) && skipBlank(t.text, p, stop) < stop {
			return true
		}
	}
	return false
}
