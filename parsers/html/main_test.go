package html

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

// The main part of a page is found, but never at the price of headings, tables or code.
func TestMainContent(t *testing.T) {
	long := strings.Repeat("<p>A sentence of the article, which goes on for a while.</p>", 40)
	menu := `<div class="menu"><ul><li><a href="/">Sentinelmenu</a></li><li><a href="/b">About us</a></li></ul></div>`
	for _, c := range []struct {
		name, page string
		stays      bool // the word Sentinelmenu or Sentinelrest
	}{
		{"menu beside a dense part", `<body>` + menu + `<div id="content"><h1>Title</h1>` + long + `</div></body>`, false},
		{"Chinese", `<body>` + menu + `<div><h1>标题</h1>` + strings.Repeat("<p>这是文章的一段正文，讲述主要内容。</p>", 60) + `</div></body>`, false},
		{"text beside it", `<body><div>Sentinelrest costs 5 euros</div><div><h1>Title</h1>` + long + `</div></body>`, true},
		{"outside of main", `<body><div>Sentinelrest</div><main><h1>Title</h1>` + long + `</main></body>`, false},
		{"a heading outside of main", `<body><div><h2>Sentinelrest</h2></div><main><h1>Title</h1>` + long + `</main></body>`, true},
		{"a table outside of main", `<body><table><tr><td>Sentinelrest</td><td>2</td></tr></table><main><h1>Title</h1>` + long + `</main></body>`, true},
		{"code outside of main", `<body><pre>Sentinelrest</pre><main><h1>Title</h1>` + long + `</main></body>`, true},
		{"a heading in the footer", `<body><main><h1>Title</h1>` + long + `</main><footer><h2>Sentinelrest</h2></footer></body>`, false},
	} {
		els := parse(t, c.page)
		text := parsertest.Text(els)
		if got := strings.Contains(text, "Sentinelmenu") || strings.Contains(text, "Sentinelrest"); got != c.stays {
			t.Errorf("%s: stays is %v, want %v:\n%.300s", c.name, got, c.stays, text)
		}
		if err := parsertest.CheckSentinels(els, []string{"Sentinel"}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, el := range els {
			if el.Kind == connector.KindDropped && el.Reason != connector.DropBoilerplate {
				t.Errorf("%s: dropped as %s", c.name, el.Reason)
			}
		}
	}
}
