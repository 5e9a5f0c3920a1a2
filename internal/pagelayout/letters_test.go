package pagelayout

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// letters makes every letter of the pages a run of its own, as browsers draw text that is justified; a space belongs to the letter before.
func (p *press) letters() {
	for i := range p.pages {
		pg := &p.pages[i]
		var out []Run
		for _, r := range pg.Runs {
			x := r.Box.X0
			for _, c := range r.Text {
				w := ems(string(c)) * r.Size
				if c == ' ' && len(out) > 0 {
					out[len(out)-1].Text += " "
				} else if c == hyphen {
					out[len(out)-1].Text += string(hyphen)
					w = 0
				} else {
					one := r
					one.Text, one.Box.X0, one.Box.X1 = string(c), x+0.05*r.Size, x+w-0.05*r.Size
					out = append(out, one)
				}
				x += w
			}
		}
		pg.Runs = out
	}
}

// TestLetterByLetter: a page whose letters stand alone reads as one of whole lines: hyphens of words are learned, marks of notes have
// several digits.
func TestLetterByLetter(t *testing.T) {
	p := &press{size: 10}
	p.page()
	p.put(50, 60, "The read-only index and the other words of a line that goes on to the edge with the read"+string(hyphen))
	p.put(50, 72.5, "only register, which ends in this very line.")
	p.put(50, 100, "Another paragraph refers to a note")
	p.size = 6
	p.put(220, 98, "12")
	p.size = 10
	p.put(50, 128, "The last paragraph of the page says nothing of notes at all.")
	p.size = 8
	p.put(60, 700, "Twelfth note, which belongs to the second paragraph.")
	p.size = 5
	p.put(50, 698, "12")
	want := show(p.elements(t))
	p.letters()
	got := show(p.elements(t))
	if got != want {
		t.Errorf("got\n%s\nand of whole lines\n%s", got, want)
	}
	for _, s := range []string{"the read-only register", "refers to a note12\nfootnote (1) 12 Twelfth note"} {
		if !strings.Contains(got, s) {
			t.Errorf("no %q in\n%s", s, got)
		}
	}
}

// TestSpacesBetweenRuns: what stands between two runs of a line. The ink of wide marks fills half of their width.
func TestSpacesBetweenRuns(t *testing.T) {
	for _, c := range []struct {
		a, b string
		gap  float64 // between the ink, in ems
		want bool
	}{
		{"由", "“", 0.65, false},
		{"”", "证", 0.65, false},
		{"，", "按", 0.6, false},
		{"试", "”", 0.1, false},
		{"中", "English", 0.1, false},
		{"中", "English", 0.5, true},
		{"said", "“", 0.35, true},
		{"s", "‐", 0.45, false},
		{"é", "t", 0.2, false},
		{"word", "word", 0.25, true},
	} {
		f := func(text string, x float64) frag {
			return frag{text: text, size: 10, box: connector.Box{X0: x, X1: x + 10, Y1: 10}}
		}
		a, b := f(c.a, 0), f(c.b, 10+10*c.gap)
		if got := spaced(&a, &b); got != c.want {
			t.Errorf("%q %q: %v", c.a, c.b, got)
		}
	}
}
