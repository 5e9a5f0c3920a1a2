package tokens

import "math/bits"

// memo remembers where the tokens of short pre-tokens end. It has a fixed size:
// in each set of two, a new piece takes the place of the one used longer ago.
// What it holds changes no result.
type memo [1 << memoBits][2]memoEntry

type memoEntry struct {
	low  uint64 // the first eight bytes of the piece
	high uint64 // the other bytes, the length at lengthAt, the ends at endsAt
}

const (
	memoBits = 13
	memoMax  = 13 // bytes of a piece at most
	lengthAt = (memoMax - 8) * 8
	endsAt   = 48
)

func (m *memoEntry) is(low, high uint64) bool {
	return m.low == low && (m.high^high)<<(64-endsAt) == 0
}

// ends returns a bit for each byte of the pre-token text[p:q] that is the last
// of a token; the piece must have 1 to memoMax bytes.
func (s *search) ends(v *vocab, text string, p, q int) uint16 {
	low, high := memoKey(text, p, q)
	const c, d = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
	set := &s.memo[(low^bits.RotateLeft64(high*c, 32))*d>>(64-memoBits)]
	if !set[0].is(low, high) {
		set[0], set[1] = set[1], set[0]
		if !set[0].is(low, high) {
			set[0] = memoEntry{low, high | s.endsOf(v, text[p:q])<<endsAt}
		}
	}
	return uint16(set[0].high >> endsAt)
}

// endsOf is ends without memory.
func (s *search) endsOf(v *vocab, piece string) uint64 {
	s.stack = s.stack[:0]
	s.encode(v, piece, none, nil)
	var ends uint64
	end := -1
	for _, t := range s.stack {
		end += int(v.length[t])
		ends |= 1 << end
	}
	return ends
}

// memoKey returns what ends finds text[p:q] by.
func memoKey(text string, p, q int) (low, high uint64) {
	n := q - p
	if p+16 <= len(text) {
		low = load64(text, p) &^ (^uint64(0) << (8 * n))
		high = load64(text, p+8) &^ (^uint64(0) << max(8*n-64, 0))
	} else {
		for i := range n {
			if i < 8 {
				low |= uint64(text[p+i]) << (8 * i)
			} else {
				high |= uint64(text[p+i]) << (8 * (i - 8))
			}
		}
	}
	return low, high | uint64(n)<<lengthAt
}

// count returns the number of tokens of the pre-token text[p:q].
func (s *search) count(v *vocab, text string, p, q int) int {
	if q-p <= memoMax {
		return bits.OnesCount16(s.ends(v, text, p, q))
	}
	s.stack = s.stack[:0]
	s.encode(v, text[p:q], none, nil)
	return len(s.stack)
}
