package strategies

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// wide writes a row that does not fit: groups of its columns, each a piece that stands for itself, with the key columns in all but the
// first. If a cell alone is too long, the row is cut as it stands in the text.
func (w *tableWriter) wide(r *tableRow) {
	keys := w.keys(r)
	if r.short { // the names in full are in the record alone
		w.raw(r, keys)
		return
	}
	var ends []int
	for i := 0; i < len(r.cells); {
		j := i
		for j < len(r.cells) && w.holds(w.group(r, keys, i, j+1)) {
			j++
		}
		if j == i {
			w.raw(r, keys)
			return
		}
		ends = append(ends, j)
		i = j
	}
	i, some := 0, false
	for _, j := range ends {
		if strings.TrimSpace(strings.Join(r.cells[i:j], "")) != "" {
			text, context := w.group(r, keys, i, j)
			var columns map[string]any
			if len(ends) > 1 {
				columns = map[string]any{"column_start": i + 1, "column_end": j}
			}
			w.write([]tableRow{*r}, text, context, columns)
			some = true
		}
		i = j
	}
	if !some {
		w.raw(r, "")
	}
}

// group writes cells [i, j) of a row below, or beside, its key columns: in mode rows these are context, else columns of the piece.
func (w *tableWriter) group(r *tableRow, keys string, i, j int) (text, context string) {
	if w.t.mode == "rows" {
		if i == 0 {
			keys = ""
		}
		return w.recordText(w.pairs(r, i, j)), keys
	}
	var names, cells []string
	add := func(k int) {
		names, cells = append(names, nameOf(r.names, k)), append(cells, r.cells[k])
		if w.t.mode == "json" && names[len(names)-1] == "" {
			names[len(names)-1] = columnName(k)
		}
	}
	if i > 0 && keys != "" {
		for _, k := range w.keyList(r) {
			if k < len(r.cells) && (k < i || k >= j) {
				add(k)
			}
		}
	}
	for k := i; k < j; k++ {
		add(k)
	}
	switch w.t.mode {
	case "markdown":
		return strings.TrimSuffix(markdownRow(cells), "\n"), markdownHeader(names, len(cells))
	case "html":
		return htmlTable(names, htmlRow(cells)), ""
	}
	return jsonRow(names, cells), ""
}

// holds tells whether a text below what stands above tables and its context keeps the caps.
func (w *tableWriter) holds(text, context string) bool {
	return w.s.b.fitsWhole(w.above() + context + text)
}

// keyList are the indexes of a row's key columns.
func (w *tableWriter) keyList(r *tableRow) []int {
	if w.t.record {
		return recordKeys(r.names, w.s.c.KeyColumns)
	}
	return w.t.keys
}

// keys are the key columns of a row as a context, or empty where they would take more than a quarter of the cap.
func (w *tableWriter) keys(r *tableRow) string {
	line := ""
	for _, i := range w.keyList(r) {
		if i >= len(r.cells) {
			continue
		}
		if pair := w.pair(r, i); pair != "" {
			if line != "" {
				line += w.s.c.Separator
			}
			line += pair
		}
	}
	if line == "" {
		return ""
	}
	if line += "\n"; !w.s.b.within(line, w.s.b.share(keysShare)) {
		return ""
	}
	return line
}

// raw writes a row as it stands in the text: whole if that fits, else cut where it must be, the key columns above all pieces
// but the first. The header stands above all of them, if there is room.
func (w *tableWriter) raw(r *tableRow, keys string) {
	m := w.s.b.measure(r.raw)
	if lo, hi := trimPiece(r.raw, 0, len(r.raw)); m.fits(lo, hi, nil) {
		w.rawPiece(r, lo, hi, "", false)
		return
	}
	head, _, _ := w.rawContext(keys)
	if first, _, _ := w.rawContext(""); len(first) > len(head) {
		head = first
	}
	room := w.s.b.room(head)
	c := cutting{seps: defaultSeparators(), fill: minFill}
	for lo := 0; lo < len(r.raw) && !w.f.done; {
		got := m.next(lo, len(r.raw), room, c)
		if from, to := trimPiece(r.raw, lo, got.at); from < to {
			above := ""
			if lo > 0 {
				above = keys
			}
			w.rawPiece(r, from, to, above, true)
		}
		lo = got.at
	}
}

// rawContext is what stands above a piece of a row as it stands in the text, at most half of the cap.
func (w *tableWriter) rawContext(keys string) (context string, caption, header bool) {
	line, _ := w.f.breadcrumb(w.f.crumb)
	above := w.captionAbove()
	half := w.s.b.share(2)
	for _, c := range [...]struct {
		text            string
		caption, header bool
	}{{line + above + w.t.above + keys, true, true}, {line + w.t.above + keys, false, true}, {line + keys, false, false}} {
		if w.s.b.within(c.text, half) {
			return c.text, c.caption && above != "", c.header && w.t.above != ""
		}
	}
	return line, false, false
}

// rawPiece emits r.raw[lo:hi].
func (w *tableWriter) rawPiece(r *tableRow, lo, hi int, keys string, forced bool) {
	context, caption, header := w.rawContext(keys)
	_, shown := w.f.breadcrumb(w.f.crumb)
	if context != "" && !w.s.b.fitsWhole(context+r.raw[lo:hi]) { // a word that leaves no room
		context, shown, caption, header = "", 0, false, false
	}
	w.tell(caption, header)
	out := w.chunkOf([]tableRow{*r}, r.raw[lo:hi])
	out.Spans = []connector.Span{{Start: r.span.Start + lo, End: r.span.Start + hi}}
	out.Context, out.ForcedSplit = context, forced
	out.ContextSpans = w.contextSpans(shown, caption, header)
	w.f.emit(out)
}

// tell emits the caption and the header as chunks of their own where no chunk has shown them and the next one, which is cut, will
// not either.
func (w *tableWriter) tell(caption, header bool) {
	if !caption && !w.t.captioned && w.t.captionSpan.Len() > 0 {
		w.t.captioned = true
		w.alone(w.t.captionText, w.t.captionSpan)
	}
	if !header && !w.t.told && w.t.span.Len() > 0 {
		w.t.told = true
		w.alone(w.t.text[:w.t.span.Len()], w.t.span)
	}
}

// alone emits text of a table that is in no row, cut if it must be.
func (w *tableWriter) alone(text string, span connector.Span) {
	m := w.s.b.measure(text)
	c := cutting{seps: defaultSeparators(), fill: minFill}
	open := false
	for lo := 0; lo < len(text) && !w.f.done; {
		got := m.next(lo, len(text), nil, c)
		if from, to := trimPiece(text, lo, got.at); from < to {
			out := connector.Chunk{Text: text[from:to], Spans: []connector.Span{{Start: span.Start + from, End: span.Start + to}}, Headings: w.f.crumb.path(), Page: w.t.page}
			out.Metadata = map[string]any{"table": w.t.id}
			out.ForcedSplit = got.forced || open
			w.f.emit(out)
		}
		lo, open = got.at, got.forced
	}
}
