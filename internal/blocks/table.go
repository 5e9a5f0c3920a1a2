package blocks

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/tablehead"
)

// Table is a table as the format has it.
type Table struct {
	Caption string
	Rows    []Row
}

// Row is one row.
type Row struct {
	Head  bool // a header row, as the document says
	Cells []Cell
}

// Cell is one cell. What is merged is told by the cell that shows the text: it spans Across columns; cells below that it covers are Covered.
type Cell struct {
	Blocks  []Block
	Across  int
	Covered bool
	Bold    bool // all of its text is bold
}

// Bounds.
const (
	maxHeaderRows = 5
	maxColumns    = 16_384
	partSize      = 256 << 10 // of a table's element
	maxName       = 60        // bytes of what is taken for the name of a column without further evidence
	maxSample     = 200       // rows that are looked at to find a header
	maxSpread     = 8         // empty cells per cell that merged columns may make, and some
)

// table writes a table, or the cells of one that only arranges the page as blocks.
func (w *Writer) table(b Block) {
	t := b.Table
	w.droppedIn(t)
	if caption := oneLine(w.cleaned(t.Caption)); caption != "" && t.layout() {
		w.Add(Block{Kind: connector.KindText, Text: caption, Page: b.Page})
	}
	if t.layout() {
		for _, row := range t.Rows {
			for _, c := range row.Cells {
				for _, inner := range c.Blocks {
					if inner.Kind != connector.KindDropped {
						w.Add(inner)
					}
				}
				w.flush()
			}
		}
		return
	}
	head, body := w.rows(t)
	w.grid(b, oneLine(w.cleaned(t.Caption)), head, body)
	w.notesIn(t)
}

// droppedIn reports what was left out in the cells.
func (w *Writer) droppedIn(t *Table) {
	t.each(func(b Block) {
		if b.Kind == connector.KindDropped {
			w.drop(b.Reason, b.Text)
		}
	})
}

// notesIn writes the notes to the cells below the table.
func (w *Writer) notesIn(t *Table) {
	t.each(func(b Block) {
		if b.Note {
			w.Add(b)
		}
	})
}

// each calls visit for the blocks of all cells, in order, those of tables in them too but not the tables themselves.
func (t *Table) each(visit func(Block)) {
	for _, row := range t.Rows {
		for _, c := range row.Cells {
			for _, b := range c.Blocks {
				if b.Kind == connector.KindTable {
					b.Table.each(visit)
				} else {
					visit(b)
				}
			}
		}
	}
}

// layout says that the table arranges blocks and holds no records: it has one column, or one row of columns that hold several blocks each, or
// cells with headings above other blocks, or most of its text is that of tables inside.
func (t *Table) layout() bool {
	columns, rows, long := 0, 0, false
	size, inner := 0, 0
	for _, row := range t.Rows {
		filled := 0
		for _, c := range row.Cells {
			texts, heads, length, nested := c.count()
			if texts == 0 && nested == 0 {
				continue
			}
			filled++
			size += length + nested
			inner += nested
			long = long || texts > 2
			if heads > 0 && texts > heads {
				return true
			}
		}
		columns = max(columns, filled)
		if filled > 0 {
			rows++
		}
	}
	return columns <= 1 || rows == 1 && long || inner > 0 && inner*2 >= size
}

// count says how many blocks with text a cell has, how many of them are headings, how long they are, and how long those of tables in it.
func (c *Cell) count() (texts, heads, length, nested int) {
	for _, b := range c.Blocks {
		switch {
		case b.Kind == connector.KindDropped || b.Note:
		case b.Kind == connector.KindTable:
			b.Table.each(func(b Block) {
				if b.Kind != connector.KindDropped {
					nested += len(b.Text)
				}
			})
		case strings.TrimSpace(b.Text) != "":
			texts++
			length += len(b.Text)
			if b.Kind == connector.KindHeading {
				heads++
			}
		}
	}
	return texts, heads, length, nested
}

// text is what a cell shows, on one line.
func (w *Writer) text(c *Cell) string {
	var b strings.Builder
	put := func(s string) {
		if s == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s)
	}
	for _, k := range c.Blocks {
		switch {
		case k.Kind == connector.KindDropped || k.Note:
		case k.Kind == connector.KindTable:
			put(w.inner(k.Table))
		default:
			k.Text = oneLine(w.cleaned(k.Text))
			if k.Kind == connector.KindMath && k.Text != "" {
				k.Text = "$" + k.Text + "$"
			}
			if k.Text != "" {
				put(marked(k))
			}
		}
	}
	return b.String()
}

// inner is a table in a cell of another: its rows, with "; " between them and ", " between cells.
func (w *Writer) inner(t *Table) string {
	var rows []string
	for _, row := range t.Rows {
		var cells []string
		for i := range row.Cells {
			if s := w.text(&row.Cells[i]); s != "" {
				cells = append(cells, s)
			}
		}
		if len(cells) > 0 {
			rows = append(rows, strings.Join(cells, ", "))
		}
	}
	return strings.Join(rows, "; ")
}

// rows are the cells' texts. Empty rows and columns are left out. Merged cells show their text once in the body, and in all their columns and
// rows in the header, so that every column has its name.
func (w *Writer) rows(t *Table) (head, body [][]string) {
	budget := 1000
	for _, row := range t.Rows {
		budget += maxSpread * len(row.Cells)
	}
	inHead, bold := true, false
	var above []string
	for i, row := range t.Rows {
		inHead = inHead && row.Head && i < maxHeaderRows
		out, allBold := w.row(row, inHead, above, &budget)
		if strings.Join(out, "") == "" {
			continue
		}
		if inHead {
			head, above = append(head, out), out
			continue
		}
		if len(head)+len(body) == 0 {
			bold = allBold
		}
		body = append(body, out)
	}
	head, body = compact(head, body)
	switch {
	case len(body) == 0 && len(head) > 1:
		return head[:1], head[1:]
	case len(head) > 0 || len(body) < 2:
	default:
		return guess(body, bold)
	}
	return head, body
}

// guess divides rows none of which the document calls a header. bold says that the first one is set in bold.
func guess(rows [][]string, bold bool) (head, body [][]string) {
	sample := rows[:min(len(rows), maxSample)]
	if n := tablehead.Stacked(sample); n > 0 {
		return tablehead.Fill(rows[:n]), rows[n:]
	}
	if bold && tablehead.Filled(rows[0])*2 > len(rows[0]) || tablehead.Like(sample[0], sample[1:]) {
		return rows[:1], rows[1:]
	}
	if len(rows) > 2 && named(rows[0]) {
		return rows[:1], rows[1:]
	}
	return nil, rows
}

// named says that a row holds three names or more, short and distinct, and neither gaps nor numbers.
func named(row []string) bool {
	seen := map[string]bool{}
	for _, c := range row {
		if c == "" || len(c) > maxName || seen[c] || tablehead.Number(c) {
			return false
		}
		seen[c] = true
	}
	return len(row) > 2
}

// row lays out one row.
func (w *Writer) row(row Row, inHead bool, above []string, budget *int) (out []string, bold bool) {
	bold = true
	for i := range row.Cells {
		c := &row.Cells[i]
		text := w.text(c)
		bold = bold && (c.Bold || text == "")
		if c.Covered && text == "" && inHead && len(out) < len(above) {
			text = above[len(out)]
		}
		across := max(1, min(c.Across, maxColumns-len(out)))
		if across-1 > *budget {
			across = 1
		}
		*budget -= across - 1
		for k := range across {
			if k > 0 && !inHead {
				text = ""
			}
			out = append(out, text)
		}
	}
	return out, bold
}

// compact leaves out the columns without text.
func compact(head, body [][]string) (h, b [][]string) {
	var used []bool
	for _, rows := range [][][]string{head, body} {
		for _, row := range rows {
			for len(used) < len(row) {
				used = append(used, false)
			}
			for i, cell := range row {
				used[i] = used[i] || cell != ""
			}
		}
	}
	columns := 0
	for _, u := range used {
		if u {
			columns++
		}
	}
	pick := func(rows [][]string) [][]string {
		out := make([][]string, 0, len(rows))
		for _, row := range rows {
			cells := make([]string, 0, min(columns, len(row)))
			for i, cell := range row {
				if used[i] {
					cells = append(cells, cell)
				}
			}
			out = append(out, cells)
		}
		return out
	}
	return pick(head), pick(body)
}

// grid writes the rows as Markdown would: cells between "|", a separator after the header.
func (w *Writer) grid(b Block, caption string, head, body [][]string) {
	if len(head)+len(body) == 0 {
		return
	}
	w.tables++
	t := connector.Table{ID: w.tables, Caption: caption, Header: head}
	var text strings.Builder
	if caption != "" {
		text.WriteString(caption + "\n")
	}
	if len(head) > 0 {
		start := text.Len()
		for _, row := range head {
			writeRow(&text, row)
		}
		text.WriteString("|" + strings.Repeat(" --- |", len(head[0])) + "\n")
		t.HeaderText = text.String()[start:]
		t.HeaderSpan = connector.Span{Start: w.pos + start, End: w.pos + text.Len()}
	}
	first := 1
	for i := 0; ; {
		part := t
		part.FirstRow = first
		for ; i < len(body) && (text.Len() < partSize || len(part.Rows) == 0); i++ {
			start := text.Len()
			writeRow(&text, body[i])
			part.Rows = append(part.Rows, connector.Row{Cells: body[i], Span: connector.Span{Start: w.pos + start, End: w.pos + text.Len()}})
		}
		first += len(part.Rows)
		if i == len(body) {
			text.WriteByte('\n')
		}
		el := connector.Element{Kind: connector.KindTable, Text: text.String(), Span: connector.Span{Start: w.pos, End: w.pos + text.Len()}, Page: b.Page, Box: b.Box, Table: &part, Title: caption}
		if b.PageEnd != b.Page {
			el.PageEnd = b.PageEnd
		}
		w.send(el)
		if i == len(body) || w.err != nil {
			return
		}
		text.Reset()
	}
}

func writeRow(b *strings.Builder, cells []string) {
	b.WriteByte('|')
	for _, c := range cells {
		b.WriteByte(' ')
		if strings.IndexByte(c, '|') >= 0 {
			c = strings.ReplaceAll(c, "|", `\|`)
		}
		b.WriteString(c)
		b.WriteString(" |")
	}
	b.WriteByte('\n')
}
