package pagelayout

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

// scatter makes pages of words at places that data chooses, some in rows and columns, some drawn over by lines. Every word differs.
func scatter(data []byte) ([]Page, []string) {
	next := func() float64 {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return float64(b)
	}
	var pages []Page
	var words []string
	for len(data) > 0 && len(pages) < 20 {
		p := Page{Number: len(pages) + 1, Width: 100 + 3*next(), Height: 100 + 4*next()}
		for range int(next()) {
			kind := int(next())
			x, y, size := next()*3, next()*4, 1+next()/12
			if kind&3 == 0 {
				x, y = float64(int(x/60)*60), float64(int(y/12)*12)
			}
			if kind&12 == 0 {
				p.Rules = append(p.Rules, Rule{x, y, x + float64(kind)*2, y}, Rule{x, y, x, y + float64(kind)})
				continue
			}
			if kind&48 == 16 {
				p.Images = append(p.Images, connector.Box{X0: x, Y0: y, X1: x + 50, Y1: y + 50})
			}
			w := fmt.Sprintf("q%dz", len(words))
			words = append(words, w)
			text := w
			switch kind >> 5 {
			case 1:
				text = "• " + w
			case 2:
				text = w + string(hyphen)
			case 3:
				text = fmt.Sprintf("%d. %s", kind, w)
			case 4:
				text = "表 1 " + w
			case 5:
				text = strings.Repeat(w+" ", kind&7+1)
			}
			p.Runs = append(p.Runs, Run{Text: text, Size: size, Bold: kind&64 > 0, Font: []string{"Serif", "Mono"}[kind>>7], Vertical: kind&15 == 15,
				Box: connector.Box{X0: x, Y0: y, X1: x + size*float64(len(text))/2, Y1: y + size}})
		}
		pages = append(pages, p)
	}
	return pages, words
}

// checkLost lays pages out and looks for every word.
func checkLost(tb testing.TB, pages []Page, words []string) {
	tb.Helper()
	var els []connector.Element
	var all strings.Builder
	for el, err := range Elements(context.Background(), given(pages), nil, nil) {
		if err != nil {
			tb.Fatal(err)
		}
		els = append(els, el)
		all.WriteString(el.Text)
	}
	if err := parsertest.CheckElements(els); err != nil {
		tb.Error(err)
	}
	text := all.String()
	for _, w := range words {
		if !strings.Contains(text, w) {
			tb.Errorf("%s is lost", w)
		}
	}
}

// TestNothingIsLost: whatever stands on pages is in the text, or dropped with a reason.
func TestNothingIsLost(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for range 400 {
		data := make([]byte, rng.Intn(3000))
		_, _ = rng.Read(data)
		pages, words := scatter(data)
		checkLost(t, pages, words)
		if t.Failed() {
			return
		}
	}
}

// FuzzElements: the laws of parsers hold, and nothing is lost, on any pages.
func FuzzElements(f *testing.F) {
	rng := rand.New(rand.NewSource(2))
	for range 5 {
		data := make([]byte, 600)
		_, _ = rng.Read(data)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pages, words := scatter(data)
		checkLost(t, pages, words)
	})
}

// TestWorkGrowsWithThePage: four times as much on a page costs about four times the work, whatever stands where.
func TestWorkGrowsWithThePage(t *testing.T) {
	for name, place := range map[string]func(i, n int) (x, y float64){
		"lines":   func(i, _ int) (float64, float64) { return 50, float64(i) * 12 },
		"columns": func(i, n int) (float64, float64) { return 50 + float64(i*3/n)*180, float64(i%(n/3+1)) * 12 },
		"grid":    func(i, _ int) (float64, float64) { return float64(i%10) * 60, float64(i/10) * 12 },
		"stairs":  func(i, _ int) (float64, float64) { return float64(i) * 30, float64(i) * 12 },
		"one row": func(i, _ int) (float64, float64) { return float64(i) * 40, 50 },
		"zigzag":  func(i, _ int) (float64, float64) { return float64(i%2) * 300, float64(i) * 7 },
	} {
		work := func(n int) int {
			p := Page{Number: 1, Width: 600, Height: 800}
			for i := range n {
				x, y := place(i, n)
				p.Runs = append(p.Runs, Run{Text: fmt.Sprintf("w%d", i), Size: 10, Box: connector.Box{X0: x, Y0: y, X1: x + 25, Y1: y + 10}})
			}
			d := &document{ctx: context.Background(), out: output{yield: func(connector.Element, error) bool { return true }}}
			d.sheets = append(d.sheets, d.cleaner.sheet(&p))
			d.window(true)
			return d.work
		}
		a, b := work(3000), work(12000)
		if b > 5*a {
			t.Errorf("%s: the work grows from %d to %d", name, a, b)
		}
	}
}
