package odf

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector/parsertest"
)

// TestMutations: tags that stand where none should be harm nothing.
func TestMutations(t *testing.T) {
	seed := h(1, "x") + list(` text:style-name="N"`, p("a"), p("b"+note)) + `<table:table>` + row(cell("", "a"), `<table:covered-table-cell/>`) + `</table:table><draw:page>` +
		frame("title", 1, 2, 3, 4, box(p("t"))) + `<presentation:notes/></draw:page>`
	parts := strings.SplitAfter(seed, ">")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var b strings.Builder
		for range 30 {
			one := parts[rng.IntN(len(parts))]
			if strings.HasPrefix(one, "<") && !strings.HasPrefix(one, "</") {
				name := strings.Trim(strings.Fields(one)[0], "</>")
				one = strings.TrimSuffix(strings.TrimSuffix(one, ">"), "/") + ">" + "x" + "</" + name + ">"
				if rng.IntN(2) == 0 {
					one = strings.TrimSuffix(one, "</"+name+">")
					one += b.String() + "</" + name + ">"
					b.Reset()
				}
				b.WriteString(one)
			}
		}
		for _, kind := range []string{"text", "presentation"} {
			if err := parsertest.CheckSound(fresh(t, nil), "x.odt", packed(t, kind, b.String())); err != nil {
				t.Error(err)
			}
		}
	}
}
