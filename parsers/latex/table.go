package latex

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// table reads the rows of a tabular: its arguments start at args, its \end at last, the element is [lo, hi). What stands up to
// the first rule below a row is the header, or what longtable's commands say; without one the header is the \begin line.
func (b *builder) table(args, lo, last, hi int) *connector.Table {
	b.tables++
	t := &connector.Table{ID: b.tables, FirstRow: 1}
	start := b.arguments(args, 3, false)
	start = min(max(b.swallow(start, last), args), last)
	rows := b.rows(start, last)
	head := header(rows, b.text)
	for _, r := range rows[:head] {
		if len(r.cells) > 0 {
			t.Header = append(t.Header, r.cells)
		}
	}
	end := start
	if head > 0 {
		end = rows[head-1].hi
	}
	if end <= lo || b.text[end-1] != '\n' && end != hi { // everything on one line
		return t
	}
	t.HeaderSpan = connector.Span{Start: lo, End: end}
	t.HeaderText = b.text[lo:end]
	if !strings.HasSuffix(t.HeaderText, "\n") {
		t.HeaderText += "\n"
	}
	from := end
	for _, r := range rows[head:] {
		switch n := len(t.Rows); {
		case len(r.cells) > 0:
			t.Rows = append(t.Rows, connector.Row{Cells: r.cells, Span: connector.Span{Start: from, End: r.hi}})
		case n > 0: // a rule below a row
			t.Rows[n-1].Span.End = r.hi
		default: // one above the first row
			continue
		}
		from = r.hi
	}
	if n := len(t.Rows); n > 0 { // the end of the environment belongs to the last row
		t.Rows[n-1].Span.End = hi
	}
	return t
}

// line is a row as it stands in the text: whole lines up to one that ends in \\.
type line struct {
	lo, hi int
	cells  []string
	ruled  bool // starts or ends with a rule
}

// rows cuts text[lo:hi) into rows.
func (b *builder) rows(lo, hi int) []line {
	var out []line
	for start := lo; start < hi; {
		r := b.row(start, hi)
		out = append(out, r)
		start = r.hi
	}
	return out
}

// rowReader reads one row.
type rowReader struct {
	b     *builder
	limit int
	row   line
	cell  strings.Builder
	depth int  // of braces and environments
	ended bool // the row's end was read; only rules may follow on the line
}

// row reads one row, or rules between rows.
func (b *builder) row(lo, limit int) line {
	r := &rowReader{b: b, limit: limit, row: line{lo: lo}}
	t := b.text
	for i := lo; i < limit; {
		switch c := t[i]; {
		case c == '\n' && r.depth <= 0 && (r.ended || r.row.ruled && r.blank() && len(r.row.cells) == 0):
			r.last()
			r.row.hi = skipBlankLines(t[:limit], i+1)
			return r.row
		case c == '%':
			i = min(lineEnd(t, i), limit)
			continue
		case c == '\\':
			i = r.command(i)
			continue
		case c == '{':
			r.depth++
		case c == '}':
			r.depth--
		case c == '&' && r.depth <= 0:
			r.flush(true)
			r.ended = false
			i++
			continue
		}
		r.cell.WriteByte(t[i])
		i++
	}
	r.last()
	r.row.hi = limit
	return r.row
}

func (r *rowReader) blank() bool { return strings.TrimSpace(r.cell.String()) == "" }

// flush ends a cell. One that is empty counts only where others are.
func (r *rowReader) flush(more bool) {
	if s := strings.Join(strings.Fields(r.cell.String()), " "); s != "" || more || len(r.row.cells) > 0 {
		r.row.cells = append(r.row.cells, s)
	}
	r.cell.Reset()
}

// last ends the last cell of a row that has no end mark.
func (r *rowReader) last() {
	if !r.ended || !r.blank() {
		r.flush(false)
	}
}

// command reads what starts with the backslash at i and returns where to go on.
func (r *rowReader) command(i int) int {
	t := r.b.text
	name := letters(t[i+1:])
	next := min(i+1+max(len(name), 1), r.limit)
	switch {
	case name == "begin":
		r.depth++
	case name == "end":
		r.depth--
	case r.depth <= 0 && (name == "tabularnewline" || name == "" && next == i+2 && t[i+1] == '\\'):
		r.ended = true
		r.flush(false)
		if end := strings.IndexByte(t[next:min(lineEnd(t, next), r.limit)], ']'); end >= 0 && t[next] == '[' { // \\[2pt]
			next += end + 1
		}
		return next
	case r.depth <= 0 && rule(name):
		r.row.ruled = true
		return min(max(r.b.arguments(next, 2, false), next), r.limit)
	}
	r.cell.WriteString(t[i:next])
	return next
}

// rule tells commands that stand between rows.
func rule(name string) bool {
	switch name {
	case "hline", "toprule", "midrule", "bottomrule", "cmidrule", "cline", "specialrule", "addlinespace", "Xhline", "hhline", "rowcolor",
		"endfirsthead", "endhead", "endfoot", "endlastfoot":
		return true
	}
	return false
}

// header is how many of the rows are the header.
func header(rows []line, text string) int {
	head, seen, done := 0, false, false
	for i, r := range rows {
		s := text[r.lo:r.hi]
		if strings.Contains(s, `\end`) && (strings.Contains(s, `\endfirsthead`) || strings.Contains(s, `\endhead`) || strings.Contains(s, `\endfoot`) || strings.Contains(s, `\endlastfoot`)) {
			head, done = i+1, true
		}
		if done || i > 8 {
			continue
		}
		if seen && len(r.cells) == 0 && r.ruled {
			head, done = i+1, true
		}
		if len(r.cells) > 0 {
			if seen && r.ruled { // a rule on the row's own line
				head, done = i, true
			}
			seen = true
		}
	}
	if head == len(rows) {
		return 0 // nothing but a header is a body
	}
	return head
}
