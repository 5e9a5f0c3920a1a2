package strategies

import (
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// drain writes the chunks that are decided: with final all, else those behind which enough waits to know the places where
// packing starts afresh.
func (w *turnWriter) drain(final bool) {
	if final {
		w.a.advance(w.x + w.a.reach + 1)
	}
	for _, at := range w.a.found {
		w.found[at] = true
	}
	w.a.found = w.a.found[:0]
	for len(w.queue) > 0 && !w.f.done {
		held := w.queue[len(w.queue)-1].x - w.queue[0].x + w.queue[0].size
		if !final && held <= 2*w.s.b.caps[0].Max+w.a.reach {
			return
		}
		if !w.chunk(final) {
			return
		}
	}
}

// packing is an attempt at a chunk: the utterances, their text, and where each one ends in it.
type packing struct {
	items []said
	text  string
	ends  []int
	m     *measure
	room  []int
	above above
}

// above is the context of a chunk.
type above struct {
	text  string
	spans []connector.Span
}

// chunk writes the first chunk of the queue. It returns false if more must be known first.
func (w *turnWriter) chunk(final bool) bool {
	most := w.s.b.caps[0].Max
	k, sum := 0, 0
	for k < len(w.queue) && sum <= most+k+8 {
		sum += w.queue[k].size
		k++
	}
	ended := final && k == len(w.queue)
	for from := w.overlap(); ; from++ {
		repeated := len(w.tail) - from
		p := w.pack(append(slices.Clone(w.tail[from:]), w.queue[:k]...))
		n := w.fitting(&p, repeated, k)
		if n == 0 && repeated > 0 {
			continue
		}
		if n == 0 {
			w.long()
			return true
		}
		if n == len(w.queue) && !final {
			if n--; n == 0 {
				return false
			}
		}
		whole := ended && n == k
		if !whole || w.begun || repeated > 0 {
			if at := w.afresh(n); at > 0 {
				n, whole = at, ended && at == k
			} else if !whole {
				n = w.choose(&p, repeated, n, ended)
			}
		}
		if repeated > 0 && !whole && p.items[repeated+n-1].bond == bondPair {
			continue
		}
		w.write(&p, repeated, n)
		return true
	}
}

// afresh is the number of utterances up to the first place, among n, where packing starts afresh; 0 if there is none.
func (w *turnWriter) afresh(n int) int {
	for i := 1; i < n; i++ {
		if w.found[w.queue[i].seq] {
			return i
		}
	}
	return 0
}

// overlap is the first of the last chunk's utterances to repeat.
func (w *turnWriter) overlap() int {
	from := len(w.tail)
	if from == 0 || w.queue[0].inner {
		return from
	}
	b := w.s.b
	limit, turns := b.overlap, 0
	if w.s.turns > 0 {
		limit = b.caps[0].Max / 2
	}
	for size := 0; from > 0; from-- {
		u := &w.tail[from-1]
		if size += u.size; size > limit || u.inner || u.span.Start <= w.start {
			break
		}
		if w.s.turns > 0 && (from == len(w.tail) || u.turn != w.tail[from].turn) {
			if turns++; turns > w.s.turns {
				break
			}
		}
	}
	return from
}

// pack lays utterances end to end below their context.
func (w *turnWriter) pack(items []said) packing {
	p := packing{items: items, ends: make([]int, len(items))}
	var b strings.Builder
	for i := range items {
		b.WriteString(items[i].text)
		p.ends[i] = b.Len()
	}
	p.text = b.String()
	p.m = w.s.b.measure(p.text)
	p.above = w.above(&items[0], items[0].inner)
	p.room = w.s.b.room(p.above.text)
	return p
}

// fitting is how many of k new utterances fit behind the repeated ones; without the context if none does.
func (w *turnWriter) fitting(p *packing, repeated, k int) int {
	for {
		for n := k; n > 0; n-- {
			lo, hi := trimSpan(p.text, 0, p.ends[repeated+n-1])
			if p.m.fits(lo, hi, p.room) && (p.room == nil || text0(p.text[lo:hi]) || w.s.b.fitsWhole(p.above.text+p.text[lo:hi])) {
				return n
			}
		}
		if p.above.text == "" || p.items[0].inner {
			return 0
		}
		p.above, p.room = above{}, nil
	}
}

// text0 tells text of which the first character joins no line end before it.
func text0(text string) bool { return text != "" && text[0] != '/' && !spaceStart(text) }

// choose finds the best end among the first n new utterances: the last place that parts no pair; before it, if that is
// not too near, the last one that parts no turn.
func (w *turnWriter) choose(p *packing, repeated, n int, ended bool) int {
	start := 0
	if repeated > 0 {
		start = p.ends[repeated-1]
	}
	end := func(k int) int { return p.ends[repeated+k-1] }
	best := n
	for k := n; k > 0; k-- {
		if p.items[repeated+k-1].bond < bondPair {
			best = k
			break
		}
	}
	for k := best; k > 0 && 3*(end(k)-start) >= end(n)-start; k-- {
		if p.items[repeated+k-1].bond == bondNone {
			best = k
			break
		}
	}
	least := w.s.b.minChars
	short := func(lo, hi int) bool {
		lo, hi = trimSpan(p.text, lo, hi)
		return chars(p.text[lo:hi], least) < least
	}
	for best < n && short(start, end(best)) {
		best++
	}
	for ended && best > 1 && short(end(best), len(p.text)) && !short(start, end(best-1)) {
		best--
	}
	return best
}

// write emits the first n new utterances with the repeated ones.
func (w *turnWriter) write(p *packing, repeated, n int) {
	items := p.items[:repeated+n]
	lo, hi := trimSpan(p.text, 0, p.ends[len(items)-1])
	if lo < hi {
		c := w.chunkOf(items)
		c.Text = p.text[lo:hi]
		c.Context, c.ContextSpans = p.above.text, p.above.spans
		at := 0
		for i := range items {
			from, to := max(lo, at), min(hi, p.ends[i])
			if shift := items[i].span.Start - at; from < to {
				c.Spans = append(c.Spans, connector.Span{Start: from + shift, End: to + shift})
			}
			at = p.ends[i]
		}
		c.Spans = joinSpans(c.Spans)
		c.ForcedSplit = items[0].inner
		w.emit(c)
	}
	w.tail = items
	for i := range n {
		delete(w.found, w.queue[i].seq)
	}
	w.queue = w.queue[n:]
}

func joinSpans(spans []connector.Span) []connector.Span {
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].End == s.Start {
			out[n-1].End = s.End
			continue
		}
		out = append(out, s)
	}
	return out
}

func (w *turnWriter) emit(c connector.Chunk) {
	w.begun, w.start = true, c.Spans[0].Start
	w.f.emit(c)
}
