package asciidoc

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

const manual = `// A comment at the top.
= 用户 Manual
Li Lei <li@example.com>; Han Meimei
v1.2, 2024-05-01: draft
:toc:
:source-language: ruby

Preface with {version}.

== Install 安装

. one
.. deeper
. two
+
----
gem install x
----

.Ports
[cols="1,2",options="header"]
|===
|name |meaning

|80
|网页
|443 |secure
|===

NOTE: Mind the gap.

////
A block of
comments.
////

term:: What it is.
other::
  And this.

image::cat.png[A cat]

[source,python]
----
# not a title
print("==")
----

[discrete]
=== Discrete
`

func TestOutline(t *testing.T) {
	cases := []struct{ name, src, want string }{
		{"empty", "", ""},
		{"blank", "\n\n", "text"},
		{"manual", manual, "dropped heading1[用户 Manual] text text heading2[Install 安装] list1{item1{text list2{item2}} item1{text code!}} table[Ports]#2 quote dropped definition{item1 item1} image[A cat] code:python! heading3[Discrete]"},
		{"sections", "= A\n\n== B\n\ntext\n\n=== C ===\n\n== D\n", "heading1[A] heading2[B] text heading3[C] heading2[D]"},
		{"Markdown's marks", "# A\n\n## B\n", "heading1[A] heading2[B]"},
		{"two lines", "Ab\n==\n\nTitle\n=====\n\nPart\n----\n\nSub 中文\n~~~~~~~~\n\nSub 中文\n~~~~~~\n", "heading1[Ab] heading1[Title] heading2[Part] heading3[Sub 中文] heading3[Sub 中文]"},
		{"listing below text", "See this code:\n----\nx\n----\n", "text code!"},
		{"anchor", "[[id]]\n[.role]\n== A [[b]]\n", "heading2[A]"},
		{"markup in a title", "== The *bold* _it_ `code` link:x[Link] <<a,ref>> 中文\n", "heading2[The bold it code Link ref 中文]"},
		{"no title", ":a: b\n\ntext\n", "text text"},
		{"entry of two lines", "a\n\n:b: c \\\n  d\n\ne\n", "text text text"},
		{"only comments", "// x\n\n// y\n", "dropped text dropped"},
		{"comment in a paragraph", "a\n// no\nb\n", "text dropped"},
		{"lists", "* a\n** b\n*** c\n* d\n- e\n", "list1{item1{text list2{item2{text list3{item3}}}} item1{text list2{item2}}}"},
		{"list ends", "* a\nmore\n\npara\n", "list1{item1} text"},
		{"blank between items", "* a\n\n* b\n\n\n* c\n", "list1{item1 item1 item1}"},
		{"marks in a paragraph", "text\n* a\n", "text"},
		{"joined", "* a\n+\nsecond\n+\n[source,c]\n----\nx\n\ny\n----\n* b\n", "list1{item1{text text code:c!} item1}"},
		{"numbers", "1. a\n2. b\n   i) c\n", "list1{item1 item1{text list2{item2}}}"},
		{"callouts", "<1> a\n<2> b\n", "list1{item1 item1}"},
		{"checks", "* [ ] a\n* [x] b\n", "list1{item1 item1}"},
		{"terms with a list", "a::\n* b\n* c\nd:: e\n", "definition{item1{list2{item2 item2}} item1}"},
		{"literal", "text\n\n  code\n  more\n\n....\nx\n....\n", "text code! code!"},
		{"source paragraph", "[source,sh]\nls -l\ncd\n\nx\n", "code:shell! text"},
		{"fence", "```go\nx\n```\n", "code:go!"},
		{"default language", ":source-language: go\n\n[source]\n----\nx\n----\n", "text code:go!"},
		{"attributes apart", "[source,go]\n\n----\nx\n----\n", "code:go!"},
		{"unclosed", "----\nx\n\n== A\n", "text heading2[A]"},
		{"quote", "[quote, A, B]\n____\na\n\nb\n____\n\n[quote]\nx\n", "quote{text text} quote"},
		{"example", ".T\n====\na\n\n* b\n====\n", "text[T]{text list1{item1}}"},
		{"admonition block", "[WARNING]\n====\na\n\n----\nb\n----\n====\n", "quote{text code!}"},
		{"open block", "--\na\n\nb\n--\n", "text{text text}"},
		{"math", "[stem]\n++++\nx^2\n++++\n\n++++\n<b>\n++++\n", "math! html"},
		{"breaks", "a\n\n'''\n\n<<<\n\n* * *\n", "text break break break"},
		{"commented", "[comment]\nno\n\nyes\n", "dropped text"},
		{"include", "include::a.adoc[]\n\nx\n", "text text"},
		{"figure", ".图一\nimage::a.png[]\n", "image[图一]"},
		{"nested table", "|===\n|a a|\n!===\n!x !y\n!===\n|===\n", "table#1"},
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
	table := func(attributes, body string) string { return attributes + "|===\n" + body + "|===\n" }
	cases := []struct{ name, src, want string }{
		{"first line is the header", table("", "|名称 |说明\n\n|a |one\ntwo\n|b\n|三\n四\n"), `[["名称" "说明"]] [["a" "one two"] ["b" "三四"]]`},
		{"no header", table("", "|a |b\n|c |d\n"), `[] [["a" "b"] ["c" "d"]]`},
		{"header by option", table("[%header,cols=2*]\n", "|k\n|v\n|a\n|1\n"), `[["k" "v"]] [["a" "1"]]`},
		{"columns", table("[cols=\"1,2,3\"]\n", "|a\n|b\n|c\n|d |e |f\n"), `[] [["a" "b" "c"] ["d" "e" "f"]]`},
		{"spans", table("[cols=\"3*\"]\n", "2+|both |c\n.2+|down |e |f\n|h |i\n"), `[] [["both" "" "c"] ["down" "e" "f"] ["down" "h" "i"]]`},
		{"copies and styles", table("[cols=\"3*\"]\n", "3*|x\na|p ^.^s|q h|r\n"), `[] [["x" "x" "x"] ["p" "q" "r"]]`},
		{"two rows on a line", table("[cols=1]\n", "|a |b\n|c\n"), `[] [["a" "b"] ["c"]]`},
		{"escaped", table("", "|a \\| b |c\n|d |e\n"), `[] [["a | b" "c"] ["d" "e"]]`},
		{"too few", table("[cols=2*]\n", "|a |b\n|c\n"), `[] [["a" "b"] ["c"]]`},
		{"csv", "[%header,format=csv]\n|===\nk,v\n\"a, b\",\"c\nd\"\n|===\n", `[["k" "v"]] [["a, b" "c\nd"]]`},
		{"csv, short", ",===\nk,v\n\n1,2\n,===\n", `[["k" "v"]] [["1" "2"]]`},
		{"dsv", ":===\na:b\nc:d\n:===\n", `[] [["a" "b"] ["c" "d"]]`},
		{"separator", "[separator=¦]\n|===\n¦a ¦b\n|===\n", `[] [["a" "b"]]`},
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
		manual:                                   {"title": "用户 Manual", "author": "Li Lei; Han Meimei", "email": "li@example.com", "version": "1.2", "date": "2024-05-01", "revision": "draft"},
		"= A\n:author: B\n:revdate: 2024\n\nx\n": {"title": "A", "author": "B", "date": "2024"},
		"= A\n:description: of two \\\n  lines\n:x: y\n\n  code\n": {"title": "A", "description": "of two lines"},
		"= A\n\nJohn Doe\n": {"title": "A"},
		"text\n":            nil,
	} {
		var got map[string]any
		for _, el := range parse(t, src) {
			if el.Properties != nil {
				got = el.Properties
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%.20q: %v", src, got)
		}
	}
}

func TestConformance(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return parser() }, []parsertest.Case{
		{Name: "manual", Path: "a.adoc", Input: manual, Sentinels: []string{"comment at the top", "Meimei", "block of", "网页", "gem install", "{version}"}},
		{Name: "empty", Path: "a.adoc"},
		{Name: "plain", Path: "a.adoc", Input: "just text\n"},
	})
}

// Documents that would take forever if anything were worse than linear.
func TestLinear(t *testing.T) {
	repeat := func(s string) func(int) string { return func(n int) string { return strings.Repeat(s, n/len(s)+1) } }
	for name, source := range map[string]func(int) string{
		"items": repeat("* a\n"), "items on one line": repeat("* "), "terms": repeat("a:: b\n"), "terms on one line": repeat("a::b "), "fences": repeat("```a\n"),
		"delimiters": func(n int) string {
			var b strings.Builder
			for i := 4; b.Len() < n; i++ {
				b.WriteString(strings.Repeat("-", i) + "\n" + strings.Repeat("=", i) + "\n")
			}
			return b.String()
		},
		"nested blocks": func(n int) string {
			var b strings.Builder
			for i := 4; b.Len() < n; i++ {
				b.WriteString(strings.Repeat("=", i) + "\n\n")
			}
			return b.String() + b.String()
		},
		"kinds of items": func(n int) string {
			var b strings.Builder
			for i := 0; b.Len() < n; i++ {
				b.WriteString([]string{"* a\n", "** a\n", "- a\n", ". a\n", ".. a\n", "a:: b\n", "a::: b\n", "1. a\n", "<1> a\n"}[i*7%9])
			}
			return b.String()
		},
		"attributes": repeat("[a]\n"), "titles": repeat(".a\n"), "comments": repeat("// a\nb\n"), "joins": repeat("* a\n+\nb\n"), "tables": repeat("|===\n|a\n|===\n"), "open tables": repeat("|===\n|a\n"),
		"cells": func(n int) string { return "|===\n" + strings.Repeat("|", n) + "\n|===\n" }, "rows": func(n int) string { return "[cols=1]\n|===\n" + strings.Repeat("|a\n", n/3) + "|===\n" },
		"wide":   func(n int) string { return "[cols=\"1000*\"]\n|===\n" + strings.Repeat("1000+|a\n", n/8) + "|===\n" },
		"copies": func(n int) string { return "[cols=2*]\n|===\n" + strings.Repeat("1000*|a\n", n/8) + "|===\n" },
		"down":   func(n int) string { return "[cols=2*]\n|===\n" + strings.Repeat(".1000+|a\n", n/9) + "|===\n" },
		"quotes": func(n int) string { return ",===\n" + strings.Repeat("a,\"b\n", n/5) + ",===\n" }, "list of attributes": func(n int) string { return strings.Repeat("["+strings.Repeat("a,", 1000)+"]\n", n/2003+1) },
		"two lines": repeat("a\n-\n"),
	} {
		t.Run(name, func(t *testing.T) { lightmarkuptest.Linear(t, parser(), build, source) })
	}
}

func FuzzNothingIsLost(f *testing.F) {
	f.Add(manual)
	for _, s := range []string{"* * a\n", "|===\n2.3+|a\n|===", "// a\n[b]\n// c\n", "a::\n", "....\n....", "[comment]\na", "+\n", "* a\n+\n", ",===\n\"\n,===\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if err := parsertest.CheckSound(parser(), "a.adoc", src); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	src := strings.Repeat(manual, 1<<20/len(manual))
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := parsertest.Collect(b.Context(), parser(), "document", strings.NewReader(src)); err != nil {
			b.Fatal(err)
		}
	}
}
