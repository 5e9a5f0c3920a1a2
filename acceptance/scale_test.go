package acceptance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector/pipeline"
)

// The benchmarks of scale run the sync in a process of its own and report its peak resident memory. They take minutes:
//
//	go test -run '^$' -bench Scale -benchtime 1x -timeout 2h ./acceptance
//
// KBSYNC_SCALE divides their sizes, for a quick look.

func scaled(n int) int {
	div := 1
	_, _ = fmt.Sscan(os.Getenv("KBSYNC_SCALE"), &div)
	return n / div
}

// usage is what a child process took.
type usage struct {
	res  pipeline.Result
	rss  int64 // bytes
	cpu  time.Duration
	wall time.Duration
}

// plainChild runs one undisturbed sync in a process of its own.
func (r *rig) plainChild() usage {
	r.tb.Helper()
	r.config()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "KBSYNC_TEST_CHILD=plain", "KBSYNC_TEST_DIR="+r.dir)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		r.tb.Fatal(err)
	}
	u := usage{wall: time.Since(start), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.rss = ru.Maxrss * 1024
	}
	told := struct {
		*pipeline.Result
		Peak int64 `json:"peak"`
	}{Result: &u.res}
	if err := json.Unmarshal([]byte(out.String()), &told); err != nil {
		r.tb.Fatalf("%v: %s", err, out.String())
	}
	if told.Peak > 0 {
		u.rss = told.Peak
	}
	return u
}

// childPlain is what plainChild runs.
func childPlain() int {
	yaml, err := os.ReadFile(filepath.Join(os.Getenv("KBSYNC_TEST_DIR"), "kbsync.yaml"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	r := &rig{tb: &panicTB{}, dir: os.Getenv("KBSYNC_TEST_DIR"), yaml: string(yaml)}
	r.reg = registry(r.tb, r)
	pipeline.LimitMemory(r.config())
	res, err := r.trySync(pipeline.SyncOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return pipeline.ExitCode(err)
	}
	return jsonOut(struct {
		pipeline.Result
		Peak int64 `json:"peak"`
	}{res, peak()})
}

// peak is the most memory that this process had, in bytes; 0 where the system does not say. What the parent learns when a child has
// ended is no less than the parent's own: Linux keeps that through the start of a program.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0
	}
	return kib * 1024
}

func jsonOut(v any) int {
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		return 9
	}
	return 0
}

func report(b *testing.B, prefix string, u usage) {
	b.ReportMetric(float64(u.rss)/(1<<20), prefix+"_peak_MB")
	b.ReportMetric(u.cpu.Seconds(), prefix+"_cpu_s")
	b.ReportMetric(u.wall.Seconds(), prefix+"_wall_s")
}

// smallFiles makes n files of a few lines in folders of a thousand.
func smallFiles(b *testing.B, root string, n int) {
	b.Helper()
	for i := range n {
		dir := filepath.Join(root, fmt.Sprintf("%04d", i/1000))
		if i%1000 == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		text := fmt.Sprintf("Note %d\n\nThe value of item %d is %d. 第%d条记录。\n", i, i, i*31, i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d.txt", i)), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

const scaleConf = "sink: { sqlite: { path: ./kb.sqlite } }\nembedder: { lexical: { dimensions: 64 } }"

// BenchmarkScaleFiles syncs 1,000,000 small files, then again unchanged.
func BenchmarkScaleFiles(b *testing.B) {
	for b.Loop() {
		r := newRig(b, "", scaleConf)
		smallFiles(b, r.docs, scaled(1_000_000))
		r.settle()
		first := r.plainChild()
		report(b, "first", first)
		b.ReportMetric(float64(first.res.Documents.Added), "files")
		second := r.plainChild()
		report(b, "second", second)
		if second.res.Documents.Unchanged != first.res.Documents.Added || second.res.BytesRead != 0 {
			b.Fatalf("second sync: %+v", second.res)
		}
	}
}

// BenchmarkScaleJSONL syncs one JSON Lines file of 1 GB.
func BenchmarkScaleJSONL(b *testing.B) {
	for b.Loop() {
		r := newRig(b, "", scaleConf)
		size := jsonLines(b, filepath.Join(r.docs, "big.jsonl"), scaled(1<<30))
		r.settle()
		u := r.plainChild()
		report(b, "first", u)
		b.ReportMetric(float64(size)/1e6, "MB")
		b.ReportMetric(float64(u.res.Chunks.Upserted), "chunks")
	}
}

func jsonLines(b *testing.B, path string, size int) (written int) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	rng := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("the value of an item is stored beside its name and its place so that a reader finds it again later 记录 数据 价格 名称 城市 日期")
	for i := 0; written < size; i++ {
		var text strings.Builder
		for range 60 {
			text.WriteString(words[rng.IntN(len(words))])
			text.WriteByte(' ')
		}
		n, err := fmt.Fprintf(w, "{\"id\":%d,\"name\":\"item %d\",\"price\":%d,\"text\":%q}\n", i, i, rng.IntN(1e6), text.String())
		if err != nil {
			b.Fatal(err)
		}
		written += n
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return written
}

// BenchmarkScaleUnchanged compares an unchanged sync of 100,000 files with a plain recursive stat walk of the same folder, in CPU and wall time.
func BenchmarkScaleUnchanged(b *testing.B) {
	r := newRig(b, "", scaleConf)
	smallFiles(b, r.docs, scaled(100_000))
	r.settle()
	r.sync()
	b.ResetTimer()
	var walk, sync time.Duration
	for b.Loop() {
		start := time.Now()
		n := 0
		err := filepath.WalkDir(r.docs, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			n++
			_, err = d.Info()
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		walk += time.Since(start)
		p := r.open()
		start = time.Now()
		res, err := p.Sync(b.Context(), pipeline.SyncOptions{})
		sync += time.Since(start)
		if err != nil || res.BytesRead != 0 || res.Documents.Unchanged != scaled(100_000) {
			b.Fatalf("%v %+v", err, res)
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(sync.Seconds()/walk.Seconds(), "times_stat_walk")
}
