package man

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

func fresh(tb testing.TB) connector.Parser {
	tb.Helper()
	c := defaults()
	p, err := Plugin().Open(context.Background(), &c, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

const english = `.\" Copyright of somebody
.TH GREP 1 "2024-05-01" "GNU grep 3.11" "User Commands"
.de XX
.br
..
.SH NAME
grep \- print lines that match
.SH SYNOPSIS
.B grep
.RI [ OPTION \|.\|.\|.]\&
.I PATTERNS
.SH OPTIONS
.SS "Matching control"
.TP
.BR \-i ", " \-\^\-ignore\-case
Ignore case distinctions, so that characters
that differ only in case match.
.IP
A second paragraph\(emof the option.
.TP
.B \-v
Invert.
.RS
.IP 1. 4
First
.IP 2. 4
Second
.RE
.PP
A paragraph with \fBbold\fR, \fIitalic\fP and a \(lqquote\(rq.
.nf
code  line
  indented
.fi
.if t troff only
.if n terminal text
.ie t \{\
one
.\}
.el two
.TS
tab(:);
lb lb
l l.
Key:Meaning
_
a:the first
b:T{
the second
one
T}
.TE
.so man1/other.1
`

const chinese = `.TH 列表 1 2024-01-01
.SH 名称
列表 \- 列出目录
的内容
.SH 选项
.TP
.B \-a
不忽略以点开头的
条目
.IP \(bu 2
带点的项
`

const mdoc = `.Dd March 1, 2024
.Dt CAT 1
.Os BSD 4
.Sh NAME
.Nm cat
.Nd concatenate and print files
.Sh SYNOPSIS
.Nm
.Op Fl belnstuv
.Op Ar
.Sh DESCRIPTION
The
.Nm
utility reads files
.Pq see Xr ls 1 ,
and writes
.Em them .
.Bl -tag -width indent
.It Fl b
Number the lines.
.Pp
More of it.
.It Fl f Ar file Ns .txt
Read
.Ar file .
.El
.Bl -enum
.It
one
.It
two
.El
.Bd -literal
cat a > b
.Ed
.Bl -column a b
.It Em name Ta value
.It x Ta Ev HOME
.El
.Ex -std
`

// outline is what a parser saw, a line for each element.
func outline(tb testing.TB, input string) string {
	tb.Helper()
	els, err := parsertest.Collect(context.Background(), fresh(tb), "a.1", strings.NewReader(input))
	if err != nil {
		tb.Fatal(err)
	}
	var b strings.Builder
	for _, el := range els {
		kind := string(el.Kind)
		if el.Kind == connector.KindDropped {
			kind = "dropped (" + string(el.Reason) + ")"
		}
		fmt.Fprintf(&b, "%s %q\n", kind, strings.TrimSpace(el.Text))
	}
	return b.String()
}

func TestPages(t *testing.T) {
	for name, c := range map[string]struct{ input, want string }{
		"man": {english, `dropped (markup comment) "Copyright of somebody"
heading "GREP(1)"
dropped (markup without text) ".de XX .br .."
heading "NAME"
text "grep - print lines that match"
heading "SYNOPSIS"
text "grep [OPTION...] PATTERNS"
heading "OPTIONS"
heading "Matching control"
list "- -i, --ignore-case\n  Ignore case distinctions, so that characters that differ only in case match.\n  A second paragraph—of the option.\n- -v\n  Invert.\n  1. First\n  2. Second"
text "A paragraph with bold, italic and a “quote”."
dropped (markup without text) "troff only"
dropped (markup without text) "\\{one .\\}"
code "code  line\n  indented"
text "terminal text two"
table "| Key | Meaning |\n| --- | --- |\n| a | the first |\n| b | the second one |"
dropped (embedded object without text) "the file man1/other.1"
`},
		"chinese": {chinese, `heading "列表(1)"
heading "名称"
text "列表 - 列出目录的内容"
heading "选项"
list "- -a\n  不忽略以点开头的条目\n- 带点的项"
`},
		"mdoc": {mdoc, `heading "CAT(1)"
heading "NAME"
text "cat — concatenate and print files"
heading "SYNOPSIS"
text "cat [-belnstuv] [file ...]"
heading "DESCRIPTION"
text "The cat utility reads files (see ls(1)), and writes them."
list "- -b\n  Number the lines.\n  More of it.\n- -f file.txt\n  Read file."
list "1. one\n2. two"
code "cat a > b"
table "| name | value |\n| --- | --- |\n| x | HOME |"
text "The cat utility exits 0 on success, and >0 if an error occurs."
`},
	} {
		if got := outline(t, c.input); got != c.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// The .el of an inner .ie is not that of the outer one.
func TestConditionsNest(t *testing.T) {
	got := outline(t, ".TH A 1\n.ie n \\{\\\n.ie t inner wrong\n.el inner right\n.\\}\n.el outer wrong\nThe end.\n")
	if want := "heading \"A(1)\"\ndropped (markup without text) \"inner wrong\"\ndropped (markup without text) \"outer wrong\"\ntext \"inner right The end.\"\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEscapes(t *testing.T) {
	p := newPage("")
	for in, want := range map[string]string{
		`plain`: "plain", `\fBb\fP\f[CW]c\f(CWd`: "bcd", `a\ b\~c\0d`: "a b c d", `\(bu\[em]\(xx`: "•—xx", `\*(lqx\*(rq\*R`: "“x”®", `\s-1A\s+1\s0B\s[10]C\s(12D`: "ABCD",
		`\N'65'\[u4F60]\[u0065_0301]`: "A你é", `\h'1i'x\v"2"y`: "xy", `C:\\a\eb`: `C:\a\b`, `\['e]\[:u]`: "éü", `end\`: "end", `\(`: "", `\[open`: "open", `\f`: "", `\*`: "", `\s`: "",
	} {
		if got, _ := p.text(in); composed(got) != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestProperties(t *testing.T) {
	els, err := parsertest.Collect(context.Background(), fresh(t), "a.1", strings.NewReader(english))
	if err != nil {
		t.Fatal(err)
	}
	for _, el := range els {
		if el.Kind == connector.KindDropped {
			continue
		}
		if got := fmt.Sprint(el.Properties); got != "map[date:2024-05-01 manual:User Commands section:1 source:GNU grep 3.11 title:GREP]" {
			t.Errorf("%s", got)
		}
		break
	}
}

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return fresh(t) }, []parsertest.Case{
		{Name: "man", Input: english, Sentinels: []string{"ignore-case", "terminal", "troff only", "bold", "second", "indented"}},
		{Name: "chinese", Input: chinese, Sentinels: []string{"列出目录的内容", "带点的项"}},
		{Name: "mdoc", Input: mdoc, Sentinels: []string{"belnstuv", "concatenate", "ls(1)", "HOME"}},
		{Name: "empty"},
	})
}

func TestDamaged(t *testing.T) {
	for _, doc := range []string{english, chinese, mdoc} {
		for i := range doc {
			if err := parsertest.CheckSound(fresh(t), "a.1", doc[:i]); err != nil {
				t.Fatalf("cut at %d: %v", i, err)
			}
		}
	}
	for _, s := range []string{".Bl -tag\n", ".RS\n", ".if n .if n .if n x\n", ".ie n \\{\\\n", ".TS\n", "x\\c\n", ".TP\n", ".Op Op Op x\n", ".Bd -literal\n", ".ds x \\*x\n\\*x\n", ".It Ta Ta\n", ".nf\n.EX\n"} {
		if err := parsertest.CheckSound(fresh(t), "a.1", strings.Repeat(s, 3000)); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestErrors(t *testing.T) {
	c := Config{MaxTreeSize: 10}
	p, err := Plugin().Open(context.Background(), &c, connector.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parsertest.Collect(context.Background(), p, "a.1", strings.NewReader(english)); connector.ClassOf(err) != connector.ClassInvalid || !strings.Contains(err.Error(), "max_tree_size") {
		t.Errorf("%v", err)
	}
	if _, err := Plugin().Open(context.Background(), &Config{}, connector.Env{}); err == nil {
		t.Error("no limit is taken")
	}
}

// What goes wrong easily, a few lines each.
func TestSmall(t *testing.T) {
	for _, c := range []struct{ name, input, want string }{
		{"conditions within conditions", ".ie n \\{\\\n.ie t a\n.el b\n.\\}\n.el c\n", "dropped (markup without text) \"a\"\ndropped (markup without text) \"c\"\ntext \"b\"\n"},
		{"old pages made of pod", ".IX Title \"A 1\"\n.Vb 2\n\\&  code  x\n\\&  more\n.Ve\ntext\n",
			"dropped (markup without text) \".IX Title \\\"A 1\\\"\"\ncode \"code  x\\n  more\"\ntext \"text\"\n"},
		{"an unknown macro", ".bashrc is a file\n", "dropped (markup without text) \".bashrc\"\ntext \"is a file\"\n"},
		{"more names of one option", ".TP\n\\-a\n.TQ\n\\-\\-all\nshow\n", "list \"- -a\\n  --all\\n  show\"\n"},
		{"a link", "see\n.UR http://x\nlink\n.UE .\n", "text \"see http://x link.\"\n"},
		{"comment in a table", ".TS\nl l.\na\tb\n.\\\" said\n.TE\n", "dropped (markup comment) \"said\"\ntable \"| a | b |\"\n"},
		{"a cell that nothing closes", ".TS\nl l.\na\tT{\nb\n.TE\n", "table \"| a | b |\"\n"},
		{"a comment behind a heading", ".SH\nName \\\" said\nx\n", "dropped (markup comment) \"said\"\nheading \"Name\"\ntext \"x\"\n"},
		{"characters of several bytes", "\\h中x中y \\(中文 \\o中文中\n", "text \"y 中文 文\"\n"},
		{"an equation", ".EQ\na over b\n.EN\n", "math \"$$a over b$$\"\n"},
		{"a function", ".Dd x\n.Sh SYNOPSIS\n.Ft int\n.Fo f\n.Fa \"int a\"\n.Fa \"int b\"\n.Fc\n", "heading \"SYNOPSIS\"\ntext \"int f(int a, int b)\"\n"},
		{"a long tag", ".Dd x\n.Bl -tag\n.It Fl Fl a Xo\n.Oo\n.Ar b\n.Oc\n.Xc\ntext\n.El\n", "list \"- --a [b]\\n  text\"\n"},
	} {
		if got := outline(t, c.input); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// cost is how many bytes a page makes the parser allocate.
func cost(tb testing.TB, input string) uint64 {
	tb.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := parsertest.Collect(context.Background(), fresh(tb), "a.1", strings.NewReader(input)); err != nil {
		tb.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Four times the input allocates about four times the bytes: counted, since time bends on a busy machine.
func TestLinear(t *testing.T) {
	for _, head := range []string{"", ".Dd x\n"} {
		for _, unit := range []string{"x\\c\n", ".TP\n", "\\*(lq", ".ie n \\{\\\n", ".if t \\{\n", ".TS\nl.\na\n", ".Bl -tag\n.It x\n", ".as x yyyy\n\\*x\n", ".el x\n", ".Fo f\n.Fa x\n", ".Oo\n"} {
			small, large := cost(t, head+strings.Repeat(unit, 4000)), cost(t, head+strings.Repeat(unit, 16000))
			if large > 8*small+1<<20 {
				t.Errorf("%q: %d bytes for n, %d for 4n", unit, small, large)
			}
		}
	}
}

// Strings that hold strings that hold strings do not fill the memory.
func TestStringsWithinStrings(t *testing.T) {
	page := ".ds a " + strings.Repeat("x", 90) + "\n"
	for c := 'b'; c <= 'f'; c++ {
		page += fmt.Sprintf(".ds %c %s\n", c, strings.Repeat(fmt.Sprintf("\\*%c", c-1), 60))
	}
	page += strings.Repeat("\\*a", 100_000)
	if got := cost(t, page); got > 64<<20 {
		t.Errorf("%d bytes are allocated for a page of %d", got, len(page))
	}
}

func FuzzPages(f *testing.F) {
	for _, s := range []string{english, chinese, mdoc} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if err := parsertest.CheckSound(fresh(t), "a.1", s); err != nil {
			t.Fatal(err)
		}
	})
}
