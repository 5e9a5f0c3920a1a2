package strategies

import (
	"bytes"
	"context"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/text"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/parsers/markdown"
)

// BenchmarkMarkdown times parser and strategy together, the strategy alone, and goldmark's bare parse beside them.
func BenchmarkMarkdown(b *testing.B) {
	for _, lang := range []string{"en", "zh"} {
		src := []byte(benchText(b, lang))
		els := markdownElements(b, string(src))
		b.Run("goldmark/"+lang, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				goldmark.DefaultParser().Parse(text.NewReader(src))
			}
		})
		p := markdown.New(64 << 20)
		b.Run("parser/"+lang, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				for _, err := range p.Parse(context.Background(), &connector.Document{}, bytes.NewReader(src)) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		for name, change := range map[string]func(*MarkdownConfig){"chars": charCap(1000), "cl100k": nil} {
			s := openMarkdown(b, change)
			b.Run("strategy/"+name+"/"+lang, func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				b.ReportAllocs()
				for b.Loop() {
					for _, err := range s.Chunks(context.Background(), &connector.Document{}, given(els)) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
			b.Run("both/"+name+"/"+lang, func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					for _, err := range s.Chunks(context.Background(), &connector.Document{}, p.Parse(context.Background(), &connector.Document{}, bytes.NewReader(src))) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
