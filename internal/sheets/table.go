package sheets

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/tablehead"
)

// Bounds of what stands above the rows of a table.
const (
	maxTitles     = 4
	maxHeaderRows = 4
	headSample    = 200 // rows that a header is judged by
)

// Table is a table in the making; its elements are sent one behind, for the last one ends in a blank line.
type Table struct {
	w       *Writer
	first   int // its first column
	proto   connector.Table
	buf     strings.Builder
	rows    []connector.Row
	done    int // rows sent
	started bool
}

// begin writes rows as a table that may go on: its titles, its header, then the rows.
func (w *Writer) begin(rows []row, lo, hi int) (*Table, error) {
	grid := make([][]string, len(rows))
	for i, r := range rows {
		grid[i] = r.cells[min(lo, len(r.cells)):min(hi, len(r.cells))]
	}
	titles := 0
	for hi-lo > 1 && titles < min(maxTitles, len(grid)-1) && tablehead.Filled(grid[titles]) == 1 {
		titles++
	}
	if titles > 0 && tablehead.Filled(grid[titles]) < 2 { // no table of several columns close below
		titles = 0
	}
	var lines []string
	for _, g := range grid[:titles] {
		lines = append(lines, filled(g)...)
	}
	n := w.header(rows[titles:], grid[titles:], lo, hi)
	header := w.spread(rows[titles:titles+n], grid[titles:titles+n], lo, hi)
	t, err := w.Table(lines, header)
	if err != nil {
		return nil, err
	}
	t.first = lo
	for _, g := range grid[titles+n:] {
		if err := t.add(g); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// header counts the rows that name the columns.
func (w *Writer) header(rows []row, grid [][]string, lo, hi int) int {
	grid = grid[:min(len(grid), headSample)]
	deep := 0
	for i := 0; i < min(maxHeaderRows-1, len(rows)-1) && i <= deep; i++ {
		for _, m := range w.merges.from(rows[i].n) {
			if m.Col < lo || m.Col >= hi {
				continue
			}
			end := i + m.LastRow - m.Row
			if m.LastCol > m.Col { // a group of columns, named below
				end++
			}
			if end < maxHeaderRows && end < len(rows)-1 {
				deep = max(deep, end)
			}
		}
	}
	if deep > 0 && names(grid[:deep+1]) {
		return deep + 1
	}
	if n := tablehead.Stacked(grid); n > 0 {
		return n
	}
	if len(grid) > 1 && (tablehead.Like(grid[0], grid[1:]) || hi-lo > 2 && len(grid) > 2 && names(grid[:1]) && distinct(grid[0], hi-lo)) {
		return 1
	}
	return 0
}

// names says that no cell is a number, but for years, and that at least half of the last row's are filled.
func names(head [][]string) bool {
	for _, h := range head {
		for _, c := range h {
			if tablehead.Number(c) && len(c) != 4 || len(c) > 200 {
				return false
			}
		}
	}
	last := head[len(head)-1]
	return 2*tablehead.Filled(last) >= len(last)
}

func distinct(h []string, columns int) bool {
	seen := map[string]bool{}
	for _, c := range h {
		if c == "" || seen[c] {
			return false
		}
		seen[c] = true
	}
	return len(h) == columns
}

// spread are the header's rows with merged cells written over all of their columns.
func (w *Writer) spread(rows []row, grid [][]string, lo, hi int) [][]string {
	if len(grid) == 0 {
		return nil
	}
	out := make([][]string, len(grid))
	merged := false
	for i, g := range grid {
		out[i] = make([]string, hi-lo)
		copy(out[i], g)
		for _, m := range w.merges.from(rows[i].n) {
			for c := m.Col + 1; m.Col >= lo && c <= m.LastCol && c < hi; c++ {
				out[i][c-lo] = out[i][m.Col-lo]
				merged = true
			}
		}
	}
	if !merged && len(out) > 1 {
		return tablehead.Fill(out)
	}
	return out
}

// Table begins a table whose columns are given: titles above it, which are its caption, and its header rows.
func (w *Writer) Table(titles []string, header [][]string) (*Table, error) {
	if err := w.head(); err != nil {
		return nil, err
	}
	if title := w.title; title != "" {
		w.title = ""
		if err := w.Heading(2, title); err != nil {
			return nil, err
		}
	}
	w.tables++
	t := &Table{w: w, proto: connector.Table{ID: w.tables, Header: header, Sheet: w.sheet}}
	for _, h := range header {
		for i, c := range h {
			h[i] = clean(&w.clean, c)
		}
	}
	for _, line := range titles {
		t.buf.WriteString(line + "\n")
	}
	t.proto.Caption = strings.Join(strings.Fields(strings.Join(titles, " ")), " ")
	start := t.buf.Len()
	for _, h := range header {
		writeRow(&t.buf, h)
	}
	if t.buf.Len() > start {
		t.proto.HeaderText = t.buf.String()[start:]
		t.proto.HeaderSpan = connector.Span{Start: w.pos + start, End: w.pos + t.buf.Len()}
	}
	return t, nil
}

// Add adds a record to a table that was begun by [Writer.Table].
func (t *Table) Add(cells []string) error {
	for i, c := range cells {
		cells[i] = clean(&t.w.clean, c)
	}
	return t.add(cells)
}

// End ends the table.
func (t *Table) End() error { return t.end() }

// add writes one record. A record without a value is left out.
func (t *Table) add(cells []string) error {
	size := len(cells)
	for _, c := range cells {
		size += len(c)
	}
	if tablehead.Filled(cells) == 0 {
		return nil
	}
	if len(t.rows) > 0 && (t.buf.Len()+size > maxElementBytes || len(t.rows) == maxElementRows) {
		if err := t.send(""); err != nil {
			return err
		}
	}
	start := t.w.pos + t.buf.Len()
	writeRow(&t.buf, cells)
	t.rows = append(t.rows, connector.Row{Cells: cells, Span: connector.Span{Start: start, End: t.w.pos + t.buf.Len()}})
	return nil
}

// send sends the rows that wait as one element, which ends in tail.
func (t *Table) send(tail string) error {
	part := t.proto
	part.Rows, part.FirstRow = t.rows, t.done+1
	t.done += len(t.rows)
	el := connector.Element{Kind: connector.KindTable, Table: &part, Text: t.buf.String() + tail}
	if !t.started {
		el.Title = part.Caption
	}
	t.started, t.rows = true, nil
	t.buf.Reset()
	return t.w.send(el)
}

func (t *Table) end() error {
	if t.buf.Len() == 0 {
		return nil
	}
	return t.send("\n")
}

// writeRow writes cells between tabs.
func writeRow(b *strings.Builder, cells []string) {
	for i, c := range cells {
		if i > 0 {
			b.WriteByte('\t')
		}
		if strings.HasPrefix(c, `"`) || strings.ContainsAny(c, "\t\n") {
			c = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
		}
		b.WriteString(c)
	}
	b.WriteByte('\n')
}
