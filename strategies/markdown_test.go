package strategies

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
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

// charCap caps chunks in characters.
func charCap(n int) func(*MarkdownConfig) {
	return func(c *MarkdownConfig) { c.MaxChars, c.MinChars = n, 5 }
}

// mdChunks cuts a Markdown text.
func mdChunks(tb testing.TB, text string, change func(*MarkdownConfig)) []connector.Chunk {
	tb.Helper()
	return lawfulChunks(tb, openMarkdown(tb, change), markdownElements(tb, text))
}

func texts(chunks []connector.Chunk) []string {
	out := make([]string, len(chunks))
	for i := range chunks {
		out[i] = chunks[i].Text
	}
	return out
}

func TestMarkdownData(t *testing.T) {
	dir := shareddata.Dir(t)
	for _, lang := range []string{"en", "zh"} {
		b, err := os.ReadFile(filepath.Join(dir, "bench", lang+".md"))
		if err != nil {
			t.Fatal(err)
		}
		els := markdownElements(t, strings.ToValidUTF8(string(b[:1<<20]), ""))
		for _, change := range []func(*MarkdownConfig){
			nil,
			charCap(1000),
			func(c *MarkdownConfig) { c.MaxTokens, c.Overlap.N = 60, 12 },
			func(c *MarkdownConfig) { c.Heading, c.TitleChunks = "out", true },
		} {
			lawfulChunks(t, openMarkdown(t, change), els)
		}
	}
}

// Windows that end early, where a heading allows it, change no chunk.
func TestMarkdownWindows(t *testing.T) {
	text := longMarkdown(400)
	els := markdownElements(t, text)
	c := markdownDefaults()
	c.MaxChars = 600
	s := mustOpen(t, Markdown(), &c).(*blockStrategy)
	want := lawfulChunks(t, s, els)
	for _, size := range []int{1, 5_000, 20_000} {
		small := *s
		small.lay.window = size
		if got := lawfulChunks(t, &small, els); !reflect.DeepEqual(got, want) {
			t.Fatalf("windows of %d bytes: %d chunks, whole: %d", size, len(got), len(want))
		}
	}
}

// longMarkdown makes a document of n sections on two levels, some long, some short.
func longMarkdown(n int) string {
	var b strings.Builder
	b.WriteString("# Book\n\nWords of introduction.\n\n")
	word := 0
	for i := range n {
		fmt.Fprintf(&b, "%s Section %d\n\n", strings.Repeat("#", 2+i*7%3), i)
		for p := range 1 + i*i%9 {
			for range 3 + (i*p)%40 {
				word = (word*1103515245 + 12345) & 0x7fffffff
				fmt.Fprintf(&b, "word%d ", word>>16%1000)
			}
			b.WriteString("ends here.\n\n")
		}
	}
	return b.String()
}

func TestMarkdownEdits(t *testing.T) {
	long := ""
	for i := range 3000 {
		long += fmt.Sprintf("Paragraph %d speaks of %d things, and of nothing else at all.\n\n", i, i*i%977)
	}
	for name, text := range map[string]string{
		"sections":    longMarkdown(1000),
		"one section": "# Only\n\n" + long,
		"no heading":  long,
		"faq":         faq(1500),
	} {
		s := openMarkdown(t, func(c *MarkdownConfig) { c.MaxTokens = 200 })
		n := freshChunks(t, s, markdownElements(t, text), markdownElements(t, "A line of plain prose.\n\n"+text))
		if n > 3 {
			t.Errorf("%s: %d new chunks after one line at the top", name, n)
		}
	}
}

// faq makes many small sections below one heading.
func faq(n int) string {
	var b strings.Builder
	b.WriteString("# Questions\n\n")
	for i := range n {
		fmt.Fprintf(&b, "## Why %d?\n\nBecause of %d.\n\n", i, i*i%1009)
	}
	return b.String()
}

// freshChunks counts the chunks of after that before does not have.
func freshChunks(tb testing.TB, s connector.Strategy, before, after []connector.Element) int {
	tb.Helper()
	old := map[string]int{}
	count := func(els []connector.Element, each func(text string)) {
		for c, err := range s.Chunks(context.Background(), &connector.Document{}, given(els)) {
			if err != nil {
				tb.Fatal(err)
			}
			each(c.EmbedText())
		}
	}
	count(before, func(text string) { old[text]++ })
	fresh := 0
	count(after, func(text string) {
		if old[text]--; old[text] < 0 {
			fresh++
		}
	})
	return fresh
}

func TestMarkdownEditBenchText(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(shareddata.Dir(t), "bench", "en.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b) + string(b)
	before, after := markdownElements(t, text), markdownElements(t, "One more line of plain prose.\n"+text)
	for _, change := range []func(*MarkdownConfig){nil, charCap(1000)} {
		if n := freshChunks(t, openMarkdown(t, change), before, after); n > 3 {
			t.Errorf("%d new chunks after one line at the top", n)
		}
	}
}

func TestMarkdownFaults(t *testing.T) {
	small := charCap(120)
	for _, c := range []struct {
		name, text string
		change     func(*MarkdownConfig)
		want       []string
	}{
		{"unclosed fence then heading", "# A\n\n```\ncode\n\n# B\n\ntext", nil, []string{"# A\n\n```\ncode\n\n# B\n\ntext"}},
		{"comment in fence", "# A\n\n```sh\n# comment\nls\n```\n", nil, []string{"# A\n\n```sh\n# comment\nls\n```"}},
		{"tabs and no-break spaces in fence", "```\n\tx\u00a0=\u00a01 \n\t\ty\n```", nil, []string{"```\n\tx\u00a0=\u00a01 \n\t\ty\n```"}},
		{"blank line between paragraphs", "# A\n\none\n\ntwo\n", nil, []string{"# A\n\none\n\ntwo"}},
		{"prose before embedded marks", "text ## not a heading\nmore\n", nil, []string{"text ## not a heading\nmore"}},
		{"blank", " \n\n\t\n", nil, []string{}},
		{"heading alone", "# A", nil, []string{"# A"}},
		{"short pieces join", "# A\n\nx\n\n# B\n\n" + strings.Repeat("word ", 23) + "end.", small, []string{"# A\n\nx", "# B\n\n" + strings.Repeat("word ", 23)[:114], "end."}},
		{"empty headings lead into the next", "# A\n\n## B\n\n" + strings.Repeat("Word. ", 15) + "\n\n## C\n\n" + strings.Repeat("Text. ", 15), small,
			[]string{"# A\n\n## B\n\n" + strings.TrimSpace(strings.Repeat("Word. ", 15)), "## C\n\n" + strings.TrimSpace(strings.Repeat("Text. ", 15))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := texts(mdChunks(t, c.text, c.change)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// Breadcrumbs longer than the room for them are shortened, and text is never dropped for them.
func TestMarkdownLongBreadcrumb(t *testing.T) {
	var b strings.Builder
	for level := 1; level <= 6; level++ {
		fmt.Fprintf(&b, "%s Heading number %d with a rather long name\n\n", strings.Repeat("#", level), level)
	}
	b.WriteString(strings.Repeat("A sentence of the paragraph stands here. ", 20))
	chunks := mdChunks(t, b.String(), charCap(200))
	last := chunks[len(chunks)-1]
	if want := "… > Heading number 6 with a rather long name\n"; last.Context != want {
		t.Errorf("context %q, want %q", last.Context, want)
	}
	if len(last.Headings) != 6 {
		t.Errorf("headings %q", last.Headings)
	}
	title := "# " + strings.Repeat("长标题", 200) + "\n\n"
	for _, c := range mdChunks(t, title+strings.Repeat("这是一句话。", 60), charCap(100)) {
		if n := len([]rune(c.Context)); n > 25 {
			t.Errorf("context of %d characters", n)
		}
	}
}

// A fence that fits the cap stays whole even where its breadcrumb must go.
func TestMarkdownFenceFillsCap(t *testing.T) {
	fence := "```go\n" + strings.Repeat("line()\n", 13) + "```"
	text := "# A rather long heading\n\n## Another one\n\nText before it, which is not short either. And so on.\n\n" + fence + "\n\nText after."
	found := false
	for _, c := range mdChunks(t, text, charCap(len(fence))) {
		found = found || c.Text == fence
	}
	if !found {
		t.Error("the fence was cut")
	}
}

func TestMarkdownLongFence(t *testing.T) {
	text := "# A\n\n~~~go {.numbered}\n" + strings.Repeat("\tcall(1, 2)\n", 40) + "~~~\n\nAfter.\n"
	chunks := mdChunks(t, text, charCap(150))
	for i, c := range chunks[1 : len(chunks)-1] {
		if c.Context != "A\n~~~go {.numbered}\n" || !c.ForcedSplit {
			t.Errorf("piece %d: context %q, forced %t", i, c.Context, c.ForcedSplit)
		}
	}
}

func TestMarkdownLongTable(t *testing.T) {
	head := "| Name | Value |\n|------|-------|\n"
	var rows strings.Builder
	for i := range 60 {
		fmt.Fprintf(&rows, "| row %d | value of row %d |\n", i, i)
	}
	chunks := mdChunks(t, "# T\n\nBefore.\n\n"+head+rows.String()+"\nAfter.\n", charCap(300))
	seen := 0
	for _, c := range chunks {
		n := strings.Count(c.Text, "| row ")
		if n > 0 && !strings.Contains(c.EmbedText(), head) {
			t.Errorf("no header above %q", c.Text)
		}
		if n > 0 && (!strings.HasPrefix(c.Text, "| ") || c.ForcedSplit) {
			t.Errorf("cut row: %q", c.Text)
		}
		seen += n
	}
	if seen != 60 || len(chunks) < 5 {
		t.Errorf("%d rows in %d chunks", seen, len(chunks))
	}
}

// A section of 50,000 lines costs time in proportion: a quadratic cut would not end within the test's time.
func TestMarkdownLongSection(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Long\n\n")
	for i := range 50_000 {
		fmt.Fprintf(&b, "Line %d of the section says little.\n", i)
	}
	mdChunks(t, b.String(), nil)
	mdChunks(t, strings.ReplaceAll(b.String(), "\n", "\n\n"), charCap(300))
}

func TestMarkdownHeadingOut(t *testing.T) {
	text := "# A\n\n## B\n\nUnder B.\n\n## C\n\nUnder C.\n\n## Empty\n"
	chunks := mdChunks(t, text, func(c *MarkdownConfig) { c.Heading, c.MinChars, c.MaxChars = "out", 0, 25 })
	want := "A > B|Under B.;A > C|Under C.;A|## Empty"
	var got []string
	for _, c := range chunks {
		got = append(got, strings.TrimSpace(c.Context)+"|"+c.Text)
	}
	if strings.Join(got, ";") != want {
		t.Errorf("got %q", got)
	}
}

func TestMarkdownTitleChunks(t *testing.T) {
	chunks := mdChunks(t, "# A\n\ntext\n\n## B\n\nmore\n", func(c *MarkdownConfig) { c.TitleChunks = true })
	if got := texts(chunks); !reflect.DeepEqual(got, []string{"# A", "## B", "# A\n\ntext\n\n## B\n\nmore"}) {
		t.Errorf("%q", got)
	}
}

func TestMarkdownOverlap(t *testing.T) {
	var b strings.Builder
	b.WriteString("# A\n\n")
	for i := range 40 {
		fmt.Fprintf(&b, "Sentence number %d stands here. ", i)
	}
	chunks := mdChunks(t, b.String(), func(c *MarkdownConfig) { c.MaxChars, c.Overlap.N = 300, 70 })
	for i := 1; i < len(chunks); i++ {
		if n := chunks[i-1].Spans[0].End - chunks[i].Spans[0].Start; n <= 0 || n > 70 {
			t.Errorf("chunk %d overlaps by %d", i, n)
		}
	}
}

func TestMarkdownConfig(t *testing.T) {
	for _, c := range []MarkdownConfig{
		{Heading: "above"}, {Breadcrumb: "none"}, {Heading: "out", Breadcrumb: "metadata"},
		{Sizing: Sizing{MaxTokens: 10, Overlap: Amount{N: 10}}}, {Sizing: Sizing{MaxTokens: -1}},
	} {
		if c.Validate() == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}
