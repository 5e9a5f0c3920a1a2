package strategies

import (
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// long cuts the first utterance between sentences. What is left once the rest fits a chunk stays in the queue, to be packed
// with what follows.
func (w *turnWriter) long() {
	u := &w.queue[0]
	m := w.s.b.measure(u.text)
	cut := cutting{seps: sentenceSeparators(), fill: minFill}
	first, later := w.above(u, u.inner), w.above(u, true)
	for lo := 0; lo < len(u.text) && !w.f.done; {
		a := later
		if lo == 0 {
			a = first
		}
		room := w.s.b.room(a.text)
		from, to := trimPiece(u.text, lo, len(u.text))
		if lo > 0 && (from == to || m.fits(from, to, room)) {
			w.keep(u, lo)
			return
		}
		got := m.next(lo, len(u.text), room, cut)
		if from, to := trimPiece(u.text, lo, got.at); from < to {
			c := w.chunkOf(w.queue[:1])
			c.Text = u.text[from:to]
			if a.text != "" && w.s.b.fitsWhole(a.text+c.Text) {
				c.Context, c.ContextSpans = a.text, a.spans
			}
			c.Spans = []connector.Span{{Start: u.span.Start + from, End: u.span.Start + to}}
			c.ForcedSplit = true
			w.emit(c)
		}
		lo = got.at
	}
	w.queue, w.tail = w.queue[1:], nil
}

// keep leaves the rest of an utterance in the queue.
func (w *turnWriter) keep(u *said, lo int) {
	w.tail = nil
	if strings.TrimSpace(u.text[lo:]) == "" {
		w.queue = w.queue[1:]
		return
	}
	u.text = u.text[lo:]
	u.span.Start += lo
	u.size = w.s.b.caps[0].Counter.Count(u.text)
	u.inner = true
}

// above is what stands above a chunk that starts with u: the title of the conversation, and the speaker's line if the chunk
// starts within an utterance. Each is left out where it would take more than a quarter of a cap.
func (w *turnWriter) above(u *said, inner bool) above {
	var a above
	if w.title == "" || w.titleSpan.Start == u.span.Start && w.titleSpan.Len() > 0 {
		line, shown := w.f.breadcrumb(w.f.crumb)
		a = above{text: line, spans: contextSpans(w.f.crumb, shown, nil)}
	} else {
		line, shown := w.s.b.breadcrumb(append(w.f.crumb.path(), w.title), w.f.limit)
		a = above{text: line, spans: contextSpans(w.f.crumb, max(0, shown-1), nil)}
		if shown > 0 && w.titleSpan.Len() > 0 {
			a.spans = append(slices.Clip(a.spans), w.titleSpan)
		}
	}
	head := strings.TrimSpace(u.head)
	if !inner || head == "" || !w.s.b.within(head+"\n", w.s.b.share(4)) {
		return a
	}
	a.text += head + "\n"
	lo, hi := trimSpan(u.head, 0, len(u.head))
	a.spans = append(slices.Clip(a.spans), connector.Span{Start: u.headSpan.Start + lo, End: u.headSpan.Start + hi})
	return a
}

// chunkOf is a chunk with the metadata of utterances.
func (w *turnWriter) chunkOf(items []said) connector.Chunk {
	c := connector.Chunk{Metadata: map[string]any{"turn_start": max(1, items[0].turn), "turn_end": max(1, items[len(items)-1].turn)}}
	c.Headings = w.f.crumb.path()
	if w.title != "" {
		c.Headings = append(slices.Clip(c.Headings), w.title)
	}
	var speakers []string
	var start, end string
	for i := range items {
		u := &items[i]
		if u.speaker != "" && !slices.Contains(speakers, u.speaker) {
			speakers = append(speakers, u.speaker)
		}
		if u.start != "" && (start == "" || len(u.start) == len(start) && u.start < start) {
			start = u.start
		}
		last := orText(u.end, u.start)
		if last != "" && (end == "" || len(last) != len(end) || last > end) {
			end = last
		}
	}
	if speakers != nil {
		c.Metadata["speakers"] = speakers
	}
	if start != "" {
		c.Metadata["time_start"], c.Metadata["time_end"] = start, end
	}
	return c
}
