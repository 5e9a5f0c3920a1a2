package pptx

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector/parsertest"
)

// TestMutations: tags that stand where none should be harm nothing.
func TestMutations(t *testing.T) {
	seed := ph("title", "", para("x")) + ph("", "1", item(0, auto1("arabicPeriod"), "a")) + frame(0, 0, 1, 1, `<a:tbl><a:tblPr firstRow="1"/><a:tr>`+tc(` gridSpan="2"`, "x")+tc(` vMerge="1"`, "")+`</a:tr></a:tbl><c:chart r:id="c1"/>`) +
		`<p:grpSp><p:grpSpPr>` + xfrm("a", 1, 2, 3, 4) + `</p:grpSpPr></p:grpSp><mc:AlternateContent><mc:Choice/></mc:AlternateContent>`
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
		if err := parsertest.CheckSound(fresh(t, nil), "x.pptx", packed(t, page{tree: b.String(), chart: testChart})); err != nil {
			t.Error(err)
		}
	}
}
