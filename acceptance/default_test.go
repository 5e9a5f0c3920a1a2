package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/embedders/local/e5small"
	"github.com/kbsync/kbsync/internal/ngrams"
)

// newDefaultRig names no embedder, in a build that has a model or not.
func newDefaultRig(t *testing.T, withModel bool) *rig {
	t.Helper()
	r := newRig(t, "", "embedder: {}\n")
	r.yaml = strings.Replace(r.yaml, "embedder: {}\n", "", 1)
	r.build(t, withModel)
	r.write("a.md", "# Leave\n\nEmployees may take twenty-five days of paid leave each year.\n")
	r.write("b.md", "# 水泵\n\n更换滤芯之前必须先关闭水泵。\n")
	return r
}

// build puts the rig into another build: its registry with other defaults.
func (r *rig) build(t *testing.T, withModel bool) {
	t.Helper()
	var weights []byte
	if withModel {
		if weights = e5small.Weights(); weights == nil {
			t.Fatal("the model is not in this build: run the tests without the tag nomodel")
		}
	}
	r.reg = registryWith(t, r, weights)
}

func (r *rig) provider() string {
	p := r.open()
	defer func() { _ = p.Close() }()
	return p.Model().Provider
}

// TestDefaultEmbedder: a pipeline that names no embedder keeps the one it began with, whatever is lost or changed, and whatever
// the default of the build is that runs it.
func TestDefaultEmbedder(t *testing.T) {
	t.Run("new", func(t *testing.T) {
		r := newDefaultRig(t, true)
		if got := r.provider(); got != "local" {
			t.Errorf("a new pipeline gets %s, want local", got)
		}
		r.build(t, false)
		if got := r.provider(); got != "lexical" {
			t.Errorf("a new pipeline of a build without a model gets %s, want lexical", got)
		}
	})
	t.Run("began with lexical", func(t *testing.T) {
		r := newDefaultRig(t, false)
		if res := r.sync(); res.Embeddings.Computed != 2 {
			t.Fatalf("%+v", res)
		}
		r.build(t, true)
		same := func(what string, written int) {
			t.Helper()
			if got := r.provider(); got != "lexical" {
				t.Fatalf("%s: the pipeline gets %s, want the lexical that it began with", what, got)
			}
			if res := r.sync(); res.Embeddings.Computed != 0 || res.Chunks.Upserted != written {
				t.Errorf("%s: %+v", what, res)
			}
		}
		same("another default", 0)
		preview, err := pipeline.OpenPreview(context.Background(), r.config(), r.reg, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := preview.Model().Provider; got != "lexical" {
			t.Errorf("chunk and validate take %s, want what sync takes", got)
		}
		if err := preview.Close(); err != nil {
			t.Error(err)
		}
		r.loseLedger()
		same("a lost ledger", 0)
		r.use("sink: { memory: { name: elsewhere } }")
		same("another sink", 2)
	})
	t.Run("began with the model", func(t *testing.T) {
		r := newDefaultRig(t, true)
		if res := r.sync(); res.Embeddings.Computed != 2 {
			t.Fatalf("%+v", res)
		}
		before := canonical(t, r.export())
		r.build(t, false)
		_, err := pipeline.Open(context.Background(), r.config(), r.reg, r.opts)
		if err == nil || !strings.Contains(err.Error(), "no model in it") {
			t.Errorf("a build without the model: got %v, want an error that says so", err)
		}
		r.build(t, true)
		if res := r.sync(); res.Embeddings.Computed != 0 || res.Chunks.Upserted != 0 {
			t.Errorf("the full build again: %+v", res)
		}
		if got := canonical(t, r.export()); !slices.Equal(got, before) {
			t.Error("the sink changed")
		}
	})
	t.Run("named, then not", func(t *testing.T) {
		r := newDefaultRig(t, false)
		r.yaml += "embedder: { lexical: { dimensions: 64 } }\n"
		r.sync()
		r.yaml = strings.Replace(r.yaml, "embedder: { lexical: { dimensions: 64 } }\n", "", 1)
		if _, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitRefused {
			t.Errorf("another model without consent: %v, want the guard's refusal", err)
		}
	})
}

// TestDefaultModelAnswers: the default pipeline finds what shares no word with the question, in both languages.
func TestDefaultModelAnswers(t *testing.T) {
	r := newDefaultRig(t, true)
	r.write("c.md", "# Paris\n\nParis has been the seat of the French government since the Middle Ages.\n")
	r.write("d.md", "# 烹饪\n\n把土豆去皮切块，放入烤箱烤四十分钟。\n")
	r.write("e.md", "# 年假\n\n员工每年享有二十五天带薪年假。\n")
	r.sync()
	p := r.open()
	defer func() { _ = p.Close() }()
	for question, want := range map[string]string{
		"How long is the vacation of staff?": "a.md", "假期一共多少日子": "e.md",
		"how to change the cartridge safely": "b.md", "怎样安全地换过滤器": "b.md",
		"capital city": "c.md", "法国首都": "c.md", "roast potatoes": "d.md",
	} {
		res, err := p.Query(context.Background(), pipeline.QueryOptions{Text: question, K: 1, Mode: connector.ModeDense})
		if err != nil {
			t.Fatal(err)
		}
		if len(res) != 1 || res[0].Path != want {
			t.Errorf("%s: %+v, want %s", question, res, want)
		}
	}
}

// TestQuickstart runs the first command of the README: its questions share no word with their answers, and are answered right.
func TestQuickstart(t *testing.T) {
	r := newDefaultRig(t, true)
	dir := t.TempDir()
	own := filepath.Join(dir, "own.yaml") // state beside the repository's stays out of this
	text := fmt.Sprintf("state: %q\nsink: { sqlite: { path: %q } }\n", filepath.Join(dir, "ledger.db"), filepath.Join(dir, "chunks.db"))
	if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := config.Load([]string{filepath.Join("..", "configs", "quickstart.yaml"), own}, r.reg, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.Open(t.Context(), file, r.reg, r.opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if res, err := p.Sync(t.Context(), pipeline.SyncOptions{}); err != nil || res.Embeddings.Computed == 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	for question, want := range map[string]pipeline.Answer{
		"Which tongues does it understand?": {Path: "faq.md", Section: "Languages"},
		"价钱贵不贵？":                            {Path: "faq.zh-CN.md", Section: "费用"},
		"能看懂外语吗？":                           {Path: "faq.zh-CN.md", Section: "多种语言"},
		"每晚自动更新":                            {Path: "faq.zh-CN.md", Section: "保持最新"},
	} {
		got, err := p.Query(t.Context(), pipeline.QueryOptions{Text: question, K: 1})
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v, %v", question, got, err)
		}
		if got[0].Path != want.Path || !strings.HasSuffix(got[0].Section, want.Section) {
			t.Errorf("%s: %s, %s: %s", question, got[0].Path, got[0].Section, got[0].Content)
		}
		words := map[string]bool{}
		ngrams.Each(got[0].Content, func(term []byte, _ ngrams.Kind) { words[string(term)] = true })
		for _, term := range ngrams.Query(question) {
			if words[term.Text] {
				t.Errorf("%s: the answer shares %q with it", question, term.Text)
			}
		}
	}
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, question := range []string{"Which tongues does it understand?", "价钱贵不贵？"} {
		if !strings.Contains(string(readme), question) {
			t.Errorf("the README does not ask %q", question)
		}
	}
}
