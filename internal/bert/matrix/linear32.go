package matrix

// linear32 has float weights: per panel and input, 16 output channels.
type linear32 struct {
	shape
	w []float32
}

func pack32(s shape, weights []Weight) *linear32 {
	l := &linear32{shape: s, w: make([]float32, PadCols(s.n)*s.k)}
	row := make([]float32, s.k)
	eachRow(weights, func(i int, w Weight, r int) {
		w.Row(row, r)
		at := l.w[i/panel*panel*s.k+i%panel:]
		for j, v := range row {
			at[j*panel] = v
		}
	})
	return l
}

func (l *linear32) Bytes() int { return 4 * len(l.w) }

func (l *linear32) Apply(e Engine, dst []float32, dstStride int, x []float32, xStride, rows int, _ *Scratch) {
	for p := 0; p < l.n; p += panel {
		e.Multiply(dst[p:], dstStride, x, xStride, l.w[p*l.k:], panel, l.bias[p:], rows, l.k)
	}
}

// Multiply writes the 16 columns C = A·B + bias. A has rows of k values, aStride apart, B has k rows of 16 values, bStride
// apart. C has PadRows(rows) rows, cStride apart; so has A, whose rows beyond rows may hold anything, or else be missing.
func (e Engine) Multiply(c []float32, cStride int, a []float32, aStride int, b []float32, bStride int, bias []float32, rows, k int) {
	for r := 0; r < rows; r += rows16 {
		if left := len(a) - r*aStride; e != Generic && left >= (rows16-1)*aStride+k {
			_ = c[(r+rows16-1)*cStride+panel-1]
			_ = b[(k-1)*bStride+panel-1]
			if e == AVX2 {
				tile32AVX2(&c[r*cStride], cStride, &a[r*aStride], aStride, &b[0], bStride, k, &bias[:panel][0])
			} else {
				tile32NEON(&c[r*cStride], cStride, &a[r*aStride], aStride, &b[0], bStride, k, &bias[:panel][0])
			}
			continue
		}
		tile32(c[r*cStride:], cStride, a[r*aStride:], aStride, b, bStride, min(rows-r, rows16), k, bias)
	}
}

func tile32(c []float32, cStride int, a []float32, aStride int, b []float32, bStride, rows, k int, bias []float32) {
	for r := range rows {
		var sum [panel]float32
		for i, v := range a[r*aStride : r*aStride+k] {
			for j, w := range b[i*bStride : i*bStride+panel] {
				sum[j] += v * w
			}
		}
		out := c[r*cStride:]
		for j := range sum {
			out[j] = sum[j] + bias[j]
		}
	}
}
