package matrix

import (
	"fmt"
	"math"
	"slices"
)

// Weight is a matrix of Rows output channels by Cols inputs, row after row, either as floats or as integers with scales.
type Weight struct {
	Rows, Cols int
	// F32 holds the values, if they are floats.
	F32 []float32
	// I8 holds the integers otherwise; a value is its integer times its scale.
	I8 []int8
	// Scale has one value per row, or one per 32 values in the order of I8.
	Scale []float32
}

// Check tells what is wrong with the sizes of w.
func (w Weight) Check() error {
	n := w.Rows * w.Cols
	switch {
	case w.Rows <= 0 || w.Cols <= 0:
		return fmt.Errorf("matrix: %d rows by %d columns", w.Rows, w.Cols)
	case w.F32 != nil && len(w.F32) != n:
		return fmt.Errorf("matrix: %d values for %d rows by %d columns", len(w.F32), w.Rows, w.Cols)
	case w.F32 != nil:
		return nil
	case len(w.I8) != n:
		return fmt.Errorf("matrix: %d integers for %d rows by %d columns", len(w.I8), w.Rows, w.Cols)
	case len(w.Scale) != w.Rows && (w.Cols%block != 0 || len(w.Scale) != n/block):
		return fmt.Errorf("matrix: %d scales for %d rows by %d columns: one per row or one per %d values is needed", len(w.Scale), w.Rows, w.Cols, block)
	}
	return nil
}

// perRow tells whether the integers of w have one scale per row.
func (w Weight) perRow() bool { return w.F32 == nil && len(w.Scale) == w.Rows }

// nibbles tells whether w has the 4-bit form.
func (w Weight) nibbles() bool {
	return w.F32 == nil && w.Cols%block == 0 && len(w.Scale) == w.Rows*w.Cols/block &&
		!slices.ContainsFunc(w.I8, func(q int8) bool { return q < -8 || q > 7 })
}

// Row writes row i as floats.
func (w Weight) Row(dst []float32, i int) {
	lo := i * w.Cols
	switch {
	case w.F32 != nil:
		copy(dst, w.F32[lo:lo+w.Cols])
	case w.perRow():
		for j, q := range w.I8[lo : lo+w.Cols] {
			dst[j] = float32(q) * w.Scale[i]
		}
	default:
		for j, q := range w.I8[lo : lo+w.Cols] {
			dst[j] = float32(q) * w.Scale[(lo+j)/block]
		}
	}
}

// Linear computes y = x·Wᵀ + b. It is read only, so any number of goroutines may use it.
type Linear interface {
	// Apply multiplies rows of x, which are In() wide and xStride apart, and writes rows of Out() values, dstStride apart. dst
	// must have PadRows(rows) rows of at least PadCols(Out()) columns; what is beyond rows and Out() is rubbish afterwards.
	Apply(e Engine, dst []float32, dstStride int, x []float32, xStride, rows int, s *Scratch)
	In() int
	Out() int
	// Bytes is how much memory the weights take.
	Bytes() int
}

// Scratch holds the quantised activations of one goroutine. It grows as needed; the zero value is ready.
type Scratch struct {
	i16   []int16
	u8    []uint8
	scale []float32
}

func grow[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	*s = (*s)[:cap(*s)]
	return (*s)[:n]
}

// Pack arranges the rows of all weights, which must have the same width, one after the other as one Linear. The bias has a
// value per row, or is empty. If exact is set the result computes in floats; otherwise it takes the integer form that loses
// the least: 4-bit blocks as they are, 8-bit rows as they are, anything else rounded to the width that a sum allows.
func Pack(weights []Weight, bias []float32, exact bool) (Linear, error) {
	s := shape{}
	wmax := float64(0)
	nibbles := true
	for _, w := range weights {
		if err := w.Check(); err != nil {
			return nil, err
		}
		if s.k != 0 && s.k != w.Cols {
			return nil, fmt.Errorf("matrix: widths %d and %d side by side", s.k, w.Cols)
		}
		s.k = w.Cols
		s.n += w.Rows
		nibbles = nibbles && w.nibbles()
		if w.perRow() {
			wmax = max(wmax, 128)
		} else {
			wmax = max(wmax, math.Floor(math.Sqrt(math.MaxInt32/float64(w.Cols))))
		}
	}
	if s.n == 0 || len(bias) != 0 && len(bias) != s.n {
		return nil, fmt.Errorf("matrix: %d biases for %d output channels", len(bias), s.n)
	}
	s.bias = make([]float32, PadCols(s.n))
	copy(s.bias, bias)
	switch {
	case exact:
		return pack32(s, weights), nil
	case nibbles:
		return pack4(s, weights), nil
	}
	return pack16(s, weights, min(wmax, math.MaxInt16)), nil
}

type shape struct {
	n, k int
	bias []float32
}

func (s shape) In() int  { return s.k }
func (s shape) Out() int { return s.n }

// eachRow calls f with the number among all rows, the weight, and the row's number in it.
func eachRow(weights []Weight, f func(i int, w Weight, row int)) {
	i := 0
	for _, w := range weights {
		for r := range w.Rows {
			f(i, w, r)
			i++
		}
	}
}
