package rtf

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

func fresh(tb testing.TB, change func(*Config)) connector.Parser {
	tb.Helper()
	c := defaults()
	if change != nil {
		change(&c)
	}
	p, err := Plugin().Open(context.Background(), &c, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

const english = `{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\froman\fcharset0{\*\panose 02020603050405020304}Times New Roman;}{\f1\fnil\fcharset2 Symbol;}}
{\colortbl;\red0\green0\blue0;}{\stylesheet{\ql \snext0 Normal;}{\s1\sbasedon0\outlinelevel0 heading 1;}{\*\cs10 \additive Default Paragraph Font;}{\s39 toc 1;}}
{\info{\title The Report}{\author Ann}{\creatim\yr2024\mo3\dy5\hr9\min7}}{\header\pard Sentinelheader\par}
\pard\s1 Sentineltitle caf\'e9\par
\pard\plain First \b bold\b0  and \u8364?uro\u-10179 ?\u-8704 ? {\v sentinelhidden}end{\deleted sentinelgone}.{\super\chftn}{\footnote\pard {\super\chftn} Sentinelnote\par}\par
{\listtext\pard\plain\f1\'b7\tab}\pard\ilvl0\ls1 one\par
{\listtext\pard\plain 1.\tab}\pard\ilvl1\ls1 inner\par
{\pict\pngblip\picw10 89504e47}{\field{\*\fldinst HYPERLINK "http://x.y"}{\fldrslt sentinellink}} here{\*\atnauthor Bob}{\*\annotation\pard sentinelcomment}\par
\trowd\clmgf\cellx1000\clmrg\cellx2000\cellx3000\pard\intbl\b Name\b0\cell\cell\pard\intbl\b Age\b0\cell\row
\trowd\cellx1000\cellx2000\cellx3000\pard\intbl Ann\cell Lee\cell 30\cell\row
\pard Last line\line two\par{\*\strange sentinelstrange}}`

const chinese = `{\rtf1\ansi\ansicpg936\deff0{\fonttbl{\f0\fnil\fcharset134 \'cb\'ce\'cc\'e5;}{\f1\fnil\fcharset0 Arial;}{\f2\fnil\fcharset136 Ming;}{\f3\fnil\fcharset128 Gothic;}}` +
	`{\stylesheet{\s1 \'b1\'ea\'cc\'e2 1;}}\pard\s1\f0 \'b5\'da\'d2\'bb\'d5\'c2 \'b1\'ea\'cc\'e2\par\pard\plain\f0\'d5\'e2\'ca\'c7\f1 RTF\f0\'ce\'c4\'bc\'fe\'a1\'a3\par` +
	`\f2\'a4\'a4\'a4\'e5\par\f3\'83e\'83\'58\'83\'67\par\f1\uc2\u20013\'d6\'d0\u25991\'ce\'c4ok\par}`

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return fresh(t, nil) }, []parsertest.Case{
		{Name: "english", Input: english, Sentinels: []string{"Sentineltitle café", "Sentinelheader", "sentinelhidden", "sentinelgone", "Sentinelnote", "sentinellink",
			"sentinelcomment", "sentinelstrange", "€uro", "picture (png)"}},
		{Name: "chinese", Input: chinese, Sentinels: []string{"第一章 标题", "这是RTF文件。", "中文", "テスト"}},
		{Name: "empty"},
	})
}

func shown(tb testing.TB, p connector.Parser, data string) string {
	tb.Helper()
	els, err := parsertest.Collect(context.Background(), p, "x.rtf", strings.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	var b strings.Builder
	for _, el := range els {
		if el.Kind == connector.KindDropped {
			fmt.Fprintf(&b, "dropped(%s) %q\n", el.Reason, el.Text)
		} else {
			fmt.Fprintf(&b, "%s%d %q\n", el.Kind, el.Level, strings.TrimSuffix(el.Text, "\n\n"))
		}
	}
	return b.String()
}

func TestElements(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"english", english, `heading1 "Sentineltitle café"
dropped(page furniture) "Sentinelheader"
dropped(deleted in a tracked change) "sentinelgone"
dropped(hidden element) "sentinelhidden"
text0 "First bold and €uro😀 end.[1]"
footnote0 "[1] Sentinelnote"
list1 "- one\n  1. inner"
text0 "sentinellink here"
dropped(embedded object without text) "picture (png)"
quote0 "Bob: sentinelcomment"
table0 "| Name |  | Age |\n| --- | --- | --- |\n| Ann | Lee | 30 |"
text0 "Last line\ntwo"
dropped(markup without text) "sentinelstrange"
`},
		{"chinese", chinese, `heading1 "第一章 标题"
text0 "这是RTF文件。"
text0 "中文"
text0 "テスト"
text0 "中文ok"
`},
		{"western font in an eastern document", `{\rtf1\ansicpg936{\fonttbl{\f0\fcharset0 A;}}\f0 caf\'e9 x \'d6\'d0\'b9\'fa\par}`, "text0 \"café x ÖÐ¹ú\"\n"},
		{"no charset in an eastern document", `{\rtf1\ansicpg936{\fonttbl{\f0\fcharset0 A;}}\f0 \'d6\'d0\'b9\'fa\par}`, "text0 \"中国\"\n"},
		{"unescaped utf-8", `{\rtf1 中文 text\par}`, "text0 \"中文 text\"\n"},
		{"unicode pair", `{\rtf1{\upr{a?}{\*\ud{a\u20013 ?}}}\par}`, "text0 \"a中\"\n"},
		{"nested table", `{\rtf1\trowd\cellx1\cellx5000\pard\intbl a\cell\pard\intbl b\par\pard\intbl\itap2 c\nestcell d\nestcell{\*\nesttableprops\trowd\cellx1\cellx2\nestrow}{\nonesttables\par}\pard\intbl\itap1 e\cell\row\trowd\cellx1\cellx5000\pard\intbl f\cell g\cell\row}`,
			"table0 \"| a | b c, d e |\\n| --- | --- |\\n| f | g |\"\n"},
		{"merged downwards", `{\rtf1\trowd\clvmgf\cellx100\cellx200\pard\intbl a\cell b\cell\row\trowd\clvmrg\cellx100\cellx200\pard\intbl\cell c\cell\row}`,
			"table0 \"| a | b |\\n|  | c |\"\n"},
		{"typed markers", `{\rtf1\pard\li360\fi-360 \bullet\tab one\par\pard\li360\fi-360 \bullet\tab two\par}`, "list1 \"- one\\n- two\"\n"},
		{"box and picture's text", `{\rtf1 x{\shp{\*\shpinst{\sp{\sn wzDescription}{\sv A cat}}{\shptxt\pard in the box\par}}{\shprslt twice}}\par}`,
			"text0 \"x\"\nimage0 \"A cat\"\ntext0 \"in the box\"\n"},
		{"binary", "{\\rtf1 a{\\pict\\wmetafile8\\bin4 }{\\}}b\\par}", "text0 \"ab\"\ndropped(embedded object without text) \"picture (wmf)\"\n"},
		{"html", `{\rtf1\ansi\fromhtml1{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Hello {\*\htmltag84 <b>}\htmlrtf {\b\htmlrtf0 you{\*\htmltag92 </b>}\htmlrtf }\htmlrtf0\htmlrtf\par}\htmlrtf0{\*\htmltag72 </p>}}`,
			"text0 \"Hello you\"\n"},
		{"cut short", `{\rtf1{\b sentence one`, "text0 \"sentence one\"\ndropped(markup without text) \"the file ends inside of 2 open groups: it may be cut short\"\n"},
	} {
		got := shown(t, fresh(t, nil), c.data)
		if got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestProperties(t *testing.T) {
	els, err := parsertest.Collect(context.Background(), fresh(t, nil), "x.rtf", strings.NewReader(english))
	if err != nil {
		t.Fatal(err)
	}
	for _, el := range els {
		if el.Kind != connector.KindDropped {
			if got := fmt.Sprint(el.Properties); got != "map[author:Ann created:2024-03-05T09:07:00 title:The Report]" {
				t.Error(got)
			}
			break
		}
	}
	if got := shown(t, fresh(t, func(c *Config) { c.Comments = false }), english); !strings.Contains(got, `dropped(markup comment) "sentinelcomment"`) {
		t.Error(got)
	}
}

// Whatever is wrong with a document is one error that says so, or is left out.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"another format", "hello", "no Rich Text Format"},
		{"nesting", "{\\rtf1" + strings.Repeat("{", 20_000), "nested over"},
		{"size", english, "raise max_tree_size"},
	} {
		p := fresh(t, func(c *Config) {
			c.MaxTreeSize = 100_000
		})
		if c.name == "size" {
			p = fresh(t, func(c *Config) { c.MaxTreeSize = 100 })
		}
		_, err := parsertest.Collect(context.Background(), p, "x.rtf", strings.NewReader(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) || connector.ClassOf(err) != connector.ClassInvalid {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A document cut anywhere is read as far as it goes.
func TestTruncated(t *testing.T) {
	for _, doc := range []string{english, chinese} {
		for i := 6; i < len(doc); i += 5 {
			if err := parsertest.CheckSound(fresh(t, nil), "x.rtf", doc[:i]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Four times the input allocates about four times the bytes, for inputs that a careless reader is slow on. Bytes and not time: a
// reader that copies what it has gathered once for each unit allocates 16 times as many, however busy the machine is. A reader that
// only looks again at what it has is not seen by this.
func TestLinear(t *testing.T) {
	cost := func(unit string, n int) uint64 {
		data := `{\rtf1 ` + strings.Repeat(unit, n) + `}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := parsertest.Collect(context.Background(), fresh(t, nil), "x.rtf", strings.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, unit := range []string{`\trowd\cellx1`, `\cell `, `{\footnote x}`, `{\pict 00}`, `\u20013?`, `\trowd\cellx50\pard\intbl x\cell\row `} {
		small, large := cost(unit, 4_000), cost(unit, 16_000)
		if large > 8*small+1<<20 {
			t.Errorf("%s: %d bytes for n, %d for 4n", unit, small, large)
		}
	}
}

func FuzzRTF(f *testing.F) {
	f.Add(english)
	f.Add(chinese)
	f.Fuzz(func(t *testing.T, data string) {
		if err := parsertest.CheckSound(fresh(t, nil), "x.rtf", "{\\rtf1"+data+"}"); err != nil {
			t.Error(err)
		}
	})
}
