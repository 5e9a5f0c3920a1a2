package features

import "math/bits"

// Bag counts units, and forgets those that leave: a window that slides over a text. Its sums are whole numbers, so what it says depends on
// what it holds and not on how it came by it. The zero Bag is empty; it is for one goroutine.
type Bag struct {
	counts                                  map[uint64]int32
	n, terms, numbers, story, wide, foreign int
	sum                                     int64 // of count·log2(count), in parts of 1<<logBits
}

// Add puts a unit in.
func (b *Bag) Add(u Unit) {
	if b.counts == nil {
		b.counts = map[uint64]int32{}
	}
	c := b.counts[u.Hash]
	b.counts[u.Hash] = c + 1
	b.sum += xlogx(int64(c)+1) - xlogx(int64(c))
	b.tally(u, 1)
}

// Remove takes a unit out that was put in.
func (b *Bag) Remove(u Unit) {
	c := b.counts[u.Hash]
	b.sum += xlogx(int64(c)-1) - xlogx(int64(c))
	if c <= 1 {
		delete(b.counts, u.Hash)
	} else {
		b.counts[u.Hash] = c - 1
	}
	b.tally(u, -1)
}

func (b *Bag) tally(u Unit, d int) {
	b.n += d
	switch {
	case u.Class&Term != 0:
		b.terms += d
	case u.Class&Number != 0:
		b.numbers += d
	case u.Class&Story != 0:
		b.story += d
	}
	switch {
	case u.Class&Ideograph != 0:
		b.wide += d
	case u.Class&(Term|Number) == 0:
		b.foreign += d
	}
}

// Size is the number of units.
func (b *Bag) Size() int { return b.n }

// Terms is the share of units that look technical. In a text of ideographs a word in letters does, unless there are half as many.
func (b *Bag) Terms() float64 {
	if b.wide > 2*b.foreign {
		return share(b.terms+b.foreign, b.n)
	}
	return share(b.terms, b.n)
}

// Numbers is the share of units that are numbers.
func (b *Bag) Numbers() float64 { return share(b.numbers, b.n) }

// Narration is the share of units that tell a story.
func (b *Bag) Narration() float64 { return share(b.story, b.n) }

// Chinese is the share of units that are ideographs.
func (b *Bag) Chinese() float64 { return share(b.wide, b.n) }

// Entropy of the units in bits a unit (Shannon 1948): log2(n) - Σ c·log2(c) / n.
func (b *Bag) Entropy() float64 {
	if b.n < 2 {
		return 0
	}
	bits := max(0, xlogx(int64(b.n))-b.sum) / int64(b.n)
	return round(float64(bits) / (1 << logBits))
}

// TypeToken is Herdan's C: log(types)/log(tokens); 1 if no unit comes twice.
func (b *Bag) TypeToken() float64 {
	if b.n < 2 {
		return 0
	}
	return round(float64(log2(uint64(len(b.counts)))) / float64(log2(uint64(b.n))))
}

// logBits are the binary places of a logarithm.
const logBits = 16

// xlogx is n·log2(n) in parts of 1<<logBits, the logarithm as whole numbers compute it: on every machine the same.
func xlogx(n int64) int64 {
	if n < 2 {
		return 0
	}
	return n * log2(uint64(n))
}

// log2 is the logarithm of n > 0 in parts of 1<<logBits, bit by bit: squaring the mantissa doubles its logarithm.
func log2(n uint64) int64 {
	whole := bits.Len64(n) - 1
	x := n << (63 - whole) >> 32 // 1.31 fixed point
	out := int64(whole) << logBits
	for bit := int64(1) << (logBits - 1); bit > 0; bit >>= 1 {
		if x = x * x >> 31; x >= 1<<32 {
			x >>= 1
			out |= bit
		}
	}
	return out
}
