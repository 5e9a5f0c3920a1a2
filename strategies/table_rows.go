package strategies

import (
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
	if w.t.narrow || first.short || !w.fits(rows, sum) {
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
	w.write(rows, text, w.t.header, nil)
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
	return b.fitsWhole(w.above() + w.t.header + w.text(rows))
}

// above is the context above a table's header: the breadcrumb, and the caption if it has not been shown or takes little.
func (w *tableWriter) above() string {
	line, _ := w.f.breadcrumb(w.f.crumb)
	return line + w.captionAbove()
}

func (w *tableWriter) captionAbove() string {
	if w.t.captioned && !w.s.b.within(w.t.captionLine, w.s.b.share(recaptionShare)) {
		return ""
	}
	return w.t.captionLine
}

// headSize is what context and frame take in the primary unit.
func (w *tableWriter) headSize() int {
	head := w.above() + w.t.header
	if w.t.mode == "html" {
		head += htmlTable(w.t.names, "")
	}
	if head == "" {
		return 0
	}
	return w.s.b.caps[0].Counter.Count(head)
}

// write emits a chunk of rows below a context that follows the breadcrumb and the caption.
func (w *tableWriter) write(rows []tableRow, text, context string, metadata map[string]any) {
	c := w.chunkOf(rows, text)
	for k, v := range metadata {
		c.Metadata[k] = v
	}
	c.Context = w.above() + context
	_, shown := w.f.breadcrumb(w.f.crumb)
	c.ContextSpans = w.contextSpans(shown, w.captionAbove() != "", true)
	c.Rendered = true
	c.Spans = rowSpans(rows)
	w.f.emit(c)
}

// contextSpans are where the breadcrumb, the caption and the table's header stand, and notes that they have been shown.
func (w *tableWriter) contextSpans(shown int, caption, header bool) []connector.Span {
	out := contextSpans(w.f.crumb, shown, nil)
	if caption {
		w.t.captioned = true
		if w.t.captionSpan.Len() > 0 {
			out = append(out, w.t.captionSpan)
		}
	}
	if header && w.t.span.Len() > 0 {
		w.t.told = true
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
	if w.t.short {
		c.Metadata["header_shortened"] = true
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
