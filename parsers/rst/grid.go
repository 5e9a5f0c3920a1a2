package rst

import (
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// gridBorder tells "+----+----+".
func gridBorder(line string) bool {
	return len(line) >= 3 && line[0] == '+' && line[len(line)-1] == '+' && strings.Trim(line, "+-=") == ""
}

// gridEnd is the line behind a grid table that starts in line i: behind the last border of the lines that start with + or |.
func (b *builder) gridEnd(i, hi, indent int) int {
	end := i
	for k := i; k < hi && !b.Blank(k) && int(b.Lines[k].Indent) >= indent; k++ {
		switch line := b.Line(k); {
		case line[0] == '+' && gridBorder(line):
			end = k + 1
		case line[0] != '|' && line[0] != '+':
			return end
		}
	}
	return end
}

// grid reads one table.
type grid struct {
	b      *builder
	bounds []int // the columns of all bars but the first and the last
	first  int   // the column of the first bar
}

// gridTable reads the table in the lines lo to hi. A row ends with a border over its whole width; one with cells over several rows is read
// as several, in each of which the cell stands.
func (b *builder) gridTable(lo, hi, from, to int, caption string) connector.Element {
	g := &grid{b: b, first: int(b.Lines[lo].Indent)}
	if g.columns(lo, hi); b.sparse(lo, hi, len(g.bounds)) {
		return b.Element(connector.KindText, from, to)
	}
	el := b.captioned(from, to, caption)
	t := el.Table
	head := 0
	for i := lo + 1; i < hi; i++ {
		if line := b.Line(i); gridBorder(line) && strings.Contains(line, "=") {
			if i < hi-1 {
				head = i
			}
			break
		}
	}
	start := lo + 1
	for i := lo + 1; i < hi; i++ {
		if !gridBorder(b.Line(i)) {
			continue
		}
		rows := g.record(start, i)
		for _, r := range rows {
			if i <= head {
				t.Header = append(t.Header, r.cells)
				continue
			}
			b.row(t, r.lo, r.hi, r.cells)
		}
		start = i + 1
	}
	if head > 0 {
		t.HeaderSpan = b.Span(lo+1, head+1) // without the border above, which says nothing
	}
	return el
}

// columns finds where bars stand: at the marks + of all borders.
func (g *grid) columns(lo, hi int) {
	seen := map[int]bool{}
	for i := lo; i < hi; i++ {
		line := g.b.Line(i)
		if line[0] != '+' && !strings.Contains(line, "+-") {
			continue
		}
		if !gridBorder(line) && strings.Trim(line, "+-=| ") != "" {
			continue // letters beside a border over a part of the width; its marks are those of others
		}
		for k := range len(line) {
			if line[k] == '+' {
				seen[g.first+k] = true
			}
		}
	}
	for c := range seen {
		g.bounds = append(g.bounds, c)
	}
	slices.Sort(g.bounds)
	if len(g.bounds) > 2 {
		g.bounds = g.bounds[1 : len(g.bounds)-1]
	} else {
		g.bounds = nil
	}
}

// record reads the lines between two borders over the whole width. hi is the second of these, which belongs to the last row.
func (g *grid) record(lo, hi int) []tableRow {
	columns := len(g.bounds) + 1
	var rows []tableRow
	parts := make([][]string, columns)
	var open []tableRow
	start := lo
	for i := lo; i <= hi; i++ {
		if i < hi {
			pieces := g.split(i)
			if !partial(pieces) {
				for k, p := range pieces {
					parts[k] = append(parts[k], cellText(p))
				}
				continue
			}
			for k, p := range pieces {
				if !rule(p) {
					parts[k] = append(parts[k], cellText(p))
				}
			}
			row := tableRow{lo: start, hi: i + 1, cells: make([]string, columns)}
			for k, p := range pieces {
				if rule(p) {
					row.cells[k] = lightmarkup.Join(parts[k])
					parts[k] = nil
					g.fill(open, k, row.cells[k])
				} else {
					row.cells[k] = unfinished
				}
			}
			open = append(open, row)
			start = i + 1
			continue
		}
		row := tableRow{lo: start, hi: i + 1, cells: make([]string, columns)}
		for k := range columns {
			row.cells[k] = lightmarkup.Join(parts[k])
			g.fill(open, k, row.cells[k])
		}
		rows = append(open, row)
	}
	return rows
}

// unfinished stands in a cell that goes on in the next row, until that is read.
const unfinished = "\x00"

// fill gives the rows above the text of a cell that goes over them.
func (g *grid) fill(rows []tableRow, k int, text string) {
	for i := len(rows) - 1; i >= 0 && rows[i].cells[k] == unfinished; i-- {
		rows[i].cells[k] = text
	}
}

// split cuts a line at the bars. Where letters are not as wide as the bars of the borders say, the bars of the line itself are taken.
func (g *grid) split(i int) []string {
	line := g.b.Whole(i)
	pieces := lightmarkup.SplitColumns(line, g.bounds)
	aligned := true
	for _, p := range pieces[1:] {
		aligned = aligned && (p == "" || p[0] == '|' || p[0] == '+')
	}
	if !aligned {
		own := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(own) == len(pieces) {
			return own
		}
		last := 0
		for k := 1; k < len(pieces); k++ {
			if p := pieces[k]; p == "" || p[0] == '|' || p[0] == '+' {
				last = k
			} else { // a cell over several columns
				pieces[last] += p
				pieces[k] = ""
			}
		}
	}
	return pieces
}

// partial tells a border over a part of the width: some piece is a rule, and there is one that is not.
func partial(pieces []string) bool { return slices.ContainsFunc(pieces, rule) }

// rule tells a piece of a border.
func rule(piece string) bool {
	p := strings.Trim(piece, "+| ")
	return len(p) > 0 && strings.Trim(p, "-=") == "" && strings.HasPrefix(strings.TrimLeft(piece, " "), "+")
}

func cellText(piece string) string {
	return strings.TrimSpace(strings.Trim(strings.TrimSpace(piece), "|"))
}
