package strategies

import "unicode/utf8"

// withOverlap finds where a chunk of text[pos:at) starts that repeats the end of the one before, with the overlap counted within the
// cap. Where not all of it fits it is shortened, and left out at last.
func (s *stream) withOverlap(m *measure, c textCut, at int) int {
	if c.sentences == 0 && s.b.overlap == 0 {
		return s.pos
	}
	lo := skipBlank(s.text, s.pos, at)
	_, end := trimSpan(s.text, s.pos, at)
	if lo >= end {
		return s.pos
	}
	for n := c.sentences; n > 0; n-- {
		if from := s.sentencesBefore(c, lo, n); from < lo && m.fits(from, end, nil) {
			return from
		}
	}
	if c.sentences > 0 {
		return s.pos
	}
	for budget := s.b.overlap; budget > 0; budget /= 2 {
		from := m.overlapStart(max(0, lo-8*budget, s.begun+1-s.base), lo, budget, s.kind, c)
		if from < lo && m.fits(from, end, nil) {
			return from
		}
	}
	return s.pos
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
