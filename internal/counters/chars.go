package counters

import (
	"math/bits"

	"github.com/kbsync/kbsync/connector"
)

// Chars counts Unicode code points. Bytes that are no UTF-8 count as the code points that they would start: a stray
// continuation byte counts nothing.
type Chars struct{}

var _ connector.Counter = Chars{}

// Name is "chars".
func (Chars) Name() string { return "chars" }

// Count is the number of code points of text.
func (Chars) Count(text string) int { return count(text, 0, len(text)) }

// Ruler costs nothing: ranges are counted when they are asked for, eight bytes at a time.
func (Chars) Ruler(text string) connector.Ruler { return charsRuler(text) }

type charsRuler string

// Count is the number of code points of text[i:j].
func (r charsRuler) Count(i, j int) int { return count(string(r), i, j) }

// Fits tells whether text[i:j] has at most limit code points.
func (r charsRuler) Fits(i, j, limit int) bool {
	return j-i <= limit || count(string(r), i, j) <= limit
}

// Furthest is the largest j in [i, hi] for which text[i:j] has at most limit code points. It stands at a character's start.
func (r charsRuler) Furthest(i, hi, limit int) int {
	text := string(r)
	if hi-i <= limit {
		return hi
	}
	p := i
	for ; p+8 <= hi; p += 8 {
		n := starts(load(text, p))
		if n > limit {
			break
		}
		limit -= n
	}
	for ; p < hi; p++ {
		if text[p]&0xC0 != 0x80 {
			if limit == 0 {
				return p
			}
			limit--
		}
	}
	return hi
}

// count counts the bytes of text[i:j] that are no continuation bytes.
func count(text string, i, j int) int {
	n := 0
	for ; i+32 <= j; i += 32 {
		n += starts(load(text, i)) + starts(load(text, i+8)) + starts(load(text, i+16)) + starts(load(text, i+24))
	}
	for ; i+8 <= j; i += 8 {
		n += starts(load(text, i))
	}
	for ; i < j; i++ {
		if text[i]&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// starts counts the bytes of w that are no continuation bytes: those whose top bits are not 10.
func starts(w uint64) int {
	const top = 0x8080808080808080
	return 8 - bits.OnesCount64(w&^(w<<1)&top)
}

// load reads eight bytes at p as one word, which the compiler does in one step.
func load(text string, p int) uint64 {
	b := text[p : p+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
