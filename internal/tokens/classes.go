package tokens

import (
	"math/bits"
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is a set of the character properties that the two pre-tokenisers
// distinguish. A rune of class 0 is "other": punctuation, a symbol, a control
// character, an unassigned code point. A byte that is no part of valid UTF-8
// counts as one rune of class 0.
type class uint8

const (
	up     class = 1 << iota // \p{Lu} \p{Lt} \p{Lm} \p{Lo} \p{M}
	low                      // \p{Ll} \p{Lm} \p{Lo} \p{M}
	letter                   // \p{L}
	num                      // \p{N}
	space                    // \s, the White_Space property
	nl                       // \r or \n; always together with space
)

// notPunct are the classes outside [^\s\p{L}\p{N}].
const notPunct = letter | num | space

// classTable gives the class of every code point: one array for ASCII and a
// two-stage table, whose equal blocks are shared, for the rest.
type classTable struct {
	ascii  [256]class
	index  [(unicode.MaxRune + 1) >> 8]uint16
	blocks [][256]class
}

// sharedClasses builds the table once, from the tables of package unicode.
var sharedClasses = sync.OnceValue(newClassTable)

func newClassTable() *classTable {
	flat := make([]class, len(classTable{}.index)<<8)
	mark := func(c class, tables ...*unicode.RangeTable) {
		for _, t := range tables {
			for _, r := range t.R16 {
				for v := int(r.Lo); v <= int(r.Hi); v += int(r.Stride) {
					flat[v] |= c
				}
			}
			for _, r := range t.R32 {
				for v := int(r.Lo); v <= int(r.Hi); v += int(r.Stride) {
					flat[v] |= c
				}
			}
		}
	}
	mark(letter|up, unicode.Lu, unicode.Lt)
	mark(letter|low, unicode.Ll)
	mark(letter|up|low, unicode.Lm, unicode.Lo)
	mark(up|low, unicode.M)
	mark(num, unicode.N)
	mark(space, unicode.White_Space)
	flat['\r'] |= nl
	flat['\n'] |= nl

	t := new(classTable)
	copy(t.ascii[:utf8.RuneSelf], flat)
	seen := make(map[[256]class]uint16)
	for i := range t.index {
		block := [256]class(flat[i<<8:])
		at, ok := seen[block]
		if !ok {
			at = uint16(len(t.blocks))
			seen[block] = at
			t.blocks = append(t.blocks, block)
		}
		t.index[i] = at
	}
	return t
}

// at returns the class and the length in bytes of the rune at text[p].
func (t *classTable) at(text string, p int) (class, int) {
	if c := text[p]; c < utf8.RuneSelf {
		return t.ascii[c], 1
	}
	return t.wide(text, p)
}

// wide is at for a rune that does not start with an ASCII byte.
func (t *classTable) wide(text string, p int) (class, int) {
	if p+2 < len(text) {
		// Three bytes, no overlong form and no surrogate: most of the world's
		// scripts, without the general decoder.
		a, b, c := text[p], text[p+1]^0x80, text[p+2]^0x80
		if a-0xE1 < 0x0C && b < 0x40 && c < 0x40 {
			high := uint(a&0x0F)<<4 | uint(b)>>2
			return t.blocks[t.index[high]][b<<6|c], 3
		}
	}
	r, size := utf8.DecodeRuneInString(text[p:])
	if r == utf8.RuneError {
		return 0, size
	}
	return t.blocks[t.index[r>>8]][r&0xFF], size
}

// run returns the end of the longest run of runes from p that have a class in
// want.
func (t *classTable) run(text string, p int, want class) int {
	for p < len(text) {
		c := text[p]
		if c < utf8.RuneSelf {
			if t.ascii[c]&want == 0 {
				return p
			}
			p++
			continue
		}
		cl, size := t.wide(text, p)
		if cl&want == 0 {
			return p
		}
		p += size
	}
	return p
}

// Eight bytes in a word.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
	// foldCase makes letters of asciiLetters lower case, noFold does not.
	foldCase = 0x20 * ones
	noFold   = 0
)

// load64 returns text[p:p+8] as one number, the first byte lowest.
func load64(text string, p int) uint64 {
	s := text[p : p+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// asciiLetters returns a place in the run of ASCII letters (a to z; both cases
// with foldCase) from p: its end, or less than eight bytes before the end of
// the text. It compares eight bytes at a time.
func asciiLetters(text string, p int, fold uint64) int {
	for p+8 <= len(text) {
		w := load64(text, p)
		x := w&^highs | fold
		fromA := x + (0x80-'a')*ones // the high bit of a byte: it is 'a' or above
		afterZ := x + (0x80-'z'-1)*ones
		other := (^fromA | afterZ | w) & highs
		if other != 0 {
			return p + bits.TrailingZeros64(other)>>3
		}
		p += 8
	}
	return p
}

// letters returns the end of the run of \p{L} from p.
func (t *classTable) letters(text string, p int) int {
	p = asciiLetters(text, p, foldCase)
	if p < len(text) && (text[p] >= utf8.RuneSelf || p+8 > len(text)) {
		return t.run(text, p, letter)
	}
	return p
}

// runNot returns the end of the longest run of runes from p that have no class
// in stop.
func (t *classTable) runNot(text string, p int, stop class) int {
	for p < len(text) {
		cl, size := t.at(text, p)
		if cl&stop != 0 {
			return p
		}
		p += size
	}
	return p
}
