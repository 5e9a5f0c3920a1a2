//go:build unix

package strategies

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tmc/langchaingo/textsplitter"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/text"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/parsers/markdown"
)

// markdownFiles cuts a benchmark text at headings of level 1 into about 400 documents of the size of ordinary files.
func markdownFiles(text string) []string {
	var at []int
	fence := false
	for p := 0; p < len(text); {
		end := lineEnd(text, p, len(text))
		if line := text[p:end]; strings.HasPrefix(line, "```") {
			fence = !fence
		} else if !fence && strings.HasPrefix(line, "# ") {
			at = append(at, p)
		}
		p = end
	}
	const count = 400
	var out []string
	from := 0
	for n := 1; n < count && len(at) > count; n++ {
		to := at[n*len(at)/count]
		out = append(out, text[from:to])
		from = to
	}
	return append(out, text[from:])
}

// BenchmarkMarkdownPeer compares, in one run over about 800 documents, kbsync's parser and strategy with langchaingo's Markdown
// splitter and with goldmark's bare parse. The figures to compare are cpuMB/s.
func BenchmarkMarkdownPeer(b *testing.B) {
	p := markdown.New(markdown.DefaultMaxTreeSize)
	ours := func(change func(*MarkdownConfig)) func(*testing.B, string) {
		s := openMarkdown(b, change)
		return func(b *testing.B, doc string) {
			for _, err := range s.Chunks(context.Background(), &connector.Document{}, p.Parse(context.Background(), &connector.Document{}, strings.NewReader(doc))) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	bare := goldmark.DefaultParser()
	theirs := textsplitter.NewMarkdownTextSplitter(textsplitter.WithChunkSize(1000), textsplitter.WithChunkOverlap(0))
	runs := []struct {
		name string
		cut  func(*testing.B, string)
	}{
		{"goldmark", func(_ *testing.B, doc string) { bare.Parse(text.NewReader([]byte(doc))) }},
		{"parser", func(b *testing.B, doc string) {
			for _, err := range p.Parse(context.Background(), &connector.Document{}, bytes.NewReader([]byte(doc))) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}},
		{"chars", ours(charCap(1000))},
		{"default", ours(nil)},
		{"langchaingo", func(b *testing.B, doc string) {
			if _, err := theirs.SplitText(doc); err != nil {
				b.Fatal(err)
			}
		}},
	}
	for _, lang := range []string{"en", "zh"} {
		docs := markdownFiles(benchText(b, lang))
		size := 0
		for _, doc := range docs {
			size += len(doc)
		}
		for _, run := range runs {
			b.Run(run.name+"/"+lang, func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				reportRate(b, size, func() {
					for _, doc := range docs {
						run.cut(b, doc)
					}
				})
				b.ReportMetric(float64(len(docs)), "docs")
			})
		}
	}
}

// reportRate runs a benchmark's body and reports its rate by processor time.
func reportRate(b *testing.B, size int, body func()) {
	b.Helper()
	body() // encodings load when first used
	var spent time.Duration
	for b.Loop() {
		before := cpuTime(b)
		body()
		spent += cpuTime(b) - before
	}
	b.ReportMetric(float64(size)*float64(b.N)/1e6/spent.Seconds(), "cpuMB/s")
}
