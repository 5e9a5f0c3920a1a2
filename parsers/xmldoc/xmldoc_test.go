package xmldoc

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"

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

const (
	data  = `<?xml version="1.0"?><!-- sentinelcomment --><catalog><name>Shop</name><book id="sentinelid"><author>Ann</author><title lang="en">A &amp; B</title></book><book id="b2"><title>C</title></book></catalog>`
	rss   = `<rss version="2.0"><channel><title>News</title><description>All of it</description><item><title>One</title><pubDate>Mon, 1 Jan 2024</pubDate><description><![CDATA[<p>Hello <b>you</b></p><ul><li>x</li></ul>]]></description></item></channel></rss>`
	atom  = `<feed xmlns="http://www.w3.org/2005/Atom"><title>博客</title><entry><title>第一篇</title><updated>2024-01-01</updated><link href="http://a.b"/><content type="html">&lt;p&gt;你好，世界。&lt;/p&gt;</content></entry></feed>`
	dbook = `<article><title>Doc</title><section><title>Part</title><para>Some <emphasis>text</emphasis>` + "\n" + `here.</para><orderedlist><listitem><para>a</para></listitem><listitem><para>b</para></listitem></orderedlist><programlisting>x = 1` + "\n  y" + `</programlisting>` +
		`<table><title>T</title><tgroup><thead><row><entry>h1</entry><entry>h2</entry></row></thead><tbody><row><entry>1</entry><entry>2</entry></row></tbody></tgroup></table></section></article>`
)

func gbk(tb testing.TB) string {
	tb.Helper()
	s, err := simplifiedchinese.GBK.NewEncoder().String(`<?xml version="1.0" encoding="gb2312"?><书><名>红楼梦</名><作者>曹雪芹</作者></书>`)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return fresh(t) }, []parsertest.Case{
		{Name: "data", Input: data, Sentinels: []string{"sentinelcomment", "sentinelid", "A & B", "Shop"}},
		{Name: "rss", Input: rss, Sentinels: []string{"Hello you", "News", "Mon, 1 Jan 2024"}},
		{Name: "atom", Input: atom, Sentinels: []string{"你好，世界。", "http://a.b"}},
		{Name: "docbook", Input: dbook, Sentinels: []string{"Some text here."}},
		{Name: "gbk", Input: gbk(t), Sentinels: []string{"红楼梦"}},
		{Name: "empty"},
	})
}

func shown(tb testing.TB, data string) string {
	tb.Helper()
	els, err := parsertest.Collect(context.Background(), fresh(tb), "x.xml", strings.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	var b strings.Builder
	for _, el := range els {
		fmt.Fprintf(&b, "%s%d %q\n", el.Kind, el.Level, strings.TrimSuffix(el.Text, "\n\n"))
	}
	return b.String()
}

func TestElements(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{data, "dropped0 \"sentinelcomment\"\nheading1 \"catalog\"\nrecord0 \"name: Shop\"\nrecord0 \"book (id: sentinelid)\\nauthor: Ann\\ntitle (lang: en): A & B\"\nrecord0 \"book (id: b2)\\ntitle: C\"\n"},
		{rss, "heading1 \"News\"\ntext0 \"All of it\"\nheading2 \"One\"\ntext0 \"pubDate: Mon, 1 Jan 2024\"\ntext0 \"Hello you\"\ntext0 \"- x\"\n"},
		{atom, "heading1 \"博客\"\nheading2 \"第一篇\"\ntext0 \"updated: 2024-01-01\\nlink (href: http://a.b)\"\ntext0 \"你好，世界。\"\n"},
		{dbook, "heading1 \"Doc\"\nheading2 \"Part\"\ntext0 \"Some text here.\"\nlist1 \"1. a\\n2. b\"\ncode0 \"x = 1\\n  y\"\ntable0 \"T\\n| h1 | h2 |\\n| --- | --- |\\n| 1 | 2 |\"\n"},
		{gbk(t), "record0 \"书\\n名: 红楼梦\\n作者: 曹雪芹\"\n"},
		{`<svg><title>Chart</title><path d="M0"/><g><text>Sales</text></g></svg>`, "text0 \"Chart\"\ntext0 \"Sales\"\n"},
	} {
		if got := shown(t, c.data); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

// What is not well formed is read as text, and entities are never expanded.
func TestHostile(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"<a><b>text</a>", "text0 \"<a><b>text</a>\""},
		{`<!DOCTYPE a [<!ENTITY x "xx"><!ENTITY y "&x;&x;"><!ENTITY f SYSTEM "file:///etc/passwd">]><a>&y;&f;</a>`, `record0 "a: &y;&f;"`},
		{strings.Repeat("<a>", 20_000), "read as plain text"},
		{strings.Repeat("<a>", 9_000) + "deep" + strings.Repeat("</a>", 9_000), "deep"},
	} {
		if got := shown(t, c.data); !strings.Contains(got, c.want) {
			t.Errorf("%.60q: got %.300s", c.data, got)
		}
	}
	for _, doc := range []string{data, rss, atom, dbook} {
		for i := range doc {
			if err := parsertest.CheckSound(fresh(t), "x.xml", doc[:i]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func FuzzXML(f *testing.F) {
	for _, s := range []string{data, rss, atom, dbook} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if err := parsertest.CheckSound(fresh(t), "x.xml", data); err != nil {
			t.Error(err)
		}
	})
}
