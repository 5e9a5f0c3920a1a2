package tokens

import "math/bits"

// bitset marks places in a text, one bit for each byte and one for its end.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, n>>6+2) }

func (b bitset) has(p int) bool { return b[p>>6]>>(p&63)&1 != 0 }

func (b bitset) set(p int) { b[p>>6] |= 1 << (p & 63) }

// or sets p+k for each bit k of mask.
func (b bitset) or(p int, mask uint16) {
	b[p>>6] |= uint64(mask) << (p & 63)
	b[p>>6+1] |= uint64(mask) >> (64 - p&63)
}

// floor returns the largest place marked that is at most p, or low if there is
// none above low.
func (b bitset) floor(p, low int) int {
	if p <= low {
		return low
	}
	w := p >> 6
	at := b[w] << (63 - p&63)
	for at == 0 && w > low>>6 {
		w--
		p = w<<6 + 63
		at = b[w]
	}
	if at == 0 {
		return low
	}
	return max(p-bits.LeadingZeros64(at), low)
}

// ceil returns the smallest place marked that is at least p, or high if there
// is none below high.
func (b bitset) ceil(p, high int) int {
	if p >= high {
		return high
	}
	w := p >> 6
	at := b[w] >> (p & 63)
	for at == 0 && w < high>>6 {
		w++
		p = w << 6
		at = b[w]
	}
	if at == 0 {
		return high
	}
	return min(p+bits.TrailingZeros64(at), high)
}
