package strategies

import (
	"iter"
	"slices"

	"github.com/kbsync/kbsync/connector"
)

// unsplit puts together again what was cut only because room was kept for a context: an atom, an address or a word that fits the caps becomes
// a chunk of its own, at the cost of its context.
type unsplit struct {
	caps  []connector.Cap
	base  int // where text starts in the parsed text
	text  []byte
	read  string           // text, as it was last looked at
	atoms []connector.Span // in the parsed text
}

// known is the text that was read and not forgotten. Chunks come many at a time between two readings: it is seldom made anew.
func (u *unsplit) known() string {
	if len(u.read) != len(u.text) {
		u.read = string(u.text)
	}
	return u.read
}

// watch passes elements on and keeps their text for as long as chunks of it may come.
func (u *unsplit) watch(elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		for el, err := range elements {
			if err == nil && el.Kind != connector.KindDropped {
				u.text = append(u.text, el.Text...)
				s := stream{atoms: u.atoms}
				s.addAtoms(&el)
				u.atoms = s.atoms
			}
			if !yield(el, err) {
				return
			}
		}
	}
}

// forget drops the text before a place. Some is left, as the ends of words are looked for.
func (u *unsplit) forget(before int) {
	const least = 64 << 10
	if n := before - 2*wordSight - u.base; n > least {
		u.base, u.text, u.read = u.base+n, append([]byte(nil), u.text[n:]...), ""
		u.atoms = slices.DeleteFunc(u.atoms, func(a connector.Span) bool { return a.End <= u.base })
	}
}

// mend yields the chunks, those that were cut in the middle of something together.
func (u *unsplit) mend(chunks iter.Seq2[connector.Chunk, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		var run []connector.Chunk
		flush := func() bool {
			for _, c := range u.mended(run) {
				if !yield(c, nil) {
					return false
				}
			}
			run = run[:0]
			return true
		}
		for c, err := range chunks {
			if len(run) > 0 && (err != nil || !u.goesOn(run, &c)) && !flush() {
				return
			}
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			if len(c.Spans) > 0 && !c.StoreOnly && len(run) == 0 {
				u.forget(c.Spans[0].Start)
			}
			run = append(run, c)
		}
		flush()
	}
}

// goesOn tells whether a chunk begins in the middle of what a run ends in, and that fits the caps.
func (u *unsplit) goesOn(run []connector.Chunk, c *connector.Chunk) bool {
	last := &run[len(run)-1]
	if !plainCut(last) || !plainCut(c) || last.Spans[0].End > c.Spans[0].Start || run[0].Spans[0].Start < u.base {
		return false
	}
	_, ok := u.around(run[0].Spans[0].Start-u.base, c.Spans[0].Start-u.base)
	return ok
}

// plainCut tells the chunks that are text cut in the middle of something.
func plainCut(c *connector.Chunk) bool {
	return c.ForcedSplit && !c.StoreOnly && !c.Rendered && !c.Generated && len(c.Spans) == 1
}

// mended are the chunks of a run, cut anew around what fits.
func (u *unsplit) mended(run []connector.Chunk) []connector.Chunk {
	if len(run) < 2 {
		return run
	}
	lo, hi := run[0].Spans[0].Start-u.base, run[len(run)-1].Spans[0].End-u.base
	var whole []connector.Span
	for _, c := range run[1:] {
		s, ok := u.around(lo, c.Spans[0].Start-u.base)
		if ok && s.End <= hi && (len(whole) == 0 || whole[len(whole)-1].End <= s.Start) {
			whole = append(whole, s)
		}
	}
	if len(whole) == 0 {
		return run
	}
	places := []int{lo, hi}
	for _, c := range run[1:] {
		if at := c.Spans[0].Start - u.base; !inAny(whole, at) {
			places = append(places, at)
		}
	}
	for _, s := range whole {
		places = append(places, s.Start, s.End)
	}
	slices.Sort(places)
	places = slices.Compact(places)
	var out []connector.Chunk
	for k := 1; k < len(places); k++ {
		if c, ok := u.piece(run, places[k-1], places[k]); ok {
			out = append(out, c)
		}
	}
	return out
}

func inAny(spans []connector.Span, p int) bool {
	_, ok := inside(spans, p)
	return ok
}

// around is what p is in the middle of, if it fits the caps: the smallest atom, else the address or the word.
func (u *unsplit) around(lo, p int) (connector.Span, bool) {
	text := u.known()
	var found connector.Span
	for _, a := range u.atoms {
		a.Start, a.End = max(a.Start-u.base, 0), a.End-u.base
		if a.Start < p && p < a.End && (found.Len() == 0 || a.Len() < found.Len()) {
			found = a
		}
	}
	if found.Len() > 0 {
		from, to := trimSpan(text, found.Start, min(found.End, len(text)))
		if from < p && p < to {
			found = connector.Span{Start: from, End: to}
		} else {
			found = connector.Span{}
		}
	}
	if found.Len() == 0 {
		from, to := urlAround(text, lo, p, len(text))
		if from >= to || from >= p || to <= p {
			from, to = wordAround(text, max(lo, runeFloor(text, lo, p-longestKept)), p, len(text))
		}
		found = connector.Span{Start: from, End: to}
	}
	return found, found.Start >= lo && found.Len() > 0 && keeps(u.caps, text[found.Start:found.End])
}

// longestKept is how far before a cut the start of a word is looked for.
const longestKept = 8 << 10

// wordAround is the word that p is in the middle of; empty if it is in none.
func wordAround(text string, lo, p, hi int) (from, to int) {
	from = lo
	for _, end := range wordEnds(text, lo, p, hi) {
		if end > p {
			return from, end
		}
		from = end
	}
	return p, p
}

// piece is a part of a run; false if it is blank. What stands above it is that of the chunk that it was in.
func (u *unsplit) piece(run []connector.Chunk, lo, hi int) (connector.Chunk, bool) {
	text := u.known()
	from, to := trimSpan(text, lo, hi)
	if from >= to {
		return connector.Chunk{}, false
	}
	k := len(run) - 1
	for k > 0 && run[k].Spans[0].Start-u.base > from {
		k--
	}
	c := run[k]
	c.Text, c.Spans = text[from:to], []connector.Span{{Start: u.base + from, End: u.base + to}}
	c.Tokens, c.TokenUnit, c.Vector = 0, "", nil
	if c.Context != "" && !keeps(u.caps, c.EmbedText()) {
		c.Context, c.ContextSpans = "", nil
	}
	c.ForcedSplit = u.cuts(run, from) || u.cuts(run, to)
	return c, true
}

// cuts tells whether a boundary is in the middle of an atom, or one where a run was cut.
func (u *unsplit) cuts(run []connector.Chunk, p int) bool {
	text := u.known()
	for i, c := range run {
		if s := c.Spans[0]; i > 0 && s.Start-u.base == p || i < len(run)-1 && s.End-u.base == p {
			return true
		}
	}
	if first := run[0].Spans[0].Start - u.base; p == first {
		return false
	}
	for _, a := range u.atoms {
		a.Start, a.End = max(a.Start-u.base, 0), min(a.End-u.base, len(text))
		if a.Start < p && p < a.End && skipBlank(text, a.Start, p) < p && skipBlank(text, p, a.End) < a.End {
			return true
		}
	}
	return false
}
