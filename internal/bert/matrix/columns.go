package matrix

// PackColumns arranges n rows of d values, stride apart, as the columns of panels that Multiply takes as B: per panel of 16 rows and
// per value, the values of 16 rows. The last panel is filled with zeros; dst has PadCols(n)·d values.
func (e Engine) PackColumns(dst, rows []float32, stride, n, d int) {
	clear(dst[n/panel*panel*d : PadCols(n)*d])
	i := 0
	if e == AVX2 && d%4 == 0 && d > 0 {
		for ; i+lanes <= n; i += lanes {
			to, from := dst[i/panel*panel*d+i%panel:], rows[i*stride:]
			_, _ = to[(d-1)*panel+lanes-1], from[(lanes-1)*stride+d-1]
			packColumnsAVX2(&to[0], &from[0], stride, d)
		}
	}
	for ; i+4 <= n; i += 4 {
		a, b := rows[i*stride:][:d], rows[(i+1)*stride:][:d]
		c, e := rows[(i+2)*stride:][:d], rows[(i+3)*stride:][:d]
		to := dst[i/panel*panel*d+i%panel:]
		for j, v := range a {
			four := (*[4]float32)(to[j*panel:])
			four[0], four[1], four[2], four[3] = v, b[j], c[j], e[j]
		}
	}
	for ; i < n; i++ {
		to := dst[i/panel*panel*d+i%panel:]
		for j, v := range rows[i*stride:][:d] {
			to[j*panel] = v
		}
	}
}
