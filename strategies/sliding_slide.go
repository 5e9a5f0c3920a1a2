package strategies

import (
	"maps"

	"github.com/kbsync/kbsync/connector"
)

// slide is the state of one document.
type slide struct {
	*sliding
	yield func(connector.Chunk, error) bool
	text  passage
	caps  []connector.Cap // of units

	units []unit // those that a window still needs, in order
	at    int    // the next window's first unit
	done  int    // units[:done] stand in a window already
}

// advance writes what is decided; everything if final. It returns false once the consumer wants no more.
func (r *slide) advance(final bool) bool {
	if r.c.Window == "sentence" {
		return r.sentences(final)
	}
	for r.at < len(r.units) {
		if !final && r.at+r.c.Size >= len(r.units) { // the unit behind a window decides how it goes on
			break
		}
		end := r.windowEnd(r.at)
		if end <= r.done { // nothing that has not stood in a window
			r.at++
			continue
		}
		if !r.yield(r.window(r.at, end), nil) {
			return false
		}
		r.done = end
		if end == len(r.units) || !r.units[end-1].joins(&r.units[end]) {
			r.at = end
		} else {
			r.at = min(r.at+r.c.Step, end)
		}
	}
	r.drop(r.at)
	return true
}

// windowEnd is behind the last unit of the window that begins at a unit.
func (r *slide) windowEnd(from int) int {
	end := from + 1
	for end < min(from+r.c.Size, len(r.units)) && r.units[end-1].joins(&r.units[end]) {
		end++
	}
	first := &r.units[from]
	for end > from+1 && !r.b.fitsWhole(first.Context+r.text.slice(first.start(), r.reach(from, end))) {
		end--
	}
	return end
}

// reach is the last byte of units: one may end before the one before it does.
func (r *slide) reach(from, end int) int {
	last := 0
	for k := from; k < end; k++ {
		last = max(last, r.units[k].end())
	}
	return last
}

// window is the chunk over units[from:end].
func (r *slide) window(from, end int) connector.Chunk {
	first := &r.units[from]
	c := first.Chunk
	if end == from+1 {
		return c
	}
	span := connector.Span{Start: first.start(), End: r.reach(from, end)}
	c.Text, c.Spans = r.text.slice(span.Start, span.End), []connector.Span{span}
	c.Tokens, c.TokenUnit, c.Vector = 0, "", nil
	c.ForcedSplit = first.ForcedSplit && r.forced(span.Start) || r.units[end-1].ForcedSplit && r.forced(span.End)
	return c
}

func (r *slide) forced(at int) bool {
	return r.text.forced(at, at-r.lookBehind(), r.caps)
}

// lookBehind is how much text before a boundary is looked at.
func (r *slide) lookBehind() int {
	n := 4 * anchorBytes
	for _, c := range r.caps {
		n = max(n, min(8*c.Max, windowBytes))
	}
	return n
}

// drop forgets the units before one, and their text.
func (r *slide) drop(n int) {
	if n < len(r.units)/2 || n == 0 {
		return
	}
	if n < len(r.units) {
		r.text.forget(r.units[n].start() - r.lookBehind())
	} else {
		r.text.forget(r.units[n-1].start() - r.lookBehind())
	}
	r.units = append(r.units[:0], r.units[n:]...)
	r.at, r.done = r.at-n, max(0, r.done-n)
}

// sentences writes every unit with the window around it.
func (r *slide) sentences(final bool) bool {
	for ; r.at < len(r.units) && (final || r.at+r.c.Around < len(r.units)-1); r.at++ {
		c := r.units[r.at].Chunk
		if r.units[r.at].passage() {
			from, end := r.at, r.at+1
			for from > max(0, r.at-r.c.Around) && r.units[from-1].passage() && r.units[from-1].start() < r.units[from].start() {
				from--
			}
			for end < min(len(r.units), r.at+r.c.Around+1) && r.units[end].passage() && r.units[end].start() > r.units[end-1].start() {
				end++
			}
			start, stop := r.units[from].start(), r.reach(from, end)
			c.Metadata = maps.Clone(c.Metadata)
			if c.Metadata == nil {
				c.Metadata = map[string]any{}
			}
			c.Metadata["window"], c.Metadata["window_start"], c.Metadata["window_end"] = r.text.slice(start, stop), start, stop
		}
		if !r.yield(c, nil) {
			return false
		}
	}
	r.drop(max(0, r.at-r.c.Around))
	return true
}
