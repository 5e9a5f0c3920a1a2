package counters

import (
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
	for ; p+32 <= hi; p += 32 {
		n := starts32(text[p : p+32])
		if n > limit {
			break
		}
		limit -= n
	}
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

// Rearmost is the smallest i in [lo, j] for which text[i:j] has at most limit code points. It stands at a character's start.
func (r charsRuler) Rearmost(lo, j, limit int) int {
	text := string(r)
	p := j
	for ; p-32 >= lo; p -= 32 {
		n := starts32(text[p-32 : p])
		if n > limit {
			break
		}
		limit -= n
	}
	for ; p-8 >= lo; p -= 8 {
		n := starts(load(text, p-8))
		if n > limit {
			break
		}
		limit -= n
	}
	at := p // the smallest start of a character that fits so far
	for at < j && text[at]&0xC0 == 0x80 {
		at++
	}
	for p > lo && limit >= 0 {
		p--
		if text[p]&0xC0 == 0x80 {
			continue
		}
		if limit--; limit >= 0 {
			at = p
		}
	}
	return at
}

const (
	ones = 0x0101010101010101
	top  = 0x80 * ones
)

// count counts the bytes of text[i:j] that are no continuation bytes.
func count(text string, i, j int) int {
	n := j - i
	for i+32 <= j {
		// Sum the continuation bytes lane by lane; a lane holds 255.
		var lanes uint64
		for end := min(j, i+60*32); i+32 <= end; i += 32 {
			b := text[i : i+32]
			lanes += tails(load(b, 0)) + tails(load(b, 8)) + tails(load(b, 16)) + tails(load(b, 24))
		}
		const pairs = 0x00FF00FF00FF00FF
		lanes = lanes&pairs + lanes>>8&pairs
		n -= int(lanes * 0x0001000100010001 >> 48)
	}
	for ; i+8 <= j; i += 8 {
		n += starts(load(text, i)) - 8
	}
	for ; i < j; i++ {
		if text[i]&0xC0 == 0x80 {
			n--
		}
	}
	return n
}

// tails has a one in every lane whose byte is a continuation byte: its top bits are 10.
func tails(w uint64) uint64 { return w &^ (w << 1) & top >> 7 }

// starts32 is starts for 32 bytes.
func starts32(b string) int {
	w0, w1, w2, w3 := load(b, 0), load(b, 8), load(b, 16), load(b, 24)
	if (w0|w1|w2|w3)&top == 0 {
		return 32
	}
	return 32 - int((tails(w0)+tails(w1)+tails(w2)+tails(w3))*ones>>56)
}

// starts counts the bytes of w that are no continuation bytes.
func starts(w uint64) int {
	return 8 - int(tails(w)*ones>>56)
}

// load reads eight bytes at p as one word, which the compiler does in one step.
func load(text string, p int) uint64 {
	b := text[p : p+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
