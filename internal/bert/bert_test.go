package bert

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kbsync/kbsync/internal/bert/matrix"
)

func texts(seed uint64, n, vocabulary, longest int) [][]int32 {
	r := rand.New(rand.NewPCG(seed, 9))
	all := make([][]int32, n)
	for i := range all {
		all[i] = make([]int32, 1+r.IntN(longest))
		for j := range all[i] {
			all[i][j] = int32(r.IntN(vocabulary))
		}
	}
	return all
}

func open(t testing.TB, cfg Config, w Weights) *Encoder {
	t.Helper()
	e, err := Open(cfg, w)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Against the textbook: tokens and pooled vectors, for all forms of weights, both engines and shapes that are no whole tiles.
func TestAgainstReference(t *testing.T) {
	shapes := []Config{
		{Layers: 3, Hidden: 64, Heads: 4, Intermediate: 128, Epsilon: 1e-12, Normalize: true},
		{Layers: 2, Hidden: 96, Heads: 3, Intermediate: 160, Epsilon: 1e-5, PositionOffset: 2, FirstToken: true},
		{Layers: 2, Hidden: 32, Heads: 4, Intermediate: 96, Epsilon: 1e-12, Normalize: true},
		{Layers: 2, Hidden: 36, Heads: 3, Intermediate: 50, Epsilon: 1e-12}, // floats and int8 only
	}
	for _, cfg := range shapes {
		for _, form := range []string{"float", "int8", "q4"} {
			if form == "q4" && (cfg.Hidden%32 != 0 || cfg.Intermediate%32 != 0) {
				continue
			}
			w := random(cfg, form, 50, 80)
			batch := texts(1, 6, 50, 70)
			var want [][][]float64
			for _, ids := range batch {
				want = append(want, reference(cfg, w, ids))
			}
			for _, exact := range []bool{true, false} {
				for _, eng := range []matrix.Engine{matrix.Generic, matrix.Best()} {
					cfg.Exact, cfg.Engine, cfg.Threads = exact, eng, 2
					compare(t, cfg, form, w, batch, want)
				}
			}
		}
	}
}

func compare(t *testing.T, cfg Config, form string, w Weights, batch [][]int32, exact [][][]float64) {
	t.Helper()
	e := open(t, cfg, w)
	least := 0.9999999
	if !cfg.Exact {
		least = map[string]float64{"float": 0.99999, "int8": 0.99999, "q4": 0.9995}[form]
	}
	got, err := e.Encode(context.Background(), batch)
	if err != nil {
		t.Fatal(err)
	}
	worst := 1.
	for i, ids := range batch {
		want := exact[i]
		tokens, err := e.Tokens(context.Background(), ids)
		if err != nil || len(tokens) != len(ids) {
			t.Fatalf("%d tokens for %d: %v", len(tokens), len(ids), err)
		}
		mean := make([]float64, cfg.Hidden)
		for j := range want {
			worst = min(worst, cosine(tokens[j], want[j]))
			for c, f := range want[j] {
				if !cfg.FirstToken || j == 0 {
					mean[c] += f
				}
			}
		}
		worst = min(worst, cosine(got[i], mean))
		if !slices.Equal(e.Pool(tokens), got[i]) {
			t.Errorf("text %d: the pooled tokens are another vector", i)
		}
		norm := 0.
		for _, f := range got[i] {
			norm += float64(f) * float64(f)
		}
		if cfg.Normalize && math.Abs(norm-1) > 1e-6 {
			t.Errorf("text %d: the square of the length is %g", i, norm)
		}
	}
	if !(worst >= least) {
		t.Errorf("%s, exact %t, %s, width %d: a cosine of %.7f", form, cfg.Exact, cfg.Engine, cfg.Hidden, worst)
	}
	t.Logf("%s, exact %t, %s, width %d: cosines from %.8f", form, cfg.Exact, cfg.Engine, cfg.Hidden, worst)
}

var small = Config{Layers: 2, Hidden: 64, Heads: 4, Intermediate: 128, Epsilon: 1e-12, Normalize: true, Engine: matrix.Best(), Threads: 2}

// A vector is the same bits whatever it is computed with, and whoever else computes.
func TestDeterminism(t *testing.T) {
	for _, form := range []string{"float", "int8", "q4"} {
		e := open(t, small, random(small, form, 50, 200))
		batch := texts(2, 40, 50, 200)
		want, err := e.Encode(context.Background(), batch)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i, ids := range batch {
			wg.Go(func() {
				got, err := e.Encode(context.Background(), [][]int32{ids, batch[(i+7)%len(batch)]})
				if err != nil || !slices.Equal(got[0], want[i]) {
					t.Errorf("%s: text %d alone has another vector (%v)", form, i, err)
				}
			})
		}
		wg.Wait()
	}
}

func TestEncodeRefuses(t *testing.T) {
	e := open(t, small, random(small, "float", 50, 20))
	for want, batch := range map[string][][]int32{
		"no tokens":      {{1}, {}},
		"21 tokens":      {make([]int32, 21)},
		"token 50":       {{1, 50}},
		"token -1":       {{-1}},
		"text 1 of 2":    {{1}, {99}},
		"takes 20: cut ": {make([]int32, 30)},
	} {
		if _, err := e.Encode(context.Background(), batch); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := e.Tokens(context.Background(), nil); err == nil {
		t.Error("an empty text has tokens")
	}
	if out, err := e.Encode(context.Background(), nil); err != nil || len(out) != 0 {
		t.Errorf("nothing became %v, %v", out, err)
	}
}

func TestCancel(t *testing.T) {
	e := open(t, small, random(small, "float", 50, 100))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 5 {
		if _, err := e.Encode(ctx, texts(3, 50, 50, 100)); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v, want that it was cancelled", err)
		}
	}
	if len(e.scratch) != small.Threads {
		t.Errorf("%d buffers of %d are back", len(e.scratch), small.Threads)
	}
	if _, err := e.Encode(context.Background(), texts(3, 5, 50, 100)); err != nil {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Config, *Weights){
		"heads":    func(c *Config, _ *Weights) { c.Heads = 5 },
		"layers":   func(c *Config, _ *Weights) { c.Layers = 3 },
		"words":    func(_ *Config, w *Weights) { w.Words = nil },
		"offset":   func(c *Config, _ *Weights) { c.PositionOffset = 100 },
		"type":     func(_ *Config, w *Weights) { w.Type = w.Type[1:] },
		"norm":     func(_ *Config, w *Weights) { w.Norm.Beta = nil },
		"a norm":   func(_ *Config, w *Weights) { w.Layers[1].OutputNorm.Gamma = nil },
		"a matrix": func(_ *Config, w *Weights) { w.Layers[1].Up.W.Rows-- },
		"a bias":   func(_ *Config, w *Weights) { w.Layers[1].Key.Bias = w.Layers[1].Key.Bias[1:] },
	} {
		cfg, w := small, random(small, "float", 50, 100)
		spoil(&cfg, &w)
		if _, err := Open(cfg, w); err == nil {
			t.Errorf("wrong %s: opened", name)
		}
	}
}
