package strategies

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/parsers/html"
)

func htmlChunks(tb testing.TB, page string, change func(*MarkdownConfig)) []connector.Chunk {
	tb.Helper()
	c := markdownDefaults()
	if change != nil {
		change(&c)
	}
	return lawful(tb, mustOpen(tb, HTML(), &c), parsedBy(tb, html.Plugin(), "x.html", page))
}

func TestHTMLOrder(t *testing.T) {
	page := "<h1>One</h1><p>a <strong>b</strong> c</p><table><tr><th>k</th></tr><tr><td>v</td></tr></table><p>d</p><h2>Two</h2><pre>x\n  y</pre><p>e</p>"
	chunks := htmlChunks(t, page, nil)
	if len(chunks) != 1 {
		t.Fatalf("%+v", chunks)
	}
	at := -1
	for _, want := range []string{"One", "a b c", "k", "v", "d", "Two", "x\n  y", "e"} {
		next := strings.Index(chunks[0].Text[at+1:], want)
		if next < 0 {
			t.Fatalf("%q is missing or out of order in %q", want, chunks[0].Text)
		}
		at += 1 + next
	}
}

func TestHTMLHeadings(t *testing.T) {
	page := "<h1>One</h1><p>" + strings.Repeat("First text. ", 8) + "</p><h2>Two</h2><p>" + strings.Repeat("Second text. ", 8) + "</p>"
	var got []string
	for _, c := range htmlChunks(t, page, charCap(120)) {
		got = append(got, strings.Join(c.Headings, " > "))
	}
	if !reflect.DeepEqual(got, []string{"One", "One > Two"}) {
		t.Errorf("%q", got)
	}
}

func TestHTMLData(t *testing.T) {
	dir := shareddata.Dir(t)
	var files []string
	for _, pattern := range []string{"fixtures/docling/html/sources/*.html", "fixtures/html_zh_clreq_W3C/*.html"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		page := string(b[:min(len(b), 300_000)])
		t.Run(filepath.Base(f), func(t *testing.T) {
			for _, size := range []int{0, 400, 80} {
				htmlChunks(t, page, func(c *MarkdownConfig) { c.MaxChars = size })
			}
		})
	}
}
