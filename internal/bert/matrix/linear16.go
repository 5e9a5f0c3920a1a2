package matrix

import "math"

// group16 is what the input width is rounded up to: kernels take four pairs at a time.
const group16 = 8

// linear16 has 16-bit weights: per panel and pair of inputs, 16 output channels of a pair each.
type linear16 struct {
	shape
	kPad  int
	w     []int16
	scale []float32
	// limit is the largest activation: |limit · weight| summed over all inputs stays within 32 bits.
	limit float32
}

func pack16(s shape, weights []Weight, wmax float64) *linear16 {
	kPad := roundUp(s.k, group16)
	l := &linear16{shape: s, kPad: kPad, w: make([]int16, PadCols(s.n)*kPad), scale: make([]float32, PadCols(s.n))}
	l.limit = float32(math.Floor(min(math.MaxInt16, math.MaxInt32/(float64(s.k)*wmax))))
	row := make([]float32, s.k)
	eachRow(weights, func(i int, w Weight, r int) {
		at := l.w[i/panel*panel*kPad+2*(i%panel):]
		if w.perRow() {
			l.scale[i] = w.Scale[r]
			for j, q := range w.I8[r*s.k : (r+1)*s.k] {
				at[j/2*2*panel+j%2] = int16(q)
			}
			return
		}
		w.Row(row, r)
		top := maxAbs(row)
		if top == 0 {
			return
		}
		l.scale[i] = top / float32(wmax)
		for j, v := range row {
			at[j/2*2*panel+j%2] = int16(math.RoundToEven(float64(v) / float64(top) * wmax))
		}
	})
	return l
}

func (l *linear16) Bytes() int { return 2*len(l.w) + 4*len(l.scale) }

func (l *linear16) Apply(e Engine, dst []float32, dstStride int, x []float32, xStride, rows int, s *Scratch) {
	if rows == 0 {
		return
	}
	tiles := PadRows(rows)
	q, scale := grow(&s.i16, tiles*l.kPad), grow(&s.scale, tiles)
	for r := range rows {
		to := q[r*l.kPad : (r+1)*l.kPad]
		scale[r] = e.quantise16(to[:l.k], x[r*xStride:r*xStride+l.k], l.limit)
		clear(to[l.k:])
	}
	_ = dst[(tiles-1)*dstStride+PadCols(l.n)-1]
	for p := 0; p < l.n; p += panel {
		w, sw, bias := l.w[p*l.kPad:(p+panel)*l.kPad], l.scale[p:p+panel], l.bias[p:p+panel]
		if e == AVX2 {
			tile16AVX2(&dst[p], dstStride, &q[0], l.kPad, &w[0], l.kPad/2, &scale[0], &sw[0], &bias[0], (rows+rows16-1)/rows16)
			continue
		}
		for r := 0; r < rows; r += rows16 {
			tile16(dst[r*dstStride+p:], dstStride, q[r*l.kPad:], l.kPad, w, l.kPad/2, min(rows-r, rows16), scale[r:], sw, bias)
		}
	}
}

// tile16 is the twin of the assembly: exact sums of pairs, then scaled by row and by channel.
func tile16(c []float32, cStride int, a []int16, aStride int, w []int16, pairs, rows int, sa, sw, bias []float32) {
	for r := range rows {
		var sum [panel]int32
		x := a[r*aStride : r*aStride+2*pairs]
		for i := 0; i < len(x); i += 2 {
			x0, x1 := int32(x[i]), int32(x[i+1])
			from := (*[2 * panel]int16)(w[i*panel:])
			for j := range sum {
				sum[j] += x0*int32(from[2*j]) + x1*int32(from[2*j+1])
			}
		}
		out := c[r*cStride:]
		for j, v := range sum {
			out[j] = float32(float32(float32(v)*sa[r])*sw[j]) + bias[j]
		}
	}
}

// quantise16 writes the integers nearest to x/scale and returns the scale, for which the largest has the size limit.
func (e Engine) quantise16(dst []int16, x []float32, limit float32) float32 {
	top := e.MaxAbs(x)
	if top == 0 {
		clear(dst)
		return 0
	}
	f := limit / top
	if math.IsInf(float64(f), 0) {
		clear(dst)
		return 0
	}
	n := 0
	if e == AVX2 {
		if n = len(x) &^ 15; n > 0 {
			quantise16AVX2(&dst[0], &x[0], n, f)
		}
	}
	for i, v := range x[n:] {
		dst[n+i] = int16(math.RoundToEven(float64(v * f)))
	}
	return top / limit
}
