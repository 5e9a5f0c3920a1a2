package man

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
)

// equation writes eqn's text as it stands.
func (p *page) equation() {
	p.flush()
	var lines []string
	for p.next < len(p.lines) {
		line := p.lines[p.next]
		if p.next++; strings.HasPrefix(line, ".EN") {
			break
		}
		lines = append(lines, line)
	}
	p.w.Add(blocks.Block{Kind: connector.KindMath, Text: strings.TrimSpace(strings.Join(lines, "\n"))})
}

// tbl is a table while it is read.
type tbl struct {
	tab    string
	bold   bool // the first row is set in bold letters, others are not
	format bool // the lines are still those of the format
	rows   [][]string
	cell   []string // the lines of a cell between T{ and T}; nil outside of one
}

// table reads a table of tbl up to .TE.
func (p *page) table() {
	p.flush()
	t := &tbl{tab: "\t", format: true}
	for first := true; p.next < len(p.lines); first = false {
		line, said := comment(p.lines[p.next])
		p.next++
		p.drop(connector.DropComment, said)
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, ".TE"):
			p.endTable(t)
			return
		case first && strings.HasSuffix(trimmed, ";"):
			t.options(trimmed)
		case t.format:
			t.format = !strings.HasSuffix(trimmed, ".")
			if t.format && len(t.rows) == 0 && strings.ContainsAny(trimmed, "bB") {
				t.bold = true
			}
		case strings.HasPrefix(line, ".T&"):
			t.format = true
		default:
			p.row(t, line, trimmed)
		}
	}
	p.endTable(t)
}

// options takes the separator from the options of a table.
func (t *tbl) options(s string) {
	_, s, ok := strings.Cut(s, "tab")
	if s = strings.TrimLeft(s, " "); ok && strings.HasPrefix(s, "(") {
		for _, r := range s[1:] {
			t.tab = string(r)
			return
		}
	}
}

// row takes a line of data.
func (p *page) row(t *tbl, line, trimmed string) {
	last := len(t.rows) - 1
	name, rest, isMacro := macro(line)
	switch {
	case t.cell != nil && strings.HasPrefix(trimmed, "T}"):
		t.rows[last] = append(t.rows[last], strings.Join(t.cell, " "))
		if t.cell = nil; len(trimmed) > 2 {
			t.rows[last], t.cell = p.cells(t.rows[last], strings.TrimPrefix(trimmed[2:], t.tab), t.tab)
		}
	case t.cell != nil:
		if isMacro {
			line = p.spoken(name, arguments(rest))
		} else {
			line, _ = p.text(line)
		}
		if line = strings.TrimSpace(line); line != "" {
			t.cell = append(t.cell, line)
		}
	case trimmed == "_" || trimmed == "=" || strings.Trim(trimmed, ".'") == "":
	case isMacro && !strings.Contains(line, t.tab):
		if text := p.spoken(name, arguments(rest)); strings.TrimSpace(text) != "" && !settings[name] {
			t.rows = append(t.rows, []string{text})
		}
	default:
		var row []string
		row, t.cell = p.cells(nil, line, t.tab)
		t.rows = append(t.rows, row)
	}
}

// endTable writes a table, with the cell that nothing closed.
func (p *page) endTable(t *tbl) {
	if t.cell != nil {
		last := len(t.rows) - 1
		t.rows[last] = append(t.rows[last], strings.Join(t.cell, " "))
	}
	p.rows(t.rows, t.bold)
}

// cells adds the cells of a line to a row. cell is not nil if the last one goes on over lines.
func (p *page) cells(row []string, line, tab string) (_, cell []string) {
	for part := range strings.SplitSeq(line, tab) {
		if strings.TrimSpace(part) == "T{" {
			return row, []string{}
		}
		text, _ := p.text(part)
		row = append(row, strings.TrimSpace(text))
	}
	return row, nil
}

// rows writes a table.
func (p *page) rows(rows [][]string, bold bool) {
	t := &blocks.Table{}
	for i, cells := range rows {
		row := blocks.Row{Head: bold && i == 0 && len(rows) > 1}
		for _, c := range cells {
			row.Cells = append(row.Cells, blocks.Cell{Blocks: []blocks.Block{{Kind: connector.KindText, Text: c}}, Across: 1})
		}
		t.Rows = append(t.Rows, row)
	}
	if len(rows) > 0 {
		p.w.Add(blocks.Block{Kind: connector.KindTable, Table: t})
	}
}
