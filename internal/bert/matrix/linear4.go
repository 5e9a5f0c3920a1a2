package matrix

import "math"

const (
	// limit8 is the largest quantised activation, zero8 what stands for 0: the kernels multiply unsigned with signed bytes.
	limit8 = 127
	zero8  = 128
)

// linear4 has 4-bit weights, each in a byte. Per panel and block of 32 inputs there are
//   - eight groups of four inputs: 16 output channels of four bytes each;
//   - what the 16-bit sums start with: -zero8 times the sum of the weights that the sum meets, two per output channel, so that
//     the sums are those of signed activations. They fit 16 bits whatever the activations (32·8·127/2), and additions
//     that wrap on the way there wrap back;
//   - the scales of 16 output channels.
type linear4 struct {
	shape
	w     []int8
	start []int16
	scale []float32
}

func pack4(s shape, weights []Weight) *linear4 {
	n, blocks := PadCols(s.n), s.k/block
	l := &linear4{shape: s, w: make([]int8, n*s.k), start: make([]int16, n*blocks*2), scale: make([]float32, n*blocks)}
	eachRow(weights, func(i int, w Weight, r int) {
		for b := range blocks {
			// Blocks of this panel, of one channel's value each.
			at := (i/panel*blocks + b) * panel
			l.scale[at+i%panel] = w.Scale[r*blocks+b]
			for j, q := range w.I8[r*s.k+b*block : r*s.k+(b+1)*block] {
				l.w[at*block+j/4*4*panel+i%panel*4+j%4] = q
				l.start[2*(at+i%panel)+j%4/2] -= zero8 * int16(q)
			}
		}
	})
	return l
}

func (l *linear4) Bytes() int { return len(l.w) + 2*len(l.start) + 4*len(l.scale) }

func (l *linear4) Apply(e Engine, dst []float32, dstStride int, x []float32, xStride, rows int, s *Scratch) {
	if rows == 0 {
		return
	}
	tiles, blocks := PadRows(rows), l.k/block
	q, scale := grow(&s.u8, tiles*l.k), grow(&s.scale, tiles*blocks)
	for r := range rows {
		e.quantise8(q[r*l.k:(r+1)*l.k], scale[r*blocks:(r+1)*blocks], x[r*xStride:r*xStride+l.k])
	}
	_ = dst[(tiles-1)*dstStride+PadCols(l.n)-1]
	for p := 0; p < l.n; p += panel {
		at := p * blocks
		w, start, sw := l.w[at*block:], l.start[2*at:], l.scale[at:]
		bias := l.bias[p : p+panel]
		if e == AVX2 {
			tile4AVX2(&dst[p], dstStride, &q[0], l.k, &scale[0], &w[0], &start[0], &sw[0], blocks, &bias[0], (rows+rows4-1)/rows4)
			continue
		}
		for r := 0; r < rows; r += rows4 {
			c, a, sa := dst[r*dstStride+p:], q[r*l.k:(r+rows4)*l.k], scale[r*blocks:(r+rows4)*blocks]
			if e == NEON {
				tile4NEON(&c[0], dstStride, &a[0], l.k, &sa[0], &w[0], &sw[0], blocks, &bias[0])
			} else {
				tile4(c, dstStride, a, l.k, sa, w, start, sw, blocks, min(rows-r, rows4), bias)
			}
		}
	}
}

// tile4 is the twin of the assembly. Its sums are the same integers, without the detour over 16 bits.
func tile4(c []float32, cStride int, a []uint8, aStride int, sa []float32, w []int8, start []int16, sw []float32, blocks, rows int, bias []float32) {
	for r := range rows {
		out := c[r*cStride : r*cStride+panel]
		copy(out, bias)
		for b := range blocks {
			var sum [panel]int16
			for j := range sum {
				sum[j] = start[2*(b*panel+j)] + start[2*(b*panel+j)+1]
			}
			x := a[r*aStride+b*block : r*aStride+(b+1)*block]
			for g := 0; g < block; g += 4 {
				from := (*[4 * panel]int8)(w[(b*block+g)*panel:])
				x0, x1, x2, x3 := int16(x[g]), int16(x[g+1]), int16(x[g+2]), int16(x[g+3])
				for j := range sum {
					sum[j] += x0*int16(from[4*j]) + x1*int16(from[4*j+1]) + x2*int16(from[4*j+2]) + x3*int16(from[4*j+3])
				}
			}
			for j, v := range sum {
				out[j] += float32(v) * sw[b*panel+j] * sa[r*blocks+b]
			}
		}
	}
}

// quantise8 writes zero8 plus the integers nearest to x/scale, with a scale per block for which the largest has the size limit8.
func (e Engine) quantise8(dst []uint8, scale, x []float32) {
	if e == AVX2 {
		quantise8AVX2(&dst[0], &scale[0], &x[0], len(x)/block)
		return
	}
	for b := range scale {
		from, to := x[b*block:(b+1)*block], dst[b*block:(b+1)*block]
		top := maxAbs(from)
		scale[b] = top * (1. / limit8)
		f := float32(0)
		if top >= tiny {
			f = limit8 / top
		}
		for i, v := range from {
			to[i] = uint8(zero8 + int(math.RoundToEven(float64(v*f))))
		}
	}
}

// tiny is the largest value of a block that is taken for zeros, so that its inverse is finite.
const tiny = 1e-30
