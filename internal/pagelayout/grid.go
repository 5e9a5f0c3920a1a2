package pagelayout

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/tablehead"
)

// grid is a table as it was found on a page.
type grid struct {
	box   connector.Box
	cells [][]string
	heavy []bool    // rows in bold
	head  int       // rows of the header where lines on the page say so; -1: to be guessed
	cols  []float64 // where the columns start
	page  int
	down  bool
}

// maxHeaderRows bounds a header.
const maxHeaderRows = 4

// compact leaves out the rows and columns without text; false where nothing of two columns is left.
func (g *grid) compact() bool {
	width := len(g.cols)
	used := make([]bool, width)
	rows, heavy := g.cells[:0:0], g.heavy[:0:0]
	head := g.head
	for i, cells := range g.cells {
		if tablehead.Filled(cells) == 0 {
			if i < g.head {
				head--
			}
			continue
		}
		for k, c := range cells {
			used[k] = used[k] || strings.TrimSpace(c) != ""
		}
		rows, heavy = append(rows, cells), append(heavy, g.heavy[i])
	}
	var cols []float64
	for k, u := range used {
		if u {
			cols = append(cols, g.cols[k])
		}
	}
	if len(cols) < width {
		for i, cells := range rows {
			kept := make([]string, 0, len(cols))
			for k, c := range cells {
				if used[k] {
					kept = append(kept, c)
				}
			}
			rows[i] = kept
		}
	}
	g.cells, g.heavy, g.cols, g.head = rows, heavy, cols, head
	return len(rows) > 1 && len(cols) > 1+g.marks()
}

// marks counts the columns that hold the marks of lists.
func (g *grid) marks() int {
	n := 0
	for k := range g.cols {
		all, marks := 0, 0
		for _, r := range g.cells {
			if c := strings.TrimSpace(r[k]); c != "" {
				all++
				if bullet(c) && len(c) <= 4 {
					marks++
				}
			}
		}
		if all > 0 && all == marks {
			n++
		}
	}
	return n
}

// header is how many of the rows name the columns.
func (g *grid) header() int {
	if g.head >= 0 {
		return min(g.head, len(g.cells)-1, maxHeaderRows)
	}
	heavy := 0
	for heavy < len(g.heavy) && g.heavy[heavy] {
		heavy++
	}
	if heavy > 0 && heavy < len(g.cells) && heavy <= maxHeaderRows {
		return heavy
	}
	if n := tablehead.Stacked(g.cells); n > 0 {
		return n
	}
	if tablehead.Like(g.cells[0], g.cells[1:]) || len(g.cols) > 2 && len(g.cells) > 2 && distinct(g.cells[0]) {
		return 1
	}
	return 0
}

// distinct tells rows of different short texts without numbers.
func distinct(cells []string) bool {
	seen := map[string]bool{}
	for _, c := range cells {
		if c = strings.TrimSpace(c); c == "" || seen[c] || tablehead.Number(c) && len(c) != 4 || len(c) > 200 {
			return false
		}
		seen[c] = true
	}
	return true
}

// cell is what the rows of one cell say.
func (j *joiner) cell(segs []*segment) (text string, heavy bool) {
	if len(segs) == 0 {
		return "", false
	}
	rows := rowsOf(segs)
	lines := make([]line, 0, len(rows))
	heavy = true
	for i := range rows {
		if l := lineOf(&rows[i]); l.text != "" {
			lines = append(lines, l)
			heavy = heavy && l.heavy
		}
	}
	return strings.TrimSpace(j.lines(lines)), heavy && len(lines) > 0
}

// fill writes segments, by row and column, as the cells of the grid.
func (g *grid) fill(j *joiner, cells [][][]*segment) {
	for _, cols := range cells {
		out := make([]string, len(cols))
		filled, heavy := 0, 0
		for k, segs := range cols {
			text, bold := j.cell(segs)
			if out[k] = text; text != "" {
				filled++
				if bold {
					heavy++
				}
			}
		}
		g.cells = append(g.cells, out)
		g.heavy = append(g.heavy, filled > 0 && filled == heavy)
	}
}
