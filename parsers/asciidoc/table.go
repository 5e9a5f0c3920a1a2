package asciidoc

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// bounds of tables.
const (
	maxColumns = 1024
	maxSpread  = 4 // cells that spans and copies may make for each byte of a table, and some
)

// table reads the table between line i and line end, which delimit it.
func (b *builder) table(m *meta, i, end int) connector.Element {
	el := b.Table(m.start, end+1)
	t := el.Table
	el.Title, t.Caption = m.title, m.title
	rows := b.rows(m, i, end)
	if rows == nil {
		el.Kind, el.Table = connector.KindText, nil
		return el
	}
	head := 0
	if len(rows) > 1 && b.headed(m, i, end, rows[0].hi) {
		head = 1
		t.Header = append(t.Header, rows[0].cells)
		t.HeaderSpan = b.Span(i, rows[0].hi)
	}
	for _, r := range rows[head:] {
		t.Rows = append(t.Rows, connector.Row{Cells: r.cells, Span: b.Span(r.lo, r.hi)})
	}
	return el
}

// headed tells that the first row is the header: the attributes say so, or it stands on the first line and a blank one is below it.
func (b *builder) headed(m *meta, i, end, rowEnd int) bool {
	if m.option["header"] {
		return true
	}
	if m.option["noheader"] {
		return false
	}
	return i+2 < end && !b.Blank(i+1) && b.Blank(i+2) && rowEnd <= b.Skip(i+2, end)
}

type tableRow struct {
	lo, hi int
	cells  []string
}

// rows are the records of a table; nil if they would be far more cells than the table has letters.
func (b *builder) rows(m *meta, i, end int) []tableRow {
	format, sep := m.named["format"], m.named["separator"]
	c := b.Line(i)[0]
	switch {
	case format == "csv", format == "" && c == ',':
		return b.csv(i+1, end, orByte(sep, ','))
	case format == "tsv":
		return b.csv(i+1, end, orByte(sep, '\t'))
	case format == "dsv", format == "" && c == ':':
		return b.csv(i+1, end, orByte(sep, ':'))
	}
	if c != '!' {
		c = '|'
	}
	if sep == "" {
		sep = string(c)
	}
	cells, first := b.cells(i+1, end, sep)
	columns := columnsOf(m.named["cols"])
	if columns == 0 {
		columns = first
	}
	a := assembly{columns: min(max(columns, 1), maxColumns), most: maxSpread*b.Span(i, end).Len() + 4096}
	for k := range cells {
		if !a.add(&cells[k]) {
			return nil
		}
	}
	return a.finish(end)
}

func orByte(s string, c byte) byte {
	switch {
	case s == `\t`:
		return '\t'
	case len(s) == 1:
		return s[0]
	}
	return c
}

func (b *builder) csv(lo, hi int, delim byte) []tableRow {
	rows := []tableRow{}
	for _, r := range b.CSV(lo, hi, delim) {
		rows = append(rows, tableRow{r.First, r.Last, r.Cells})
	}
	return rows
}

// columnsOf counts the columns of a list such as "1,3a" or "2*,1"; numbers alone count too, as "3*".
func columnsOf(cols string) int {
	if strings.TrimSpace(cols) == "" {
		return 0
	}
	n := 0
	split := ","
	if !strings.Contains(cols, ",") && strings.Contains(cols, ";") {
		split = ";"
	}
	for c := range strings.SplitSeq(cols, split) {
		times := 1
		if k := strings.IndexByte(c, '*'); k > 0 {
			if v, err := strconv.Atoi(strings.TrimSpace(c[:k])); err == nil {
				times = v
			}
		}
		n += min(max(times, 1), maxColumns)
	}
	return min(n, maxColumns)
}

// cell is one cell as it is written.
type cell struct {
	text    string
	line    int
	copies  int
	columns int
	rows    int
}

var spec = regexp.MustCompile(`^(?:(\d{1,4})?(?:\.(\d{1,4}))?([*+]))?[<^>]?(?:\.[<^>])?[a-z]?$`)

// maxSpec is the longest specification before a separator.
const maxSpec = 16

// cells reads the cells in the lines lo to hi; first is how many columns those of the first line take.
func (b *builder) cells(lo, hi int, sep string) (cells []cell, first int) {
	var text []string
	close := func() {
		if len(cells) > 0 {
			cells[len(cells)-1].text = lightmarkup.Join(text)
		}
		text = text[:0]
	}
	firstLine := b.Skip(lo, hi)
	for i := firstLine; i < hi; i++ {
		line := b.Line(i)
		start := 0
		for at := 0; ; {
			k := strings.Index(line[at:], sep)
			if k < 0 {
				break
			}
			k += at
			at = k + len(sep)
			if k > 0 && line[k-1] == '\\' {
				continue
			}
			c, from := specified(line, start, k)
			text = append(text, unescape(line[start:from], sep))
			close()
			c.line = i
			cells = append(cells, c)
			if i == firstLine {
				first += c.copies * c.columns
			}
			start = at
		}
		text = append(text, unescape(line[start:], sep))
	}
	close()
	return cells, first
}

func unescape(s, sep string) string { return strings.ReplaceAll(s, `\`+sep, sep) }

// specified reads what stands right before the separator at k, back to a space: how often the cell is there and how far it goes.
func specified(line string, start, k int) (c cell, from int) {
	c = cell{copies: 1, columns: 1, rows: 1}
	from = k
	for from > start && k-from < maxSpec && line[from-1] != ' ' && line[from-1] != '\t' {
		from--
	}
	if from > start && line[from-1] != ' ' && line[from-1] != '\t' {
		return c, k
	}
	g := spec.FindStringSubmatch(line[from:k])
	if g == nil || from == k || from == start && start > 0 {
		return c, k
	}
	if g[3] == "" {
		return c, from
	}
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			return 1
		}
		return min(max(n, 1), maxColumns)
	}
	if g[3] == "*" {
		c.copies = number(g[1])
		return c, from
	}
	c.columns, c.rows = number(g[1]), number(g[2])
	return c, from
}

// assembly puts cells into rows.
type assembly struct {
	columns int
	most    int // cells that there may be
	out     []tableRow
	row     []string
	from    []int    // for each column, how many further rows its last cell covers
	texts   []string // the text of these cells
	at      int      // the next column
	lo      int      // the line of the row's first cell
	last    int      // and of its last
}

// add places a cell; false if there are too many.
func (a *assembly) add(c *cell) bool {
	if a.from == nil {
		a.from, a.texts = make([]int, a.columns), make([]string, a.columns)
	}
	for range c.copies {
		if a.most--; a.most < 0 {
			return false
		}
		a.covered()
		if a.row == nil {
			a.row, a.lo = make([]string, a.columns), c.line
		} else if a.lo < 0 {
			a.lo = c.line
		}
		a.last = c.line
		for k := range min(c.columns, a.columns-a.at) {
			if k == 0 {
				a.row[a.at] = c.text
			}
			a.from[a.at+k], a.texts[a.at+k] = c.rows-1, a.row[a.at+k]
		}
		a.at += min(c.columns, a.columns-a.at)
		for a.at < a.columns && a.from[a.at] > 0 {
			a.take()
		}
		if a.at >= a.columns && !a.close() {
			return false
		}
	}
	return true
}

// covered passes the columns that cells from above cover. Rows that are covered altogether are none.
func (a *assembly) covered() {
	for a.at < a.columns && a.from[a.at] > 0 {
		if a.row == nil {
			all := true
			for _, n := range a.from {
				all = all && n > 0
			}
			if all {
				for k := range a.from {
					a.from[k] = 0
				}
				return
			}
			a.row, a.lo = make([]string, a.columns), -1
		}
		a.take()
	}
}

func (a *assembly) take() {
	a.row[a.at] = a.texts[a.at]
	a.from[a.at]--
	a.at++
}

// close ends a row. One that starts on the line on which the row above ends is one record with it.
func (a *assembly) close() bool {
	if a.most -= a.columns; a.most < 0 {
		return false
	}
	if n := len(a.out); n > 0 && a.out[n-1].hi >= a.lo {
		a.out[n-1].cells = append(a.out[n-1].cells, a.row...)
		a.out[n-1].hi = a.last
	} else {
		a.out = append(a.out, tableRow{lo: a.lo, hi: a.last, cells: a.row})
	}
	a.row, a.at = nil, 0
	return true
}

// finish gives the rows their ends: each goes up to the next.
func (a *assembly) finish(end int) []tableRow {
	if a.row != nil && a.lo >= 0 {
		a.row = a.row[:a.at]
		if !a.close() {
			return nil
		}
	}
	if a.out == nil {
		return []tableRow{}
	}
	for k := range a.out {
		if k+1 < len(a.out) {
			a.out[k].hi = a.out[k+1].lo
		} else {
			a.out[k].hi = end
		}
	}
	return a.out
}
