package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func floats(r *rand.Rand, n int, size float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * size)
	}
	return x
}

// weights of every form that Pack knows.
func weights(r *rand.Rand, n, k int) map[string]Weight {
	all := map[string]Weight{"float": {Rows: n, Cols: k, F32: floats(r, n*k, 0.05)}}
	q8 := Weight{Rows: n, Cols: k, I8: make([]int8, n*k), Scale: floats(r, n, 0.001)}
	for i := range q8.I8 {
		q8.I8[i] = int8(r.IntN(256) - 128)
	}
	all["int8"] = q8
	if k%block == 0 {
		q4 := Weight{Rows: n, Cols: k, I8: make([]int8, n*k), Scale: floats(r, n*k/block, 0.01)}
		for i := range q4.I8 {
			q4.I8[i] = int8(r.IntN(16) - 8)
		}
		all["q4"] = q4
		all["q8 blocks"] = Weight{Rows: n, Cols: k, I8: q8.I8, Scale: floats(r, n*k/block, 0.001)}
	}
	return all
}

// product is x·Wᵀ + b in double precision, and how large its terms are in all.
func product(w Weight, bias, x []float32, rows int) (y, size []float64) {
	row := make([]float32, w.Cols)
	y, size = make([]float64, rows*w.Rows), make([]float64, rows*w.Rows)
	for i := range w.Rows {
		w.Row(row, i)
		for r := range rows {
			sum, norm := float64(bias[i]), math.Abs(float64(bias[i]))
			for j, v := range row {
				p := float64(v) * float64(x[r*w.Cols+j])
				sum += p
				norm += p * p
			}
			y[r*w.Rows+i], size[r*w.Rows+i] = sum, math.Sqrt(norm)
		}
	}
	return y, size
}

func apply(e Engine, l Linear, x []float32, rows int) []float32 {
	stride := PadCols(l.Out())
	wide, out := make([]float32, PadRows(rows)*stride), make([]float32, rows*l.Out())
	l.Apply(e, wide, stride, x, l.In(), rows, &Scratch{})
	for r := range rows {
		copy(out[r*l.Out():(r+1)*l.Out()], wide[r*stride:])
	}
	return out
}

func check(t *testing.T, seed uint64, rows, n, k int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	x, bias := floats(r, rows*k, 1), floats(r, n, 1)
	if rows > 1 {
		clear(x[:k]) // a row of zeros has no scale
	}
	for name, w := range weights(r, n, k) {
		for _, exact := range []bool{true, false} {
			l, err := Pack([]Weight{w}, bias, exact)
			if err != nil {
				t.Fatal(err)
			}
			// What 8-bit activations lose, what 16-bit weights lose, what floats lose: of the square root of the sum of squares.
			loose := 0.
			switch l := l.(type) {
			case *linear16:
				loose = 8 / float64(l.limit)
			case *linear32:
				loose = 1e-5
			case *linear4:
				loose = 3e-2
			}
			want, size := product(w, bias, x, rows)
			slow, fast := apply(Generic, l, x, rows), apply(Best(), l, x, rows)
			for i := range want {
				if d := math.Abs(float64(slow[i]) - want[i]); d > loose*size[i]+1e-6 {
					t.Fatalf("%s, exact %t, %d rows, %d×%d: value %d is %g, want %g", name, exact, rows, n, k, i, slow[i], want[i])
				}
				_, whole := l.(*linear16)
				if d := math.Abs(float64(slow[i] - fast[i])); d > 1e-5*size[i] || whole && d != 0 {
					t.Fatalf("%s, exact %t, %d rows, %d×%d: value %d is %g in %s, %g in Go", name, exact, rows, n, k, i, fast[i], Best(), slow[i])
				}
			}
		}
	}
}

func TestLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		check(t, uint64(i), 1+r.IntN(30), 1+r.IntN(50), 1+r.IntN(200))
		check(t, uint64(i), 1+r.IntN(30), 1+r.IntN(50), block*(1+r.IntN(6)))
	}
	check(t, 1, 13, 48, 1536)
}

func FuzzLinear(f *testing.F) {
	f.Add(uint64(1), uint8(7), uint8(17), uint16(33))
	f.Add(uint64(2), uint8(12), uint8(16), uint16(64))
	f.Fuzz(func(t *testing.T, seed uint64, rows, n uint8, k uint16) {
		check(t, seed, 1+int(rows%40), 1+int(n%70), 1+int(k%600))
	})
}

// The largest products that there can be neither saturate nor overflow: with scales of 1 the results are exact integers.
func TestExtremes(t *testing.T) {
	const n, k, rows = 16, 1536, 12
	for _, sign := range []float32{1, -1} {
		for _, q := range []int8{-8, 7, -128, 127} {
			w := Weight{Rows: n, Cols: k, I8: make([]int8, n*k), Scale: make([]float32, n)}
			if q >= -8 && q <= 7 {
				w.Scale = make([]float32, n*k/block)
			}
			for i := range w.I8 {
				w.I8[i] = q
			}
			for i := range w.Scale {
				w.Scale[i] = 1
			}
			l, err := Pack([]Weight{w}, nil, false)
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float32, rows*k)
			for i := range x {
				x[i] = sign * 127
			}
			want := float64(q) * float64(sign) * 127 * k
			for _, e := range []Engine{Generic, Best()} {
				for i, v := range apply(e, l, x, rows) {
					if math.Abs(float64(v)-want) > 1e-6*math.Abs(want) {
						t.Fatalf("%T of %d in %s: value %d is %g, want %g", l, q, e, i, v, want)
					}
				}
			}
		}
	}
}

// Several weights side by side are one.
func TestSideBySide(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, a := range weights(r, 24, 64) {
		b := weights(r, 9, 64)[name]
		x, bias := floats(r, 5*64, 1), floats(r, 33, 1)
		both, err := Pack([]Weight{a, b}, bias, false)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := Pack([]Weight{a}, bias[:24], false)
		two, _ := Pack([]Weight{b}, bias[24:], false)
		y, y1, y2 := apply(Best(), both, x, 5), apply(Best(), one, x, 5), apply(Best(), two, x, 5)
		for i := range y {
			var want float32
			if c := i % 33; c < 24 {
				want = y1[i/33*24+c]
			} else {
				want = y2[i/33*9+c-24]
			}
			if y[i] != want {
				t.Fatalf("%s: value %d is %g, alone %g", name, i, y[i], want)
			}
		}
	}
}

func TestPackRefuses(t *testing.T) {
	for i, w := range []Weight{
		{},
		{Rows: 2, Cols: 2, F32: make([]float32, 3)},
		{Rows: 2, Cols: 2, I8: make([]int8, 3), Scale: make([]float32, 2)},
		{Rows: 2, Cols: 2, I8: make([]int8, 4), Scale: make([]float32, 1)},
		{Rows: 3, Cols: 48, I8: make([]int8, 144), Scale: make([]float32, 4)},
	} {
		if _, err := Pack([]Weight{w}, nil, false); err == nil {
			t.Errorf("weight %d was taken", i)
		}
	}
	w := Weight{Rows: 2, Cols: 2, F32: make([]float32, 4)}
	if _, err := Pack([]Weight{w}, make([]float32, 3), false); err == nil {
		t.Error("3 biases for 2 channels were taken")
	}
	if _, err := Pack(nil, nil, false); err == nil {
		t.Error("nothing was packed")
	}
}

func TestQuantise8(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, size := range []float64{1, 1e-3, 1e20, 1e-33, 0} {
		x := floats(r, 4*block, size)
		slow, fast := make([]uint8, len(x)), make([]uint8, len(x))
		s1, s2 := make([]float32, 4), make([]float32, 4)
		Generic.quantise8(slow, s1, x)
		Best().quantise8(fast, s2, x)
		if !slices.Equal(slow, fast) || !slices.Equal(s1, s2) {
			t.Errorf("size %g: %v %v, in Go %v %v", size, fast, s2, slow, s1)
		}
	}
}

func TestPackColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n := 1; n < 50; n++ {
		for _, d := range []int{1, 3, 4, 12, 32, 33} {
			const stride = 40
			rows := floats(r, (n-1)*stride+d, 1)
			for _, e := range []Engine{Generic, Best()} {
				dst := floats(r, PadCols(n)*d+1, 1)
				last := dst[len(dst)-1]
				e.PackColumns(dst, rows, stride, n, d)
				for i, v := range dst[:len(dst)-1] {
					row, col, want := i/(panel*d)*panel+i%panel, i%(panel*d)/panel, float32(0)
					if row < n {
						want = rows[row*stride+col]
					}
					if v != want {
						t.Fatalf("%s, %d rows of %d: value %d is %g, want %g", e, n, d, i, v, want)
					}
				}
				if dst[len(dst)-1] != last {
					t.Fatalf("%s, %d rows of %d: written behind the end", e, n, d)
				}
			}
		}
	}
}

func BenchmarkLinear(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const rows = 128
	for _, shape := range [][2]int{{384, 384}, {1536, 384}, {384, 1536}} {
		n, k := shape[0], shape[1]
		x, dst := floats(r, rows*k, 1), make([]float32, PadRows(rows)*n)
		for _, form := range []string{"float", "int8", "q4"} {
			l, err := Pack([]Weight{weights(r, n, k)[form]}, nil, form == "float")
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%dx%d", form, n, k), func(b *testing.B) {
				var s Scratch
				for b.Loop() {
					l.Apply(Best(), dst, n, x, k, rows, &s)
				}
				b.ReportMetric(float64(rows*n*k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
				b.SetBytes(int64(l.Bytes()))
			})
		}
	}
}
