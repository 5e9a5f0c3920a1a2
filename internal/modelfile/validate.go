package modelfile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

type shape struct{ rows, cols int }

// shapes is what the model's tensors look like, by name.
func (m *Model) shapes() map[string]shape {
	c := &m.Config
	s := map[string]shape{
		WordTable: {c.Vocabulary, c.Hidden}, PositionTable: {c.Positions, c.Hidden}, TypeTable: {c.TypeVocabulary, c.Hidden},
		NormWeight: {1, c.Hidden}, NormBias: {1, c.Hidden},
	}
	for n := range min(c.Layers, maxLayers) {
		for _, part := range []string{Query, Key, Value, AttentionOut} {
			s[Layer(n, part, false)], s[Layer(n, part, true)] = shape{c.Hidden, c.Hidden}, shape{1, c.Hidden}
		}
		for _, part := range []string{AttentionNorm, OutputNorm} {
			s[Layer(n, part, false)], s[Layer(n, part, true)] = shape{1, c.Hidden}, shape{1, c.Hidden}
		}
		s[Layer(n, Up, false)], s[Layer(n, Up, true)] = shape{c.Intermediate, c.Hidden}, shape{1, c.Intermediate}
		s[Layer(n, Down, false)], s[Layer(n, Down, true)] = shape{c.Hidden, c.Intermediate}, shape{1, c.Hidden}
	}
	return s
}

// The bounds of what this package reads: well above all models that it is for.
const (
	maxLayers = 256
	maxWidth  = 1 << 16
	maxRows   = 1 << 22
)

// Validate says whether the model is whole: sound numbers, each tensor there once, in its shape and of the right size, and a
// vocabulary that fits its table. Every reader calls it.
func (m *Model) Validate() error {
	if err := m.Config.validate(); err != nil {
		return fmt.Errorf("modelfile: %w", err)
	}
	shapes := m.shapes()
	m.byName = make(map[string]int, len(m.Tensors))
	for i := range m.Tensors {
		t := &m.Tensors[i]
		s, ok := shapes[t.Name]
		if _, twice := m.byName[t.Name]; !ok || twice {
			return fmt.Errorf("modelfile: the tensor %q is not one of a model of %d layers, or is there twice", t.Name, m.Config.Layers)
		}
		if t.Rows != s.rows || t.Cols != s.cols {
			return fmt.Errorf("modelfile: the tensor %q is %d×%d, want %d×%d", t.Name, t.Rows, t.Cols, s.rows, s.cols)
		}
		if err := t.check(); err != nil {
			return fmt.Errorf("modelfile: %w", err)
		}
		m.byName[t.Name] = i
	}
	for name := range shapes {
		if _, ok := m.byName[name]; !ok {
			return fmt.Errorf("modelfile: the model %s lacks the tensor %q", m.Config.Name, name)
		}
	}
	if n := len(m.Vocabulary.Pieces); n > m.Config.Vocabulary {
		return fmt.Errorf("modelfile: the vocabulary has %d pieces, its table %d rows", n, m.Config.Vocabulary)
	}
	return m.Vocabulary.Validate()
}

func (c *Config) validate() error {
	for _, n := range []struct {
		name       string
		value, max int
	}{
		{"layers", c.Layers, maxLayers}, {"hidden", c.Hidden, maxWidth}, {"heads", c.Heads, maxWidth}, {"intermediate", c.Intermediate, maxWidth},
		{"vocabulary", c.Vocabulary, maxRows}, {"positions", c.Positions, maxRows}, {"type_vocabulary", c.TypeVocabulary, maxWidth},
		{"max_tokens", c.MaxTokens, c.Positions - c.PositionOffset}, {"position_offset+1", c.PositionOffset + 1, c.Positions},
	} {
		if n.value < 1 || n.value > n.max {
			return fmt.Errorf("the model's %s is %d: want 1 to %d", n.name, n.value, n.max)
		}
	}
	switch {
	case c.Hidden%c.Heads != 0:
		return fmt.Errorf("%d heads do not divide a width of %d", c.Heads, c.Hidden)
	case !(c.Epsilon >= 0 && c.Epsilon < 1) || math.IsNaN(c.Epsilon):
		return fmt.Errorf("the model's epsilon is %g: want 0 to 1", c.Epsilon)
	case c.Activation != "gelu":
		return fmt.Errorf("the model's activation is %q: only gelu is known", c.Activation)
	case c.Pooling != "mean" && c.Pooling != "cls":
		return fmt.Errorf("the model's pooling is %q: only mean and cls are known", c.Pooling)
	}
	return nil
}

// inOrder sorts tensors by their use, so that a file does not depend on how its source was read.
func inOrder(tensors []Tensor) {
	slices.SortFunc(tensors, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), strings.Compare(a.Name, b.Name))
	})
}

// rank is 0 for the tables, and the number of the layer, counted from 1.
func rank(name string) int {
	rest, ok := strings.CutPrefix(name, "layer.")
	if !ok {
		return 0
	}
	number, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n + 1
}
