package keywords

import "math/bits"

// unit is one in the fixed-point numbers of this package.
const unit = 1 << 10

// log2 is the binary logarithm of x, which is at least 1, in units, rounded down: digit by digit, by squaring (Knuth, The Art of Computer
// Programming 1.2.2, exercise 25).
func log2(x uint64) int64 {
	if x == 0 {
		return 0
	}
	n := bits.Len64(x) - 1
	y := x << (63 - n) // in [1, 2), with 63 digits behind the point
	out := int64(n)
	for bit := 1; bit < unit; bit <<= 1 {
		hi, lo := bits.Mul64(y, y) // in [1, 4), with 126
		out <<= 1
		if hi>>63 == 1 {
			out |= 1
			y = hi
		} else {
			y = hi<<1 | lo>>63
		}
	}
	return out
}
