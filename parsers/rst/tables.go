package rst

import (
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// tableIn is a table directive: a caption and the table below it.
func (b *builder) tableIn(d *directive, at place) connector.Element {
	caption := plain(d.arg)
	i := d.body
	if i < d.hi {
		indent := int(b.Lines[i].Indent)
		switch line := b.Line(i); {
		case gridBorder(line):
			if end := b.gridEnd(i, d.hi, indent); end > i+2 {
				return b.gridTable(i, end, d.lo, d.hi, caption)
			}
		case simpleBorder(line):
			if end := b.simpleEnd(i, d.hi); end > 0 {
				return b.simpleTable(i, end, d.lo, d.hi, caption)
			}
		}
	}
	el := b.Element(connector.KindText, d.lo, d.hi)
	el.Children = b.inner(d.body, d.hi, at.in())
	return el
}

// captioned makes a table element over the lines lo to hi.
func (b *builder) captioned(lo, hi int, caption string) connector.Element {
	el := b.Table(lo, hi)
	el.Title, el.Table.Caption = caption, caption
	return el
}

// row adds the record in the lines lo to hi.
func (b *builder) row(t *connector.Table, lo, hi int, cells []string) {
	t.Rows = append(t.Rows, connector.Row{Cells: cells, Span: b.Span(lo, hi)})
}

// csvTable reads a csv-table directive. Its header is what the option names, and the first rows, if they are said to be.
func (b *builder) csvTable(d *directive) connector.Element {
	el := b.captioned(d.lo, d.hi, plain(d.arg))
	t := el.Table
	delim := byte(',')
	switch o := d.options["delim"]; {
	case o == "tab":
		delim = '\t'
	case o == "space":
		delim = ' '
	case len(o) == 1:
		delim = o[0]
	}
	first, last := -1, -1
	if at, ok := d.places["header"]; ok && b.Enter(at, len(":header:")) >= 0 {
		end := at + 1
		for ; end < d.body && !b.Blank(end) && fieldOrBody(b.Line(end)) == 0; end++ {
		}
		for _, r := range b.CSV(at, end, delim) {
			t.Header = append(t.Header, r.Cells)
		}
		first, last = at, end
	}
	heads := number(d.options["header-rows"])
	for k, r := range b.CSV(d.body, b.Trim(d.body, d.hi), delim) {
		if k < heads {
			if t.Header = append(t.Header, r.Cells); first < 0 {
				first = r.First
			}
			last = r.Last
			continue
		}
		b.row(t, r.First, r.Last, r.Cells)
	}
	if first >= 0 {
		t.HeaderSpan = b.Span(first, last)
	}
	return el
}

func fieldOrBody(line string) int {
	if line[0] != ':' {
		return 0
	}
	return fieldMark(line)
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// listTable reads a list of lists as rows.
func (b *builder) listTable(d *directive, at place) connector.Element {
	el := b.captioned(d.lo, d.hi, plain(d.arg))
	t := el.Table
	heads := number(d.options["header-rows"])
	if d.body >= d.hi {
		return el
	}
	indent := int(b.Lines[d.body].Indent)
	first := -1
	for i, k := d.body, 0; i < d.hi; k++ {
		end := b.Indented(i+1, d.hi, indent)
		cells := b.cellsOf(i, end)
		if k < heads {
			if t.Header = append(t.Header, cells); first < 0 {
				first = i
			}
			t.HeaderSpan = b.Span(first, b.Trim(i, end))
		} else {
			b.row(t, i, b.Trim(i, end), cells)
		}
		i = b.Skip(end, d.hi)
	}
	return el
}

// cellsOf are the items of the list in an item.
func (b *builder) cellsOf(lo, hi int) []string {
	if n := bullet(b.Line(lo)); n > 0 {
		b.Enter(lo, n)
	}
	var cells []string
	column := -1
	var text []string
	for i := lo; i < hi; i++ {
		if b.Blank(i) {
			continue
		}
		line, indent := b.Line(i), int(b.Lines[i].Indent)
		if n := bullet(line); n > 0 && (column < 0 || indent <= column) {
			if column >= 0 {
				cells = append(cells, lightmarkup.Join(text))
			}
			column, text = indent, []string{line[n:]}
			continue
		}
		text = append(text, line)
	}
	return append(cells, lightmarkup.Join(text))
}

// simpleBorder tells "====  ====".
func simpleBorder(line string) bool {
	return strings.HasPrefix(line, "=") && strings.Contains(line, " =") && strings.Trim(line, "= ") == ""
}

// simpleEnd is the line behind a simple table that starts in line i; 0 if it has no end. It ends with the third border, or with the second, if
// that has a blank line below.
func (b *builder) simpleEnd(i, hi int) int {
	if b.noTableEnd >= 0 && i >= b.noTableEnd && hi <= b.noTableHi {
		return 0
	}
	borders := 1
	for k := i + 1; k < hi; k++ {
		if b.Blank(k) || !simpleBorder(b.Line(k)) {
			continue
		}
		if borders++; borders == 3 || k+1 >= hi || b.Blank(k+1) {
			return k + 1
		}
	}
	b.noTableEnd, b.noTableHi = i, hi
	return 0
}

// sparse tells that a table of so many columns would have far more cells than its lines have letters.
func (b *builder) sparse(lo, hi, columns int) bool {
	return (hi-lo)*(columns+1) > 4096+4*b.Span(lo, hi).Len()
}

// simpleTable reads the table in the lines lo to hi. A line whose first column is empty goes on with the row above.
func (b *builder) simpleTable(lo, hi, from, to int, caption string) connector.Element {
	bounds := runs(b.Whole(lo))
	if b.sparse(lo, hi, len(bounds)) {
		return b.Element(connector.KindText, from, to)
	}
	el := b.captioned(from, to, caption)
	t := el.Table
	head := 0
	for i := lo + 1; i < hi-1; i++ {
		if !b.Blank(i) && simpleBorder(b.Line(i)) {
			head = i
			break
		}
	}
	if head > 0 {
		for _, r := range b.simpleRows(lo+1, head, bounds) {
			t.Header = append(t.Header, r.cells)
		}
		t.HeaderSpan = b.Span(lo+1, head+1) // without the border above, which says nothing
	}
	for _, r := range b.simpleRows(max(head, lo)+1, hi-1, bounds) {
		b.row(t, r.lo, r.hi, r.cells)
	}
	return el
}

// runs are the columns where the columns of a simple table start, but the first.
func runs(border string) []int {
	var out []int
	for i := 1; i < len(border); i++ {
		if border[i] == '=' && border[i-1] == ' ' {
			out = append(out, i)
		}
	}
	if len(out) > 0 && border[0] == ' ' {
		out = out[1:]
	}
	return out
}

type tableRow struct {
	lo, hi int
	cells  []string
}

func (b *builder) simpleRows(lo, hi int, bounds []int) []tableRow {
	var out []tableRow
	var parts [][]string
	flush := func() {
		if len(out) > 0 && parts != nil {
			out[len(out)-1].cells = joinCells(parts)
		}
		parts = nil
	}
	for i := lo; i < hi; i++ {
		if b.Blank(i) {
			continue
		}
		if strings.Trim(b.Line(i), "- ") == "" { // a line below cells that go over columns
			if len(out) > 0 {
				out[len(out)-1].hi = i + 1
			}
			continue
		}
		cells := lightmarkup.SplitColumns(b.Whole(i), bounds)
		mergeOver(cells)
		if len(out) == 0 || strings.TrimSpace(cells[0]) != "" || b.Blank(i-1) {
			flush()
			out = append(out, tableRow{lo: i})
			parts = make([][]string, len(bounds)+1)
		}
		out[len(out)-1].hi = i + 1
		for k, c := range cells {
			if k < len(parts) {
				parts[k] = append(parts[k], c)
			}
		}
	}
	flush()
	return out
}

// mergeOver joins cells whose text goes over the space between columns.
func mergeOver(cells []string) {
	last := 0
	for k := 1; k < len(cells); k++ {
		if left := cells[last]; cells[k] != "" && cells[k][0] != ' ' && left != "" && left[len(left)-1] != ' ' {
			cells[last] += cells[k]
			cells[k] = ""
		} else {
			last = k
		}
	}
}

func joinCells(parts [][]string) []string {
	cells := make([]string, len(parts))
	for k, p := range parts {
		cells[k] = lightmarkup.Join(p)
		if cells[k] == `\` || cells[k] == ".." { // how an empty first cell is written
			cells[k] = ""
		}
	}
	return cells
}
