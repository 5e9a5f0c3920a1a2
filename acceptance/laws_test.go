package acceptance

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/internal/detect"
	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/parsers/pdf"
	"github.com/kbsync/kbsync/plugins"
)

// variants are the settings under which every strategy is held to the laws, as YAML under its name.
var variants = map[string][]string{
	"fixed":        {"{}", "{ max_tokens: 40, overlap: 8 }", "{ max_chars: 90 }"},
	"recursive":    {"{}", "{ max_tokens: 40, overlap: 20% }", "{ max_chars: 120, overlap: 30 }", "{ max_tokens: 100, tokenizer: o200k }"},
	"sentence":     {"{}", "{ max_tokens: 48 }", "{ max_chars: 100 }"},
	"paragraph":    {"{}", "{ max_tokens: 60 }"},
	"markdown":     {"{}", "{ max_tokens: 48, breadcrumb: both }", "{ max_chars: 150, heading: out }"},
	"html":         {"{}", "{ max_tokens: 48 }"},
	"code":         {"{}", "{ max_tokens: 48 }", "{ max_chars: 200 }"},
	"table":        {"{}", "{ mode: markdown, max_tokens: 60 }", "{ mode: html, max_tokens: 120 }", "{ mode: json, max_chars: 300 }", "{ mode: rows, max_tokens: 30 }"},
	"auto":         {"{}", "{ max_tokens: 48 }", "{ max_chars: 150, overlap: 30 }"},
	"agentic":      {"{}", "{ max_tokens: 60, ask: never }"},
	"adaptive":     {"{}", "{ max_tokens: 100, min_tokens: 30 }", "{ max_chars: 150, overlap: 20% }"},
	"whole":        {"{}"},
	"semantic":     {"{}", "{ max_tokens: 48, breakpoint: enhanced }", "{ max_chars: 150, overlap: 30, breakpoint: gradient, buffer: 2 }"},
	"cluster":      {"{}", "{ max_tokens: 48, piece: 16 }", "{ max_chars: 150, piece: 40, method: agglomerative, min_size: 30% }"},
	"late":         {"{}", "{ of: { markdown: { max_tokens: 48 } } }"},
	"layout":       {"{}", "{ max_tokens: 48, multipage: false }", "{ max_chars: 150, overlap: 30, new_after: 100, combine_under: 20% }"},
	"latex":        {"{}", "{ max_tokens: 48 }", "{ max_chars: 150 }"},
	"dialogue":     {"{}", "{ max_tokens: 48 }", "{ max_chars: 150, overlap_turns: 1 }"},
	"api":          {"{}", "{ max_tokens: 48 }", "{ max_chars: 200 }"},
	"parent_child": {"{}", "{ parent: 150, child: 48 }", "{ parent: 90, child: 30 }", "{ parent: section, parent_max: 400, child: 120, unit: chars }", "{ parent: 300, unit: chars, of: { recursive: { max_chars: 120, overlap: 30 } } }"},
	"hierarchical": {"{}", "{ levels: [160, 80, 40] }", "{ levels: [600, 250], unit: chars, of: { sentence: { max_chars: 120 } } }"},
	"sliding":      {"{}", "{ max_tokens: 48, size: 3, step: 2 }", "{ window: sentence, max_chars: 100 }", "{ max_chars: 300, size: 3, step: 1, of: { markdown: { max_chars: 150 } } }"},
	"propositions": {"{}", "{ of: { markdown: { max_tokens: 48, heading: out } } }", "{ of: { table: {} } }"},
	"llm":          {"{}", "{ max_tokens: 48, window_tokens: 200, title: true, summary: true }", "{ max_chars: 150, min_chars: 20 }"},
	"contextual":   {"{}", "{ of: { markdown: { max_tokens: 60 } }, document_tokens: 300 }", "{ of: { recursive: { max_chars: 200 } } }"},
}

// openVariants opens every strategy of the program with each of its settings.
func openVariants(t *testing.T) map[string]connector.Strategy {
	t.Helper()
	reg, err := plugins.Registry(nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []connector.StrategyPlugin
	for _, kind := range reg.Strategies.Kinds() {
		plugin, _ := reg.Strategies.Get(kind)
		all = append(all, plugin)
	}
	env := strategytest.Env(all...)
	llm := &llmtest.Double{Says: llmtest.Obliging().Says, Forgets: true}
	env.LLM = func(context.Context) (connector.LLM, error) { return llm, nil }
	open := map[string]connector.Strategy{}
	for _, kind := range reg.Strategies.Kinds() {
		if len(variants[kind]) == 0 {
			t.Errorf("strategy %s is held to no law: give it settings here", kind)
		}
		for _, settings := range variants[kind] {
			yaml := fmt.Sprintf("sources: [{ fs: { root: . } }]\nrules: [{ strategy: { %s: %s } }]", kind, settings)
			file, err := config.Parse("laws.yaml", []byte(yaml), reg, config.Options{})
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			plugin, _ := reg.Strategies.Get(kind)
			s, err := plugin.Open(context.Background(), file.Rules[0].Strategy.Config, env)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			open[kind+" "+settings] = s
		}
	}
	return open
}

// large is the size above which a file is cut once by each setting, not several times at once; veryLarge is the one above which only the
// default settings are tried, unless KBSYNC_LAWS=full asks for all.
const (
	large     = 200_000
	veryLarge = 1_000_000
)

// sealedWith is the password of the real documents that are encrypted.
const sealedWith = "password"

// TestLawsOverRealDocuments holds every parser and every strategy to the laws over every real document that a parser claims.
func TestLawsOverRealDocuments(t *testing.T) {
	dir := shareddata.Dir(t)
	reg, err := plugins.Registry(nil)
	if err != nil {
		t.Fatal(err)
	}
	strategies := openVariants(t)
	parsed, skipped := 0, 0
	eachFile(t, dir, func(path string, data []byte) {
		typ := detect.Detect(path, "", data)
		if typ.Skip != "" {
			skipped++
			if strings.TrimSpace(typ.Skip) == "" {
				t.Errorf("%s is skipped without a reason", path)
			}
			return
		}
		parsed++
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			plugin, ok := reg.Parsers.Get(typ.Parser)
			if !ok {
				t.Fatalf("no parser %s", typ.Parser)
			}
			settings := plugin.Config()
			if c, ok := settings.(*pdf.Config); ok {
				c.Password = sealedWith // files that are not encrypted open with any
			}
			parser, err := plugin.Open(context.Background(), settings, connector.Env{})
			if err != nil {
				t.Fatal(err)
			}
			els, err := parsertest.Collect(context.Background(), parser, path, strings.NewReader(string(data)))
			if err == nil {
				err = parsertest.CheckElements(els)
			}
			if err != nil {
				t.Fatal(err)
			}
			in := strategytest.Input{Name: path, Document: *parsertest.Document(path, len(data)), Elements: els}
			for name, s := range strategies {
				check := strategytest.Check
				if len(data) > large {
					if len(data) > veryLarge && !strings.HasSuffix(name, " {}") && os.Getenv("KBSYNC_LAWS") != "full" {
						continue
					}
					check = func(s connector.Strategy, in strategytest.Input) []error {
						chunks, err := strategytest.Collect(s, in)
						if err != nil {
							return []error{err}
						}
						return strategytest.Laws(s.Info(), in, chunks)
					}
				}
				for _, err := range check(s, in) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	})
	t.Logf("%d files parsed, %d claimed by no parser yet", parsed, skipped)
	if parsed < 150 {
		t.Errorf("only %d files were parsed", parsed)
	}
}

func eachFile(tb testing.TB, dir string, fn func(path string, data []byte)) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		fn(filepath.ToSlash(rel), data)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// TestEveryFileIsAccountedFor syncs all the real documents: each is stored or skipped with a reason, none fails, none is missing, and
// a second sync opens none.
func TestEveryFileIsAccountedFor(t *testing.T) {
	dir := shareddata.Dir(t)
	r := newRig(t, dir, "sink: { sqlite: { path: ./kb.sqlite } }\nrules: [{ match: { path: '**/*.pdf' }, parser: { pdf: { password: "+sealedWith+" } } }]")
	files := 0
	eachFile(t, dir, func(path string, _ []byte) {
		if !strings.HasPrefix(filepath.Base(path), ".") {
			files++
		}
	})
	res := r.sync()
	d := res.Documents
	if d.Added+d.Skipped != files || d.Failed != 0 || len(res.Skips) != d.Skipped {
		t.Fatalf("%d files: %+v", files, d)
	}
	for _, s := range res.Skips {
		if s.Error == "" {
			t.Errorf("%s is skipped without a reason", s.Path)
		}
	}
	again := r.sync()
	if again.BytesRead != 0 || again.Documents.Unchanged != d.Added || again.Documents.Skipped != d.Skipped {
		t.Fatalf("second sync: %+v", again)
	}
	p := r.open()
	defer func() { _ = p.Close() }()
	if v, err := p.Verify(context.Background(), false); err != nil {
		t.Fatalf("%v: %+v", err, v)
	}
	for question, want := range map[string]string{
		"ownership and borrowing in Rust": "bench/en.md",
		"小米手机 发布":                         "zh_cmrc2018_cc-by-sa",
	} {
		hits, err := p.Query(context.Background(), pipeline.QueryOptions{Text: question})
		if err != nil || len(hits) == 0 {
			t.Fatalf("%s: %v", question, err)
		}
		t.Logf("%s → %s (want about %s)", question, hits[0].Path, want)
	}
}
