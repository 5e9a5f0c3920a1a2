package tokens

import (
	"sort"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// cutLonger is the length in bytes from which Furthest cuts a pre-token rather
// than to leave it whole to the next range: a word, or a clause in a script
// without spaces, is shorter.
const cutLonger = 64

// Furthest returns how far a range from i can go, at most to hi, within max
// tokens: a place j with Count(i, j) <= max. It is hi if all fits; else the
// last end of a pre-token that fits, if a grapheme cluster ends there too; or,
// where none does, the next pre-token is longer than 64 bytes or the first one
// does not fit, the last end of a grapheme cluster that fits. It is i if there
// is none.
//
// Counts do not always grow with the range. "Last" means that the next place
// of its kind does not fit; one further on still may.
func (r *Ruler) Furthest(i, hi, max int) int {
	s := r.e.search()
	defer r.e.done(s)
	return r.furthest(s, i, hi, max)
}

func (r *Ruler) furthest(s *search, i, hi, max int) int {
	if i >= hi || max <= 0 {
		return i
	}
	// Look no further than about twice the tokens of the text, and on where
	// fewer are needed: a range far over max costs its length to count.
	for far := i; ; {
		if far = r.place(r.rank(far) + 2*max + cutLonger); far >= hi {
			if r.fits(s, i, hi, max) {
				return hi
			}
			break
		}
		if !r.fits(s, i, far, max) {
			hi = far
			break
		}
	}
	// Look no further than the longest tokens could go.
	fit, over := r.bracket(s, i, min(hi, i+max*r.e.vocab.most+1), max)
	whole := true // no cluster goes over the end of the last pre-token that fits
	for fit > i && !r.clusterStart(i, fit) {
		whole = false
		if fit = r.pre.floor(fit-1, i); !r.fits(s, i, fit, max) {
			fit = i
		}
	}
	if fit > i && whole && over-fit <= cutLonger {
		return fit
	}
	return r.cut(s, i, fit, over, max)
}

// bracket returns the last start of a pre-token within max tokens from i, or
// i, and the next one, or hi, which does not fit.
func (r *Ruler) bracket(s *search, i, hi, max int) (fit, over int) {
	fit, over = i, hi
	at := r.place(r.rank(i) + max)
	for try := 0; ; try++ {
		if try > 8 {
			at = fit + (over-fit)/2
		}
		b := r.pre.floor(min(at, over-1), fit)
		if b == fit {
			if b = r.pre.ceil(fit+1, over); b == over {
				return fit, over
			}
		}
		n := r.count(s, i, b, b-i)
		if n <= max {
			fit = b
		} else {
			over = b
		}
		at = r.place(r.rank(b) + max - n)
	}
}

// cut returns the last end of a grapheme cluster within max tokens from i,
// from fit, which fits and ends one, to over, which does not fit. It measures
// with a ruler of its own: from the start of that, every count is cheap.
func (r *Ruler) cut(s *search, i, fit, over, max int) int {
	room := max - r.count(s, i, fit, fit-i)
	for reach := 4 * cutLonger; ; reach *= 4 {
		limit := min(over, r.place(r.rank(fit)+room)+reach)
		ends := r.clusterEnds(fit, limit, over)
		near := r.e.Ruler(r.text[i:limit])
		n := sort.Search(len(ends), func(k int) bool { return !near.fits(s, 0, ends[k]-i, max) })
		switch {
		case n == len(ends) && limit < over:
			// All fit: look further.
		case n == 0:
			return fit
		default:
			return ends[n-1]
		}
	}
}

// clusterEnds returns the ends of the grapheme clusters of text[from:to] that
// are ends in text[from:over] too.
func (r *Ruler) clusterEnds(from, to, over int) []int {
	var ends []int
	it := graphemes.FromString(r.text[from:over])
	for it.Next() {
		end := from + it.End()
		if end > to || end == over {
			break
		}
		ends = append(ends, end)
	}
	return ends
}

// clusterStart says whether a grapheme cluster starts at p in text[i:].
func (r *Ruler) clusterStart(i, p int) bool {
	if p == len(r.text) || r.text[p] < utf8.RuneSelf && r.text[p] != '\n' {
		return true
	}
	from := max(i, p-cutLonger)
	for from > i && !utf8.RuneStart(r.text[from]) {
		from--
	}
	it := graphemes.FromString(r.text[from:])
	for it.Next() {
		if end := from + it.End(); end >= p {
			return end == p
		}
	}
	return false
}
