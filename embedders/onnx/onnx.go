//go:build onnx && cgo

package onnx

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/modelfile"
	"github.com/kbsync/kbsync/internal/wordpieces"
)

// process guards the start of ONNX Runtime, of which a process has one.
var process sync.Mutex

// Embedder runs one model. Safe for concurrent use.
type Embedder struct {
	config    Config
	model     connector.Model
	tokenizer wordpieces.Tokenizer
	session   *ort.DynamicAdvancedSession
	inputs    []string
	hidden    int64
}

var _ connector.Embedder = (*Embedder)(nil)

// Open loads the library, unless the process has one, and the model. The model's identity is a hash of its two files; the library's version is left out:
// releases of ONNX Runtime differ in the last digits, and to embed all anew for each would cost more than that is worth.
func Open(c Config) (connector.Embedder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	e, err := load(c)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return e, nil
}

func load(c Config) (*Embedder, error) {
	weights, err := os.ReadFile(filepath.Join(c.Model, "model.onnx"))
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(c.Model, "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	v, err := modelfile.ReadTokenizer(raw)
	if err != nil {
		return nil, err
	}
	v.Name = filepath.Base(c.Model)
	e := &Embedder{config: c}
	if e.tokenizer, err = wordpieces.New(&v); err != nil {
		return nil, err
	}
	if err := start(c.Library); err != nil {
		return nil, err
	}
	if err := e.open(weights); err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%x %x %s", sha256.Sum256(weights), sha256.Sum256(raw), c.Pooling)
	e.model = connector.Model{
		Provider: "onnx", Name: v.Name, Version: hex.EncodeToString(sum.Sum(nil)[:8]), Dimensions: int(e.hidden), Normalized: c.Normalize,
		DocumentPrefix: c.DocumentPrefix, QueryPrefix: c.QueryPrefix, MaxItems: 8 * c.Batch, MaxInputTokens: c.MaxTokens, Counter: e.tokenizer,
	}
	if c.DocumentPrefix != "" {
		e.model.MaxInputTokens = max(1, c.MaxTokens-e.tokenizer.Count(c.DocumentPrefix))
	}
	return e, nil
}

// start loads the library once.
func start(library string) error {
	process.Lock()
	defer process.Unlock()
	if ort.IsInitialized() {
		return nil
	}
	ort.SetSharedLibraryPath(library)
	if err := ort.InitializeEnvironment(); err != nil {
		return fmt.Errorf("library %s: %w", library, err)
	}
	return nil
}

// open makes the session, and finds the names of what goes in and comes out.
func (e *Embedder) open(weights []byte) error {
	in, out, err := ort.GetInputOutputInfoWithONNXData(weights)
	if err != nil {
		return fmt.Errorf("model.onnx: %w", err)
	}
	for _, one := range in {
		if !slices.Contains([]string{"input_ids", "attention_mask", "token_type_ids"}, one.Name) {
			return fmt.Errorf("model.onnx: unknown input %q", one.Name)
		}
		e.inputs = append(e.inputs, one.Name)
	}
	at := slices.IndexFunc(out, func(o ort.InputOutputInfo) bool { return len(o.Dimensions) == 3 && o.Dimensions[2] > 0 })
	if at < 0 || !slices.Contains(e.inputs, "input_ids") {
		return errors.New("model.onnx: takes no input_ids, or gives no vector for each token")
	}
	e.hidden = out[at].Dimensions[2]
	options, err := ort.NewSessionOptions()
	if err != nil {
		return err
	}
	defer options.Destroy() //nolint:errcheck // nothing is lost
	if e.config.Threads > 0 {
		if err := options.SetIntraOpNumThreads(e.config.Threads); err != nil {
			return err
		}
	}
	e.session, err = ort.NewDynamicAdvancedSessionWithONNXData(weights, e.inputs, []string{out[at].Name}, options)
	return err
}

// Model implements [connector.Embedder].
func (e *Embedder) Model() connector.Model { return e.model }

// Embed implements [connector.Embedder]. A text above max_tokens is refused alone.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embed(ctx, e.config.DocumentPrefix, texts)
}

// EmbedQuery implements [connector.Embedder].
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	out, err := e.embed(ctx, e.config.QueryPrefix, []string{text})
	var be *connector.BatchError
	if errors.As(err, &be) {
		return nil, be.Items[0]
	}
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// Close frees the model; the library stays loaded.
func (e *Embedder) Close() error { return e.session.Destroy() }

func (e *Embedder) embed(ctx context.Context, prefix string, texts []string) ([][]float32, error) {
	out, ids, failed := make([][]float32, len(texts)), make([][]int32, len(texts)), map[int]error{}
	var order []int
	for i, text := range texts {
		if ids[i], _ = e.tokenizer.Encode(prefix+text, 0); len(ids[i]) > e.config.MaxTokens {
			failed[i] = connector.Errorf(connector.ClassInvalid, "onnx: a text of %d tokens, the model takes %d", len(ids[i]), e.config.MaxTokens)
			continue
		}
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(ids[a]) - len(ids[b]) })
	for part := range slices.Chunk(order, e.config.Batch) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := e.run(part, ids, out); err != nil {
			return nil, fmt.Errorf("onnx: %w", err)
		}
	}
	if len(failed) > 0 {
		return out, &connector.BatchError{Items: failed}
	}
	return out, ctx.Err()
}

// run computes the texts of part, padded to the longest.
func (e *Embedder) run(part []int, ids [][]int32, out [][]float32) error {
	width := len(ids[part[len(part)-1]])
	shape := ort.NewShape(int64(len(part)), int64(width))
	data := map[string][]int64{}
	for _, name := range e.inputs {
		data[name] = make([]int64, len(part)*width)
	}
	for row, i := range part {
		for col, id := range ids[i] {
			data["input_ids"][row*width+col] = int64(id)
			if mask := data["attention_mask"]; mask != nil {
				mask[row*width+col] = 1
			}
		}
	}
	inputs := make([]ort.Value, len(e.inputs))
	for i, name := range e.inputs {
		t, err := ort.NewTensor(shape, data[name])
		if err != nil {
			return err
		}
		defer t.Destroy() //nolint:errcheck // nothing is lost
		inputs[i] = t
	}
	result, err := ort.NewEmptyTensor[float32](ort.NewShape(int64(len(part)), int64(width), e.hidden))
	if err != nil {
		return err
	}
	defer result.Destroy() //nolint:errcheck // nothing is lost
	if err := e.session.Run(inputs, []ort.Value{result}); err != nil {
		return err
	}
	all, n := result.GetData(), int(e.hidden)
	for row, i := range part {
		out[i] = e.pool(all[row*width*n:(row+1)*width*n], len(ids[i]))
	}
	return nil
}

// pool makes one vector of those of the first tokens.
func (e *Embedder) pool(tokens []float32, count int) []float32 {
	n := int(e.hidden)
	if e.config.Pooling == "cls" {
		count = 1
	}
	sums, square := make([]float64, n), 0.0
	for t := range count {
		for j, x := range tokens[t*n : (t+1)*n] {
			sums[j] += float64(x)
		}
	}
	for j := range sums {
		sums[j] /= float64(count)
		square += sums[j] * sums[j]
	}
	length := 1.0
	if e.config.Normalize && square > 0 {
		length = math.Sqrt(square)
	}
	v := make([]float32, n)
	for j, s := range sums {
		v[j] = float32(s / length)
	}
	return v
}
