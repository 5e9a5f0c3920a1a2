package htmltext

import (
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/kbsync/kbsync/connector"
)

// maxHeaderRows bounds how many rows count as the header of a table.
const maxHeaderRows = 5

// tableRow is one row as the page has it.
type tableRow struct {
	cells []*node
	head  bool // in thead, or all of its cells are th
}

// grid is what a table element holds.
type grid struct {
	caption *node
	rows    []tableRow
	strays  []*node // content that stands outside of cells
}

// table writes a table, or the cells of a table that only arranges the page as blocks.
func (w *writer) table(n *node) {
	var g grid
	g.collect(n, false)
	for _, k := range g.strays {
		w.block(k)
	}
	w.flush()
	if n.role == "presentation" || n.role == "none" || g.layout() {
		if g.caption != nil {
			w.block(g.caption)
			w.flush()
		}
		for _, row := range g.rows {
			for _, c := range row.cells {
				w.walk(c)
				w.flush()
			}
		}
		return
	}
	caption := ""
	if g.caption != nil {
		caption = w.flat(g.caption)
	}
	head, body := w.expand(&g)
	w.grid(caption, head, body)
}

func (g *grid) collect(n *node, head bool) {
	for _, k := range n.kids {
		switch {
		case k.tag == atom.Caption && g.caption == nil:
			g.caption = k
		case k.tag == atom.Tr:
			g.row(k, head)
		case k.tag == atom.Td || k.tag == atom.Th:
			if n.class != classTable || len(g.rows) == 0 {
				g.rows = append(g.rows, tableRow{})
			}
			last := &g.rows[len(g.rows)-1]
			last.cells = append(last.cells, k)
		case k.class == classPart:
			g.collect(k, head || k.tag == atom.Thead)
		case k.class == classBlock && k.reason == "" && holdsRows(k):
			g.collect(k, head)
		case k.isText() && strings.TrimSpace(k.text) == "", k.class == classSeparator:
		default:
			g.strays = append(g.strays, k)
		}
	}
}

func holdsRows(n *node) bool {
	for _, k := range n.kids {
		if k.class == classPart {
			return true
		}
	}
	return false
}

func (g *grid) row(n *node, head bool) {
	row := tableRow{head: true}
	for _, k := range n.kids {
		switch {
		case k.tag == atom.Td || k.tag == atom.Th:
			row.head = row.head && (k.tag == atom.Th || k.size == 0)
			row.cells = append(row.cells, k)
		case k.isText() && strings.TrimSpace(k.text) == "", k.class == classSeparator:
		default:
			g.strays = append(g.strays, k)
		}
	}
	row.head = (row.head || head) && len(row.cells) > 0
	g.rows = append(g.rows, row)
}

// layout says that the table arranges blocks and holds no records.
func (g *grid) layout() bool {
	columns := 0
	for _, row := range g.rows {
		width := 0
		for _, c := range row.cells {
			if c.size > 0 {
				width++
			}
			if c.complex && (c.heads == 0 || c.size > maxHeading || holds(c)) {
				return true
			}
		}
		columns = max(columns, width)
	}
	return columns <= 1
}

// holds says that n has a table, code or definitions inside.
func holds(n *node) bool {
	for _, k := range n.kids {
		if k.class == classTable || k.class == classPre || k.class == classDefs || k.complex && holds(k) {
			return true
		}
	}
	return false
}

// expansion lays out the cells of a table, with a cell that spans rows repeated in each, and one that spans columns
// repeated in the header but followed by empty cells in the body.
type expansion struct {
	budget int        // cells that spans may still add
	down   []spanning // by column, what the rows above still fill
	out    []string   // the current row
}

type spanning struct {
	text string
	rows int
}

// expand gives the cells' texts. Empty rows and columns are left out.
func (w *writer) expand(g *grid) (head, body [][]string) {
	cells := 0
	for _, row := range g.rows {
		cells += len(row.cells)
	}
	x := &expansion{budget: 8*cells + 1000}
	inHead := true
	for i, row := range g.rows {
		inHead = inHead && row.head && i < maxHeaderRows
		x.out = nil
		for _, c := range row.cells {
			x.fill()
			x.cell(w.flat(c), c.span, len(g.rows)-i-1, inHead)
		}
		x.fill()
		if strings.Join(x.out, "") == "" {
			continue
		}
		if inHead {
			head = append(head, x.out)
		} else {
			body = append(body, x.out)
		}
	}
	if len(body) == 0 && len(head) > 1 {
		head, body = head[:1], head[1:]
	}
	return compact(head, body)
}

// fill adds what cells of rows above put at this place.
func (x *expansion) fill() {
	for col := len(x.out); col < len(x.down) && x.down[col].rows > 0; col++ {
		x.out = append(x.out, x.down[col].text)
		x.down[col].rows--
	}
}

// cell adds a cell to the current row, below which there are left more rows.
func (x *expansion) cell(text string, span [2]uint16, left int, inHead bool) {
	across := max(int(span[1]), 1)
	rows := max(int(span[0]), 1) - 1
	if across > x.budget {
		across, rows = 1, 0
	}
	x.budget -= across - 1
	for k := range across {
		if k > 0 && !inHead {
			text = ""
		}
		col := len(x.out)
		x.out = append(x.out, text)
		for len(x.down) <= col {
			x.down = append(x.down, spanning{})
		}
		x.down[col] = spanning{text, min(rows, left, max(x.budget, 0))}
		x.budget -= x.down[col].rows
	}
}

// compact leaves out the columns without text.
func compact(head, body [][]string) (h, b [][]string) {
	width := 0
	var used []bool
	for _, rows := range [][][]string{head, body} {
		for _, row := range rows {
			width = max(width, len(row))
			for len(used) < width {
				used = append(used, false)
			}
			for i, cell := range row {
				used[i] = used[i] || cell != ""
			}
		}
	}
	pick := func(rows [][]string) [][]string {
		out := make([][]string, 0, len(rows))
		for _, row := range rows {
			cells := make([]string, 0, width)
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
func (w *writer) grid(caption string, head, body [][]string) {
	if len(head)+len(body) == 0 {
		if caption != "" {
			w.emit(connector.KindText, caption)
		}
		return
	}
	w.tables++
	t := &connector.Table{ID: w.tables, FirstRow: 1, Caption: caption, Header: head}
	var b strings.Builder
	if caption != "" {
		b.WriteString(caption + "\n")
	}
	if len(head) > 0 {
		start := b.Len()
		for _, row := range head {
			writeRow(&b, row)
		}
		b.WriteString("|" + strings.Repeat(" --- |", len(head[0])) + "\n")
		t.HeaderSpan = connector.Span{Start: w.pos + start, End: w.pos + b.Len()}
	}
	for _, row := range body {
		start := b.Len()
		writeRow(&b, row)
		t.Rows = append(t.Rows, connector.Row{Cells: row, Span: connector.Span{Start: w.pos + start, End: w.pos + b.Len()}})
	}
	base := w.pos
	el := w.emit(connector.KindTable, strings.TrimSuffix(b.String(), "\n"))
	t.HeaderText = el.Text[max(t.HeaderSpan.Start-base, 0):max(t.HeaderSpan.End-base, 0)]
	if len(head) == 0 {
		t.HeaderText = ""
	}
	el.Table, el.Title = t, caption
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
