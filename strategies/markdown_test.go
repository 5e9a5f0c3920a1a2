package strategies

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/shareddata"
)

func sprint(v any) string { return fmt.Sprint(v) }

func openMarkdown(tb testing.TB, change func(*MarkdownConfig)) connector.Strategy {
	tb.Helper()
	c := markdownDefaults()
	if change != nil {
		change(&c)
	}
	return mustOpen(tb, Markdown(), &c)
}

func charCap(n int) func(*MarkdownConfig) {
	return func(c *MarkdownConfig) { c.MaxChars = n; c.MinChars = 5 }
}

func TestMarkdownData(t *testing.T) {
	dir := shareddata.Dir(t)
	for _, lang := range []string{"en", "zh"} {
		b, err := os.ReadFile(filepath.Join(dir, "bench", lang+".md"))
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		els := markdownElements(t, text)
		for _, change := range []func(*MarkdownConfig){nil, charCap(1000), func(c *MarkdownConfig) { c.MaxTokens = 60; c.Overlap.N = 12 }, func(c *MarkdownConfig) { c.Heading = "out"; c.TitleChunks = true }} {
			chunks := lawfulChunks(t, openMarkdown(t, change), els)
			size := 0
			for i := range chunks {
				size += len(chunks[i].Text)
			}
			t.Logf("%s: %d chunks, %d bytes on average", lang, len(chunks), size/len(chunks))
		}
		_ = strings.TrimSpace
	}
}
