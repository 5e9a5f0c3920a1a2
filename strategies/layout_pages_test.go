package strategies

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
)

// TestLayoutPageEnd: a chunk says on which page it ends where that is not the page of its start.
func TestLayoutPageEnd(t *testing.T) {
	var els []connector.Element
	add := func(page, end int, text string) {
		at := 0
		if n := len(els); n > 0 {
			at = els[n-1].Span.End
		}
		els = append(els, connector.Element{Kind: connector.KindText, Text: text + "\n\n", Page: page, PageEnd: end, Span: connector.Span{Start: at, End: at + len(text) + 2}})
	}
	add(1, 0, "A paragraph of the first page.")
	add(1, 2, strings.Repeat("A sentence of a paragraph over pages. ", 8)+"Its end.")
	add(2, 0, "A paragraph of the second page.")
	for _, c := range []struct {
		multipage bool
		want      string
	}{{true, "1-2"}, {false, "1 1-2 2"}} {
		s := openLayoutOf(t, func(l *LayoutConfig) { l.MaxChars, l.Multipage = 1000, c.multipage })
		chunks, err := strategytest.Collect(s, strategytest.Input{Elements: els})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range chunks {
			one := fmt.Sprint(k.Page)
			if end, ok := k.Metadata["page_end"]; ok {
				one += fmt.Sprintf("-%v", end)
			}
			got = append(got, one)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("multipage %v: pages %v, want %s", c.multipage, got, c.want)
		}
	}
}
