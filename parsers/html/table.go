package html

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

// expand gives the cells' texts, with a cell that spans rows repeated in each, and one that spans columns repeated in the
// header but followed by empty cells in the body. Empty rows and columns are left out.
func (w *writer) expand(g *grid) (head, body [][]string) {
	cells := 0
	for _, row := range g.rows {
		cells += len(row.cells)
	}
	budget := 8*cells + 1000 // cells that spans may add
	type pending struct {
		text string
		rows int
	}
	var down []pending // by column, what the rows above still fill
	inHead := true
	for i, row := range g.rows {
		inHead = inHead && row.head && i < maxHeaderRows
		var out []string
		col := 0
		fill := func() {
			for col < len(down) && down[col].rows > 0 {
				out = append(out, down[col].text)
				down[col].rows--
				col++
			}
		}
		for _, c := range row.cells {
			fill()
			text := w.flat(c)
			across := max(int(c.span[1]), 1)
			rows := max(int(c.span[0]), 1) - 1
			if across > budget {
				across, rows = 1, 0
			}
			budget -= across - 1
			for k := range across {
				value := text
				if k > 0 && !inHead {
					value = ""
				}
				out = append(out, value)
				for len(down) <= col {
					down = append(down, pending{})
				}
				down[col] = pending{value, min(rows, len(g.rows)-i-1, max(budget, 0))}
				budget -= down[col].rows
				col++
			}
		}
		fill()
		if strings.Join(out, "") == "" {
			continue
		}
		if inHead {
			head = append(head, out)
		} else {
			body = append(body, out)
		}
	}
	if len(body) == 0 && len(head) > 1 {
		head, body = head[:1], head[1:]
	}
	return compact(head, body)
}

// compact pads rows to one width and leaves out columns without text.
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
