package embedtest

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/kbsync/kbsync/connector"
)

const dims = 8

// double is an embedder that keeps every rule until one of its functions is replaced.
type double struct {
	model connector.Model
	embed func(ctx context.Context, texts []string) ([][]float32, error)
	query func(ctx context.Context, text string) ([]float32, error)
	close func() error
}

func (d *double) Model() connector.Model { return d.model }
func (d *double) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return d.embed(ctx, texts)
}
func (d *double) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	return d.query(ctx, text)
}
func (d *double) Close() error { return d.close() }

func vectorOf(text string) []float32 {
	v := make([]float32, dims)
	sum := 0.0
	for i := range v {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, i, text)
		x := float64(int64(h.Sum64())) / math.MaxInt64 //nolint:gosec // wraps around on purpose
		v[i] = float32(x)
		sum += x * x
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func sound() *double {
	d := &double{model: connector.Model{Provider: "double", Name: "d", Version: "1", Dimensions: dims, Normalized: true}, close: func() error { return nil }}
	d.embed = func(ctx context.Context, texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i, text := range texts {
			out[i] = vectorOf(d.model.DocumentPrefix + text)
		}
		return out, ctx.Err()
	}
	d.query = func(ctx context.Context, text string) ([]float32, error) {
		return vectorOf(d.model.QueryPrefix + text), ctx.Err()
	}
	return d
}

func TestSoundDouble(t *testing.T) {
	Run(t, func(*testing.T) connector.Embedder { return sound() }, Options{})
	Run(t, func(*testing.T) connector.Embedder {
		d := sound()
		d.model.QueryPrefix, d.model.DocumentPrefix = "query: ", "passage: "
		return d
	}, Options{Batch: 3})
}

// after changes what Embed of a sound double returns.
func after(d *double, change func(texts []string, out [][]float32) [][]float32) {
	sound := d.embed
	d.embed = func(ctx context.Context, texts []string) ([][]float32, error) {
		out, err := sound(ctx, texts)
		return change(texts, out), err
	}
}

func plants() map[string]func(d *double) {
	each := func(change func(texts []string, out [][]float32) [][]float32) func(*double) {
		return func(d *double) { after(d, change) }
	}
	vector := func(change func(text string, v []float32) []float32) func(*double) {
		return each(func(texts []string, out [][]float32) [][]float32 {
			for i := range out {
				out[i] = change(texts[i], out[i])
			}
			return out
		})
	}
	return map[string]func(d *double){
		"model: no version":     func(d *double) { d.model.Version = "" },
		"model: no dimensions":  func(d *double) { d.model.Dimensions = 0 },
		"model: negative limit": func(d *double) { d.model.MaxItems = -1 },
		"model: changes in use": func(d *double) {
			after(d, func(_ []string, o [][]float32) [][]float32 { d.model.Version += "x"; return o })
		},
		"vectors: another length": vector(func(_ string, v []float32) []float32 { return v[1:] }),
		"vectors: NaN":            vector(func(_ string, v []float32) []float32 { v[3] = float32(math.NaN()); return v }),
		"vectors: infinite":       vector(func(_ string, v []float32) []float32 { v[0] = float32(math.Inf(1)); return v }),
		"vectors: zero":           vector(func(_ string, v []float32) []float32 { clear(v); return v }),
		"vectors: not normalized": vector(func(_ string, v []float32) []float32 { v[0] += 3; return v }),
		"vectors: one too few":    each(func(_ []string, o [][]float32) [][]float32 { return o[:max(0, len(o)-1)] }),
		"vectors: query of other length": func(d *double) {
			d.query = func(context.Context, string) ([]float32, error) { return []float32{1}, nil }
		},
		"order: sorted by length":         each(func(t []string, o [][]float32) [][]float32 { return swapLonger(t, o) }),
		"batch: depends on neighbours":    each(func(_ []string, o [][]float32) [][]float32 { return negate(o, len(o) > 1) }),
		"batch: twins share their vector": each(func(t []string, o [][]float32) [][]float32 { return alias(t, o) }),
		"deterministic: random":           countdown(4),
		"distinct: constant":              vector(func(string, []float32) []float32 { return vectorOf("") }),
		"distinct: Chinese is unknown": vector(func(text string, v []float32) []float32 {
			if strings.ContainsAny(text, "狗犬") && !strings.Contains(text, "fox") {
				return vectorOf("[UNK]")
			}
			return v
		}),
		"query: another vector": func(d *double) {
			d.query = func(ctx context.Context, text string) ([]float32, error) { return vectorOf("q" + text), ctx.Err() }
		},
		"query: prefixes are not applied": func(d *double) {
			d.model.QueryPrefix = "query: "
			d.query = func(ctx context.Context, text string) ([]float32, error) { return vectorOf(text), ctx.Err() }
		},
		"concurrency: shared buffer": shared,
		"cancel: goes on": func(d *double) {
			sound := d.embed
			d.embed = func(_ context.Context, texts []string) ([][]float32, error) {
				return sound(context.Background(), texts)
			}
		},
		"cancel: query goes on": func(d *double) {
			d.query = func(_ context.Context, text string) ([]float32, error) { return vectorOf(text), nil }
		},
		"inputs: trims in place": func(d *double) {
			sound := d.embed
			d.embed = func(ctx context.Context, texts []string) ([][]float32, error) {
				for i := range texts {
					texts[i] = strings.ToLower(texts[i])
				}
				return sound(ctx, texts)
			}
		},
		"inputs: punctuation is zero": vector(func(text string, v []float32) []float32 {
			if text == "!!!" {
				clear(v)
			}
			return v
		}),
		"model: Close fails": func(d *double) { d.close = func() error { return context.Canceled } },
	}
}

func negate(out [][]float32, do bool) [][]float32 {
	for _, v := range out {
		for i := range v {
			if do {
				v[i] = -v[i]
			}
		}
	}
	return out
}

func swapLonger(texts []string, out [][]float32) [][]float32 {
	for i := 1; i < len(out); i++ {
		if len(texts[i]) < len(texts[i-1]) {
			out[i], out[i-1] = out[i-1], out[i]
		}
	}
	return out
}

func alias(texts []string, out [][]float32) [][]float32 {
	seen := map[string][]float32{}
	for i, text := range texts {
		if v, ok := seen[text]; ok {
			out[i] = v
		}
		seen[text] = out[i]
	}
	return out
}

// countdown spoils the n-th call.
func countdown(n int) func(*double) {
	return func(d *double) {
		calls := 0
		after(d, func(_ []string, out [][]float32) [][]float32 {
			calls++
			return negate(out, calls == n)
		})
	}
}

// shared fails while calls overlap, as a buffer that two of them use would.
func shared(d *double) {
	var active atomic.Int32
	after(d, func(_ []string, out [][]float32) [][]float32 {
		overlap := active.Add(1) > 1
		for range 100 {
			runtime.Gosched()
			overlap = overlap || active.Load() > 1
		}
		active.Add(-1)
		return negate(out, overlap)
	})
}

// recorder stands in for testing.T.
type recorder struct{ failed atomic.Bool }

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed.Store(true) }
func (r *recorder) Fatalf(string, ...any) { r.failed.Store(true); runtime.Goexit() }

func TestPlants(t *testing.T) { prove(t, plants(), sound) }

// prove runs each plant in a sound double against the rule that it is named after.
func prove(t *testing.T, plants map[string]func(*double), sound func() *double) {
	t.Helper()
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			want, _, _ := strings.Cut(name, ":")
			for _, r := range rules() {
				if r.name != want {
					continue
				}
				d := sound()
				plant(d)
				rec := &recorder{}
				done := make(chan struct{})
				go func() {
					defer close(done)
					check(t.Context(), rec, r, d, Options{})
				}()
				<-done
				if !rec.failed.Load() {
					t.Errorf("rule %q does not catch it", r.name)
				}
				return
			}
			t.Fatalf("no rule %q", want)
		})
	}
}

// A goroutine that outlives Close is caught by goleak, which Run calls.
func TestLeakIsSeen(t *testing.T) {
	before := goleak.IgnoreCurrent()
	stop := make(chan struct{})
	go func() { <-stop }()
	if goleak.Find(before) == nil {
		t.Error("a leaked goroutine is not found")
	}
	close(stop)
}
