package strategies

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/parsers/code"
	"github.com/kbsync/kbsync/parsers/markdown"
)

// markdownElements parses a text.
func markdownElements(tb testing.TB, text string) []connector.Element {
	tb.Helper()
	return parsed(tb, markdown.New(64<<20), "x.md", text)
}

// codeElements parses a source file, the language told by its name.
func codeElements(tb testing.TB, path, text string) []connector.Element {
	tb.Helper()
	return parsedBy(tb, code.Plugin(), path, text)
}

// parsedBy parses a text with a parser's defaults.
func parsedBy(tb testing.TB, plugin connector.ParserPlugin, path, text string) []connector.Element {
	tb.Helper()
	p, err := plugin.Open(context.Background(), plugin.Config(), connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return parsed(tb, p, path, text)
}

func parsed(tb testing.TB, p connector.Parser, path, text string) []connector.Element {
	tb.Helper()
	var els []connector.Element
	for el, err := range p.Parse(context.Background(), &connector.Document{Path: path}, bytes.NewReader([]byte(text))) {
		if err != nil {
			tb.Fatal(err)
		}
		els = append(els, el)
	}
	return els
}

// given yields elements from a list.
func given(els []connector.Element) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		for _, el := range els {
			if !yield(el, nil) {
				return
			}
		}
	}
}

// textOf is the parsed text that elements tile.
func textOf(els []connector.Element) string {
	var b strings.Builder
	for _, el := range els {
		if el.Kind != connector.KindDropped {
			b.WriteString(el.Text)
		}
	}
	return b.String()
}

// lawfulChunks cuts elements and checks the laws that hold for every strategy.
func lawfulChunks(tb testing.TB, s connector.Strategy, els []connector.Element) []connector.Chunk {
	tb.Helper()
	var chunks []connector.Chunk
	for c, err := range s.Chunks(context.Background(), &connector.Document{Path: "x"}, given(els)) {
		if err != nil {
			tb.Fatal(err)
		}
		chunks = append(chunks, c)
	}
	checkLaws(tb, s.Info(), textOf(els), chunks)
	return chunks
}

func checkLaws(tb testing.TB, info connector.StrategyInfo, text string, chunks []connector.Chunk) {
	tb.Helper()
	covered := make([]bool, len(text))
	cover := func(spans []connector.Span) {
		for _, s := range spans {
			for i := s.Start; i < s.End; i++ {
				covered[i] = true
			}
		}
	}
	for i := range chunks {
		c := &chunks[i]
		cover(c.Spans)
		cover(c.ContextSpans)
		checkChunkLaws(tb, info, text, c)
	}
	for i, r := range text {
		if !covered[i] && !unicode.IsSpace(r) {
			tb.Fatalf("lost at %d: %q", i, text[i:min(len(text), i+60)])
		}
	}
}

func checkChunkLaws(tb testing.TB, info connector.StrategyInfo, text string, c *connector.Chunk) {
	tb.Helper()
	for _, limit := range info.Caps {
		if n := limit.Counter.Count(c.EmbedText()); n > limit.Max {
			tb.Fatalf("%d %s over the cap of %d: %q + %q", n, limit.Counter.Name(), limit.Max, c.Context, c.Text)
		}
	}
	if strings.TrimSpace(c.Text) == "" || !utf8.ValidString(c.Text) || !utf8.ValidString(c.Context) {
		tb.Fatalf("blank or broken chunk %q", c.Text)
	}
	if c.Context != "" && !strings.HasSuffix(c.Context, "\n") {
		tb.Fatalf("context %q has no line end", c.Context)
	}
	last := -1
	for _, s := range slices.Concat(c.Spans) {
		if s.Start < last || s.End <= s.Start || s.End > len(text) {
			tb.Fatalf("spans %v", c.Spans)
		}
		last = s.End
	}
	last = -1
	for _, s := range c.ContextSpans {
		if s.Start < last || s.End <= s.Start || s.End > len(text) {
			tb.Fatalf("context spans %v", c.ContextSpans)
		}
		last = s.End
	}
	if c.Rendered {
		return
	}
	var b strings.Builder
	for _, s := range c.Spans {
		b.WriteString(text[s.Start:s.End])
	}
	if b.String() != c.Text {
		tb.Fatalf("spans hold %q, content is %q", b.String(), c.Text)
	}
	first, end := c.Spans[0].Start, c.Spans[len(c.Spans)-1].End
	if !c.ForcedSplit && (insideWord(text, first) || insideWord(text, end)) {
		tb.Fatalf("cut word: %q | %q | %q", text[max(0, first-20):first], c.Text, text[end:min(len(text), end+20)])
	}
}

// insideWord tells a position between two letters or digits of a script that writes spaces.
func insideWord(text string, p int) bool {
	if p <= 0 || p >= len(text) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:p])
	after, _ := utf8.DecodeRuneInString(text[p:])
	letter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return letter(before) && letter(after) && !wide(before) && !wide(after)
}

// show prints chunks for golden files and messages.
func showChunks(chunks []connector.Chunk) string {
	var b strings.Builder
	for i, c := range chunks {
		b.WriteString("== chunk ==\n")
		if i == 0 {
			b.Reset()
			b.WriteString("== chunk ==\n")
		}
		if len(c.Headings) > 0 {
			b.WriteString("headings: " + strings.Join(c.Headings, " > ") + "\n")
		}
		if c.ForcedSplit {
			b.WriteString("forced\n")
		}
		for _, key := range []string{"symbol", "symbol_kind", "table", "row_start", "row_end"} {
			if v, ok := c.Metadata[key]; ok {
				b.WriteString(key + ": " + strings.TrimSpace(sprint(v)) + "\n")
			}
		}
		if c.Context != "" {
			b.WriteString("context:\n" + indent(c.Context))
		}
		b.WriteString("text:\n" + indent(c.Text))
	}
	return b.String()
}

func indent(s string) string {
	return "  |" + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  |") + "\n"
}
