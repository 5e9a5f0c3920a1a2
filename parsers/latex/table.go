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

// row reads one row, or rules between rows.
func (b *builder) row(lo, limit int) line {
	t := b.text
	r := line{lo: lo}
	var cell strings.Builder
	flush := func() {
		if s := strings.Join(strings.Fields(cell.String()), " "); s != "" || len(r.cells) > 0 {
			r.cells = append(r.cells, s)
		}
		cell.Reset()
	}
	depth, ended := 0, false
	i := lo
	for i < limit {
		switch c := t[i]; {
		case c == '\n' && depth <= 0 && (ended || strings.TrimSpace(cell.String()) == "" && len(r.cells) == 0 && r.ruled):
			if !ended || strings.TrimSpace(cell.String()) != "" {
				flush()
			}
			r.hi = skipBlankLines(t[:limit], i+1)
			return r
		case c == '%':
			i = min(lineEnd(t, i), limit)
			continue
		case c == '\\':
			name := letters(t[i+1:])
			n := 1 + max(len(name), 1)
			switch {
			case name == "begin":
				depth++
			case name == "end":
				depth--
			case depth <= 0 && (name == "" && i+1 < limit && t[i+1] == '\\' || name == "tabularnewline"):
				ended = true
				flush()
				i += n
				if i < limit && t[i] == '[' {
					i = min(lineEnd(t, i), limit, i+1+strings.IndexByte(t[i:limit]+"]", ']'))
				}
				continue
			case depth <= 0 && rule(name):
				r.ruled = true
				i = min(max(b.arguments(i+n, 2, false), i+n), limit)
				continue
			}
			n = min(n, limit-i)
			cell.WriteString(t[i : i+n])
			i += n
			continue
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == '&' && depth <= 0:
			if len(r.cells) == 0 && strings.TrimSpace(cell.String()) == "" {
				r.cells = append(r.cells, "")
				cell.Reset()
			} else {
				flush()
			}
			ended = false
			i++
			continue
		}
		cell.WriteByte(t[i])
		i++
	}
	if !ended || strings.TrimSpace(cell.String()) != "" {
		flush()
	}
	r.hi = limit
	return r
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
