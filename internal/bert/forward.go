package bert

import (
	"context"
	"fmt"
	"math"

	"github.com/kbsync/kbsync/internal/bert/matrix"
)

// scratch is what one chunk is computed in. It grows to the largest chunk, of chunkTokens or of one longer text.
type scratch struct {
	x     []float32 // rows of Hidden: the tokens
	qkv   []float32 // rows of queries, keys and values
	ctx   []float32 // rows of what attention found
	wide  []float32 // rows of the intermediate width
	keys  []float32 // the keys of a head, in panels
	vals  []float32 // the values of a head, where they must be padded
	score []float32 // the scores of some queries
	zero  []float32
	sums  []float32
	lin   matrix.Scratch
}

func grow(s *[]float32, n int) []float32 {
	if cap(*s) < n {
		*s = make([]float32, n)
	}
	*s = (*s)[:cap(*s)]
	return (*s)[:n]
}

// forward leaves the vectors of all tokens in s.x. The context is asked between layers.
func (e *Encoder) forward(ctx context.Context, s *scratch, texts [][]int32) error {
	h, eng, eps := e.cfg.Hidden, e.cfg.Engine, float32(e.cfg.Epsilon)
	rows := 0
	for _, ids := range texts {
		rows += len(ids)
	}
	// The last tile of a text may begin anywhere, so there is room for one more.
	tiles := matrix.PadRows(rows) + matrix.PadRows(1)
	hp, qp, ip := matrix.PadCols(h), matrix.PadCols(3*h), matrix.PadCols(e.cfg.Intermediate)
	x, qkv := grow(&s.x, tiles*h), grow(&s.qkv, tiles*qp)
	found, wide := grow(&s.ctx, tiles*max(h, hp)), grow(&s.wide, tiles*ip)
	e.embed(x, found[:h], texts)
	for _, l := range e.layers {
		if ctx.Err() != nil {
			return fmt.Errorf("bert: %w", context.Cause(ctx))
		}
		l.qkv.Apply(eng, qkv, qp, x, h, rows, &s.lin)
		first := 0
		for _, ids := range texts {
			e.attend(s, found[first*hp:], hp, qkv[first*qp:], qp, len(ids))
			first += len(ids)
		}
		// The queries are of no use any more: their place takes the products.
		l.out.Apply(eng, qkv, hp, found, hp, rows, &s.lin)
		for r := range rows {
			eng.AddNorm(x[r*h:(r+1)*h], qkv[r*hp:], l.afterAttention.Gamma, l.afterAttention.Beta, eps)
		}
		l.up.Apply(eng, wide, ip, x, h, rows, &s.lin)
		eng.GELU(wide[:rows*ip])
		l.down.Apply(eng, qkv, hp, wide, ip, rows, &s.lin)
		for r := range rows {
			eng.AddNorm(x[r*h:(r+1)*h], qkv[r*hp:], l.afterOutput.Gamma, l.afterOutput.Beta, eps)
		}
	}
	return nil
}

// embed writes the sum of the embeddings of word, position and type, normed.
func (e *Encoder) embed(x, row []float32, texts [][]int32) {
	h, at := e.cfg.Hidden, 0
	for _, ids := range texts {
		for i, id := range ids {
			to := x[at : at+h]
			e.words.Row(to, int(id))
			e.pos.Row(row, i+e.cfg.PositionOffset)
			for j, v := range e.kind {
				row[j] += v
			}
			e.cfg.Engine.AddNorm(to, row, e.norm.Gamma, e.norm.Beta, float32(e.cfg.Epsilon))
			at += h
		}
	}
}

// queries is how many queries are scored at a time, a multiple of every tile: their scores stay in the cache.
const queries = 48

// attend writes the attention of n tokens of one text to out. Rubbish may be left in the rows behind them, to the end of a
// tile: texts are attended to in their order, and the buffers end with a whole tile.
func (e *Encoder) attend(s *scratch, out []float32, outStride int, qkv []float32, stride, n int) {
	h, d := e.cfg.Hidden, e.cfg.Hidden/e.cfg.Heads
	eng, wide, dp := e.cfg.Engine, matrix.PadCols(n), matrix.PadCols(d)
	keys, zero := grow(&s.keys, wide*d), grow(&s.zero, max(wide, dp))
	clear(zero)
	score, sums := grow(&s.score, queries*wide), grow(&s.sums, queries)
	scale := float32(1 / math.Sqrt(float64(d)))
	for at := 0; at < h; at += d {
		eng.PackColumns(keys, qkv[h+at:], stride, n, d)
		vals, valStride := qkv[2*h+at:], stride
		if d != dp {
			vals, valStride = padded(grow(&s.vals, n*dp), vals, stride, n, d), dp
		}
		for q := 0; q < n; q += queries {
			rows := min(queries, n-q)
			for p := 0; p < wide; p += 16 {
				eng.Multiply(score[p:], wide, qkv[q*stride+at:], stride, keys[p*d:], 16, zero, rows, d)
			}
			for r := range rows {
				sums[r] = eng.Exp(score[r*wide:r*wide+n], scale)
			}
			e.weigh(s, out[q*outStride+at:], outStride, vals, valStride, rows, n)
			for r := range rows {
				eng.Scale(out[(q+r)*outStride+at:][:d], 1/sums[r])
			}
		}
	}
}

// weigh adds up the values of one head by their scores.
func (e *Encoder) weigh(s *scratch, out []float32, outStride int, vals []float32, stride, rows, n int) {
	d := e.cfg.Hidden / e.cfg.Heads
	wide, dp := matrix.PadCols(n), matrix.PadCols(d)
	if d == dp {
		for p := 0; p < d; p += 16 {
			e.cfg.Engine.Multiply(out[p:], outStride, s.score, wide, vals[p:], stride, s.zero, rows, n)
		}
		return
	}
	// A head that is no whole number of panels: through a buffer, so that the next head's columns stay as they are.
	tmp := make([]float32, matrix.PadRows(rows)*dp)
	for p := 0; p < dp; p += 16 {
		e.cfg.Engine.Multiply(tmp[p:], dp, s.score, wide, vals[p:], stride, s.zero, rows, n)
	}
	for r := range rows {
		copy(out[r*outStride:r*outStride+d], tmp[r*dp:])
	}
}

// padded copies n rows of d values to rows of PadCols(d).
func padded(dst, vals []float32, stride, n, d int) []float32 {
	dp := matrix.PadCols(d)
	for i := range n {
		copy(dst[i*dp:], vals[i*stride:i*stride+d])
		clear(dst[i*dp+d : (i+1)*dp])
	}
	return dst
}
