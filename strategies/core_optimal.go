package strategies

import "unicode/utf8"

// Between two anchors the ends of pieces are chosen together, by a dynamic programme that minimises what the whole way costs: the
// structure that each cut breaks, pieces far from the size aimed at, crumbs, and overlap that found no room. The idea, cost of
// structure instead of first fit, is that of CocoIndex (rust/ops_text/src/split/recursive.rs).
//
// A plan looks at a bounded number of spots, and at no spot together with more than those of one cap before it. So its time
// is linear. It starts at an anchor, or where the plan before it ended, so it does not depend on how the text arrived.

// What ways cost. A piece as far from its aim as the whole cap costs evenScale².
const (
	evenScale = 64
	// priceCrumb is that of a piece shorter than min_chars.
	priceCrumb = 1 << 20
	// priceNoLap is that of a piece with no room for the overlap.
	priceNoLap = 192
	// priceWrap is that of a line end in mid-sentence, which is where a line was full.
	priceWrap = 384
	// priceTitle is that of a cut below a line that goes with what follows: a heading, a label.
	priceTitle = 700
	// pricePlace is spread over places of one kind by the text around them. So a place that was best stays best when text far from it
	// changes.
	pricePlace = 400
	// aimPercent is how full pieces are meant to be.
	aimPercent = 78
	// horizon is how far a plan looks, in bytes for each unit of the cap.
	horizon = 16
	// spotsPerCap bounds how many places for a cut are tried in a piece.
	spotsPerCap = 24
)

// spot is a place where a piece may end and the next one start.
type spot struct {
	at     int   // where the next piece's text starts
	end    int   // where the text before it ends, blank space aside
	level  uint8 // the kind of separator
	forced bool  // it goes through a word
	atSize int   // the size of the text from the start of the plan to at, about
	toSize int   // … and to end
	lap    int   // the size of what a piece that starts here repeats
	price  int   // of a cut here
	best   int   // what the best way to here costs
	from   int   // the spot before it on that way
}

// planner keeps the memory of plans.
type planner struct {
	spots []spot
	cuts  []cut
}

// plan finds the cuts of text[pos:hi). whole says that packing ends at hi; else hi is far enough away for what is planned not to
// depend on the text behind it, and the plan ends at the last place that is sure. It is empty if no way was found.
func (s *stream) plan(m *measure, c textCut, hi int, whole bool) []cut {
	p := &s.planner
	p.spots, p.cuts = p.spots[:0], p.cuts[:0]
	start, _ := trimSpan(s.text, s.pos, hi)
	p.spots = append(p.spots, spot{at: start, end: s.pos})
	s.findSpots(m, c, hi, whole)
	if len(p.spots) < 2 {
		return nil
	}
	s.laps(m, c)
	if !s.search(m) {
		return nil
	}
	last := len(p.spots) - 1
	for k := last; k > 0; k = p.spots[k].from {
		p.cuts = append(p.cuts, cut{at: p.spots[k].at, level: p.spots[k].level, forced: p.spots[k].forced})
	}
	for i, k := 0, len(p.cuts)-1; i < k; i, k = i+1, k-1 {
		p.cuts[i], p.cuts[k] = p.cuts[k], p.cuts[i]
	}
	if !whole { // what lies far from the end of sight would be the same with more of it
		n := 1
		for n < len(p.cuts) && p.cuts[n].at-s.pos <= (hi-s.pos)/2 {
			n++
		}
		p.cuts = p.cuts[:n]
	}
	return p.cuts
}

// findSpots lists where text[pos:hi) may be cut, better kinds of separators first: lower ones only inside what does not fit.
func (s *stream) findSpots(m *measure, c textCut, hi int, whole bool) {
	p := &s.planner
	good := max(c.good, c.seps.firstGood())
	stride := max(1, s.b.caps[0].Max/spotsPerCap)
	text := s.text
	for q := p.spots[0].at; q < hi; q++ {
		if c.seps.first[text[q]] > good {
			continue
		}
		level, at := c.seps.at(text, q, good+1)
		if level > good || at > hi || at >= hi && whole {
			continue
		}
		price := c.seps.prices[level]
		if level == 0 && c.seps.custom == nil && text[q] != '\n' { // a sentence that is as good as a paragraph still is no paragraph
			price = c.seps.prices[c.seps.rank[levelLine]] / 2
		}
		s.addSpot(m, c, at, level, price, stride)
	}
	if whole {
		s.closeGap(m, c, hi)
		p.spots = append(p.spots, s.sized(m, spot{at: hi, end: hi}))
	}
}

// addSpot adds a place for a cut behind the others.
func (s *stream) addSpot(m *measure, c textCut, at int, level uint8, price, stride int) {
	p := &s.planner
	last := &p.spots[len(p.spots)-1]
	if at <= last.at {
		if at == last.at {
			last.level, last.price = min(level, last.level), min(price, last.price)
		}
		return
	}
	if c.insideAtom(at) {
		return
	}
	_, end := trimSpan(s.text, last.at, at)
	if end == last.at { // blank: the cut moves behind it
		if len(p.spots) == 1 {
			return
		}
		last.level, last.price = min(level, last.level), min(price, last.price)
		last.at = at
		last.atSize = last.toSize + m.size(last.end, at)
		return
	}
	if at-last.at < stride && len(p.spots) > 1 && level > last.level {
		return // too near to a better one
	}
	s.closeGap(m, c, end)
	next := spot{at: at, end: end, level: level, price: price}
	last = &p.spots[len(p.spots)-1]
	if level <= c.seps.rank[levelLine] && end-last.at <= 4*titleChars && s.titled(last.at, end) {
		next.price += priceTitle
	}
	if level == c.seps.rank[levelLine] && level > c.seps.rank[levelBlank] && !startsBlock(s.text, at) {
		next.price = priceWrap
	}
	key, _ := keyAround(s.text, at, 0)
	next.price += int(key>>40&1023) * pricePlace / 1024
	next = s.sized(m, next)
	if at-last.at < stride && len(p.spots) > 1 && last.level >= level && len(p.spots) > 2 && last.at-p.spots[len(p.spots)-2].at < stride {
		*last = next
		return
	}
	p.spots = append(p.spots, next)
}

// titled tells that text[lo:hi), which no blank space ends, is a line that goes with what stands below it.
func (s *stream) titled(lo, hi int) bool {
	switch s.text[hi-1] {
	case '.', '!', '?', ';', '"':
		if hi-lo >= s.b.minChars && s.text[lo] != '#' {
			return false
		}
	}
	return s.text[lo] == '#' || s.b.joinsNext(s.text, lo, hi)
}

// sized measures a spot.
func (s *stream) sized(m *measure, x spot) spot {
	last := &s.planner.spots[len(s.planner.spots)-1]
	x.toSize = last.atSize + m.size(last.at, x.end)
	x.atSize = x.toSize
	if x.at > x.end {
		x.atSize += m.size(x.end, x.at)
	}
	return x
}

// closeGap makes places for cuts in the text from the last spot to hi if it does not fit: at lower separators, and through words
// where there are none.
func (s *stream) closeGap(m *measure, c textCut, hi int) {
	p := &s.planner
	last := p.spots[len(p.spots)-1]
	if m.fits(last.at, hi, nil) {
		return
	}
	s.clauses(m, c, last.at, hi)
	for {
		last = p.spots[len(p.spots)-1]
		if m.fits(last.at, hi, nil) {
			return
		}
		if !s.words(m, c, last.at, hi) {
			return
		}
	}
}

// clauses adds the separators between sentences and blank space in text[lo:hi).
func (s *stream) clauses(m *measure, c textCut, lo, hi int) {
	worst := c.seps.rank[levelLatinComma]
	if c.seps.custom != nil {
		if c.seps.word == 0 {
			return
		}
		worst = c.seps.word - 1
	}
	stride := max(1, s.b.caps[0].Max/spotsPerCap)
	for q := lo; q < hi; q++ {
		if c.seps.first[s.text[q]] > worst {
			continue
		}
		level, at := c.seps.at(s.text, q, worst+1)
		if level > worst || at >= hi {
			continue
		}
		s.addLower(m, c, cut{at: at, level: level}, stride, hi)
	}
}

// addLower adds a place for a cut at a lower separator, and closes the gap before it.
func (s *stream) addLower(m *measure, c textCut, got cut, stride, hi int) {
	p := &s.planner
	last := &p.spots[len(p.spots)-1]
	if got.at <= last.at || c.insideAtom(got.at) {
		return
	}
	_, end := trimSpan(s.text, last.at, got.at)
	if end == last.at || got.at-last.at < stride && len(p.spots) > 1 && got.level >= last.level {
		return
	}
	for !m.fits(last.at, end, nil) {
		n := len(p.spots)
		if !s.words(m, c, last.at, end) || len(p.spots) == n {
			break
		}
		last = &p.spots[len(p.spots)-1]
	}
	if got.at > last.at {
		p.spots = append(p.spots, s.sized(m, spot{at: got.at, end: end, level: got.level, price: c.seps.prices[got.level]}))
	}
}

// words adds places between words in the next piece of text[lo:hi), which does not fit, and at worst one inside a word.
func (s *stream) words(m *measure, c textCut, lo, hi int) bool {
	p := &s.planner
	start, end := trimSpan(s.text, lo, hi)
	reach := m.furthest(start, end, nil)
	step := max(1, (reach-start)/16)
	found := false
	for to := start + step; to <= reach; to += step {
		last := &p.spots[len(p.spots)-1]
		from := max(last.at, start)
		stop := skipBlank(s.text, to, hi)
		at, level := c.seps.lastSpace(s.text, from, stop)
		if at <= from {
			if at = lastWord(s.text, from, stop); at <= from {
				continue
			}
			level = c.seps.word
		}
		_, stopAt := trimSpan(s.text, from, at)
		if stopAt <= from || c.insideAtom(at) || !m.fits(lo, stopAt, nil) {
			continue
		}
		p.spots = append(p.spots, s.sized(m, spot{at: at, end: stopAt, level: level, price: c.seps.prices[level]}))
		found = true
	}
	if found {
		return true
	}
	got := m.next(lo, hi, nil, c.cutting)
	if got.at <= lo || got.at >= hi {
		return false
	}
	if n := len(p.spots); got.forced && n > 1 && s.b.crumb(s.text[p.spots[n-2].at:p.spots[n-1].end]) {
		from, to := trimSpan(s.text, p.spots[n-2].at, hi)
		if joined := m.forcedCut(from, to, nil); joined.at > lo { // the word is cut in any case
			p.spots, lo, got = p.spots[:n-1], p.spots[n-2].at, joined
		}
	}
	_, stopAt := trimSpan(s.text, lo, got.at)
	level := got.level
	x := spot{at: got.at, end: stopAt, level: level, forced: got.forced, price: c.seps.prices[c.seps.word]}
	if stopAt == lo {
		x.end = lo
	}
	p.spots = append(p.spots, s.sized(m, x))
	return true
}

// laps finds how much a piece that starts at each spot repeats: pieces of the kind that the cut parts, within the overlap.
func (s *stream) laps(m *measure, c textCut) {
	p := &s.planner
	if c.sentences == 0 && s.b.overlap == 0 {
		return
	}
	first := 0
	if s.pos > 0 && !s.open {
		lo := skipBlank(s.text, s.pos, len(s.text))
		var from int
		if c.sentences > 0 {
			from = s.sentencesBefore(c, lo, c.sentences)
		} else {
			from = m.overlapStart(max(0, lo-8*s.b.overlap, s.begun+1-s.base), lo, s.b.overlap, s.kind, c)
		}
		if from < lo {
			first = m.size(from, lo)
		}
	}
	p.spots[0].lap = first
	for k := 1; k < len(p.spots)-1; k++ {
		x := &p.spots[k]
		if x.forced {
			continue
		}
		worst, n := min(x.level, max(c.good, c.seps.firstGood())), 0
		for i := k - 1; i >= 0; i-- {
			size := x.toSize - p.spots[i].atSize
			if c.sentences == 0 && size > s.b.overlap || n == c.sentences && n > 0 {
				break
			}
			if p.spots[i].level <= worst || i == 0 {
				x.lap = size
				n++
			}
		}
	}
}

// crumb tells that a text is shorter than min_chars.
func (b *budget) crumb(text string) bool {
	return len(text) < b.minChars || len(text) < 4*b.minChars && utf8.RuneCountInString(text) < b.minChars
}

// search finds the best way through the spots. It returns false if there is none.
func (s *stream) search(m *measure) bool {
	p := &s.planner
	most := s.b.caps[0].Max
	aim := most * aimPercent / 100
	band := 0
	if !m.additive {
		band = 4 + most/64
	}
	low := 0
	for j := 1; j < len(p.spots); j++ {
		x := &p.spots[j]
		x.best = -1
		price := x.price
		if j == len(p.spots)-1 {
			price = 0
		}
		for i := j - 1; i >= low; i-- {
			y := &p.spots[i]
			if y.best < 0 {
				continue
			}
			size := x.toSize - y.atSize
			over := size > most-band && (size > most+band || !m.fits(y.at, x.end, nil))
			if over || len(s.b.caps) > 1 && !m.fits(y.at, x.end, nil) {
				low = max(low, min(i+1, j-1)) // a place that alone is too far away is measured again from itself
				break
			}
			cost := y.best + price
			if y.lap > 0 {
				if size+y.lap <= most {
					size += y.lap
				} else {
					cost += priceNoLap
				}
			}
			d := (aim - size) * evenScale / most
			cost += d * d
			if x.end-y.at < 4*s.b.minChars && s.b.crumb(s.text[y.at:x.end]) {
				cost += priceCrumb
			}
			if x.best < 0 || cost < x.best {
				x.best, x.from = cost, i
			}
		}
	}
	return p.spots[len(p.spots)-1].best >= 0
}

// lineEnds tells that the line before the one at p ends something: a sentence does with it, or the one at p starts a list item or the like.
func lineEnds(text string, p int) bool {
	if startsBlock(text, p) {
		return true
	}
	for least := max(0, p-16); p > least; {
		r, n := utf8.DecodeLastRuneInString(text[:p])
		switch {
		case r <= ' ' || r == '"' || r == '\'' || r == ')' || r == '*' || r == '_':
		case r == '.' || r == '!' || r == '?' || r == ':' || r == '。' || r == '！' || r == '？' || r == '：' || r == '…':
			return true
		case !closes(r):
			return false
		}
		p -= n
	}
	return false
}
