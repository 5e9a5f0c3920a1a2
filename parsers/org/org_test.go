package org

import (
	"reflect"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/lightmarkup"
	"github.com/kbsync/kbsync/internal/lightmarkup/lightmarkuptest"
)

func parser() *Parser { return New(lightmarkup.DefaultMaxTreeSize) }

func parse(t testing.TB, src string) []connector.Element {
	t.Helper()
	els := lightmarkuptest.Parse(t, parser(), src)
	if err := parsertest.CheckElements(els); err != nil {
		t.Error(err)
	}
	return els
}

const journal = `#+TITLE: 项目笔记
#+AUTHOR: 李雷
#+DATE: <2024-05-01 Wed>
# A comment of mine

Intro text.

* TODO [#A] Install 安装 :work:linux:
SCHEDULED: <2024-05-02 Thu>
:PROPERTIES:
:ID: x1
:END:
- one
- two
  1. in
  2. deeper
- [ ] open

#+CAPTION: 数据
| name | value |
|------+-------|
| a    | 1     |
| 端口 | 80    |
#+TBLFM: $2=1

#+begin_src python
print("* not a headline")
#+end_src
* COMMENT Hidden
secret words
** deeper
* Notes
[fn:1] A footnote.
`

func TestOutline(t *testing.T) {
	cases := []struct{ name, src, want string }{
		{"empty", "", ""},
		{"blank", "\n\n", "text"},
		{"headlines", "* A\none\n** B\ntwo\n* C\n", "heading1[A] text heading2[B] text heading1[C]"},
		{"deep", "******** A\n", "heading6[A]"},
		{"no headlines", "*bold* text\n\n**\n\n *x\n", "text text text"},
		{"parts of a headline", "* TODO [#A] Buy =milk= [1/2] :shop:home:\n* DONE b\n* NEXT c\n", "heading1[Buy milk [1/2]] heading1[b] heading1[NEXT c]"},
		{"own keywords", "#+TODO: NEXT(n) | CANCELLED\n* NEXT c\n* CANCELLED d\n* TODO e\n", "text heading1[c] heading1[d] heading1[e]"},
		{"markup", "* [[http://x][Link]] *b* /i/ 中文 :标签:\n", "heading1[Link b i 中文]"},
		{"only tags", "* :a:b:\n", "heading1"},
		{"journal", journal, "text dropped text heading1[Install 安装] text text list1{item1 item1{text list2{item2 item2}} item1} table[数据]#2 code:python! dropped heading1[Notes] footnote"},
		{"list ends", "- a\n\n  more\n\n\n  no\n", "list1{item1{text text}} text"},
		{"list after text", "Things:\n- a\n- b\nmore\n", "text list1{item1 item1} text"},
		{"stars", " * a\n * b\n", "list1{item1 item1}"},
		{"terms", "- a :: b\n- c :: d\n", "definition{item1 item1}"},
		{"code in an item", "- a\n  #+begin_src c\nint x;\n  #+end_src\n- b\n", "list1{item1{text code:c!} item1}"},
		{"quote", "#+BEGIN_QUOTE\na\n\nb\n#+END_QUOTE\nc\n", "quote{text text} text"},
		{"example", "#+begin_example\n# kept\n#+end_example\n: fixed\n: width\n", "code! code!"},
		{"unclosed", "#+begin_src c\nint x;\n\ny\n", "text text text"},
		{"comments", "a\n# no\nb\n#+begin_comment\nx\n#+end_comment\nc\n", "text dropped text dropped text"},
		{"html", "#+begin_export html\n<b>\n#+end_export\n", "html"},
		{"math", "\\begin{equation}\nx\n\n\\end{equation}\n\\[ y \\]\n", "math! math!"},
		{"image", "#+CAPTION: 图一\n[[file:a.png]]\n\n[[file:b.org]]\n", "image[图一] text"},
		{"rule", "a\n-----\nb\n", "text break text"},
		{"drawer", ":LOGBOOK:\n- a\n\nb\n:END:\nc\n", "text{list1{item1} text} text"},
		{"special block", "#+begin_warning\na\n\n- b\n#+end_warning\n", "text{text list1{item1}}"},
		{"dynamic block", "#+BEGIN: clocktable\n| a |\n#+END:\n", "text{table#1}"},
		{"notes of two lines", "[fn:1] one\nmore\n\n[fn:2] two\n\n\nend\n", "footnote footnote text"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := lightmarkuptest.Outline(parse(t, c.src)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestTables(t *testing.T) {
	cases := []struct{ name, src, want string }{
		{"header", "| a | b |\n|---+---|\n| 1 | x \\vert{} y |\n|---+---|\n| 2 |  |\n", `[["a" "b"]] [["1" "x | y"] ["2" ""]]`},
		{"no header", "|---|\n| 1 |\n|---|\n", `[] [["1"]]`},
		{"widths", "| <l> | <10> |\n| 姓名 | 城市 |\n|--+--|\n| 张伟 | 北京 |\n", `[["姓名" "城市"]] [["张伟" "北京"]]`},
		{"no bar at the end", "| a | b\n| c | d\n", `[] [["a" "b"] ["c" "d"]]`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := lightmarkuptest.Table(parse(t, c.src)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestProperties(t *testing.T) {
	for src, want := range map[string]map[string]any{
		journal: {"title": "项目笔记", "author": "李雷", "date": "<2024-05-01 Wed>"},
		":PROPERTIES:\n:ID: 7\n:END:\n#+title: A\n#+title: b\n": {"id": "7", "title": "A b"},
		"text\n": nil,
	} {
		if got := parse(t, src)[0].Properties; !reflect.DeepEqual(got, want) {
			t.Errorf("%.20q: %v", src, got)
		}
	}
}

func TestConformance(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return parser() }, []parsertest.Case{
		{Name: "journal", Path: "a.org", Input: journal, Sentinels: []string{"李雷", "comment of mine", "secret words", "端口", "SCHEDULED", "A footnote"}},
		{Name: "empty", Path: "a.org"},
		{Name: "plain", Path: "a.org", Input: "just text\n"},
	})
}

// Documents that would take forever if anything were worse than linear.
func TestLinear(t *testing.T) {
	repeat := func(s string) func(int) string { return func(n int) string { return strings.Repeat(s, n/len(s)+1) } }
	for name, source := range map[string]func(int) string{
		"items": repeat("- a\n"), "items on one line": repeat("- "), "headlines": repeat("* a\n"), "open blocks": repeat("#+begin_src c\n"), "open quotes": repeat("#+begin_quote\n"),
		"nested quotes": func(n int) string {
			return strings.Repeat("#+begin_quote\n", n/26) + strings.Repeat("#+end_quote\n", n/26)
		},
		"open drawers": repeat(":A:\n"), "notes": repeat("[fn:1] a\n"), "environments": repeat("\\begin{a}\n"), "captions": repeat("#+caption: x\n"), "comments": repeat("# a\nb\n"),
		"tables": repeat("| a | b |\n|--|\n\n"), "one table": repeat("|a|\n|-\n"), "hidden": repeat("* COMMENT a\n** b\n"),
		"stairs": func(n int) string {
			var b strings.Builder
			for i := 0; b.Len() < n; i++ {
				b.WriteString(strings.Repeat(" ", i%300) + "- a\n")
			}
			return b.String()
		},
		"tags": func(n int) string { return "* " + strings.Repeat(":a", n/2) + "\n" },
	} {
		t.Run(name, func(t *testing.T) { lightmarkuptest.Linear(t, parser(), build, source) })
	}
}

func FuzzNothingIsLost(f *testing.F) {
	f.Add(journal)
	for _, s := range []string{"- - a\n", "#+begin_src\n#+end_src", "#+caption: x\n# c\n", "| a\n|-\n| b", ":a:\n:end:", "* COMMENT\n", "[fn:1]\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if err := parsertest.CheckSound(parser(), "a.org", src); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	src := strings.Repeat(journal, 1<<20/len(journal))
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := parsertest.Collect(b.Context(), parser(), "document", strings.NewReader(src)); err != nil {
			b.Fatal(err)
		}
	}
}
