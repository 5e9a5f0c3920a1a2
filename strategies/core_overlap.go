package strategies

import "unicode/utf8"

// withOverlap finds where a chunk starts that repeats the end of the one before, and where it ends then: with the
// overlap counted within the cap. If less new text would end worse than inside a sentence because of it, the overlap is
// shortened, and left out at last: it never makes progress impossible.
func (s *stream) withOverlap(m *measure, c textCut, plain cut, hi int) (from int, got cut) {
	lo := skipBlank(s.text, s.pos, hi)
	if c.sentences > 0 {
		for n := c.sentences; n > 0; n-- {
			if from := s.sentencesBefore(c, lo, n); from < lo {
				if got, ok := m.nextFrom(from, lo, hi, nil, c.cutting); ok && got.level <= max(plain.level, c.good) {
					return from, got
				}
			}
		}
		return s.pos, plain
	}
	for budget := s.b.overlap; budget > 0; budget /= 2 {
		from := m.overlapStart(max(0, lo-8*budget, s.begun+1-s.base), lo, budget, s.kind, c)
		if from >= lo {
			continue
		}
		got, ok := m.nextFrom(from, lo, hi, nil, c.cutting)
		if ok && got.at > lo && got.level <= max(plain.level, c.good) {
			if got.at < hi {
				got = s.keepTail(m, c, from, lo, got, hi)
			}
			return from, got
		}
	}
	return s.pos, plain
}

// keepTail leaves no crumb between a chunk with overlap and the end of the packing: the cut goes back to leave more.
func (s *stream) keepTail(m *measure, c textCut, from, lo int, got cut, hi int) cut {
	least := s.b.minChars
	start, to := trimSpan(s.text, got.at, hi)
	if least == 0 || start == to || to-start >= 4*least || chars(s.text[start:to], least) >= least {
		return got
	}
	stop := to
	for n := 0; n < least && stop > lo; n++ {
		stop = runeFloor(s.text, lo, stop-1)
	}
	at, level := c.seps.last(s.text, lo, lo, stop)
	if level == levelNone {
		at, level = lastWord(s.text, lo, stop), c.seps.word
	}
	if at = c.besideAtom(at, lo, stop); at <= lo {
		return got
	}
	if _, end := trimSpan(s.text, from, at); !m.fits(from, end, nil) {
		return got
	}
	return cut{at: at, level: level}
}

// overlapStart finds the start of whole pieces before lo that are at most budget long. Pieces are what the cut at lo parts, of
// the given kind of separator: paragraphs where a paragraph ends there, sentences inside one, parts of sentences or
// words only where the cut itself had to part these. It is lo if not one is short enough. Nothing before least is looked at.
func (m *measure) overlapStart(least, lo, budget int, kind uint8, c textCut) int {
	_, end := trimSpan(m.text, least, lo)
	if end <= least {
		return lo
	}
	far := least
	for far < end && m.text[far]&0xC0 == 0x80 {
		far++
	}
	if back, ok := m.ruler(0).(rearward); ok {
		far = back.Rearmost(far, end, budget)
	} else if m.size(far, end) > budget {
		near := end
		for near-far > 1 { // the sizes of the ends of a text grow with it
			mid := int(uint(far+near) / 2)
			if m.size(mid, end) > budget {
				far = mid
			} else {
				near = mid
			}
		}
		far = near
		for far < end && m.text[far]&0xC0 == 0x80 {
			far++
		}
	}
	best := lo
	for _, worst := range [...]uint8{min(kind, c.good), min(kind, c.seps.word-1)} {
		at := far
		for {
			p, ok := c.seps.earliest(m.text, at, end, worst)
			if !ok {
				break
			}
			p = skipBlank(m.text, p, lo)
			if p < end && !c.insideAtom(p) && m.size(p, end) <= budget {
				best = min(best, p)
				break
			}
			at = p + 1
		}
		if best < lo && end-best >= (end-far)/2 {
			return best
		}
	}
	if kind < c.seps.word {
		return best
	}
	for p := far; p < min(end, far+64); p++ {
		if p > 0 && m.text[p]&0xC0 != 0x80 && betweenWords(m.text, p) && !c.insideAtom(p) && m.size(p, end) <= budget {
			return min(best, skipBlank(m.text, p, lo))
		}
	}
	return best
}

// betweenWords tells that words written without spaces end and start at p.
func betweenWords(text string, p int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:p])
	after, _ := utf8.DecodeRuneInString(text[p:])
	return wordBoundary(before, after) && !inNumber(text, p)
}

func (c cutting) insideAtom(p int) bool {
	if c.atoms == nil {
		return false
	}
	if _, in := inside(c.atoms.keep, p); in {
		return true
	}
	_, in := inside(c.atoms.big, p)
	return in
}

// sentencesBefore is where the n sentences before lo start, or lo if they are out of sight.
func (s *stream) sentencesBefore(c textCut, lo, n int) int {
	least := max(0, lo-s.lookBehind(), s.begun+1-s.base)
	at := lo
	for ; n > 0; n-- {
		_, end := trimSpan(s.text, least, at)
		if end <= least {
			return at
		}
		p, level := c.seps.last(s.text, least, least, end-1)
		for level == 0 && skipBlank(s.text, p, end) >= end {
			p, level = c.seps.last(s.text, least, least, p-1)
		}
		if level != 0 {
			return at
		}
		at = skipBlank(s.text, p, lo)
		if c.insideAtom(at) {
			return lo
		}
	}
	return at
}
