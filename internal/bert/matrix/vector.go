package matrix

import "math"

// lanes is how many floats the assembly takes at a time.
const lanes = 8

// whole is how many of n values assembly can take, 0 if it cannot take any.
func (e Engine) whole(n int) int {
	if e == AVX2 {
		return n &^ (lanes - 1)
	}
	return 0
}

// MaxAbs is the largest absolute value of x.
func (e Engine) MaxAbs(x []float32) float32 {
	top, n := float32(0), e.whole(len(x))
	if n > 0 {
		top = maxAbsAVX2(&x[0], n)
	}
	return max(top, maxAbs(x[n:]))
}

func maxAbs(x []float32) float32 {
	top := uint32(0)
	for _, v := range x {
		top = max(top, math.Float32bits(v)&^(1<<31))
	}
	return math.Float32frombits(top)
}

// Exp replaces x by exp(scale·(x - max x)) and returns the sum: the numerators and the denominator of a softmax.
func (e Engine) Exp(x []float32, scale float32) float32 {
	if len(x) == 0 {
		return 0
	}
	top, n := x[0], e.whole(len(x))
	if n > 0 {
		top = maxAVX2(&x[0], n)
	}
	for _, v := range x[n:] {
		top = max(top, v)
	}
	sum := float32(0)
	if n > 0 {
		sum = expAVX2(&x[0], n, scale, -top*scale)
	}
	for i, v := range x[n:] {
		v = exp((v - top) * scale)
		x[n+i] = v
		sum += v
	}
	return sum
}

// exp is expf of the Cephes library, for values that are not above 0: 2ⁿ·eʳ with |r| ≤ ln2/2, at most 2e-7 off.
func exp(x float32) float32 {
	x = max(x, -87)
	n := float32(math.RoundToEven(float64(x * (1 / math.Ln2))))
	x -= n * 0.693359375
	x += n * 2.12194440e-4
	p := float32(1.9875691500e-4)
	p = p*x + 1.3981999507e-3
	p = p*x + 8.3334519073e-3
	p = p*x + 4.1665795894e-2
	p = p*x + 1.6666665459e-1
	p = p*x + 5.0000001201e-1
	p = p*x*x + x + 1
	return p * math.Float32frombits(uint32(int32(n)+127)<<23)
}

// Scale multiplies x by f.
func (e Engine) Scale(x []float32, f float32) {
	n := e.whole(len(x))
	if n > 0 {
		scaleAVX2(&x[0], n, f)
	}
	for i := n; i < len(x); i++ {
		x[i] *= f
	}
}

// GELU replaces x by x·Φ(x), with the error function itself, not the tanh that stands for it elsewhere. The result is within
// 1e-6·max(1, |x|) of the true value.
func (e Engine) GELU(x []float32) {
	n := e.whole(len(x))
	if n > 0 {
		geluAVX2(&x[0], n)
	}
	for i := n; i < len(x); i++ {
		x[i] = gelu(x[i])
	}
}

// gelu takes the error function from a rational approximation on [-4, 4], the one of Eigen (generic_fast_erf_float).
func gelu(x float32) float32 {
	z := min(max(x*(1/math.Sqrt2), -4), 4)
	s := z * z
	p := float32(-2.72614225801306e-10)
	p = p*s + 2.77068142495902e-08
	p = p*s - 2.10102402082508e-06
	p = p*s - 5.69250639462346e-05
	p = p*s - 7.34990630326855e-04
	p = p*s - 2.95459980854025e-03
	p = p*s - 1.60960333262415e-02
	q := float32(-1.45660718464996e-05)
	q = q*s - 2.13374055278905e-04
	q = q*s - 1.68282697438203e-03
	q = q*s - 7.37332916720468e-03
	q = q*s - 1.42647390514189e-02
	h := x * 0.5
	return h + h*(z*p/q)
}

// AddNorm adds y to x, and then replaces x by its layer norm: (x - mean)/√(variance + eps)·gamma + beta.
func (e Engine) AddNorm(x, y, gamma, beta []float32, eps float32) {
	y, gamma, beta = y[:len(x)], gamma[:len(x)], beta[:len(x)]
	sum, n := float32(0), e.whole(len(x))
	if n > 0 {
		sum = addAVX2(&x[0], &y[0], n)
	}
	for i := n; i < len(x); i++ {
		x[i] += y[i]
		sum += x[i]
	}
	mean := sum / float32(len(x))
	dev := float32(0)
	if n > 0 {
		dev = squaresAVX2(&x[0], n, mean)
	}
	for _, v := range x[n:] {
		dev += (v - mean) * (v - mean)
	}
	f := float32(1 / math.Sqrt(float64(dev/float32(len(x))+eps)))
	if n > 0 {
		normAVX2(&x[0], &gamma[0], &beta[0], n, mean, f)
	}
	for i := n; i < len(x); i++ {
		x[i] = (x[i]-mean)*f*gamma[i] + beta[i]
	}
}
