package sheets

import (
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/tablehead"
)

// maxCuts bounds how often a block is divided in turn.
const maxCuts = 8

// divide writes what stands in columns [lo, hi) of rows: it cuts at blank rows, then at blank columns, and so on (an XY-cut).
func (w *Writer) divide(rows []row, lo, hi, depth int) error {
	runs := rowRuns(rows, lo, hi)
	for _, run := range runs {
		first, last := extentIn(run, lo, hi)
		groups := columnGroups(run, first, last)
		if len(groups) <= 1 || depth >= maxCuts {
			if err := w.region(run, first, last); err != nil {
				return err
			}
			continue
		}
		for _, g := range groups {
			if err := w.divide(run, g[0], g[1], depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// rowRuns are the runs of rows that have something in [lo, hi), without blank ones between them.
func rowRuns(rows []row, lo, hi int) [][]row {
	var runs [][]row
	for _, r := range rows {
		if blankIn(r.cells, lo, hi) {
			continue
		}
		if k := len(runs); k > 0 && r.at-runs[k-1][len(runs[k-1])-1].at <= 1 {
			runs[k-1] = append(runs[k-1], r)
			continue
		}
		runs = append(runs, []row{r})
	}
	return runs
}

func blankIn(cells []string, lo, hi int) bool {
	for _, c := range cells[min(lo, len(cells)):min(hi, len(cells))] {
		if c != "" {
			return false
		}
	}
	return true
}

// columnGroups are the groups of columns between blank ones. A single column that goes along with its neighbour, row by row, belongs to it.
func columnGroups(rows []row, lo, hi int) [][2]int {
	used := make([]int, hi-lo)
	for _, r := range rows {
		for i := lo; i < min(hi, len(r.cells)); i++ {
			if r.cells[i] != "" {
				used[i-lo]++
			}
		}
	}
	var groups [][2]int
	for i := 0; i < len(used); i++ {
		if used[i] == 0 {
			continue
		}
		j := i
		for j < len(used) && used[j] > 0 {
			j++
		}
		if k := len(groups); k > 0 && len(rows) > 1 && (j-i == 1 || groups[k-1][1]-groups[k-1][0] == 1) && alongside(rows, groups[k-1], [2]int{i + lo, j + lo}) {
			groups[k-1][1] = j + lo
		} else if k > 0 && len(rows) == 1 { // cells of one row
			groups[k-1][1] = j + lo
		} else {
			groups = append(groups, [2]int{i + lo, j + lo})
		}
		i = j
	}
	return groups
}

// alongside tells whether two groups of columns are filled in the same rows: those of the shorter one in four of five rows of it.
func alongside(rows []row, a, b [2]int) bool {
	both, left, right := 0, 0, 0
	for _, r := range rows {
		x, y := !blankIn(r.cells, a[0], a[1]), !blankIn(r.cells, b[0], b[1])
		if x {
			left++
		}
		if y {
			right++
		}
		if x && y {
			both++
		}
	}
	least := min(left, right)
	return both > 1 && both*5 >= least*4 && 2*least >= max(left, right)
}

// region writes a block without gaps: a line of text, or a table below its titles.
func (w *Writer) region(rows []row, lo, hi int) error {
	if hi-lo == 1 {
		if len(rows) == 1 {
			text := rows[0].cells[lo]
			if !titleLike(text) {
				return w.Text(connector.KindText, text)
			}
			if err := w.alone(); err != nil {
				return err
			}
			w.title = text
			return nil
		}
		if prose(rows, lo) {
			var b strings.Builder
			for _, r := range rows {
				b.WriteString(r.cells[lo] + "\n")
			}
			return w.Text(connector.KindText, b.String())
		}
	}
	t, err := w.begin(rows, lo, hi)
	if err != nil {
		return err
	}
	return t.end()
}

// titleLike tells a short line that ends like no sentence.
func titleLike(s string) bool {
	last, _ := utf8.DecodeLastRuneInString(s)
	return utf8.RuneCountInString(s) <= 80 && !strings.ContainsRune(s, '\n') && !strings.ContainsRune(".。！？!?;；,，:：", last) && !tablehead.Number(s)
}

// prose tells a column of long lines from one of values.
func prose(rows []row, col int) bool {
	sum := 0
	for _, r := range rows {
		sum += utf8.RuneCountInString(r.cells[col])
	}
	return sum >= 40*len(rows)
}

// continues says that r, which comes after a blank row, is one more row of the table above: it fills the same columns with the same
// types, numbers among them.
func (w *Writer) continues(r row) bool {
	last := w.block[len(w.block)-1].cells
	if len(last) < 2 || len(last) != len(r.cells) {
		return false
	}
	numbers := 0
	for i, c := range r.cells {
		n := tablehead.Number(c)
		if (c == "") != (last[i] == "") || c != "" && n != tablehead.Number(last[i]) {
			return false
		}
		if n {
			numbers++
		}
	}
	return numbers > 0
}

func width(rows []row) int {
	n := 0
	for _, r := range rows {
		n = max(n, len(r.cells))
	}
	return n
}

func extent(rows []row) (first, last int) { return extentIn(rows, 0, width(rows)) }

// extentIn are the first column within [lo, hi) that is used, and the end of the last.
func extentIn(rows []row, lo, hi int) (first, last int) {
	first, last = hi, lo
	for _, r := range rows {
		for i := lo; i < min(hi, len(r.cells)); i++ {
			if r.cells[i] != "" {
				first, last = min(first, i), max(last, i+1)
			}
		}
	}
	return first, last
}

// sparse tells a row with a long blank stretch between two cells.
func sparse(cells []string) bool {
	run := 0
	seen := false
	for _, c := range cells {
		if c != "" {
			if seen && run > maxBlank {
				return true
			}
			run, seen = 0, true
			continue
		}
		run++
	}
	return false
}

func filled(cells []string) []string {
	var out []string
	for _, c := range cells {
		if c != "" {
			out = append(out, c)
		}
	}
	return out
}
