package strategytest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/counters"
)

// Env is the environment that a pipeline without a model gives, for tests: the token counter of "model" is cl100k, the given strategies
// can be opened by others, and Vectors is [Hashed]. A language model is set by whoever has one.
func Env(plugins ...connector.StrategyPlugin) connector.StrategyEnv {
	var set connector.Set[connector.StrategyPlugin]
	for _, p := range plugins {
		if err := set.Add(p.Kind, p); err != nil {
			panic(err) // the same kind twice in one test
		}
	}
	env := connector.StrategyEnv{
		Counter: func(name string) (connector.Counter, error) {
			if name == "model" {
				name = "cl100k"
			}
			return counters.Named(name)
		},
		Vectors: func(context.Context) (connector.Vectorizer, error) { return Hashed{}, nil },
		LLM: func(context.Context) (connector.LLM, error) {
			return nil, fmt.Errorf("strategytest: no language model: %w", errors.ErrUnsupported)
		},
	}
	env.Strategy = func(ctx context.Context, c connector.Choice) (connector.Strategy, error) {
		p, ok := set.Get(c.Kind)
		if !ok {
			return nil, fmt.Errorf("strategytest: no strategy %q in this test: %w", c.Kind, errors.ErrUnsupported)
		}
		if c.Config == nil {
			c.Config = p.Config()
		}
		return p.Open(ctx, c.Config, env)
	}
	return env
}

// Hashed is a [connector.Vectorizer] without a model: counts of pairs of characters, hashed to 256 places, of length 1. Texts that share
// words are near to each other.
type Hashed struct{}

// Identity implements [connector.Vectorizer].
func (Hashed) Identity() string { return "strategytest/hashed" }

// Vectors implements [connector.Vectorizer].
func (Hashed) Vectors(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v := make([]float32, 256)
		last := ' '
		for _, r := range text {
			h := fnv.New32a()
			_, _ = h.Write([]byte(string([]rune{last, r})))
			v[h.Sum32()%256]++
			last = r
		}
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		for j := range v {
			v[j] = float32(float64(v[j]) / math.Sqrt(sum))
		}
		out[i] = v
	}
	return out, nil
}
