package bert

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/internal/modelfile"
	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/internal/testweights"
	"github.com/kbsync/kbsync/internal/wordpieces"
)

// realChunks cuts n chunks of whole lines, of about size bytes, from each of English, Chinese and code.
func realChunks(b *testing.B, n, size int) []string {
	b.Helper()
	dir := shareddata.Dir(b)
	var code strings.Builder
	err := filepath.WalkDir(filepath.Join(dir, "fixtures", "code_pygments_BSD2"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		code.Write(data)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	all := cut(code.String(), n/5, size)
	for _, name := range []string{"en.md", "zh.md"} {
		data, err := os.ReadFile(filepath.Join(dir, "bench", name))
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, cut(string(data), (n-n/5)/2, size)...)
	}
	if len(all) != n {
		b.Fatalf("%d chunks", len(all))
	}
	return all
}

func cut(text string, n, size int) []string {
	var all []string
	chunk := ""
	for line := range strings.Lines(text) {
		if len(all) == n {
			break
		}
		if chunk += line; len(chunk) >= size {
			all = append(all, strings.ToValidUTF8(chunk[:min(len(chunk), 2*size)], ""))
			chunk = ""
		}
	}
	return all
}

// kernels are what counts as multiplying matrices: tiles, the loops over them, and the packing and quantising of their operands. Not
// among them are softmax (exp), GELU, layer norm, and all outside of package matrix.
var kernels = regexp.MustCompile(`/bert/matrix\.(tile\w+|quantise\w+|pack\w+|maxAbs\w*|Engine\.(Multiply|quantise\w+|PackColumns|MaxAbs)|\(\*linear\w+\)\.Apply)$`)

// BenchmarkChunks embeds 2,000 real chunks with the model of the program, from text to vector, once: use -benchtime 1x. CPU time is the
// process's, without loading; kernel-% is the share of the samples of a CPU profile in kernels.
func BenchmarkChunks(b *testing.B) {
	n := 2000
	if s := os.Getenv("KBSYNC_BENCH_CHUNKS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	chunks := realChunks(b, n, 500)
	before := cpu(b)
	m, err := modelfile.Read(testweights.Read(b, testweights.E5Small))
	if err != nil {
		b.Fatal(err)
	}
	tok, err := m.Tokenizer()
	if err != nil {
		b.Fatal(err)
	}
	e, err := Load(m, Options{})
	if err != nil {
		b.Fatal(err)
	}
	loading := cpu(b) - before
	tok = wordpieces.Prefixed(tok, m.Config.DocumentPrefix)
	var profile bytes.Buffer
	if err := pprof.StartCPUProfile(&profile); err != nil {
		b.Fatal(err)
	}
	start, tokens, done := cpu(b), 0, 0
	for b.Loop() {
		for at := 0; at < len(chunks); at += 64 {
			var batch [][]int32
			for _, text := range chunks[at:min(at+64, len(chunks))] {
				batch = append(batch, tok.AppendIDs(nil, text, m.Config.MaxTokens))
				tokens += len(batch[len(batch)-1])
			}
			if _, err := e.Encode(context.Background(), batch); err != nil {
				b.Fatal(err)
			}
			done += len(batch)
		}
	}
	spent := (cpu(b) - start).Seconds()
	pprof.StopCPUProfile()
	b.ReportMetric(float64(done)/spent, "chunks/cpu-s")
	b.ReportMetric(float64(tokens)/spent, "tokens/cpu-s")
	b.ReportMetric(float64(tokens)/float64(done), "tokens/chunk")
	b.ReportMetric(loading.Seconds(), "loading-cpu-s")
	b.ReportMetric(peak(b), "peak-MB")
	b.ReportMetric(share(b, profile.Bytes()), "kernel-%")
}

// peak is the largest resident size of this process so far, in MB.
func peak(b *testing.B) float64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kB float64
	if _, after, ok := strings.Cut(string(data), "VmHWM:"); ok {
		_, _ = fmt.Sscan(after, &kB)
	}
	return kB * 1024 / 1e6
}

// share is how many percent of a profile's samples are in kernels themselves.
func share(b *testing.B, profile []byte) float64 {
	path := filepath.Join(b.TempDir(), "cpu.pprof")
	if err := os.WriteFile(path, profile, 0o600); err != nil {
		b.Fatal(err)
	}
	out, err := exec.CommandContext(b.Context(), "go", "tool", "pprof", "-top", "-nodecount", "1000", "-nodefraction", "0", path).Output()
	if err != nil {
		b.Fatal(err)
	}
	total := 0.
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(strings.TrimSuffix(strings.TrimSpace(line), " (inline)"))
		if len(f) != 6 || !kernels.MatchString(f[5]) {
			continue
		}
		flat, err := strconv.ParseFloat(strings.TrimSuffix(f[1], "%"), 64)
		if err != nil {
			b.Fatal(err)
		}
		total += flat
	}
	b.Logf("%s", out[:min(len(out), 2500)])
	return total
}
