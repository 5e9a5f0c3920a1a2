// Package modelfile holds the weights of BERT-family embedding models: kbsync's own file of them, which is read in place from the
// program or from memory, and readers of other formats that it is converted from.
package modelfile

import (
	"fmt"
	"strconv"

	"github.com/kbsync/kbsync/internal/wordpieces"
)

// Model is one embedding model: how it is computed, its weights, and its vocabulary.
type Model struct {
	Config     Config
	Tensors    []Tensor
	Vocabulary wordpieces.Vocabulary

	byName map[string]int
	sums   map[string]uint32 // of the file that it was read from
}

// Config is how a model's weights are used: an encoder of BERT's architecture, whose vectors of tokens are pooled to one.
type Config struct {
	// Name and Version are what people call the model. What tells its vectors from others is [Model.Fingerprint].
	Name    string `json:"name"`
	Version string `json:"version"`
	// Notice holds the licences of the weights.
	Notice string `json:"notice,omitempty"`

	Layers       int `json:"layers"`
	Hidden       int `json:"hidden"`
	Heads        int `json:"heads"`
	Intermediate int `json:"intermediate"`
	// Vocabulary is the number of rows of [WordTable].
	Vocabulary int `json:"vocabulary"`
	// Positions is the number of rows of the position table; a text may have Positions-PositionOffset tokens, and its token i takes
	// row i+PositionOffset. The offset is 0 for BertModel, which multilingual-e5-small is, and 2 for XLM-RoBERTa.
	Positions      int `json:"positions"`
	PositionOffset int `json:"position_offset"`
	TypeVocabulary int `json:"type_vocabulary"`
	// Epsilon is added to variances in layer norms, 1e-12 for BERT.
	Epsilon float64 `json:"epsilon"`
	// Activation between the two feed-forward matrices: "gelu" is the exact one, by the error function.
	Activation string `json:"activation"`
	// Pooling is "mean" of all tokens, special ones included, or "cls", the first.
	Pooling string `json:"pooling"`
	// Normalize says that vectors are divided by their length.
	Normalize bool `json:"normalize"`
	// The prefixes that a model was trained with; they are part of its identity.
	DocumentPrefix string `json:"document_prefix,omitempty"`
	QueryPrefix    string `json:"query_prefix,omitempty"`
	// MaxTokens of one text, special tokens and prefix included.
	MaxTokens int `json:"max_tokens"`
}

// Encoding is how a tensor's numbers are stored, all little-endian.
type Encoding uint8

// The encodings.
const (
	// F32 is IEEE single precision, row after row.
	F32 Encoding = iota
	// F16 is IEEE half precision, row after row.
	F16
	// Q8 is rows*cols int8 values, row after row, and then a float32 for each row that its values are multiplied by.
	Q8
	// Q4 is Q4_0 of ggml: every row is cols/32 blocks of 18 bytes, each a half-precision factor d and 16 bytes; byte j holds
	// value j in its low and value j+16 in its high half, and a value v stands for (v-8)*d.
	Q4
)

// Q4Block is the number of values in a block of Q4, Q4Bytes its size.
const (
	Q4Block = 32
	Q4Bytes = 18
)

// Tensor is a matrix or, with one row, a vector. A linear layer's matrix has one row for each of its outputs: y = W·x + b.
type Tensor struct {
	Name     string
	Rows     int
	Cols     int
	Encoding Encoding
	// Data may lie in the file that was read: it must not be written to. It starts at a multiple of 64 bytes in that file.
	Data []byte
}

// The tables of embeddings and their layer norm. TypeTable has a row for each token type; only row 0 is used.
const (
	WordTable     = "words"
	PositionTable = "positions"
	TypeTable     = "types"
	NormWeight    = "norm.weight"
	NormBias      = "norm.bias"
)

// The parts of a layer, for [Layer]. Query, Key, Value and AttentionOut are hidden×hidden, Up is intermediate×hidden, Down is
// hidden×intermediate; AttentionNorm follows the attention and its residual, OutputNorm the feed-forward part and its residual.
const (
	Query         = "query"
	Key           = "key"
	Value         = "value"
	AttentionOut  = "attention_out"
	AttentionNorm = "attention_norm"
	Up            = "up"
	Down          = "down"
	OutputNorm    = "output_norm"
)

// Layer names the weight of a part of layer n, counted from 0; with bias true, its bias.
func Layer(n int, part string, bias bool) string {
	name := "layer." + strconv.Itoa(n) + "." + part
	if bias {
		return name + ".bias"
	}
	return name + ".weight"
}

// Tensor finds a tensor by its name.
func (m *Model) Tensor(name string) (*Tensor, error) {
	if i, ok := m.byName[name]; ok && i < len(m.Tensors) && m.Tensors[i].Name == name {
		return &m.Tensors[i], nil
	}
	for i := range m.Tensors {
		if m.Tensors[i].Name == name {
			return &m.Tensors[i], nil
		}
	}
	return nil, fmt.Errorf("modelfile: the model %s has no tensor %q", m.Config.Name, name)
}

// Tokenizer makes the model's tokenizer; keep it, it takes a moment.
func (m *Model) Tokenizer() (wordpieces.Tokenizer, error) { return wordpieces.New(&m.Vocabulary) }
