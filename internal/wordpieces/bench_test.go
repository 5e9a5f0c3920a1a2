package wordpieces_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/counters"
	"github.com/kbsync/kbsync/internal/modelfile"
	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/internal/testweights"
	"github.com/kbsync/kbsync/internal/wordpieces"
	"github.com/kbsync/kbsync/strategies"
)

// both are the tokenizer of the model in the program, behind its prefix, and cl100k to compare with.
func both(b *testing.B) []connector.Counter {
	b.Helper()
	m, err := modelfile.Read(testweights.Read(b, testweights.E5Small))
	if err != nil {
		b.Fatal(err)
	}
	tok, err := m.Tokenizer()
	if err != nil {
		b.Fatal(err)
	}
	cl100k, err := counters.Named("cl100k")
	if err != nil {
		b.Fatal(err)
	}
	return []connector.Counter{wordpieces.Prefixed(tok, m.Config.DocumentPrefix), cl100k}
}

// corpora are real texts, and the worst that there are.
func corpora(b *testing.B) map[string]string {
	b.Helper()
	all := map[string]string{"line": strings.Repeat("x9k,z=/Qw", 1<<20/9), "same": strings.Repeat("a", 1<<20)}
	for _, lang := range []string{"en", "zh"} {
		data, err := os.ReadFile(filepath.Join(shareddata.Dir(b), "bench", lang+".md"))
		if err != nil {
			b.Fatal(err)
		}
		all[lang] = string(data)
	}
	all["zh-10MB"] = all["zh"] + all["zh"]
	return all
}

func each(b *testing.B, f func(b *testing.B, c connector.Counter, text string)) {
	texts := corpora(b)
	for i, c := range both(b) {
		for _, name := range []string{"en", "zh", "zh-10MB", "line", "same"} {
			b.Run([]string{"model/", "cl100k/"}[i]+name, func(b *testing.B) {
				b.SetBytes(int64(len(texts[name])))
				f(b, c, texts[name])
			})
		}
	}
}

func BenchmarkCount(b *testing.B) {
	each(b, func(b *testing.B, c connector.Counter, text string) {
		for b.Loop() {
			c.Count(text)
		}
	})
}

// BenchmarkRuler makes a ruler and measures ranges of a kilobyte with it, as a strategy does.
func BenchmarkRuler(b *testing.B) {
	each(b, func(b *testing.B, c connector.Counter, text string) {
		for b.Loop() {
			r := c.Ruler(text)
			for i := 0; i+1000 < len(text); i += 100 {
				r.Count(i, i+1000)
			}
		}
	})
}

func BenchmarkStrategies(b *testing.B) {
	each(b, func(b *testing.B, c connector.Counter, text string) {
		p := strategies.Recursive()
		s, err := p.Open(context.Background(), &strategies.RecursiveConfig{Sizing: strategies.Sizing{MaxTokens: 512, MinChars: 20}}, connector.StrategyEnv{Counter: func(string) (connector.Counter, error) { return c, nil }})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			elements := func(yield func(connector.Element, error) bool) {
				yield(connector.Element{Kind: connector.KindText, Text: text, Span: connector.Span{End: len(text)}}, nil)
			}
			for _, err := range s.Chunks(context.Background(), &connector.Document{}, elements) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
