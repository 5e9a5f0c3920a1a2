// Package bert computes the vectors of texts with an encoder of BERT's architecture (Devlin et al., 2018), in Go, on the CPU.
//
// Texts are token ids here; tokenizers and files of weights are the business of others. The texts of a batch are laid one after
// the other without padding, so short ones cost what they are; attention stays within each. Weights may be floats or integers
// with scales (package matrix): linear layers then compute in integers and everything between them in 32-bit floats.
package bert

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/kbsync/kbsync/internal/bert/matrix"
)

// Config is the shape of a model and how its vectors are made.
type Config struct {
	Layers, Hidden, Heads, Intermediate int
	// Epsilon is added to the variance in layer norms.
	Epsilon float64
	// PositionOffset is the row of the position table for the first token: 0 for BERT, 2 for RoBERTa.
	PositionOffset int
	// FirstToken takes the vector of a text from its first token, instead of the mean of all.
	FirstToken bool
	// Normalize divides the vector of a text by its length.
	Normalize bool
	// Exact computes linear layers in floats, whatever the form of the weights: the reference.
	Exact bool
	// Threads is how many texts are computed at a time, at most, by all callers together; 0 means GOMAXPROCS.
	Threads int
	// Engine is the kernels to use, Generic by default; see matrix.Best.
	Engine matrix.Engine
}

// Table gives rows of floats: embeddings, which are looked up and not multiplied.
type Table interface {
	// Len is the number of rows.
	Len() int
	// Row writes row i; dst is Hidden long.
	Row(dst []float32, i int)
}

// Norm is a layer norm: a factor and a summand for each of Hidden values.
type Norm struct{ Gamma, Beta []float32 }

// Dense is a linear layer, y = W·x + Bias.
type Dense struct {
	W    matrix.Weight
	Bias []float32
}

// Layer is one layer of an encoder: attention, and a feed-forward part with Up to the intermediate width and Down from it. A
// norm follows each, after the part's input has been added to its output.
type Layer struct {
	Query, Key, Value, AttentionOut Dense
	AttentionNorm                   Norm
	Up, Down                        Dense
	OutputNorm                      Norm
}

// Weights are what Open makes an encoder of. Matrices are copied, tables are kept and read concurrently.
type Weights struct {
	Words, Positions Table
	// Type is added to every token: row 0 of the table of token types, or nothing.
	Type   []float32
	Norm   Norm
	Layers []Layer
}

// Encoder computes vectors. It is safe for concurrent use; what it needs beside its weights is bounded by its threads.
type Encoder struct {
	cfg     Config
	words   Table
	pos     Table
	kind    []float32
	norm    Norm
	layers  []layer
	scratch chan *scratch
}

type layer struct {
	qkv, out, up, down matrix.Linear
	afterAttention     Norm
	afterOutput        Norm
}

// Open checks and packs weights, one layer after the other.
func Open(cfg Config, w Weights) (*Encoder, error) {
	if cfg.Layers <= 0 || cfg.Hidden <= 0 || cfg.Heads <= 0 || cfg.Intermediate <= 0 || cfg.Hidden%cfg.Heads != 0 {
		return nil, fmt.Errorf("bert: a model of %d layers, %d heads, width %d and %d cannot be", cfg.Layers, cfg.Heads, cfg.Hidden, cfg.Intermediate)
	}
	if len(w.Layers) != cfg.Layers {
		return nil, fmt.Errorf("bert: weights of %d layers, want %d", len(w.Layers), cfg.Layers)
	}
	if w.Words == nil || w.Positions == nil {
		return nil, errors.New("bert: no table of words or of positions")
	}
	if cfg.PositionOffset < 0 || w.Positions.Len() <= cfg.PositionOffset {
		return nil, fmt.Errorf("bert: %d positions, the first one being %d", w.Positions.Len(), cfg.PositionOffset)
	}
	if len(w.Type) != 0 && len(w.Type) != cfg.Hidden {
		return nil, fmt.Errorf("bert: a token type of %d values, want %d", len(w.Type), cfg.Hidden)
	}
	if err := w.Norm.check(cfg.Hidden); err != nil {
		return nil, err
	}
	if cfg.Threads <= 0 {
		cfg.Threads = runtime.GOMAXPROCS(0)
	}
	e := &Encoder{cfg: cfg, words: w.Words, pos: w.Positions, kind: w.Type, norm: w.Norm, scratch: make(chan *scratch, cfg.Threads)}
	for i, l := range w.Layers {
		packed, err := l.pack(cfg)
		if err != nil {
			return nil, fmt.Errorf("bert: layer %d: %w", i, err)
		}
		e.layers = append(e.layers, packed)
	}
	for range cfg.Threads {
		e.scratch <- &scratch{}
	}
	return e, nil
}

func (n Norm) check(width int) error {
	if len(n.Gamma) != width || len(n.Beta) != width {
		return fmt.Errorf("bert: a layer norm of %d and %d values, want %d", len(n.Gamma), len(n.Beta), width)
	}
	return nil
}

func (l Layer) pack(cfg Config) (layer, error) {
	p := layer{afterAttention: l.AttentionNorm, afterOutput: l.OutputNorm}
	if err := errors.Join(l.AttentionNorm.check(cfg.Hidden), l.OutputNorm.check(cfg.Hidden)); err != nil {
		return p, err
	}
	var errs [4]error
	h := cfg.Hidden
	p.qkv, errs[0] = dense(cfg, h, 3*h, l.Query, l.Key, l.Value)
	p.out, errs[1] = dense(cfg, h, h, l.AttentionOut)
	p.up, errs[2] = dense(cfg, h, cfg.Intermediate, l.Up)
	p.down, errs[3] = dense(cfg, cfg.Intermediate, h, l.Down)
	return p, errors.Join(errs[:]...)
}

func dense(cfg Config, in, out int, parts ...Dense) (matrix.Linear, error) {
	var ws []matrix.Weight
	var bias []float32
	for _, p := range parts {
		if p.W.Cols != in || p.W.Rows*len(parts) != out {
			return nil, fmt.Errorf("a matrix of %d×%d, want %d×%d", p.W.Rows, p.W.Cols, out/len(parts), in)
		}
		if len(p.Bias) != 0 && len(p.Bias) != p.W.Rows {
			return nil, fmt.Errorf("a bias of %d values, want %d", len(p.Bias), p.W.Rows)
		}
		ws = append(ws, p.W)
		bias = append(bias, p.Bias...)
		bias = append(bias, make([]float32, p.W.Rows-len(p.Bias))...)
	}
	return matrix.Pack(ws, bias, cfg.Exact)
}

// Dimensions is the length of every vector.
func (e *Encoder) Dimensions() int { return e.cfg.Hidden }

// MaxTokens is how many tokens a text may have.
func (e *Encoder) MaxTokens() int { return e.pos.Len() - e.cfg.PositionOffset }

// Bytes is how much memory the packed matrices take.
func (e *Encoder) Bytes() int {
	n := 0
	for _, l := range e.layers {
		n += l.qkv.Bytes() + l.out.Bytes() + l.up.Bytes() + l.down.Bytes()
	}
	return n
}
