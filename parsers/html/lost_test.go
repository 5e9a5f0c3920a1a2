package html

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/decode"
	"github.com/kbsync/kbsync/internal/shareddata"
)

// words are the words of all text and comments of a page but scripts and styles.
func words(src string) map[string]bool {
	out := map[string]bool{}
	var clean decode.Cleaner
	tz := html.NewTokenizer(strings.NewReader(src))
	script := false
	for {
		switch tz.Next() {
		case html.ErrorToken:
			return out
		case html.StartTagToken:
			name, _ := tz.TagName()
			script = string(name) == "script" || string(name) == "style"
		case html.EndTagToken:
			script = false
		case html.TextToken, html.CommentToken:
			text := clean.Clean(string(tz.Text()))
			if script || strings.HasPrefix(text, "?xml") {
				continue
			}
			for _, w := range strings.Fields(strings.ReplaceAll(text, "|", " ")) {
				out[w] = true
			}
		}
	}
}

// lost is a word of the page that is neither shown nor reported as dropped; "" if there is none.
func lost(src string, els []connector.Element) string {
	var all strings.Builder
	for _, el := range els {
		all.WriteString(el.Text)
		all.WriteByte(' ')
	}
	for w := range words(src) {
		if !strings.Contains(all.String(), w) {
			return w
		}
	}
	return ""
}

func TestNothingIsLost(t *testing.T) {
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
		src, _, err := decode.All(strings.NewReader(string(raw)), 0)
		if err != nil {
			return err
		}
		if w := lost(src, parse(t, src)); w != "" {
			t.Errorf("%s: %q is lost", path, w)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// FuzzNothingIsLost holds for any markup.
func FuzzNothingIsLost(f *testing.F) {
	for _, s := range []string{"<table>a<tr>b<td>c</table>d", "<h2>a<p>b<table><td>c", "<ul>a<li>b<p>c<pre>d", "<dl>a<dt>b<dd>c<table><td>d", "<nav>a</nav><main>b</main>c",
		"<select><option>a", "<span hidden>a<p>b", "<frameset>a<noframes>b", "<svg><title>a</title><text>b", "<title>a</title><title>b</title><h1>c", "<li>a<dd>b<td>c<caption>d"} {
		f.Add(s)
	}
	p := New(defaults())
	f.Fuzz(func(t *testing.T, raw string) {
		src, _, err := decode.All(strings.NewReader(raw), 0)
		if err != nil {
			return
		}
		els, err := parsertest.Collect(t.Context(), p, "", strings.NewReader(src))
		if err != nil {
			return
		}
		if w := lost(src, els); w != "" {
			t.Errorf("%q is lost of %q in %q", w, src, show(els))
		}
	})
}
