package wordpieces

import (
	"sort"

	"github.com/kbsync/kbsync/connector"
)

// splitter is a tokenizer that cuts words on their own.
type splitter interface {
	connector.Counter
	Specials() int
	// pieces counts the pieces of a text without special tokens.
	pieces(text string) int
	// starts calls begin for each word before which the text can be cut: where it begins, with the white space before it, and how
	// many pieces there are before.
	starts(text string, begin func(at, pieces int))
}

// ruler knows where the words of a text begin. A range is then measured by its two ends: only what lies between a word's beginning and
// another's is the same in every range.
type ruler struct {
	s      splitter
	text   string
	at     []int // where words begin
	before []int // the pieces before them
	// What stands before every range: a text of head pieces, and its last word tail, which a range may go on with.
	head int
	tail string
}

func newRuler(s splitter, text string) *ruler {
	r := &ruler{s: s, text: text}
	s.starts(text, func(at, pieces int) {
		r.at, r.before = append(r.at, at), append(r.before, pieces)
	})
	return r
}

// Count implements [connector.Ruler].
func (r *ruler) Count(i, j int) int {
	// The first word's beginning after i may follow half a character, which is another one than in the whole text; the second does not.
	p := sort.SearchInts(r.at, i) + 1
	q := sort.SearchInts(r.at, j+1) - 1
	if p >= q {
		return r.head + r.s.pieces(r.tail+r.text[i:j]) + r.s.Specials()
	}
	return r.head + r.s.pieces(r.tail+r.text[i:r.at[p]]) + r.before[q] - r.before[p] + r.s.pieces(r.text[r.at[q]:j]) + r.s.Specials()
}

// Fits tells whether Count(i, j) <= limit. What is far too long is not cut into pieces for that.
func (r *ruler) Fits(i, j, limit int) bool {
	p := sort.SearchInts(r.at, i) + 1
	q := sort.SearchInts(r.at, j+1) - 1
	if p < q && r.head+r.before[q]-r.before[p]+r.s.Specials() > limit {
		return false
	}
	return r.Count(i, j) <= limit
}

// Furthest is a position j in [i, hi] for which Count(i, j) <= limit, i if none was found: behind all whole words that fit, and in the
// word after them about the largest.
func (r *ruler) Furthest(i, hi, limit int) int {
	p := sort.SearchInts(r.at, i) + 1
	q := sort.SearchInts(r.at, hi+1) - 1
	count := func(j int) int { return r.Count(i, j) }
	if p >= q {
		return furthest(i, hi, limit, count)
	}
	base := r.Count(i, r.at[p]) - r.before[p]
	if base+r.before[p] > limit {
		return furthest(i, r.at[p], limit, count)
	}
	q = p + sort.Search(q-p, func(n int) bool { return base+r.before[p+1+n] > limit })
	from := r.at[q]
	if q+1 < len(r.at) {
		hi = min(hi, r.at[q+1])
	}
	return furthest(from, hi, limit-base-r.before[q], func(j int) int { return r.s.pieces(r.text[from:j]) })
}

// furthest doubles its stride and then bisects, so that the cost depends on the answer and not on hi.
func furthest(i, hi, limit int, count func(j int) int) int {
	lo, step := i, max(2*limit, 16)
	for lo+step < hi && count(lo+step) <= limit {
		lo += step
		step *= 2
	}
	over := min(lo+step, hi)
	if over == hi && count(hi) <= limit {
		return hi
	}
	for over-lo > 1 {
		mid := int(uint(lo+over) / 2)
		if count(mid) <= limit {
			lo = mid
		} else {
			over = mid
		}
	}
	return lo
}
