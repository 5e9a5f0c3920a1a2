package embedtest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func TestContextualIsSound(t *testing.T) {
	for _, limits := range []connector.Model{{}, {MaxItems: 3}} {
		Run(t, func(*testing.T) connector.Embedder { return NewContextual(limits) }, Options{})
	}
}

// inContextDouble is a double of a contextual model that keeps every rule.
func inContextDouble() *double {
	e := NewContextual(connector.Model{})
	return &double{model: e.Model(), embed: e.Embed, query: e.EmbedQuery, close: e.Close}
}

func contextPlants() map[string]func(d *double) {
	each := func(change func(texts []string, out [][]float32) [][]float32) func(*double) {
		return func(d *double) { after(d, change) }
	}
	return map[string]func(d *double){
		"order: sorted by length": each(func(t []string, o [][]float32) [][]float32 { return swapLonger(t, o) }),
		"order: backwards":        each(func(_ []string, o [][]float32) [][]float32 { slices.Reverse(o); return o }),
		"context: each alone": func(d *double) {
			sound := d.embed
			d.embed = func(ctx context.Context, texts []string) ([][]float32, error) {
				out := make([][]float32, len(texts))
				for i := range texts {
					one, err := sound(ctx, texts[i:i+1])
					if err != nil {
						return nil, err
					}
					out[i] = one[0]
				}
				return out, nil
			}
		},
		"context: the call before counts": func(d *double) {
			var mu sync.Mutex
			var before []float32
			after(d, func(_ []string, out [][]float32) [][]float32 {
				mu.Lock()
				defer mu.Unlock()
				last := before
				if len(out) > 1 {
					before = slices.Clone(out[0])
				}
				for i := range last {
					out[0][i] = out[0][i]*0.99 + last[i]*0.01
				}
				return out
			})
		},
		"context: twins share their vector": each(func(t []string, o [][]float32) [][]float32 { return alias(t, o) }),
		"deterministic: random":             countdown(4),
		"distinct: all the same":            each(func(_ []string, o [][]float32) [][]float32 { return fill(o) }),
		"concurrency: shared buffer":        shared,
		"query: not the passage that is asked": func(d *double) {
			d.query = func(ctx context.Context, _ string) ([]float32, error) { return vectorOfContext(), ctx.Err() }
		},
		"batch: contextual, and does not say so": func(d *double) { d.model.Contextual = false },
		"order: contextual, and does not say so": func(d *double) { d.model.Contextual = false },
	}
}

// fill gives all texts of a group the vector of the first.
func fill(out [][]float32) [][]float32 {
	for i := range out {
		out[i] = slices.Clone(out[0])
	}
	return out
}

func vectorOfContext() []float32 {
	v := make([]float32, 32)
	v[0] = 1
	return v
}

func TestContextPlants(t *testing.T) { prove(t, contextPlants(), inContextDouble) }
