package openai

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/internal/providers/providerstest"
	"github.com/kbsync/kbsync/parsers/text"
	"github.com/kbsync/kbsync/sinks/sqlite"
	"github.com/kbsync/kbsync/sources/fs"
	"github.com/kbsync/kbsync/strategies"
)

// passing are the faults that go away by themselves or concern one text, and ask for no long wait.
func passing() []providerstest.Fault {
	names := []string{"429", "429 with milliseconds", "500", "cut before the answer", "cut in the middle", "truncated JSON", "wrong order", "one too few", "one too many", "an index twice",
		"zero", "NaN", "nothing", "502 with a web page", "too many tokens in the request"}
	return slices.DeleteFunc(providerstest.Faults(), func(f providerstest.Fault) bool { return !slices.Contains(names, f.Name) })
}

// A sync through a service that spoils every third answer, and a second one that makes good what was refused for single texts: no
// vector is lost, none is paid for twice, none is that of another text.
func TestSyncInAStorm(t *testing.T) {
	const documents = 400
	server := providerstest.Start(t, providerstest.OpenAI(64, ""))
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range documents {
		if err := os.WriteFile(filepath.Join(dir, "docs", fmt.Sprintf("%d.txt", i)), fmt.Appendf(nil, "Document number %d of the handbook, 手册第%d篇。", i, i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := parse(t, dir, fmt.Sprintf(`
name: storm
sources: [{ fs: { root: docs } }]
embedder: { openai: { base_url: %q, api_key: %q, model: home-made, dimensions: 64, batch: 7 } }
sync: { retries: 12 }
`, server.URL, providerstest.Key))
	server.Storm(3, passing())
	for run := range 8 {
		failed := synced(t, file)
		if failed == 0 {
			break
		} else if run == 7 {
			t.Fatalf("%d documents still fail", failed)
		}
	}
	served := server.Served()
	if len(served) != documents {
		t.Errorf("%d texts were embedded, want %d", len(served), documents)
	}
	for text, n := range served {
		if n != 1 {
			t.Errorf("%q was paid for %d times", text, n)
		}
	}
	if n := len(server.Calls()); n < documents/7 {
		t.Errorf("%d requests", n)
	}
	compare(t, file, documents)
}

func parse(t *testing.T, dir, yaml string) *config.File {
	t.Helper()
	file, err := config.Parse(filepath.Join(dir, "kbsync.yaml"), []byte(yaml), plugins(t), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func plugins(t *testing.T) *connector.Registry {
	t.Helper()
	reg := registry(t)
	for _, err := range []error{
		reg.Sources.Add("fs", fs.Plugin()), reg.Parsers.Add("text", text.Plugin()), reg.Sinks.Add("sqlite", sqlite.Plugin()),
		reg.Strategies.Add("recursive", strategies.Recursive()), reg.Strategies.Add("markdown", strategies.Markdown()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return reg
}

func openPipeline(t *testing.T, file *config.File) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.Open(t.Context(), file, plugins(t), pipeline.Options{RetryWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// synced syncs and gives the number of documents that failed.
func synced(t *testing.T, file *config.File) int {
	t.Helper()
	p := openPipeline(t, file)
	r, err := p.Sync(t.Context(), pipeline.SyncOptions{})
	if cerr := p.Close(); cerr != nil {
		t.Fatal(cerr)
	}
	if err != nil && r.Documents.Failed == 0 {
		t.Fatal(err)
	}
	return r.Documents.Failed
}

// compare reads every stored point and proves its vector.
func compare(t *testing.T, file *config.File, want int) {
	t.Helper()
	p := openPipeline(t, file)
	defer func() { _ = p.Close() }()
	n := 0
	for point, err := range p.Export(t.Context(), true) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		for i, x := range providerstest.Vector("", point.EmbedText, 64) {
			if d := point.Vector[i] - x; d > 1e-6 || d < -1e-6 {
				t.Fatalf("%s has the vector of another text", point.Path)
			}
		}
	}
	if n != want {
		t.Errorf("%d points, want %d", n, want)
	}
}
