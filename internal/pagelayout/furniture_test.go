package pagelayout

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// TestFurniture: what repeats in the margins goes, and nothing else: neither titles of slides, nor headers of tables, nor two equal lines of text.
func TestFurniture(t *testing.T) {
	p := &press{size: 10}
	for i := 1; i <= 6; i++ {
		p.page()
		if i%2 == 0 {
			p.put(50, 30, fmt.Sprint(i))
			p.put(400, 30, "The Book")
		} else if i > 1 {
			p.put(50, 30, "A Chapter of It")
			p.put(530, 30, fmt.Sprint(i))
		}
		p.set(50, 80, 480, 0, 700, strings.ReplaceAll(prose, "Words", fmt.Sprintf("Page %c: words", 'A'+i)))
		p.put(50, 720, "The same last sentence on every page.")
		p.put(250, 770, fmt.Sprintf("– %d / 6 –", i))
	}
	for i := range p.pages { // the text goes on to the last sentence
		for y := 112.0; y < 715; y += 13 {
			p.pages[i].Runs = append(p.pages[i].Runs, Run{Text: fmt.Sprintf("line at %.0f of page %c", y, 'A'+i), Size: 10, Box: connector.Box{X0: 50, X1: 300, Y0: y, Y1: y + 10}})
		}
	}
	drops := map[string]int{}
	var text strings.Builder
	for _, el := range p.elements(t) {
		if el.Kind == connector.KindDropped {
			drops[el.Text]++
		} else {
			text.WriteString(el.Text)
		}
	}
	for _, s := range []string{"2 The Book", "A Chapter of It 3", "– 1 / 6 –", "– 6 / 6 –"} {
		if drops[s] != 1 {
			t.Errorf("%q is not dropped: %v", s, drops)
		}
	}
	if n := strings.Count(text.String(), "The same last sentence"); n != 6 || len(drops) != 11 {
		t.Errorf("%d of the last sentences are left, %d texts dropped", n, len(drops))
	}
	// Two pages: only what is clearly in the margin and equal.
	p = &press{size: 10}
	for i := 1; i <= 2; i++ {
		p.page()
		p.put(50, 30, "Confidential")
		p.set(50, 80, 480, 0, 700, prose)
		p.put(300, 780, fmt.Sprint(i))
	}
	want(t, p, `
dropped (page furniture) Confidential
dropped (page furniture) 1
text (1) `+strings.TrimSpace(prose)+`
dropped (page furniture) Confidential
dropped (page furniture) 2
text (2) `+strings.TrimSpace(prose)+"\n")
}

// TestRunningTitleOfOnePage: a page that was taken out of a paper has a running title that no other page repeats; a note, a caption and
// a heading with numbers are none.
func TestRunningTitleOfOnePage(t *testing.T) {
	for _, c := range []struct {
		name, text string
		x, y, size float64
		want       bool
	}{
		{"at the head", "The Title of the Paper 9", 200, 90, 9, true},
		{"at the head of a left page", "8 A. Writer et al.", 50, 90, 9, true},
		{"at the foot", "The Title of the Paper 9", 200, 760, 9, true},
		{"a note", "9 See the title of the paper", 50, 760, 8, false},
		{"a caption", "Table 9", 200, 90, 9, false},
		{"a heading", "9 Conclusions", 50, 90, 12, false},
	} {
		p := &press{size: 10}
		p.page()
		p.set(50, 130, 480, 0, 700, strings.Repeat(prose, 6))
		p.size = c.size
		p.put(c.x, c.y, c.text)
		got := show(p.elements(t))
		if strings.Contains(got, "dropped (page furniture) "+c.text) != c.want {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
}
