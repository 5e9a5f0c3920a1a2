package strategies

import (
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// tableHead is what the rows of one table share.
type tableHead struct {
	record bool // JSON records: each row has its own names
	id     int
	sheet  string
	names  []string
	header string         // for mode markdown: the rendered header lines
	text   string         // the header as it stands in the text
	above  string         // the same, above rows as they stand; empty if it takes too much
	span   connector.Span // where the header stands; empty if it is a chunk of its own
	mode   string
	page   int
	keys   []int
	short  bool // names are shortened, so the header is a chunk of its own
	narrow bool // the header takes over half of the cap: rows are written by groups of columns
	told   bool // a chunk has shown the header

	caption     string
	captionLine string // the caption above rows; empty if it is long or there is none
	captionText string // as it stands in captionSpan
	captionSpan connector.Span
	captioned   bool // a chunk has shown the caption
}

// Shares of the cap, one in so many, that parts of a table's context may take.
const (
	headerShare    = 3  // the header as it stands
	nameShare      = 6  // one column's name
	captionShare   = 6  // the caption above the first rows
	recaptionShare = 12 // the caption above later ones
	keysShare      = 4  // the key columns
)

// start begins a table, or goes on with one.
func (w *tableWriter) start(el *connector.Element) {
	t, b := el.Table, w.s.b
	told := w.t.id == t.ID && !w.t.record && w.t.told
	w.open = true
	w.t = tableHead{id: t.ID, sheet: t.Sheet, mode: w.s.c.Mode, page: el.Page, caption: t.Caption, told: told}
	w.t.names, w.t.short = w.shortNames(headerNames(t.Header))
	if !w.t.short {
		w.t.span, w.t.text = trimmedSpan(t.HeaderText, t.HeaderSpan), t.HeaderText
		if w.t.text != "" && b.within(w.t.text, b.share(headerShare)) {
			w.t.above = w.t.text
		}
	}
	if line := oneLine(t.Caption); line != "" && b.within(line+"\n", b.share(captionShare)) {
		w.t.captionLine = line + "\n"
	}
	w.frameHead(len(t.Rows[0].Cells))
	w.t.keys = keyColumns(w.t.names, w.s.c.KeyColumns, t.Rows)
	w.restart()
}

// frameHead renders what stands above or around rows, and tells whether there is room for it.
func (w *tableWriter) frameHead(columns int) {
	around := ""
	switch w.t.mode {
	case "markdown":
		w.t.header = markdownHeader(w.t.names, columns)
		around = w.t.header
	case "html":
		around = htmlTable(w.t.names, "")
	}
	if around != "" && !w.s.b.within(around, w.s.b.share(2)) {
		w.t.narrow, w.t.header = true, ""
	}
}

// captionEnd is where the caption ends if it is what stands in [lo, hi) and goes into the context; else lo.
func (w *tableWriter) captionEnd(el *connector.Element, lo, hi int) int {
	text := el.Text[lo-el.Span.Start : hi-el.Span.Start]
	if w.t.captionLine == "" || oneLine(text) != strings.TrimSuffix(w.t.captionLine, "\n") {
		return lo
	}
	from, to := trimSpan(text, 0, len(text))
	w.t.captionText = text[from:to]
	w.t.captionSpan = connector.Span{Start: lo + from, End: lo + to}
	return hi
}

// shortNames are the columns' names, those that are too long for a piece of a row cut. names is not changed.
func (w *tableWriter) shortNames(names []string) (out []string, short bool) {
	limit := w.s.b.share(nameShare)
	for i, name := range names {
		if name == "" || w.s.b.within(name, limit) {
			continue
		}
		if !short {
			names, short = slices.Clone(names), true
		}
		names[i] = orText(w.s.b.shorten(name, "", ellipsis, limit), columnName(i))
	}
	return names, short
}

// headerNames are the columns' names. Those of several header rows are joined with a slash.
func headerNames(header [][]string) []string {
	var names, last []string
	for _, row := range header {
		for i, cell := range row {
			cell = oneLine(cell)
			switch {
			case i >= len(names):
				names, last = append(names, cell), append(last, cell)
			case cell == "" || cell == last[i]:
			case names[i] == "":
				names[i], last[i] = cell, cell
			default:
				names[i] += " / " + cell
				last[i] = cell
			}
		}
	}
	return names
}

// keySample is how many rows are looked at to find the column that tells rows apart, and of how many columns.
const keySample = 64

// keyColumns are the indexes of the named columns, in order; if there are none of them, of the first one whose values are there
// and different in all of the first rows; else of the first.
func keyColumns(names, keys []string, rows []connector.Row) []int {
	var out []int
	for i, name := range names {
		if slices.Contains(keys, name) {
			out = append(out, i)
		}
	}
	if len(out) > 0 {
		return out
	}
	rows = rows[:min(len(rows), keySample)]
	for i := range min(keySample, len(rows[0].Cells)) {
		seen := map[string]bool{}
		for _, row := range rows {
			if i < len(row.Cells) {
				if v := strings.TrimSpace(row.Cells[i]); v != "" {
					seen[v] = true
				}
			}
		}
		if len(seen) == len(rows) {
			return []int{i}
		}
	}
	return []int{0}
}

// recordKeys are the key columns of a record: the named ones, else the one that names usually tell, else the first.
func recordKeys(names, keys []string) []int {
	usual := -1
	var out []int
	for i, name := range names {
		if slices.Contains(keys, name) {
			out = append(out, i)
		}
		switch strings.ToLower(name) {
		case "id", "_id", "uuid", "key", "name", "title", "编号", "序号", "姓名", "名称", "标题":
			if usual < 0 {
				usual = i
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	return []int{max(usual, 0)}
}
