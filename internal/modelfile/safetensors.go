package modelfile

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// readSafetensors reads the tensors that shapes names. The format is: the length of a header (uint64), the header in JSON, the values.
// Single and half precision are taken as they are, bfloat16 becomes single precision.
func readSafetensors(data []byte, shapes map[string]shape) ([]Tensor, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("the file is cut off: it has %d bytes", len(data))
	}
	size := binary.LittleEndian.Uint64(data)
	if size > uint64(len(data)-8) || size > maxMetadata {
		return nil, fmt.Errorf("the file is cut off or damaged: a header of %d bytes in a file of %d", size, len(data))
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(data[8:8+size], &header); err != nil {
		return nil, fmt.Errorf("the header is damaged: %w", err)
	}
	values := data[8+size:]
	names := folderNames(shapes)
	var tensors []Tensor
	for theirs, raw := range header {
		name, ok := names[strings.TrimPrefix(strings.TrimPrefix(theirs, "bert."), "roberta.")]
		if !ok {
			continue // the pooler, position ids, and what other tasks need
		}
		t, err := safetensor(raw, values, shapes[name])
		if err != nil {
			return nil, fmt.Errorf("the tensor %q: %w", theirs, err)
		}
		t.Name = name
		tensors = append(tensors, t)
	}
	inOrder(tensors)
	return tensors, nil
}

func safetensor(raw json.RawMessage, values []byte, want shape) (Tensor, error) {
	var h struct {
		Type    string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(raw, &h); err != nil {
		return Tensor{}, err
	}
	from, to := h.Offsets[0], h.Offsets[1]
	if from < 0 || to < from || to > int64(len(values)) {
		return Tensor{}, fmt.Errorf("it lies at %d to %d, outside the %d bytes of values", from, to, len(values))
	}
	t := Tensor{Rows: want.rows, Cols: want.cols, Data: values[from:to:to]}
	if len(h.Shape) == 0 || h.Shape[len(h.Shape)-1] != want.cols || len(h.Shape) > 2 || len(h.Shape) == 2 && h.Shape[0] != want.rows {
		return Tensor{}, fmt.Errorf("its shape is %v, want %d×%d", h.Shape, want.rows, want.cols)
	}
	switch h.Type {
	case "F32":
	case "F16":
		t.Encoding = F16
	case "BF16":
		if len(t.Data) != 2*t.Rows*t.Cols {
			return Tensor{}, fmt.Errorf("it has %d bytes", len(t.Data))
		}
		wide := make([]byte, 0, 2*len(t.Data))
		for i := 0; i < len(t.Data); i += 2 {
			wide = append(wide, 0, 0, t.Data[i], t.Data[i+1])
		}
		t.Data = wide
	default:
		return Tensor{}, fmt.Errorf("its type is %s: only F32, F16 and BF16 are known", h.Type)
	}
	return t, t.check()
}

// folderNames maps the names of a BertModel's tensors to ours.
func folderNames(shapes map[string]shape) map[string]string {
	const at = "embeddings."
	names := map[string]string{
		at + "word_embeddings.weight": WordTable, at + "position_embeddings.weight": PositionTable, at + "token_type_embeddings.weight": TypeTable,
		at + "LayerNorm.weight": NormWeight, at + "LayerNorm.bias": NormBias,
	}
	parts := map[string]string{
		Query: "attention.self.query", Key: "attention.self.key", Value: "attention.self.value", AttentionOut: "attention.output.dense",
		AttentionNorm: "attention.output.LayerNorm", Up: "intermediate.dense", Down: "output.dense", OutputNorm: "output.LayerNorm",
	}
	for n := 0; ; n++ {
		if _, ok := shapes[Layer(n, Query, false)]; !ok {
			return names
		}
		for ours, theirs := range parts {
			prefix := fmt.Sprintf("encoder.layer.%d.%s", n, theirs)
			names[prefix+".weight"], names[prefix+".bias"] = Layer(n, ours, false), Layer(n, ours, true)
		}
	}
}

// Quantize returns the model with matrices in Q8, each row by its own factor, so that its greatest value becomes ±127. Vectors and what is
// in Q4 stay as they are.
func (m *Model) Quantize() (*Model, error) {
	out := &Model{Config: m.Config, Vocabulary: m.Vocabulary}
	for i := range m.Tensors {
		t := m.Tensors[i]
		if t.Rows > 1 && t.Name != PositionTable && t.Name != TypeTable && (t.Encoding == F32 || t.Encoding == F16) {
			t = quantized(&t)
		}
		out.Tensors = append(out.Tensors, t)
	}
	return out, out.Validate()
}

func quantized(t *Tensor) Tensor {
	values, factors := make([]byte, 0, t.Encoding.Size(t.Rows, t.Cols)), make([]byte, 0, 4*t.Rows)
	row := make([]float32, t.Cols)
	for i := range t.Rows {
		most := float32(0)
		for _, v := range t.Row(i, row) {
			most = max(most, float32(math.Abs(float64(v))))
		}
		factor := most / 127
		for _, v := range row {
			q := 0.0
			if factor > 0 {
				q = math.RoundToEven(float64(v / factor))
			}
			values = append(values, byte(int8(max(-127, min(127, q)))))
		}
		factors = binary.LittleEndian.AppendUint32(factors, math.Float32bits(factor))
	}
	return Tensor{Name: t.Name, Rows: t.Rows, Cols: t.Cols, Encoding: Q8, Data: append(values, factors...)}
}
