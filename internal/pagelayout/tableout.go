package pagelayout

import (
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// tableRun counts the tables that are parts of one: on successive pages, with the same columns.
func (d *document) tableRun(blocks []block) int {
	n := 1
	for n < len(blocks) && continues(&blocks[n-1], &blocks[n]) {
		n++
	}
	return n
}

// continues tells whether b goes on with table a on the next page: its header is repeated, or its columns start at the same places.
func continues(a, b *block) bool {
	if b.table == nil || b.page != a.page+1 || len(b.lines) > 0 && !repeatedCaption(b) || len(a.table.cols) != len(b.table.cols) || len(a.notes) > 0 {
		return false
	}
	if n := a.table.header(); n > 0 && n < len(b.table.cells) && sameRows(a.table.cells[:n], b.table.cells[:n]) {
		return true
	}
	for k, x := range a.table.cols {
		if abs(x-b.table.cols[k]) > 2*touch {
			return false
		}
	}
	return b.table.head <= 0 && len(b.lines) == 0
}

// repeatedCaption tells captions such as "Table 3 (continued)".
func repeatedCaption(b *block) bool {
	text := strings.ToLower(b.first().text)
	return strings.Contains(text, "continued") || strings.Contains(text, "cont.") || strings.Contains(text, "续")
}

func sameRows(a, b [][]string) bool {
	return slices.EqualFunc(a, b, func(x, y []string) bool { return slices.Equal(x, y) })
}

// table hands on the parts of one table.
func (d *document) table(parts []block) bool {
	d.tables++
	id := d.tables
	first := parts[0].table
	head := first.header()
	proto := connector.Table{ID: id, FirstRow: 1, Header: first.cells[:head]}
	rows := 0
	for i := range parts {
		p := &parts[i]
		g := p.table
		el := d.element(p)
		el.Kind = connector.KindTable
		var b strings.Builder
		from := head
		if i == 0 && len(p.lines) > 0 {
			proto.Caption = d.joiner.lines(p.lines)
			b.WriteString(proto.Caption + "\n")
		}
		if i > 0 {
			from = 0
			if len(p.lines) > 0 && !d.out.drop(p.page, drop{connector.DropRepeated, d.joiner.lines(p.lines), nil}) {
				return false
			}
			if head > 0 && head < len(g.cells) && sameRows(first.cells[:head], g.cells[:head]) {
				from = head
				if !d.out.drop(p.page, drop{connector.DropRepeated, rowsText(g.cells[:head]), nil}) {
					return false
				}
			}
		}
		base := d.out.pos
		if i == 0 && head > 0 {
			start := b.Len()
			b.WriteString(rowsText(first.cells[:head]))
			b.WriteString("|" + strings.Repeat(" --- |", len(first.cols)) + "\n")
			proto.HeaderText = b.String()[start:]
			proto.HeaderSpan = connector.Span{Start: base + start, End: base + b.Len()}
		}
		t := proto
		t.FirstRow = rows + 1
		for _, cells := range g.cells[from:] {
			start := b.Len()
			writeRow(&b, cells)
			t.Rows = append(t.Rows, connector.Row{Cells: cells, Span: connector.Span{Start: base + start, End: base + b.Len()}})
		}
		rows += len(t.Rows)
		if i+1 == len(parts) {
			b.WriteByte('\n')
		}
		el.Text, el.Title, el.Table = b.String(), proto.Caption, &t
		if !d.out.send(el) {
			return false
		}
	}
	return true
}

func rowsText(rows [][]string) string {
	var b strings.Builder
	for _, cells := range rows {
		writeRow(&b, cells)
	}
	return b.String()
}

// writeRow writes a row as Markdown would.
func writeRow(b *strings.Builder, cells []string) {
	b.WriteByte('|')
	for _, c := range cells {
		b.WriteByte(' ')
		b.WriteString(strings.ReplaceAll(c, "|", `\|`))
		b.WriteString(" |")
	}
	b.WriteByte('\n')
}
