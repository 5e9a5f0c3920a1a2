package bert

import (
	"math"
	"math/rand/v2"

	"github.com/kbsync/kbsync/internal/bert/matrix"
)

// rows is a Table of floats.
type rows struct {
	width  int
	values []float32
}

func (t rows) Len() int                 { return len(t.values) / t.width }
func (t rows) Row(dst []float32, i int) { copy(dst, t.values[i*t.width:(i+1)*t.width]) }

// random makes weights of the forms "float", "int8" or "q4", about as large as those of trained models.
func random(cfg Config, form string, vocabulary, positions int) Weights {
	r := rand.New(rand.NewPCG(uint64(cfg.Hidden), uint64(cfg.Layers)))
	fs := func(n int, mean, size float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(mean + size*r.NormFloat64())
		}
		return x
	}
	h := cfg.Hidden
	norm := func() Norm { return Norm{fs(h, 1, 0.1), fs(h, 0, 0.1)} }
	dense := func(out, in int) Dense {
		w := matrix.Weight{Rows: out, Cols: in}
		size := 1.2 / math.Sqrt(float64(in))
		switch form {
		case "float":
			w.F32 = fs(out*in, 0, size)
		case "int8":
			w.I8, w.Scale = make([]int8, out*in), fs(out, size/50, size/500)
		case "q4":
			w.I8, w.Scale = make([]int8, out*in), fs(out*in/32, size/4, size/40)
		}
		for i := range w.I8 {
			if form == "q4" {
				w.I8[i] = int8(r.IntN(16) - 8)
			} else {
				w.I8[i] = int8(max(-127, min(127, r.NormFloat64()*50)))
			}
		}
		return Dense{w, fs(out, 0, 0.1)}
	}
	w := Weights{Words: rows{h, fs(vocabulary*h, 0, 0.05)}, Positions: rows{h, fs(positions*h, 0, 0.02)}, Type: fs(h, 0, 0.02), Norm: norm()}
	for range cfg.Layers {
		w.Layers = append(w.Layers, Layer{dense(h, h), dense(h, h), dense(h, h), dense(h, h), norm(),
			dense(cfg.Intermediate, h), dense(h, cfg.Intermediate), norm()})
	}
	return w
}

// reference is the textbook's encoder, in double precision: it gives the vectors of tokens.
func reference(cfg Config, w Weights, ids []int32) [][]float64 {
	x := make([][]float64, len(ids))
	for i, id := range ids {
		word, pos := make([]float32, cfg.Hidden), make([]float32, cfg.Hidden)
		w.Words.Row(word, int(id))
		w.Positions.Row(pos, i+cfg.PositionOffset)
		x[i] = make([]float64, cfg.Hidden)
		for j := range x[i] {
			x[i][j] = float64(word[j]) + float64(pos[j]) + float64(w.Type[j])
		}
	}
	w.Norm.exact(x, cfg.Epsilon)
	for _, l := range w.Layers {
		q, k, v := l.Query.exact(x), l.Key.exact(x), l.Value.exact(x)
		l.AttentionNorm.exact(add(x, l.AttentionOut.exact(attention(q, k, v, cfg.Heads))), cfg.Epsilon)
		up := l.Up.exact(x)
		for _, row := range up {
			for j, f := range row {
				row[j] = f * 0.5 * math.Erfc(-f/math.Sqrt2)
			}
		}
		l.OutputNorm.exact(add(x, l.Down.exact(up)), cfg.Epsilon)
	}
	return x
}

func (d Dense) exact(x [][]float64) [][]float64 {
	y := make([][]float64, len(x))
	for i := range y {
		y[i] = make([]float64, d.W.Rows)
	}
	row := make([]float32, d.W.Cols)
	for j := range d.W.Rows {
		d.W.Row(row, j)
		for i := range x {
			sum := float64(d.Bias[j])
			for c, f := range row {
				sum += float64(f) * x[i][c]
			}
			y[i][j] = sum
		}
	}
	return y
}

func add(x, y [][]float64) [][]float64 {
	for i := range x {
		for j := range x[i] {
			x[i][j] += y[i][j]
		}
	}
	return x
}

func (n Norm) exact(x [][]float64, eps float64) {
	for _, row := range x {
		mean, dev := 0., 0.
		for _, f := range row {
			mean += f / float64(len(row))
		}
		for _, f := range row {
			dev += (f - mean) * (f - mean) / float64(len(row))
		}
		for j, f := range row {
			row[j] = (f-mean)/math.Sqrt(dev+eps)*float64(n.Gamma[j]) + float64(n.Beta[j])
		}
	}
}

func attention(q, k, v [][]float64, heads int) [][]float64 {
	h := len(q[0])
	d := h / heads
	out := make([][]float64, len(q))
	for i := range q {
		out[i] = make([]float64, h)
		for at := 0; at < h; at += d {
			p, sum := make([]float64, len(k)), 0.
			for j := range k {
				for c := at; c < at+d; c++ {
					p[j] += q[i][c] * k[j][c]
				}
				p[j] = math.Exp(p[j] / math.Sqrt(float64(d)))
				sum += p[j]
			}
			for j := range v {
				for c := at; c < at+d; c++ {
					out[i][c] += p[j] / sum * v[j][c]
				}
			}
		}
	}
	return out
}

func cosine[A, B float32 | float64](a []A, b []B) float64 {
	dot, x, y := 0., 0., 0.
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		x += float64(a[i]) * float64(a[i])
		y += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(x*y)
}
