package strategies

// pack fills chunks with parts in order, as many as fit, and starts afresh at anchors and where a part asks for it. The
// headings between above and the first part stand in its context alone; above is -1 where there are none.
func (w *window) pack(parts []part, c *crumb, above int) {
	p := &packer{w: w, c: c, parts: parts, restart: w.restarts(parts)}
	if above >= 0 {
		p.pinned, p.above = true, above
	}
	for i := 0; i < len(parts) && !w.f.done; {
		i = p.chunk(i)
	}
}

type packer struct {
	w       *window
	c       *crumb
	parts   []part
	restart []bool
	last    int  // where the chunk before started: no overlap repeats it whole
	pinned  bool // the next chunk's context stands for the headings from above on
	above   int
}

// chunk makes the chunk whose new text starts at part i, and returns where the next one starts.
func (p *packer) chunk(i int) int {
	s := p.overlap(i)
	j := p.fill(s, i)
	for s < i && j == i { // the overlap leaves no room for anything new
		s++
		j = p.fill(s, i)
	}
	if j == i {
		j = i + 1
	}
	j = p.backOff(i, j)
	if p.headings(i, j) && j < len(p.parts) && p.context(i, j) {
		p.pinned, p.above = true, p.parts[i].lo
		return j
	}
	first, last := &p.parts[s], &p.parts[j-1]
	p.w.f.out.add(p.w, draft{
		lo: first.lo, hi: last.hi, crumb: p.c, extra: first.extra, forced: first.cutLo || last.cutHi,
		first: first.el, last: last.el + 1, pinned: p.pinned, above: p.above,
	})
	p.pinned, p.last = false, s
	return j
}

// fits tells whether parts[s:j) fit one chunk.
func (p *packer) fits(s, j int) bool {
	lo, hi := trimSpan(p.w.text, p.parts[s].lo, p.parts[j-1].hi)
	return lo == hi || p.w.m.fits(lo, hi, p.w.f.roomBelow(p.w.above(p.c, lo), p.parts[s].extra))
}

// fill is the end of the longest run of parts that starts at s, holds i and more, and fits. It is i if not even part i
// fits.
func (p *packer) fill(s, i int) int {
	j := i
	for j < len(p.parts) && (j == i || !p.parts[j].fresh && !p.restart[j]) && p.fits(s, j+1) {
		j++
	}
	return j
}

// overlap is the first part of those repeated before part i: whole parts of the same section, no headings, nothing
// across a fresh start.
func (p *packer) overlap(i int) int {
	if p.w.f.b.overlap == 0 || i == 0 || p.parts[i].fresh {
		return i
	}
	s := i
	for s-1 > p.last && !p.parts[s-1].glue {
		lo, hi := trimSpan(p.w.text, p.parts[s-1].lo, p.parts[i-1].hi)
		if p.w.m.size(lo, hi) > p.w.f.b.overlap {
			break
		}
		s--
		if p.parts[s].fresh {
			break
		}
	}
	return s
}

// backOff moves headings at the end of a chunk to the next one, unless there is nothing else.
func (p *packer) backOff(i, j int) int {
	if j == len(p.parts) {
		return j
	}
	for k := j; k > i; k-- {
		if !p.parts[k-1].glue {
			return k
		}
	}
	return j
}

// headings tells whether parts[i:j) are headings alone.
func (p *packer) headings(i, j int) bool {
	for ; i < j; i++ {
		if !p.parts[i].glue || p.w.els[p.parts[i].el].Kind != headingKind {
			return false
		}
	}
	return true
}

// context tells whether the headings parts[i:j) may stand in the context of the next chunk instead of being one of
// their own: the breadcrumb names them all in full and leaves room for part j.
func (p *packer) context(i, j int) bool {
	if !p.w.f.complete(p.c) {
		return false
	}
	for k := i; k < j; k++ {
		span, c := p.w.els[p.parts[k].el].Span, p.c
		for c != nil && (c.title == "" || c.span.Start < span.Start || c.span.Start >= span.End) {
			c = c.parent
		}
		if c == nil {
			return false
		}
	}
	lo, hi := trimSpan(p.w.text, p.parts[j].lo, p.parts[j].hi)
	return lo < hi && p.w.m.fits(lo, hi, p.w.f.roomBelow(p.c, p.parts[j].extra))
}

// restarts tells at which parts packing starts afresh, so that an edit far above moves nothing below. Starts of blocks
// win over those of rows, lines and sentences.
func (w *window) restarts(parts []part) []bool {
	out := make([]bool, len(parts))
	a := anchorer{reach: w.f.b.anchorRadius()}
	x, wide := 0, 0
	for i := 1; i < len(parts); i++ {
		kind := uint64(0)
		if parts[i].el == parts[i-1].el {
			kind = 1
		}
		c := candidate{at: i}
		c.key, wide = keyAround(w.text, parts[i].lo, kind)
		x += w.f.b.roughly(parts[i].lo-parts[i-1].lo, wide)
		if c.x = x; !parts[i-1].glue && !parts[i].cutLo {
			a.add(c)
		}
	}
	if n := len(parts); n > 0 {
		a.advance(x + w.f.b.roughly(parts[n-1].hi-parts[n-1].lo, wide))
	}
	for _, i := range a.found {
		out[i] = true
	}
	return out
}

// anchor tells whether packing of small sections starts afresh at a section's start. Outer headings win over inner ones.
func (w *window) anchor(at int) bool {
	if w.starts == nil {
		w.starts = map[int]bool{}
		a := anchorer{reach: w.f.b.anchorRadius()}
		x, last, wide := 0, 0, 0
		for k := range w.secs {
			c := candidate{at: w.start(k)}
			c.key, wide = keyAround(w.text, c.at, uint64(min(w.secs[k].level, 15)))
			x += w.f.b.roughly(c.at-last, wide)
			last, c.x = c.at, x
			a.add(c)
		}
		a.advance(x + w.f.b.roughly(len(w.text)-last, wide))
		for _, p := range a.found {
			w.starts[p] = true
		}
	}
	return w.starts[at]
}
