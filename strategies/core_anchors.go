package strategies

import (
	"math/bits"
	"strings"

	"github.com/kbsync/kbsync/internal/sentences"
)

// Where a chunk ends must depend on nearby text alone: else one line more at the top of a long text moves every chunk
// below it. So packing starts afresh at anchors: places whose key, made from the text around them, is the smallest far
// and wide (local-minimum chunking: Bjørner, Blass and Gurevich 2010). The best kind of separator wins over the others.

const (
	// anchorReach is how far around itself an anchor's key is the smallest, in tenths of a chunk's new text. A larger
	// one fills chunks better, a smaller one confines edits more: segments are 2.4 chunks long on average.
	anchorReach = 12
	// anchorBytes is how much text on either side a key is made from.
	anchorBytes = 32
	// blankReach is anchorReach for blank lines in running text: a paragraph's start is a good place, and what is planned together
	// moves together.
	blankReach = 5
	// longLine is the length in bytes from which a line's sentences are candidates too.
	longLine = 400
)

// candidate is a place that might become an anchor.
type candidate struct {
	at  int    // position, with the base of its owner
	x   int    // distance from the start, roughly in the primary unit
	key uint64 // the kind of separator, then a hash
	low bool   // no candidate within reach before it has a smaller key
}

// anchorer finds anchors among candidates that arrive in ascending order.
type anchorer struct {
	reach int
	first int         // there is none before; 0: reach
	queue []candidate // ascending keys: the first is the smallest within reach of the last
	found []int
}

// add takes the next candidate.
func (a *anchorer) add(c candidate) {
	a.advance(c.x)
	c.low = c.x >= max(a.first, a.reach)
	for n := len(a.queue); n > 0 && a.queue[n-1].key >= c.key; n-- {
		if a.queue[n-1].key == c.key {
			c.low = false
		}
		a.queue = a.queue[:n-1]
	}
	if len(a.queue) > 0 {
		c.low = false
	}
	a.queue = append(a.queue, c)
}

// idle tells that a candidate of a kind at p is not worth adding: it can be no anchor, for one of a better kind is within reach
// before it, surely, as no unit is smaller than a byte.
func (a *anchorer) idle(p int, kind uint64) bool {
	for k := range a.queue {
		if q := &a.queue[k]; q.at >= p-a.reach {
			return q.key>>60 < kind
		}
	}
	return false
}

// advance says that no candidate before x is to come: those out of reach are decided.
func (a *anchorer) advance(x int) {
	for len(a.queue) > 0 && a.queue[0].x < x-a.reach {
		if a.queue[0].low {
			a.found = append(a.found, a.queue[0].at)
		}
		a.queue = a.queue[1:]
	}
}

// anchorRadius is the reach of anchors in the primary unit.
func (b *budget) anchorRadius() int { return max(1, (b.caps[0].Max-b.overlap)*anchorReach/10) }

// keyAround orders candidates: by the kind of separator, then by a hash of the text around them. wide is how many of the
// 64 bytes around are beyond ASCII.
func keyAround(text string, p int, kind uint64) (key uint64, wide int) {
	const prime = 0x9E3779B97F4A7C15
	const top = 0x8080808080808080
	h := kind
	lo, hi := max(0, p-anchorBytes), min(len(text), p+anchorBytes)
	for ; lo+8 <= hi; lo += 8 {
		b := text[lo : lo+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		h = (h ^ w) * prime
		h ^= h >> 29
		wide += bits.OnesCount64(w & top)
	}
	for ; lo < hi; lo++ {
		h = (h ^ uint64(text[lo])) * prime
	}
	h ^= h >> 32
	return kind<<60 | h>>4, wide
}

// roughly is about how many units n bytes are, given how many of 64 of them are beyond ASCII. Distances between anchors
// need no better: an English token is about 4 bytes, a Chinese character 3, of 1.2 tokens.
func (b *budget) roughly(n, wide int) int {
	if b.caps[0].Counter.Name() == unitChars {
		return n * (96 - wide) / 96
	}
	return n * (128 + wide) / 512
}

// longest is how far the end of a sentence is looked for; a longer one has no candidate inside.
const longest = 4096

// lineScan walks a text that arrives in parts and finds the candidates in it: starts of lines, those after a blank
// line being the better kind, and starts of sentences in long lines. What it finds does not depend on the parts.
type lineScan struct {
	pos  int
	long bool // pos is inside a long line
}

// scan goes on from pos. Unless final, it stops before what the text behind could change.
func (l *lineScan) scan(text string, final bool, yield func(p int, kind uint64)) {
	limit := len(text)
	if !final {
		limit -= 4 * anchorBytes
	}
	for l.pos < limit {
		n := strings.IndexByte(text[l.pos:], '\n')
		end := l.pos + n + 1
		if n < 0 {
			end = len(text)
		}
		if l.long = l.long || end-l.pos >= longLine; l.long && !l.sentences(text, end, limit, final, yield) {
			return
		}
		if n < 0 {
			if final {
				l.pos = limit
			}
			return
		}
		kind := uint64(1)
		for end < len(text) && text[end] <= ' ' {
			blank := blankLine(text, end)
			if blank == 0 {
				break
			}
			end, kind = blank, 0
		}
		if end >= limit {
			return
		}
		yield(end, kind)
		l.pos, l.long = end, false
	}
}

// sentences yields the starts of sentences in the line that ends at end. It returns false if more text is needed first.
func (l *lineScan) sentences(text string, end, limit int, final bool, yield func(p int, kind uint64)) bool {
	for l.pos < end {
		far := min(end, l.pos+longest)
		if !final && far+4*anchorBytes > len(text) {
			return false
		}
		next := sentences.Next(text[:min(end, far+4*anchorBytes)], l.pos)
		if next < end && next <= far {
			yield(next, 2)
		}
		l.pos = min(next, far)
	}
	l.pos = end - 1 // at the line end
	return true
}
