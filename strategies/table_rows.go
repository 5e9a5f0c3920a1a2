package strategies

import (
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// row queues a row, and writes chunks as soon as they are decided.
func (w *tableWriter) row(r tableRow) {
	r.text = w.render(&r)
	r.size = w.s.b.caps[0].Counter.Count(r.text)
	w.x += r.size
	w.rows++
	r.x, r.seq = w.x, w.rows
	if w.s.c.RowsPerChunk == 0 {
		w.a.add(candidate{at: r.seq, x: w.x - r.size, key: rowKey(r.text)})
	}
	w.queue = append(w.queue, r)
	w.drain(false)
}

// rowKey is a hash of a row (FNV-1a, 64 bits).
func rowKey(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	h ^= h >> 32
	return h * 0x9E3779B97F4A7C15 >> 4
}

// drain writes the chunks that are decided: with final all, else those behind which enough rows wait to know the places
// where packing starts afresh.
func (w *tableWriter) drain(final bool) {
	if final {
		w.a.advance(w.x + w.a.reach + 1)
	}
	for _, at := range w.a.found {
		w.found[at] = true
	}
	w.a.found = w.a.found[:0]
	for len(w.queue) > 0 && !w.f.done {
		held := w.queue[len(w.queue)-1].x - w.queue[0].x
		if !final && held <= w.s.b.caps[0].Max+w.a.reach && (w.s.c.RowsPerChunk == 0 || len(w.queue) < w.s.c.RowsPerChunk) {
			return
		}
		w.chunk()
	}
}

// chunk writes the first chunk of the queue.
func (w *tableWriter) chunk() {
	first := &w.queue[0]
	from := w.overlap()
	rows := append(w.tail[from:len(w.tail):len(w.tail)], *first)
	sum := w.headSize()
	for i := range rows {
		sum += rows[i].size
	}
	for len(rows) > 1 && !w.fits(rows, sum) {
		sum -= rows[0].size
		rows = rows[1:]
	}
	repeated := len(rows) - 1
	if !w.fits(rows, sum) {
		w.wide(first)
		w.pop(1)
		w.tail = nil
		return
	}
	n := 1
	limit := w.s.c.RowsPerChunk
	for n < len(w.queue) && (limit == 0 || n < limit) && !w.found[w.queue[n].seq] {
		next := w.queue[n]
		if !w.fits(append(rows, next), sum+next.size) {
			break
		}
		rows = append(rows, next)
		sum += next.size
		n++
	}
	text := w.text(rows)
	if strings.TrimSpace(text) == "" { // rows without a value: they stand as they are
		for i := range rows[repeated:] {
			w.raw(&rows[repeated+i], "")
		}
		w.pop(n)
		w.tail = nil
		return
	}
	w.write(rows, text, "")
	w.tail = rows[repeated:]
	w.pop(n)
}

func (w *tableWriter) pop(n int) {
	for i := range n {
		delete(w.found, w.queue[i].seq)
	}
	w.queue = w.queue[n:]
}

// overlap is the first of the last chunk's rows to repeat.
func (w *tableWriter) overlap() int {
	from, size := len(w.tail), 0
	for w.s.b.overlap > 0 && from > 0 && size+w.tail[from-1].size <= w.s.b.overlap {
		from--
		size += w.tail[from].size
	}
	return from
}

// fits tells whether rows make one chunk; sum is what their sizes and the context's add up to. Rows end in line ends, so
// their counts add up but for a token at each join: the text is counted only where the sum comes that close to the cap.
func (w *tableWriter) fits(rows []tableRow, sum int) bool {
	b := w.s.b
	if len(b.caps) == 1 {
		switch most := b.caps[0].Max; {
		case sum+len(rows)+1 <= most:
			return true
		case sum > most+len(rows)+1:
			return false
		}
	}
	line, _ := w.f.breadcrumb(w.f.crumb)
	return b.fitsWhole(line + w.t.header + w.text(rows))
}

// headSize is what context and frame take in the primary unit.
func (w *tableWriter) headSize() int {
	line, _ := w.f.breadcrumb(w.f.crumb)
	frame := w.frame(nil)
	if line+w.t.header+frame == "" {
		return 0
	}
	return w.s.b.caps[0].Counter.Count(line + w.t.header + frame)
}

// write emits a chunk of rows.
func (w *tableWriter) write(rows []tableRow, text, context string) {
	line, shown := w.f.breadcrumb(w.f.crumb)
	c := w.chunkOf(rows, text)
	c.Context = line + w.t.header + context
	c.ContextSpans = w.contextSpans(shown)
	c.Rendered = true
	c.Spans = rowSpans(rows)
	w.f.emit(c)
}

// contextSpans are where the breadcrumb and the table's header stand.
func (w *tableWriter) contextSpans(shown int) []connector.Span {
	out := contextSpans(w.f.crumb, shown, nil)
	if w.t.span.Len() > 0 {
		out = append(out, w.t.span)
	}
	return out
}

// chunkOf is a chunk with the metadata of rows.
func (w *tableWriter) chunkOf(rows []tableRow, text string) connector.Chunk {
	c := connector.Chunk{
		Text:     text,
		Headings: w.f.crumb.path(),
		Page:     w.t.page,
		Metadata: map[string]any{"row_start": rows[0].number, "row_end": rows[len(rows)-1].number},
	}
	if !w.t.record {
		c.Metadata["table"] = w.t.id
	}
	if w.t.sheet != "" {
		c.Metadata["sheet"] = w.t.sheet
	}
	if w.t.caption != "" {
		c.Metadata["caption"] = w.t.caption
	}
	return c
}

// rowSpans joins the spans of rows that follow each other.
func rowSpans(rows []tableRow) []connector.Span {
	var out []connector.Span
	for i := range rows {
		s := rows[i].span
		if n := len(out); n > 0 && s.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

// wide writes a row that does not fit: groups of its cells, the key columns above all but the first. If a cell alone is
// too long, the row is cut as it stands in the text.
func (w *tableWriter) wide(r *tableRow) {
	header, mode := w.t.header, w.t.mode
	if mode == "markdown" || mode == "html" {
		w.t.header, w.t.mode = "", "rows"
	}
	defer func() { w.t.header, w.t.mode = header, mode }()
	keys := w.keys(r)
	var ends []int
	for i := 0; i < len(r.cells); {
		above := keys
		if i == 0 {
			above = ""
		}
		j := i
		for j < len(r.cells) && w.holds(above, w.pairs(r, i, j+1)) {
			j++
		}
		if j == i {
			w.raw(r, keys)
			return
		}
		ends = append(ends, j)
		i = j
	}
	i, above := 0, ""
	for _, j := range ends {
		if text := w.pairs(r, i, j); text != "" {
			w.write([]tableRow{*r}, text, above)
		}
		i, above = j, keys
	}
}

// raw writes a row as it stands in the text: whole if that fits, else cut where it must be, the key columns above all pieces
// but the first.
func (w *tableWriter) raw(r *tableRow, keys string) {
	m := w.s.b.measure(r.raw)
	line, shown := w.f.breadcrumb(w.f.crumb)
	if lo, hi := trimPiece(r.raw, 0, len(r.raw)); m.fits(lo, hi, nil) {
		w.rawPiece(r, lo, hi, line, shown, false)
		return
	}
	room := w.s.b.room(line + keys)
	c := cutting{seps: defaultSeparators(), fill: minFill}
	for lo := 0; lo < len(r.raw) && !w.f.done; {
		got := m.next(lo, len(r.raw), room, c)
		if from, to := trimPiece(r.raw, lo, got.at); from < to {
			context := line
			if lo > 0 {
				context += keys
			}
			w.rawPiece(r, from, to, context, shown, true)
		}
		lo = got.at
	}
}

// rawPiece emits r.raw[lo:hi].
func (w *tableWriter) rawPiece(r *tableRow, lo, hi int, context string, shown int, forced bool) {
	if context != "" && !w.s.b.fitsWhole(context+r.raw[lo:hi]) { // a word that leaves no room
		context, shown = "", 0
	}
	out := w.chunkOf([]tableRow{*r}, r.raw[lo:hi])
	out.Spans = []connector.Span{{Start: r.span.Start + lo, End: r.span.Start + hi}}
	out.Context, out.ForcedSplit = context, forced
	out.ContextSpans = w.contextSpans(shown)
	w.f.emit(out)
}

// holds tells whether text below the breadcrumb and a context keeps the caps.
func (w *tableWriter) holds(context, text string) bool {
	line, _ := w.f.breadcrumb(w.f.crumb)
	return w.s.b.fitsWhole(line + w.t.header + context + text)
}

// keys are the key columns of a row as a context, or empty where they would take more than a quarter of the cap.
func (w *tableWriter) keys(r *tableRow) string {
	keys := w.t.keys
	if w.t.record {
		keys = keyColumns(r.names, w.s.c.KeyColumns)
	}
	cols := make([]int, 0, len(keys))
	for i := range keys {
		if i < len(r.cells) {
			cols = append(cols, i)
		}
	}
	slices.Sort(cols)
	line := ""
	for _, i := range cols {
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
	if line += "\n"; !w.s.b.within(line, w.s.b.share(4)) {
		return ""
	}
	return line
}
