package pagelayout

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// box draws a grid of lines.
func (p *press) grid(xs, ys []float64) {
	pg := &p.pages[len(p.pages)-1]
	for _, x := range xs {
		pg.Rules = append(pg.Rules, Rule{x, ys[0], x, ys[len(ys)-1]})
	}
	for _, y := range ys {
		pg.Rules = append(pg.Rules, Rule{xs[0], y, xs[len(xs)-1], y})
	}
}

func (p *press) cells(x []float64, y float64, texts ...string) {
	for i, t := range texts {
		if t != "" {
			p.put(x[i], y, t)
		}
	}
}

const prose = "Words of an ordinary paragraph that go on and on until the line has come to its end and another one starts below it. "

func want(t *testing.T, p *press, lines string) {
	t.Helper()
	if got := show(p.elements(t)); got != strings.TrimLeft(lines, "\n") {
		t.Errorf("got\n%s\nwant%s", got, lines)
	}
}

// TestLinesInPieces: the lines of a table are drawn row by row, two pieces to a cell.
func TestLinesInPieces(t *testing.T) {
	p := &press{size: 9}
	p.page()
	pg := &p.pages[0]
	xs, ys := []float64{100, 200, 300, 400}, []float64{100, 126, 152, 178}
	for _, y := range ys {
		pg.Rules = append(pg.Rules, Rule{xs[0], y, xs[3], y})
	}
	for i := range 3 {
		for _, x := range xs {
			mid := ys[i] + 12.9
			pg.Rules = append(pg.Rules, Rule{x, ys[i] + 0.2, x, mid}, Rule{x, mid, x, mid + 12.9})
		}
		y := ys[i] + 8
		p.cells([]float64{105, 205, 305}, y, fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("c", i))
	}
	if got := show(p.elements(t)); !strings.Contains(got, "| a0 | b0 | c0 |") || !strings.Contains(got, "| a2 | b2 | c2 |") {
		t.Error(got)
	}
}

// TestRuledTables: drawn tables become cells; what is merged stands once; a header that is repeated on the next page is dropped there.
func TestRuledTables(t *testing.T) {
	p := &press{size: 10}
	p.page()
	p.set(50, 60, 480, 0, 700, prose+prose)
	p.put(50, 110, "Table 1: The cities and their people")
	xs := []float64{50, 200, 300, 420}
	p.grid(xs, []float64{130, 150, 170, 205})
	p.bold = true
	p.cells([]float64{54, 204, 304}, 135, "City", "Year", "People")
	p.bold = false
	p.cells([]float64{54, 204, 304}, 155, "Springfield", "2024", "12,345")
	p.cells([]float64{54, 204, 304}, 173, "Saint Mary of", "2025", "")
	p.cells([]float64{54}, 187, "the Lake")
	p.page()
	p.grid(xs, []float64{60, 80, 100})
	p.bold = true
	p.cells([]float64{54, 204, 304}, 65, "City", "Year", "People")
	p.bold = false
	p.cells([]float64{54, 204, 304}, 85, "a | b", "2026", "99")
	p.set(50, 140, 480, 0, 700, prose)
	els := p.elements(t)
	var tables []connector.Element
	for _, el := range els {
		if el.Table != nil {
			tables = append(tables, el)
		}
	}
	if len(tables) != 2 || tables[0].Table.ID != tables[1].Table.ID || tables[0].Title != "Table 1: The cities and their people" || tables[1].Table.FirstRow != 3 {
		t.Fatalf("got\n%s", show(els))
	}
	if got := tables[0].Text + tables[1].Text; got != `Table 1: The cities and their people
| City | Year | People |
| --- | --- | --- |
| Springfield | 2024 | 12,345 |
| Saint Mary of the Lake | 2025 |  |
| a \| b | 2026 | 99 |

` {
		t.Errorf("got\n%s", got)
	}
	if !strings.Contains(show(els), "dropped (repeated text) | City | Year | People |") {
		t.Error("the repeated header is not told")
	}
}

// TestMergedCells: a cell over several columns or rows is one cell, the others are empty.
func TestMergedCells(t *testing.T) {
	p := &press{size: 10}
	p.page()
	p.set(50, 60, 480, 0, 700, prose)
	pg := &p.pages[0]
	pg.Rules = append(pg.Rules, Rule{50, 200, 350, 200}, Rule{150, 220, 350, 220}, Rule{50, 240, 350, 240}, Rule{150, 260, 350, 260}, Rule{50, 280, 350, 280},
		Rule{50, 200, 50, 280}, Rule{150, 200, 150, 280}, Rule{250, 220, 250, 280}, Rule{350, 200, 350, 280})
	p.cells([]float64{54, 240}, 205, "Region", "Both of the years")
	p.cells([]float64{54, 154, 254}, 225, "", "2024", "2025")
	p.cells([]float64{54, 154, 254}, 245, "North", "1.5", "2.5")
	p.cells([]float64{54, 154, 254}, 265, "", "3.5", "4.5")
	for _, el := range p.elements(t) {
		if el.Table == nil {
			continue
		}
		got := fmt.Sprintf("%q %q", el.Table.Header, el.Table.Rows[0].Cells)
		for _, r := range el.Table.Rows[1:] {
			got += fmt.Sprintf(" %q", r.Cells)
		}
		if got != `[["Region" "Both of the years" ""] ["" "2024" "2025"]] ["North" "1.5" "2.5"] ["" "3.5" "4.5"]` {
			t.Errorf("got %s", got)
		}
		return
	}
	t.Error("no table")
}

// TestAlignedTables: rows and columns of gaps are tables, with lines between the rows or without; columns of text are not.
func TestAlignedTables(t *testing.T) {
	for _, ruled := range []bool{false, true} {
		p := &press{size: 10}
		p.page()
		y, _ := p.set(50, 60, 480, 0, 700, prose+prose)
		y += 20
		top := y
		for i, row := range [][]string{{"Method", "Recall", "Time"}, {"Plain search", "0.71", "12 ms"}, {"With a model", "0.83", "40 ms"}, {"Both together", "0.90", "55 ms"}} {
			if ruled && (i == 0 || i == 1) {
				p.pages[0].Rules = append(p.pages[0].Rules, Rule{50, y - 3, 450, y - 3})
			}
			p.cells([]float64{54, 250, 350}, y, row...)
			y += 14
		}
		if ruled {
			p.pages[0].Rules = append(p.pages[0].Rules, Rule{50, y, 450, y})
		}
		p.set(50, y+30, 480, 0, 700, prose)
		found := false
		for _, el := range p.elements(t) {
			if el.Table != nil {
				found = true
				if got := fmt.Sprint(el.Table.Header, len(el.Table.Rows), el.Table.Rows[2].Cells); got != "[[Method Recall Time]] 3 [Both together 0.90 55 ms]" {
					t.Errorf("got %s", got)
				}
				if el.Box.Y0 < top-5 || el.Box.Y1 > y+5 {
					t.Errorf("box %v", el.Box)
				}
			}
		}
		if !found {
			t.Errorf("no table (ruled: %v)", ruled)
		}
	}
}

// TestBlocks: headings of several sizes and by bookmarks, lists with levels, notes below the paragraph that refers to them, code.
func TestBlocks(t *testing.T) {
	p := &press{size: 10}
	p.page()
	p.size, p.bold = 20, true
	p.put(50, 60, "The Whole")
	p.size = 14
	p.put(50, 100, "1 A Part")
	p.size, p.bold = 10, false
	y, _ := p.set(50, 130, 480, 0, 700, prose+prose+"See the note.")
	p.size = 6
	p.put(51+ems("its end and another one starts below it. See the note.")*10, y-14, "1")
	p.size = 10
	y += 10
	for _, it := range []struct {
		x    float64
		text string
	}{{50, "• The first item"}, {50, "• The second item"}, {70, "– A detail of it"}, {50, "• The third item"}} {
		p.put(it.x, y, it.text)
		y += 14
	}
	y += 14
	p.put(50, y, "Bookmarked plainly")
	y, _ = p.set(50, y+28, 480, 0, 700, prose)
	p.font = "DejaVuSansMono"
	p.put(50, y+14, "for x in y:")
	p.put(74, y+26, "print(x)")
	p.font = ""
	y, _ = p.set(50, y+60, 480, 0, 700, prose)
	p.size = 8
	p.put(50, 740, "1 The note itself, in small letters.")
	els := p.elements(t, Entry{Title: "Bookmarked plainly", Level: 2, Page: 1})
	got := show(els)
	for _, line := range []string{
		"heading1 (1) The Whole\n", "heading2 (1) 1 A Part\n", "list1 (1) • The first item\n• The second item\n  – A detail of it\n• The third item\n",
		"heading2 (1) Bookmarked plainly\n", "code (1) for x in y:\n    print(x)\n", "1\nfootnote (1) 1 The note itself, in small letters.\nlist1",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is missing in\n%s", line, got)
		}
	}
	_ = y
	for _, el := range els {
		if el.Kind == connector.KindList {
			if n := len(el.Children); n != 4 || el.Children[2].Level != 2 || el.Children[3].Level != 1 {
				t.Errorf("items %+v", el.Children)
			}
		}
	}
}

// TestThreeColumnsAndAFigure: three columns, and a picture over all of them with its caption.
func TestThreeColumnsAndAFigure(t *testing.T) {
	p := &press{size: 10}
	p.page()
	n := 0
	column := func(x, y float64, lines int) {
		for i := range lines {
			n++
			end := "no"
			if n == 30 {
				end = "."
			}
			p.put(x, y+float64(i)*13, fmt.Sprintf("Line %03d of the columns, %s", n, end))
		}
	}
	for _, x := range []float64{40, 230, 420} {
		column(x, 60, 10)
	}
	p.pages[0].Images = append(p.pages[0].Images, connector.Box{X0: 40, Y0: 210, X1: 560, Y1: 380})
	p.put(150, 390, "Figure 1: A picture that runs over all of the columns of the page")
	for _, x := range []float64{40, 230, 420} {
		column(x, 430, 12)
	}
	var text strings.Builder
	for _, el := range p.elements(t) {
		text.WriteString(el.Text)
	}
	at := 0
	for i := 1; i <= n; i++ {
		k := strings.Index(text.String()[at:], fmt.Sprintf("Line %03d", i))
		if k < 0 {
			t.Fatalf("line %d is out of order in\n%s", i, text.String())
		}
		at += k
	}
	if k := strings.Index(text.String(), "Figure 1"); k < strings.Index(text.String(), "Line 030") || k > strings.Index(text.String(), "Line 031") {
		t.Errorf("the caption is not where the picture is:\n%s", text.String())
	}
}

// TestVerticalAndRightToLeft: columns of vertical writing follow each other from the right; lines from the right stay as they are drawn.
func TestVerticalAndRightToLeft(t *testing.T) {
	p := &press{size: 12}
	pg := p.page()
	for i, text := range []string{"第一列的文字从上往下写满一列", "第二列接着第一列继续写下去。"} {
		x := 500 - float64(i)*24
		pg.Runs = append(pg.Runs, Run{Text: text, Size: 12, Vertical: true, Box: connector.Box{X0: x, X1: x + 12, Y0: 100, Y1: 100 + 12*14}})
	}
	want(t, p, "text (1) 第一列的文字从上往下写满一列第二列接着第一列继续写下去。\n")
	p = &press{size: 12}
	p.page()
	p.put(400, 100, "שלום")
	p.put(300, 100, "עולם")
	want(t, p, "text (1) שלום עולם\n")
}
