//go:build onnx && cgo

package onnx

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/embedtest"
	"github.com/kbsync/kbsync/internal/bert"
	"github.com/kbsync/kbsync/internal/modelfile"
	"github.com/kbsync/kbsync/internal/testweights"
)

func open(t *testing.T) connector.Embedder {
	t.Helper()
	c := defaults()
	c.Library, c.Model = testweights.Path(t, testweights.ONNXRuntime), t.TempDir()
	for name, from := range map[string]string{"model.onnx": testweights.Path(t, testweights.MiniLMONNX), "tokenizer.json": filepath.Join(testweights.Path(t, testweights.MiniLM), "tokenizer.json")} {
		if err := os.Symlink(from, filepath.Join(c.Model, name)); err != nil {
			t.Fatal(err)
		}
	}
	e, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestConformance(t *testing.T) {
	embedtest.Run(t, open, embedtest.Options{Tolerance: 1e-5})
}

// TestSameAsEncoder compares the vectors with those of the program's own encoder.
func TestSameAsEncoder(t *testing.T) {
	m, err := modelfile.Load(testweights.Path(t, testweights.MiniLM))
	if err != nil {
		t.Fatal(err)
	}
	tokenizer, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := bert.Load(m, bert.Options{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	e := open(t)
	defer func() { _ = e.Close() }()
	texts := []string{"The quick brown fox jumps over the lazy dog.", "naïve café, 中文测试", "🦊 https://example.com/a?b=c#d", "a", "1.5e-3 ± 2"}
	got, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		ids, _ := tokenizer.Encode(text, 0)
		want, err := encoder.Encode(t.Context(), [][]int32{ids})
		if err != nil {
			t.Fatal(err)
		}
		var dot, a, b float64
		for j, x := range got[i] {
			y := float64(want[0][j])
			dot, a, b = dot+float64(x)*y, a+float64(x)*float64(x), b+y*y
		}
		if cos := dot / math.Sqrt(a*b); cos < 0.9999 {
			t.Errorf("%q: cosine %.6f to the encoder", text, cos)
		}
	}
}

func TestTooLong(t *testing.T) {
	e := open(t)
	defer func() { _ = e.Close() }()
	long := make([]byte, 4000)
	for i := range long {
		long[i] = "a "[i%2]
	}
	out, err := e.Embed(t.Context(), []string{"short", string(long)})
	if be, ok := err.(*connector.BatchError); !ok || len(be.Items) != 1 || connector.ClassOf(be.Items[1]) != connector.ClassInvalid || len(out[0]) != 384 { //nolint:errorlint // outermost
		t.Errorf("%v", err)
	}
}
