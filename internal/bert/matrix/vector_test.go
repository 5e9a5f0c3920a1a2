package matrix

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestGELU(t *testing.T) {
	for _, e := range []Engine{Generic, Best()} {
		worst := 0.
		for v := -20.; v < 20; v += 0.0007 {
			x := make([]float32, lanes)
			for i := range x {
				x[i] = float32(v)
			}
			e.GELU(x)
			f := float64(float32(v))
			want := 0.5 * f * math.Erfc(-f/math.Sqrt2)
			worst = max(worst, math.Abs(float64(x[3])-want)/max(1, math.Abs(f)))
		}
		if worst > 1e-6 {
			t.Errorf("%s is off by %g", e, worst)
		}
		t.Logf("%s: at most %.2g off", e, worst)
	}
}

func TestExp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 70; n++ {
		for _, e := range []Engine{Generic, Best()} {
			x := floats(r, n, 20)
			y := append([]float32(nil), x...)
			top, want := x[0], 0.
			for _, v := range x {
				top = max(top, v)
			}
			sum := e.Exp(y, 0.7)
			for i := range y {
				f := math.Exp(0.7 * (float64(x[i]) - float64(top)))
				want += f
				if math.Abs(float64(y[i])-f) > 1e-5*f+1e-30 {
					t.Fatalf("%s: exp %d of %d is %g, want %g", e, i, n, y[i], f)
				}
			}
			if math.Abs(float64(sum)-want) > 1e-5*want {
				t.Fatalf("%s: the sum of %d is %g, want %g", e, n, sum, want)
			}
		}
	}
}

func TestAddNorm(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := 2; n < 100; n++ {
		for _, e := range []Engine{Generic, Best()} {
			x, y, gamma, beta := floats(r, n, 1), floats(r, n, 1), floats(r, n, 1), floats(r, n, 1)
			sum, squares := 0., 0.
			for i := range x {
				v := float64(x[i] + y[i])
				sum += v
				squares += v * v
			}
			mean := sum / float64(n)
			f := 1 / math.Sqrt(squares/float64(n)-mean*mean+1e-12)
			z := append([]float32(nil), x...)
			e.AddNorm(z, y, gamma, beta, 1e-12)
			for i := range z {
				want := (float64(x[i]+y[i])-mean)*f*float64(gamma[i]) + float64(beta[i])
				if math.Abs(float64(z[i])-want) > 1e-5*(1+math.Abs(want))*max(1, f) {
					t.Fatalf("%s: %d of %d is %g, want %g", e, i, n, z[i], want)
				}
			}
		}
	}
}

func TestSmallOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := 1; n < 70; n++ {
		x := floats(r, n, 3)
		if a, b := Generic.MaxAbs(x), Best().MaxAbs(x); a != b {
			t.Fatalf("the largest of %d is %g, in Go %g", n, b, a)
		}
		p, q := make([]int16, n), make([]int16, n)
		s, f := Generic.quantise16(p, x, 2000), Best().quantise16(q, x, 2000)
		y := append([]float32(nil), x...)
		Best().Scale(y, 0.3)
		for i := range x {
			if p[i] != q[i] || s != f || y[i] != x[i]*0.3 {
				t.Fatalf("%d of %d: %d, in Go %d; scales %g, %g; scaled %g of %g", i, n, q[i], p[i], f, s, y[i], x[i])
			}
		}
	}
}
