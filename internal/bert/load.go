package bert

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/kbsync/kbsync/internal/bert/matrix"
	"github.com/kbsync/kbsync/internal/modelfile"
)

// Options are how a model is run, not what it is.
type Options struct {
	// Threads is how many goroutines compute at a time, at most; 0 means GOMAXPROCS.
	Threads int
	// Exact computes linear layers in floats: the reference, at a fraction of the speed.
	Exact bool
}

// Load opens the encoder of a model with the best kernels of this machine. The table of words is read where it lies, so the
// model's data must stay as it is; all else is copied.
func Load(m *modelfile.Model, o Options) (*Encoder, error) {
	cfg, w, err := parts(m, o)
	if err != nil {
		return nil, err
	}
	return Open(cfg, w)
}

func parts(m *modelfile.Model, o Options) (Config, Weights, error) {
	c := m.Config
	if c.Activation != "gelu" {
		return Config{}, Weights{}, fmt.Errorf("bert: the activation %q is not known: want gelu", c.Activation)
	}
	if c.Pooling != "mean" && c.Pooling != "cls" {
		return Config{}, Weights{}, fmt.Errorf("bert: the pooling %q is not known: want mean or cls", c.Pooling)
	}
	r := reader{m: m}
	w := Weights{Words: words{r.tensor(modelfile.WordTable)}, Norm: Norm{r.floats(modelfile.NormWeight), r.floats(modelfile.NormBias)}}
	positions := r.tensor(modelfile.PositionTable)
	w.Positions = floatTable{c.Hidden, positions.Floats()}
	if c.TypeVocabulary > 0 {
		w.Type = r.tensor(modelfile.TypeTable).Row(0, make([]float32, c.Hidden))
	}
	for n := range c.Layers {
		w.Layers = append(w.Layers, Layer{
			Query: r.dense(n, modelfile.Query), Key: r.dense(n, modelfile.Key), Value: r.dense(n, modelfile.Value),
			AttentionOut: r.dense(n, modelfile.AttentionOut), AttentionNorm: r.norm(n, modelfile.AttentionNorm),
			Up: r.dense(n, modelfile.Up), Down: r.dense(n, modelfile.Down), OutputNorm: r.norm(n, modelfile.OutputNorm),
		})
		if len(r.errs) > 0 {
			break
		}
	}
	if err := errors.Join(r.errs...); err != nil {
		return Config{}, Weights{}, fmt.Errorf("bert: %w", err)
	}
	return Config{
		Layers: c.Layers, Hidden: c.Hidden, Heads: c.Heads, Intermediate: c.Intermediate, Epsilon: c.Epsilon,
		PositionOffset: c.PositionOffset, FirstToken: c.Pooling == "cls", Normalize: c.Normalize,
		Exact: o.Exact, Threads: o.Threads, Engine: matrix.Best(),
	}, w, nil
}

// words is a table that is decoded row by row.
type words struct{ t *modelfile.Tensor }

func (w words) Len() int                 { return w.t.Rows }
func (w words) Row(dst []float32, i int) { w.t.Row(i, dst) }

// floatTable is a table of floats.
type floatTable struct {
	width  int
	values []float32
}

func (t floatTable) Len() int                 { return len(t.values) / t.width }
func (t floatTable) Row(dst []float32, i int) { copy(dst, t.values[i*t.width:(i+1)*t.width]) }

// reader takes tensors from a model, and collects what is missing.
type reader struct {
	m    *modelfile.Model
	errs []error
}

// tensor is an empty one with one row if there is none of that name.
func (r *reader) tensor(name string) *modelfile.Tensor {
	t, err := r.m.Tensor(name)
	if err != nil {
		r.errs = append(r.errs, err)
		return &modelfile.Tensor{}
	}
	return t
}

func (r *reader) floats(name string) []float32 { return r.tensor(name).Floats() }

func (r *reader) norm(n int, part string) Norm {
	return Norm{r.floats(modelfile.Layer(n, part, false)), r.floats(modelfile.Layer(n, part, true))}
}

func (r *reader) dense(n int, part string) Dense {
	return Dense{weight(r.tensor(modelfile.Layer(n, part, false))), r.floats(modelfile.Layer(n, part, true))}
}

// weight keeps integers as they are, with their scales.
func weight(t *modelfile.Tensor) matrix.Weight {
	w := matrix.Weight{Rows: t.Rows, Cols: t.Cols}
	n := t.Rows * t.Cols
	switch t.Encoding {
	case modelfile.Q8:
		w.I8, w.Scale = make([]int8, n), make([]float32, t.Rows)
		for i, v := range t.Data[:n] {
			w.I8[i] = int8(v)
		}
		for i := range w.Scale {
			w.Scale[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[n+4*i:]))
		}
	case modelfile.Q4:
		w.I8, w.Scale = make([]int8, n), make([]float32, n/modelfile.Q4Block)
		for b := range w.Scale {
			from := t.Data[b*modelfile.Q4Bytes : (b+1)*modelfile.Q4Bytes]
			to := w.I8[b*modelfile.Q4Block : (b+1)*modelfile.Q4Block]
			w.Scale[b] = modelfile.Half(binary.LittleEndian.Uint16(from))
			for j, v := range from[2:] {
				to[j], to[j+16] = int8(v&15)-8, int8(v>>4)-8
			}
		}
	default:
		w.F32 = t.Floats()
	}
	return w
}
