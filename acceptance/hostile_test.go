package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/internal/shareddata"
)

// What no file may cost.
const (
	hostileFiles  = 500
	hostileTime   = 30 * time.Second
	hostileMemory = 512 << 20
)

// hostileReport is what the child that syncs the hostile files prints.
type hostileReport struct {
	Result  pipeline.Result
	Skips   []pipeline.ErrorRow
	Settled map[string]string // outcomes by path; of several, joined
	Peak    int64             // bytes of memory, at most
	Grew    map[string]int64  // by how much the peak grew, by the document that was settled next
	Error   string
}

// TestHostileFiles syncs broken, truncated, encrypted, huge and malicious files of every format, a process for each format: it lives, no file
// takes over 30 s, all of them stay within 512 MB, each file has one outcome and each that fails one clear reason, and what is sound is stored.
func TestHostileFiles(t *testing.T) {
	all := t.TempDir()
	if n := plantHostile(t, all); n < hostileFiles {
		t.Fatalf("only %d files", n)
	}
	formats, err := os.ReadDir(all)
	if err != nil {
		t.Fatal(err)
	}
	var files, stored, failed, skipped int
	var peak int64
	for _, format := range formats {
		t.Run(format.Name(), func(t *testing.T) {
			rep := syncHostile(t, filepath.Join(all, format.Name()))
			d := rep.Result.Documents
			files, stored, failed, skipped = files+len(rep.Settled), stored+d.Added, failed+d.Failed, skipped+d.Skipped
			peak = max(peak, rep.Peak)
			t.Logf("%d documents: %d stored, %d failed, %d skipped; %d MB at most, %d ms", len(rep.Settled), d.Added, d.Failed, d.Skipped, rep.Peak>>20, rep.Result.ElapsedMS)
		})
	}
	t.Logf("%d documents: %d stored, %d failed, %d skipped; %d MB at most", files, stored, failed, skipped, peak>>20)
}

// syncHostile syncs a folder in a process of its own and checks what became of each file.
func syncHostile(t *testing.T, docs string) *hostileReport {
	t.Helper()
	r := newRig(t, docs, "sync: { concurrency: 1, document_timeout: 30s }\nsink: { sqlite: { path: kb.db } }\n")
	sound := []string{"0-sound.md", "zz-sound.txt"}
	r.write(sound[0], "# Sound\n\nThe first file is sound.\n")
	r.write(sound[1], "最后一个文件也是好的。\n")
	r.config() // writes the file
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "KBSYNC_TEST_CHILD=hostile", "KBSYNC_TEST_DIR="+r.dir)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	rep := new(hostileReport)
	if err != nil || json.Unmarshal(out, rep) != nil {
		t.Fatalf("the run did not go on to its end: %v\n%.4000s\n%.1000s", err, errs.String(), out)
	}
	if rep.Peak > hostileMemory {
		t.Errorf("the run took %d MB at most, over %d MB: %v", rep.Peak>>20, hostileMemory>>20, rep.Grew)
	}
	rep.check(t)
	for _, path := range sound {
		if rep.Settled[path] != string(pipeline.Added) {
			t.Errorf("%s is sound, and %q", path, rep.Settled[path])
		}
	}
	err = filepath.WalkDir(docs, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if rel, err := filepath.Rel(docs, path); err != nil || rep.Settled[filepath.ToSlash(rel)] == "" {
			t.Errorf("%s: nothing became of it (%v)", rel, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return rep
}

// check fails where a document has not one outcome, or not one reason for it.
func (rep *hostileReport) check(t *testing.T) {
	t.Helper()
	reasons := map[string][]string{}
	for _, row := range append(rep.Result.Errors, rep.Skips...) {
		reasons[row.Path] = append(reasons[row.Path], row.Error)
	}
	for path, outcome := range rep.Settled {
		failed := outcome == string(pipeline.Failed) || outcome == string(pipeline.Skipped)
		switch why := reasons[path]; {
		case strings.Contains(outcome, ","):
			t.Errorf("%s has more than one outcome: %s", path, outcome)
		case failed && len(why) != 1:
			t.Errorf("%s is %s, with %d reasons: %q", path, outcome, len(why), why)
		case failed && !clearReason(why[0]):
			t.Errorf("%s is %s, and the reason is not clear: %q", path, outcome, why[0])
		case !failed && len(why) > 0:
			t.Errorf("%s is %s, with the reason %q", path, outcome, why)
		}
	}
}

var unclear = regexp.MustCompile(`internal error|panic|runtime error|goroutine|took longer than|0x[0-9a-f]{8,}`)

// clearReason says whether people can read it.
func clearReason(s string) bool { return len(s) >= 10 && len(s) < 600 && !unclear.MatchString(s) }

// hostileProgress notes what became of each document, and when memory grew.
type hostileProgress struct {
	mu   sync.Mutex
	rep  *hostileReport
	peak int64 // of memory, when a document was settled last
}

func (p *hostileProgress) Listed(string)     {}
func (p *hostileProgress) Embedded(int, int) {}
func (p *hostileProgress) Stage(string)      {}

func (p *hostileProgress) Settled(o pipeline.Outcome, path string, _ int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if before := p.rep.Settled[path]; before != "" {
		o = pipeline.Outcome(before+",") + o
	}
	p.rep.Settled[path] = string(o)
	if now := p.rep.Peak; now > p.peak+(16<<20) {
		p.rep.Grew[path] = (now - p.peak) >> 20
		p.peak = now
	}
}

// watchMemory notes the most memory that the process takes, every 20 ms until it is told to stop. The program's own file, which is mapped and
// which the system may drop at any time, does not count.
func (p *hostileProgress) watchMemory() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			now := memory()
			p.mu.Lock()
			p.rep.Peak = max(p.rep.Peak, now)
			p.mu.Unlock()
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// memory is what this process holds that is no file's content.
func memory() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// childHostile syncs the rig in KBSYNC_TEST_DIR and prints a hostileReport.
func childHostile() int {
	dir := os.Getenv("KBSYNC_TEST_DIR")
	yaml, err := os.ReadFile(filepath.Join(dir, "kbsync.yaml"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	rep := &hostileReport{Settled: map[string]string{}, Grew: map[string]int64{}}
	r := &rig{tb: &panicTB{}, dir: dir, yaml: string(yaml)}
	r.reg = registry(r.tb, r)
	progress := &hostileProgress{rep: rep}
	r.opts.RetryWait, r.opts.Progress = time.Millisecond, progress
	stop := progress.watchMemory()
	pipeline.LimitMemory(r.config()) // as the program does
	res, err := r.trySync(pipeline.SyncOptions{})
	if err != nil {
		rep.Error = err.Error()
	}
	stop()
	rep.Result, rep.Skips = res, res.Skips
	if code := pipeline.ExitCode(err); code != 0 && code != pipeline.ExitFailed {
		fmt.Fprintln(os.Stderr, err)
		return 10 + code
	}
	if err := json.NewEncoder(os.Stdout).Encode(rep); err != nil {
		return 9
	}
	return 0
}

// TestHostileFilesAgain: a second run over them changes nothing.
func TestHostileFilesAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("the second run is for the long tests")
	}
	r := newRig(t, "", "sync: { document_timeout: 30s }\n")
	src := shareddata.Dir(t)
	for i, name := range hostileSeeds(t, src)[:12] {
		b, err := os.ReadFile(filepath.Join(src, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mutations() {
			r.write(fmt.Sprintf("%02d-%s-%s", i, m.name, filepath.Base(name)), string(m.apply(b)))
		}
	}
	first, _ := r.trySync(pipeline.SyncOptions{})
	before := canonical(t, r.export())
	again, _ := r.trySync(pipeline.SyncOptions{})
	if diff := firstDifference(canonical(t, r.export()), before); diff != "" {
		t.Errorf("a second run changed the sink: %.1000s", diff)
	}
	if first.Documents.Failed != again.Documents.Failed || again.Documents.Added+again.Documents.Updated+again.Documents.Deleted != 0 {
		t.Errorf("first %+v, then %+v", first.Documents, again.Documents)
	}
}
