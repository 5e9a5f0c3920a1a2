package html

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/shareddata"
)

func parse(t testing.TB, src string) []connector.Element {
	t.Helper()
	els, err := parsertest.Collect(context.Background(), New(defaults()), "a.html", strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	if err := parsertest.CheckElements(els); err != nil {
		t.Error(err)
	}
	return els
}

// show is kind(level):text|… with what was dropped as -reason:text.
func show(els []connector.Element) string {
	parts := make([]string, 0, len(els))
	for _, el := range els {
		text := strings.TrimRight(el.Text, "\n")
		if el.Kind == connector.KindDropped {
			parts = append(parts, "-"+string(el.Reason)+":"+text)
			continue
		}
		s := string(el.Kind)
		if el.Level > 0 {
			s += fmt.Sprint(el.Level)
		}
		if el.Language != "" {
			s += "(" + el.Language + ")"
		}
		parts = append(parts, s+":"+text)
	}
	return strings.Join(parts, "|")
}

func TestBlocks(t *testing.T) {
	cases := []struct{ name, src, want string }{
		{"empty", "", ""},
		{"inline order", "<p>a <strong>b</strong> c</p>", "text:a b c"},
		{"no space is invented", "<p>a<b>b</b>c <i> d </i>e</p>", "text:abc d e"},
		{"headings", "<h1>A</h1><p>x</p><h2>B <em>c</em></h2>y", "heading1:A|text:x|heading2:B c|text:y"},
		{"br", "<p>a<br>b<br/>\nc</p>", "text:a\nb\nc"},
		{"white space", "<div>\n  a\t\n b  </div>\n<div>c&nbsp;d</div>", "text:a b|text:c\u00a0d"},
		{"chinese line ends", "<p>知识\n库 English\n工具</p>", "text:知识库 English 工具"},
		{"pre", "<pre class='language-go'>\na\n\tb &lt;c&gt;\n\n  d</pre>", "code(go):a\n\tb <c>\n\n  d"},
		{"pre and code", "<pre><code class=\"lang-py\">x = 1\n</code></pre>", "code(python):x = 1"},
		{"list", "<ul><li>a<li>b <b>c</b><ul><li>d</ul><li><p>e</p><p>f</p></ul>", "list1:- a\n- b c\n  - d\n- e\n  f"},
		{"ordered", "<ol start=3><li>a</li><li>b</li></ol>", "list1:3. a\n4. b"},
		{"list with code", "<ul><li>a</li><li>b<pre>c\n d</pre>e</li></ul>", "list1:- a|text:- b|code:c\n d|text:e"},
		{"list with heading", "<ul><li><h3>h</h3>text</li></ul>", "heading3:h|text:text"},
		{"definitions", "<dl><dt>t<dd>d1<dd>d2</dl>", "definition:t\n: d1\n: d2"},
		{"quote", "<blockquote><p>a</p><p>b</p></blockquote>", "quote:a|quote:b"},
		{"image", "<p><img alt='a cat' src=x></p><p>see <img alt=this> here</p>", "image:a cat|text:see this here"},
		{"script", "<p>a</p><script>var s='<p>no</p>'</script><style>.x{}</style>", "text:a|-script or style:var s='<p>no</p>'|-script or style:.x{}"},
		{"comment", "<p>a<!-- secret -->b</p>", "-markup comment:secret|text:ab"},
		{"hidden", "<p>a <span hidden>x <b>y</b></span>b</p><div style='display: none'>z</div>", "-hidden element:x y|text:a b|-hidden element:z"},
		{"noscript", "<noscript><p>turn it on</p></noscript>a", "-hidden element:<p>turn it on</p>|text:a"},
		{"title alone", "<title>T &amp; x</title><h2>s</h2>", "heading1:T & x|heading2:s"},
		{"title and h1", "<head><title>T - site</title></head><body><h1>T</h1>", "-page furniture:T - site|heading1:T"},
		{"navigation", "<nav><a>n1</a> <a>n2</a></nav><h1>a</h1><p>some text that is longer</p><footer>f</footer>",
			"-navigation or boilerplate:n1 n2|heading1:a|text:some text that is longer|-navigation or boilerplate:f"},
		{"all in a nav", "<nav><h1>a</h1><p>everything is here</p></nav><p>x</p>", "heading1:a|text:everything is here|text:x"},
		{"main", "<div>menu</div><main><h2>a</h2>long text of the page</main><div>ad</div>", "-navigation or boilerplate:menu|heading2:a|text:long text of the page|-navigation or boilerplate:ad"},
		{"main with little text", "<div>this is the text of the page</div><main>x</main>", "text:this is the text of the page|text:x"},
		{"h1 outside main", "<header><h1>a</h1></header><main>long text</main>", "heading1:a|text:long text"},
		{"permalink", "<h2>a<a class=headerlink>¶</a></h2>", "-page furniture:¶|heading2:a"},
		{"heading never closed", "<h2>a<p>" + strings.Repeat("long text ", 40) + "</p><table><tr><td>c<td>d</table>",
			"heading2:a|text:" + strings.TrimSpace(strings.Repeat("long text ", 40)) + "|table:| c | d |"},
		{"heading with blocks", "<h2><div>a</div><div>b</div></h2>", "heading2:a b"},
		{"cut tag", "<p>a</p><div class=", "text:a|-markup without text:<div class="},
		{"end tags without start", "a</div>b</p>c</span>d", "text:a|text:b|text:cd"},
		{"entities are cleaned", "<p>a&#8203;b&shy;c&#0;d&#13;e</p>", "-invisible characters:\u200b|-invisible characters:\u00ad|text:abc\ufffdd e"},
		{"select", "<select><option>a<option>b</select>", "text:a|text:b"},
		{"textarea", "<textarea>a\n b</textarea>", "text:a\n b"},
		{"svg title", "<title>t</title><svg><title>icon</title></svg>", "heading1:t|text:icon"},
		{"text after the end", "<html><body>a</body></html>b", "text:a|text:b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := show(parse(t, c.src)); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestTables(t *testing.T) {
	cases := []struct{ name, src, want string }{
		{"header", "<table><thead><tr><th>a<th>b|c</thead><tr><td>1<td>2<br>3</table>", "table:| a | b\\|c |\n| --- | --- |\n| 1 | 2 3 |"},
		{"header by th", "<table><tr><th>a</th><th>b</th></tr><tr><th>r</th><td>1</td></tr></table>", "table:| a | b |\n| --- | --- |\n| r | 1 |"},
		{"no header", "<table><tr><td>1<td>2<tr><td>3<td>4</table>", "table:| 1 | 2 |\n| 3 | 4 |"},
		{"spans", "<table><tr><th rowspan=2>k<th colspan=2>v<tr><th>x<th>y<tr><td rowspan=2>a<td>1<td>2<tr><td colspan=2>3</table>",
			"table:| k | v | v |\n| k | x | y |\n| --- | --- | --- |\n| a | 1 | 2 |\n| a | 3 |  |"},
		{"empty columns", "<table><tr><td>a<td><td>b<tr><td>c<td> <td>d</table>", "table:| a | b |\n| c | d |"},
		{"caption", "<table><caption>C</caption><tr><td>1<td>2</table>", "table:C\n| 1 | 2 |"},
		{"in a section", "<section><h2>s</h2>before<table><tr><td>1<td>2</table>after</section>", "heading2:s|text:before|table:| 1 | 2 ||text:after"},
		{"layout", "<table><tr><td><h2>a</h2>" + strings.Repeat("text ", 80) + "<td>b</table>", "heading2:a|text:" + strings.TrimSpace(strings.Repeat("text ", 80)) + "|text:b"},
		{"nested", "<table><tr><td>x<table><tr><td>1<td>2</table><td>y</table>", "text:x|table:| 1 | 2 ||text:y"},
		{"text outside of cells", "<table>stray<tr>more<td>1<td>2</table>", "text:straymore|table:| 1 | 2 |"},
		{"all header", "<table><tr><th>a<th>b<tr><th>c<th>d</table>", "table:| a | b |\n| --- | --- |\n| c | d |"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := show(parse(t, c.src)); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
	els := parse(t, cases[0].src)
	tab := els[0].Table
	if !reflect.DeepEqual(tab.Header, [][]string{{"a", "b|c"}}) || !reflect.DeepEqual(tab.Rows[0].Cells, []string{"1", "2 3"}) || tab.HeaderText != "| a | b\\|c |\n| --- | --- |\n" {
		t.Errorf("%+v", tab)
	}
}

func TestListChildren(t *testing.T) {
	els := parse(t, "<p>x</p><ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>")
	list := els[1]
	if len(list.Children) != 2 || list.Children[1].Text != "- b\n  - c\n" || len(list.Children[1].Children) != 1 || list.Children[1].Children[0].Level != 2 {
		t.Errorf("%+v", list)
	}
}

func TestCharsets(t *testing.T) {
	gbk, _ := simplifiedchinese.GBK.NewEncoder().String("<html><head><meta charset=gb2312></head><body><p>知识库</p></body></html>")
	sjis, _ := japanese.ShiftJIS.NewEncoder().String("<html><head><meta http-equiv=Content-Type content=\"text/html; charset=Shift_JIS\"></head><body><p>日本語</p></body></html>")
	for src, want := range map[string]string{gbk: "text:知识库", sjis: "text:日本語"} {
		if got := show(parse(t, src)); got != want {
			t.Errorf("%q", got)
		}
	}
}

func TestHostile(t *testing.T) {
	for name, src := range map[string]string{
		"divs":       strings.Repeat("<div>", 100_000) + "deep",
		"items":      strings.Repeat("<ul><li>", 50_000) + "deep",
		"tables":     strings.Repeat("<table><tr><td>", 50_000) + "deep",
		"fonts":      strings.Repeat("<font size=1><b>", 50_000) + strings.Repeat("<p>x", 50_000) + "deep",
		"headings":   strings.Repeat("<h1><div>", 50_000) + "deep",
		"attributes": "<div " + strings.Repeat("a=b ", 200_000) + ">deep",
		"spans":      "<table>" + strings.Repeat("<tr><td rowspan=65000 colspan=1000>x<td>y", 20_000) + "</table>deep",
		"ends":       "deep" + strings.Repeat("</div></td></p>", 100_000),
		"hidden":     strings.Repeat("<span hidden>", 100_000) + "deep",
		"articles":   strings.Repeat("<article>", 100_000) + "deep",
		"quotes":     strings.Repeat("<blockquote><p>x", 100_000) + "deep",
		"pre":        strings.Repeat("<pre>", 100_000) + "deep",
		"templates":  strings.Repeat("<template>", 100_000) + "deep",
		"main":       strings.Repeat("<div role=main>", 100_000) + "deep",
		"comments":   strings.Repeat("<!-- x --><p>", 50_000) + "deep",
		"definition": strings.Repeat("<dl><dt>x<dd>", 50_000) + "deep",
	} {
		t.Run(name, func(t *testing.T) {
			if err := parsertest.CheckSentinels(parse(t, src), []string{"deep"}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTooLargeForATree(t *testing.T) {
	els, err := parsertest.Collect(context.Background(), New(Config{MaxTreeSize: 10}), "", strings.NewReader("<p>some text</p>"))
	if err != nil || len(els) != 2 || els[0].Kind != connector.KindDropped {
		t.Errorf("%v %+v", err, els)
	}
}

func TestKeepBoilerplate(t *testing.T) {
	els, err := parsertest.Collect(context.Background(), New(Config{MaxTreeSize: 1 << 20, KeepBoilerplate: true}), "", strings.NewReader("<nav>n</nav><p>some text</p>"))
	if err != nil || show(els) != "text:n|text:some text" {
		t.Errorf("%v %s", err, show(els))
	}
}

func TestConformance(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return New(defaults()) }, []parsertest.Case{
		{Name: "page", Path: "a.html", Input: "\ufeff<!doctype html><html><head><title>titleword</title><script>scriptword</script></head><body><nav>navword</nav>" +
			"<main><h1>heading</h1><p>para\x00word<ul><li>item<ul><li>nested</ul></ul><table><caption>cap</caption><tr><th>h1<th>h2<tr><td rowspan=2>c1<td>c2<tr><td>c3</table>" +
			"<pre>code\r\nword</pre><blockquote>quoted</blockquote><dl><dt>term<dd>def</dl><img alt=picture></main><footer>footword</footer></body></html>",
			Sentinels: []string{"titleword", "scriptword", "navword", "heading", "paraword", "item", "nested", "cap", "h2", "c3", "quoted", "term", "def", "picture", "footword"}},
	})
}

func TestRealFiles(t *testing.T) {
	n := 0
	err := filepath.WalkDir(shareddata.Dir(t), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if ext := filepath.Ext(path); ext != ".html" && ext != ".xhtml" {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		if err := parsertest.CheckAll(New(defaults()), path, string(raw)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
}

func FuzzHTML(f *testing.F) {
	for _, s := range []string{"<p>a<b>b", "<table><tr><td rowspan=3>x<th>y", "<ul><li>a<ul><li>b", "<pre>\nx<br>", "<h2>a<p>b", "<span hidden>x<div>y", "<dl><dt>a<dd>b", "<!-- x", "<main>a</main><nav>b", "&#0;&shy;"} {
		f.Add(s)
	}
	p := New(defaults())
	f.Fuzz(func(t *testing.T, raw string) {
		if err := parsertest.CheckSound(p, "", raw); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkHTML(b *testing.B) {
	raw, err := os.ReadFile(filepath.Join(shareddata.Dir(b), "fixtures", "html_zh_clreq_W3C", "zh", "index.html"))
	if err != nil {
		b.Fatal(err)
	}
	p := New(defaults())
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		for _, err := range p.Parse(context.Background(), parsertest.Document("", -1), strings.NewReader(string(raw))) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
