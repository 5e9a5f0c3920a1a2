package strategies

// enough tells whether a segment may stand alone: it has the least size, and min_chars.
func (t *stretch) enough(s segment) bool {
	size := 0
	for i := s.from; i < s.to && size < t.p.least; i++ {
		size += t.units[i].size
	}
	if size < t.p.least {
		return false
	}
	lo, hi := t.span(s)
	return atLeast(t.text[lo:hi], t.p.b.minChars)
}

// within tells whether a segment keeps the caps.
func (t *stretch) within(s segment) bool {
	return s.to-s.from == 1 || t.fits(t.units[s.from].lo, t.units[s.to-1].hi)
}

// bounded makes of segments such that keep the caps, and the least size if the caps allow: small ones join a neighbour, and what is too
// large is parted where the distance (from each unit to the next; nil: all alike) is the largest.
func (t *stretch) bounded(segments []segment, distances []float64) []segment {
	var out []segment
	for _, s := range segments {
		for s.from < s.to && !t.within(s) {
			at := t.part(s, distances)
			out = append(out, segment{s.from, at})
			s.from = at
		}
		if s.from < s.to {
			out = append(out, s)
		}
	}
	return t.joined(out)
}

// part is where a segment that is too large ends: at the largest distance between half of what fits and all of it, so that both parts
// have the least size, if that is possible.
func (t *stretch) part(s segment, distances []float64) int {
	fit, size := s.from+1, t.units[s.from].size
	for fit < s.to && t.within(segment{s.from, fit + 1}) {
		size += t.units[fit].size
		fit++
	}
	rest := 0
	for i := fit; i < s.to && rest < t.p.least; i++ {
		rest += t.units[i].size
	}
	best, taken, found := fit, size, false
	for at := fit; at > s.from; at-- {
		if at < fit {
			taken -= t.units[at].size
			rest += t.units[at].size
		}
		if taken < t.p.least || 2*taken < size {
			break
		}
		if rest < t.p.least {
			continue
		}
		if !found || distances != nil && distances[at-1] > distances[best-1] {
			best, found = at, true
		}
	}
	return best
}

// joined joins segments that cannot stand alone with the neighbour that leaves them smaller, where that keeps the caps.
func (t *stretch) joined(segments []segment) []segment {
	var out []segment
	for i := 0; i < len(segments); i++ {
		s := segments[i]
		if t.enough(s) {
			out = append(out, s)
			continue
		}
		n := len(out)
		left := n > 0 && t.whole(out[n-1], s) && t.within(segment{out[n-1].from, s.to})
		right := i+1 < len(segments) && t.whole(s, segments[i+1]) && t.within(segment{s.from, segments[i+1].to})
		switch {
		case left && (!right || t.size(out[n-1]) <= t.size(segments[i+1])):
			out[n-1].to = s.to
		case right:
			segments[i+1].from = s.from
		default:
			out = append(out, s)
		}
	}
	return out
}

// whole tells that no word is cut between two segments: joining would not mend it, and where it is cut must stay marked.
func (t *stretch) whole(a, b segment) bool { return !t.units[a.to-1].cutHi && !t.units[b.from].cutLo }

func (t *stretch) size(s segment) (n int) {
	for i := s.from; i < s.to; i++ {
		n += t.units[i].size
	}
	return n
}
