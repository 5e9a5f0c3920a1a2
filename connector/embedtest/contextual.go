package embedtest

import (
	"context"
	"hash/fnv"
	"math"
	"slices"
	"sync"

	"github.com/kbsync/kbsync/connector"
)

// Contextual is the reference embedder of contextual models, for tests of what works with them: hashed characters and pairs of characters, mixed
// with those of the neighbours, the nearer and the earlier ones weighing more. So a vector tells which texts its own stood among, and where. Safe
// for concurrent use.
type Contextual struct {
	model connector.Model

	mu     sync.Mutex
	groups [][]string
}

var _ connector.Embedder = (*Contextual)(nil)

// neighbourhood is how much of a vector is that of the neighbours.
const neighbourhood = 0.25

// NewContextual makes an embedder. Of limits, those of a request are taken.
func NewContextual(limits connector.Model) *Contextual {
	return &Contextual{model: connector.Model{
		Provider: "contextual", Name: "reference", Version: "1", Dimensions: 32, Normalized: true, Contextual: true,
		MaxItems: limits.MaxItems, MaxTokens: limits.MaxTokens, MaxBytes: limits.MaxBytes, MaxInputTokens: limits.MaxInputTokens,
	}}
}

// Model implements [connector.Embedder].
func (e *Contextual) Model() connector.Model { return e.model }

// Groups are the texts of each call of Embed so far, in no order of the calls that overlapped.
func (e *Contextual) Groups() [][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.groups)
}

// Embed implements [connector.Embedder].
func (e *Contextual) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil || len(texts) == 0 {
		return nil, err
	}
	e.mu.Lock()
	e.groups = append(e.groups, slices.Clone(texts))
	e.mu.Unlock()
	alone := make([][]float64, len(texts))
	for i, text := range texts {
		alone[i] = e.alone(text)
	}
	out := make([][]float32, len(texts))
	for i := range texts {
		sum := make([]float64, e.model.Dimensions)
		for j := range texts {
			weight := 1 / float64(1+max(i-j, j-i))
			if j > i {
				weight /= 2
			}
			add(sum, alone[j], weight)
		}
		unit(sum)
		mixed := make([]float64, e.model.Dimensions)
		add(mixed, alone[i], 1-neighbourhood)
		add(mixed, sum, neighbourhood)
		out[i] = narrow(mixed)
	}
	return out, nil
}

// EmbedQuery implements [connector.Embedder]: a question stands alone.
func (e *Contextual) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	return narrow(e.alone(text)), ctx.Err()
}

// Close has nothing to close.
func (e *Contextual) Close() error { return nil }

func (e *Contextual) alone(text string) []float64 {
	v := make([]float64, e.model.Dimensions)
	last := rune(0)
	for _, r := range text {
		for _, feature := range []string{string(r), string(last) + string(r)} {
			h := fnv.New64a()
			_, _ = h.Write([]byte(feature))
			sum := h.Sum64()
			v[sum%uint64(len(v))] += float64(1) - 2*float64(sum>>63)
			v[(sum>>20)%uint64(len(v))] += 0.5
		}
		last = r
	}
	unit(v)
	return v
}

func add(to, v []float64, weight float64) {
	for i := range to {
		to[i] += weight * v[i]
	}
}

func unit(v []float64) {
	square := 0.0
	for _, x := range v {
		square += x * x
	}
	for i := range v {
		v[i] /= math.Sqrt(max(square, 1e-30))
	}
}

func narrow(v []float64) []float32 {
	unit(v)
	out := make([]float32, len(v))
	for i := range v {
		out[i] = float32(v[i])
	}
	return out
}
