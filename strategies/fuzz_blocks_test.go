package strategies

import (
	"bytes"
	"context"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/parsers/markdown"
)

// FuzzStructured cuts the blocks of any text, read as Markdown, with each strategy for structure.
func FuzzStructured(f *testing.F) {
	f.Add([]byte("# A\n\n## B\n\ntext, more text. 中文。\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\n# x\n\ty\n```\n- i\n  - j\n\n> q\n"), uint8(30), uint8(5))
	f.Add([]byte("---\na: b\n---\n$$\nx\n$$\n\n<div>\n*x*\n</div>\n\n[^1]: note\n\n***\n"), uint8(9), uint8(0))
	f.Add([]byte("a\r\n\r\n~~~\n\tcode\n\n# not\n"+string(bytes.Repeat([]byte("long word "), 40))), uint8(60), uint8(20))
	p := markdown.New(1 << 20)
	f.Fuzz(func(t *testing.T, text []byte, size, overlap uint8) {
		if len(text) > 4096 || size < 4 {
			return
		}
		els := parsed(t, p, "x.md", string(text))
		sizing := Sizing{MaxChars: int(size), Overlap: Amount{N: int(overlap) % int(size)}, MinChars: int(overlap) % 24}
		md := markdownDefaults()
		md.Sizing = sizing
		out := md
		out.Heading = "out"
		tables := tableDefaults()
		tables.Sizing = sizing
		raw := tables
		raw.Mode = "markdown"
		for _, s := range []connector.Strategy{
			mustOpen(t, Markdown(), &md), mustOpen(t, Markdown(), &out), mustOpen(t, Code(), &CodeConfig{Sizing: sizing}),
			mustOpen(t, Table(), &tables), mustOpen(t, Table(), &raw),
		} {
			var chunks []connector.Chunk
			for c, err := range s.Chunks(context.Background(), &connector.Document{}, given(els)) {
				if err != nil {
					t.Fatal(err)
				}
				chunks = append(chunks, c)
			}
			in := strategytest.Input{Elements: els}
			for _, err := range strategytest.Laws(s.Info(), in, chunks) {
				t.Errorf("%s %+v: %v", s.Info().Name, sizing, err)
			}
		}
	})
}
