package markdown

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/shareddata"
)

func parse(t testing.TB, src string) []connector.Element {
	t.Helper()
	els, err := parsertest.Collect(context.Background(), New(DefaultMaxTreeSize), "a.md", strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	if err := parsertest.CheckElements(els); err != nil {
		t.Error(err)
	}
	if got := parsertest.Text(els); got != src {
		t.Errorf("the elements are not the source:\n%q\n%q", got, src)
	}
	return els
}

// outline shows elements as kind(level)[title]{children}.
func outline(els []connector.Element) string {
	parts := make([]string, 0, len(els))
	for _, el := range els {
		s := string(el.Kind)
		if el.Level > 0 {
			s += fmt.Sprint(el.Level)
		}
		if el.Title != "" {
			s += "[" + el.Title + "]"
		}
		if el.Language != "" {
			s += ":" + el.Language
		}
		if len(el.Children) > 0 {
			s += "{" + outline(el.Children) + "}"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func TestOutline(t *testing.T) {
	cases := []struct{ name, src, want string }{
		{"empty", "", ""},
		{"blank", "\n \n", "text"},
		{"headings", "# A #\n\nB\n===\ntext\n## C `d` *e* {#id}\n", "heading1[A] heading1[B] text heading2[C d e]"},
		{"title entities and links", "# a &amp; b \\* [c](d) <i>x</i> ![alt](i.png)\n", "heading1[a & b * c x alt]"},
		{"empty heading", "#\n\ntext\n", "heading1 text"},
		{"comment in a fence", "```sh\n# comment\n```\n# real\n", "code:shell heading1[real]"},
		{"unclosed fence and heading", "text\n\n```go\nx\n\n# not a heading\n", "text code:go"},
		{"nested fences", "````md\n```\n# no\n```\n````\n", "code:markdown"},
		{"tilde fence", "~~~ py\nx\n~~~\n", "code:python"},
		{"prose before an embedded heading", "prose\n## h\nmore\n", "text heading2[h] text"},
		{"setext after prose", "first\n\nsecond\n---\n", "text heading2[second]"},
		{"two paragraphs", "# h\n\none\n\ntwo\n", "heading1[h] text text"},
		{"list", "- a\n- b\n  - c\n\n  para\n- d\n", "list1{item1 item1{text list2{item2} text} item1}"},
		{"heading in a list", "- # x\n- y\n", "list1{item1{heading1[x]} item1}"},
		{"quote", "> a\n> b\n\nc\n", "quote text"},
		{"quote with blocks", "> # q\n> - a\n", "quote{heading1[q] list1{item1}}"},
		{"indented code", "a\n\n    code\n\n    more\nb\n", "text code text"},
		{"html", "<div>\n# no\n</div>\n\n# yes\n", "html heading1[yes]"},
		{"break", "a\n\n***\nb\n", "text break text"},
		{"footnote", "a[^1]\n\n[^1]: note\n    more\n\nb\n", "text footnote text"},
		{"definition", "term\n: what it is\n\nb\n", "definition text"},
		{"math", "a\n\n$$\nx = y\n$$\n\nb $$ c\n\n$$ z $$\n", "text math text math"},
		{"math ends at a blank line", "$$ stray\n\n# h\n", "math heading1[h]"},
		{"paragraph that starts with math", "$$a$$ and $$b$$ too.\n", "text"},
		{"image", "![a cat](cat.png)\n\n![a](b) and ![c](d)\n", "image[a cat] text"},
		{"front matter", "---\ntitle: x\n---\n\n# h\n", "front_matter heading1[h]"},
		{"front matter only", "---\ntitle: x\n---\n", "front_matter"},
		{"broken front matter", "---\ntitle: a: b\n---\ntext\n", "front_matter text"},
		{"break, no front matter", "---\nHello there.\n\n---\nx\n", "break text break text"},
		{"toml", "+++\ntitle = \"x\"\n+++\ntext\n", "front_matter text"},
		{"reference definitions", "[a]: /b\n\ntext\n\n[c]: /d\n", "text text text"},
		{"table, code and text", "| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nc\n```\ntext\n", "table code text"},
		{"table after prose", "prose\n| a | b |\n|---|---|\n| 1 | 2 |\nend\n", "text table"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := outline(parse(t, c.src)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestFencesKeepTheirBytes(t *testing.T) {
	src := "```\n\tx\u00a0y  \n\n  z\n```\n"
	els := parse(t, src)
	if len(els) != 1 || els[0].Text != src || !els[0].Atom {
		t.Errorf("%+v", els)
	}
}

func TestBlankLinesAreKept(t *testing.T) {
	els := parse(t, "# h\none\n\n\ntwo\n")
	if els[1].Text != "one\n\n\n" {
		t.Errorf("%q", els[1].Text)
	}
}

func TestCarriageReturns(t *testing.T) {
	els, err := parsertest.Collect(context.Background(), New(DefaultMaxTreeSize), "", strings.NewReader("# a\r\rtext\r\r## b\r"))
	if err != nil || outline(els) != "heading1[a] text heading2[b]" {
		t.Errorf("%s %v", outline(els), err)
	}
}

func TestTable(t *testing.T) {
	src := "x\n\n| Name | Va\\|lue |\n|:-----|---:|\n| a | `1` | extra |\n| b |\n\nend"
	els := parse(t, src)
	tab := els[1].Table
	if tab == nil {
		t.Fatal(outline(els))
	}
	if want := [][]string{{"Name", "Va|lue"}}; !reflect.DeepEqual(tab.Header, want) {
		t.Errorf("header %q", tab.Header)
	}
	if tab.HeaderText != "| Name | Va\\|lue |\n|:-----|---:|\n" || src[tab.HeaderSpan.Start:tab.HeaderSpan.End] != tab.HeaderText {
		t.Errorf("header text %q at %v", tab.HeaderText, tab.HeaderSpan)
	}
	var rows [][]string
	for _, r := range tab.Rows {
		rows = append(rows, r.Cells)
	}
	if want := [][]string{{"a", "`1`", "extra"}, {"b"}}; !reflect.DeepEqual(rows, want) {
		t.Errorf("rows %q", rows)
	}
	if s := tab.Rows[1].Span; src[s.Start:s.End] != "| b |\n" {
		t.Errorf("row at %v", s)
	}
	quoted := parse(t, "> | a |\n> |---|\n> | 1 |\n")
	if len(quoted) != 1 || len(quoted[0].Children) != 1 || quoted[0].Children[0].Table == nil || len(quoted[0].Children[0].Table.Rows) != 1 {
		t.Errorf("in a quote: %+v", quoted)
	}
}

func TestFrontMatter(t *testing.T) {
	els := parse(t, "---\ntitle: 你好\ntags: [a, b]\ndate: 2024-05-06\n1: x\n---\n\ntext\n")
	want := map[string]any{"title": "你好", "tags": []any{"a", "b"}, "date": "2024-05-06", "1": "x"}
	if !reflect.DeepEqual(els[0].Front, want) || !strings.HasSuffix(els[0].Text, "---\n\n") {
		t.Errorf("%#v", els[0])
	}
	els = parse(t, "+++\ntitle = 'x' # c\ndate = 2024-05-06T07:08:09Z\nweight = 1_0\ndraft = true\ntags = [\n  \"a\",\n  \"b\", # two\n]\n[params.deep]\nx = 1.5\n+++\ntext\n")
	want = map[string]any{"title": "x", "date": "2024-05-06T07:08:09Z", "weight": int64(10), "draft": true, "tags": []any{"a", "b"},
		"params": map[string]any{"deep": map[string]any{"x": 1.5}}}
	if !reflect.DeepEqual(els[0].Front, want) {
		t.Errorf("%#v", els[0].Front)
	}
}

// Input on which building a tree is not linear falls back to paragraphs, and says so.
func TestHostileNesting(t *testing.T) {
	for name, src := range map[string]string{
		"quotes":      strings.Repeat(">", 200_000),
		"items":       strings.Repeat("- ", 200_000),
		"quotes then": strings.Repeat(">", 100_000) + "\n" + strings.Repeat("x\n\n", 10_000),
		"deep list":   deepList(500) + strings.Repeat("\n", 200_000),
		"mixed":       strings.Repeat("> - 1. ", 50_000) + "x",
		"brackets":    "# " + strings.Repeat("[", 500_000) + "\n\n" + strings.Repeat("![[", 500_000),
		"delimiters":  strings.Repeat("|-|\n", 200_000),
		"stars":       strings.Repeat("*a_ ", 200_000),
	} {
		t.Run(name, func(t *testing.T) {
			els := parse(t, src)
			if len(els) == 0 {
				t.Error("nothing")
			}
		})
	}
}

func deepList(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", 2*i) + "- x\n")
	}
	return b.String()
}

func TestTooLargeForATree(t *testing.T) {
	src := strings.Repeat("# heading\n\ntext\n\n", 20_000)
	els, err := parsertest.Collect(context.Background(), New(1000), "", strings.NewReader(src))
	if err != nil || parsertest.Text(els) != src || els[0].Kind != connector.KindDropped || els[1].Kind != connector.KindText {
		t.Errorf("%v %+v", err, els[:2])
	}
}

func TestConformance(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return New(DefaultMaxTreeSize) }, []parsertest.Case{
		{Name: "everything", Input: "---\na: b\n---\n# T\x00itle\n\ntext\u200b\n\n- a\n  - b\n\n| h |\n|---|\n| c |\n\n> quote\n\n```\nfence\n```\n\n[^1]: note\n\n$$\nm\n$$\n",
			Sentinels: []string{"Title", "quote", "fence", "note", "h"}},
		{Name: "chinese", Input: "# 标题\n\n第一段。\n\n1. 甲\n2. 乙\n", Sentinels: []string{"标题", "乙"}},
	})
}

func TestRealFiles(t *testing.T) {
	n := 0
	err := filepath.WalkDir(shareddata.Dir(t), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		if err := parsertest.CheckAll(New(DefaultMaxTreeSize), path, string(raw)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"# a\n\n- b\n  - c\n", "| a |\n|-|\n| b |", "---\na: b\n---\n", "```\nx", "> - 1. a\n\tb", "$$\nx\n$$", "a\n: b", "[^a]: b\n    c", "+++\na = [1, '2']\n+++\n"} {
		f.Add(s)
	}
	p := New(1 << 20)
	f.Fuzz(func(t *testing.T, raw string) {
		if err := parsertest.CheckSound(p, "", raw); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkMarkdown(b *testing.B) {
	for _, name := range []string{"en.md", "zh.md"} {
		raw, err := os.ReadFile(filepath.Join(shareddata.Dir(b), "bench", name))
		if err != nil {
			b.Fatal(err)
		}
		b.Run("kbsync/"+name, func(b *testing.B) {
			p := New(DefaultMaxTreeSize)
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				for _, err := range p.Parse(context.Background(), parsertest.Document("", -1), strings.NewReader(string(raw))) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run("goldmark/"+name, func(b *testing.B) {
			md := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList))
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				md.Parser().Parse(text.NewReader(raw))
			}
		})
	}
}
