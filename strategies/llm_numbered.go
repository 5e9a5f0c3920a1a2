package strategies

import (
	"hash/fnv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sentences"
)

// numberedUnit is a sentence, an atom or a piece of one that is too long: what has a number.
type numberedUnit struct {
	start, end int  // in the text of the stretch
	forced     bool // it ends in the middle of something
	cut        bool // the model cuts behind it
	reason     string
}

// numbered is a stretch of text as units.
type numbered struct {
	m      *measure
	stream *stream
	atoms  *atomSet
	units  []numberedUnit
}

// read finds the units; each keeps the caps.
func (n *numbered) read() {
	text := n.m.text
	c := n.stream.c.cutting
	c.atoms = n.atoms
	var keep []connector.Span
	if n.atoms != nil {
		keep = n.atoms.keep
	}
	for pos := 0; pos < len(text); {
		for len(keep) > 0 && keep[0].End <= pos {
			keep = keep[1:]
		}
		end := sentences.Next(text, pos)
		if len(keep) > 0 && keep[0].Start < end {
			if end = keep[0].Start; end <= pos {
				end = keep[0].End
			}
		}
		if end <= pos {
			end = len(text)
		}
		for pos < end {
			from, to := trimSpan(text, pos, end)
			if from == to { // blank: it goes with what stands before it
				if k := len(n.units); k > 0 {
					n.units[k-1].end = end
				}
				break
			}
			if n.m.fits(from, to, nil) {
				n.units = append(n.units, numberedUnit{start: pos, end: end})
				break
			}
			got := n.m.next(pos, end, nil, c)
			n.units = append(n.units, numberedUnit{start: pos, end: got.at, forced: got.forced})
			pos = got.at
		}
		pos = end
	}
}

// shown is a window: the model is shown the units from lo to hi and decides which of those from from to to it cuts behind.
type shown struct {
	lo, from, to, hi int
	cuts             []int
	reason           string
}

// besides is how many units on either side of a window are shown with it.
const besides = 3

// windows divides the units at places that the text itself decides (see anchorer), so that an edit changes the windows nearby alone, and where
// these are too far from each other by size.
func (n *numbered) windows(tokens func(string) int, most int) []shown {
	a := anchorer{reach: max(1, most/3)}
	sizes := make([]int, len(n.units))
	x := 0
	for i, u := range n.units {
		sizes[i] = tokens(n.m.text[u.start:u.end])
		a.add(candidate{at: i, x: x, key: n.key(i)})
		x += sizes[i]
	}
	a.advance(x)
	var out []shown
	from, size := 0, 0
	end := func(to int) {
		if to > from {
			out = append(out, shown{lo: max(0, from-besides), from: from, to: to, hi: min(len(n.units), to+besides)})
		}
		from, size = to, 0
	}
	for i := range n.units {
		anchor := len(a.found) > 0 && a.found[0] == i
		if anchor {
			a.found = a.found[1:]
		}
		if anchor || size+sizes[i] > most {
			end(i)
		}
		size += sizes[i]
	}
	end(len(n.units))
	return out
}

// key orders the places before units: those below a blank line come first, then by a hash of the text around.
func (n *numbered) key(i int) uint64 {
	h := fnv.New64a()
	for k := max(0, i-1); k <= i; k++ {
		_, _ = h.Write([]byte(n.m.text[n.units[k].start:n.units[k].end]))
	}
	kind := uint64(1)
	if i > 0 && strings.Contains(strings.ReplaceAll(tail(n.m.text[n.units[i-1].start:n.units[i-1].end]), "\r", ""), "\n\n") {
		kind = 0
	}
	x := h.Sum64()
	x ^= x >> 31
	return kind<<60 | x>>4
}

// tail is the blank space at the end of a text, and a little before it.
func tail(text string) string { return text[max(0, len(text)-8):] }

// texts are the units that a window shows.
func (n *numbered) texts(w shown) []string {
	out := make([]string, 0, w.hi-w.lo)
	for _, u := range n.units[w.lo:w.hi] {
		out = append(out, n.m.text[u.start:u.end])
	}
	return out
}

// decide takes over the cuts of a window that are its own.
func (n *numbered) decide(w shown) {
	for _, cut := range w.cuts {
		if i := w.lo + cut; w.from <= i && i < w.to {
			n.units[i].cut = true
		}
	}
	for i := w.from; i < w.to; i++ {
		n.units[i].reason = w.reason
	}
}

// numberedRun is a run of units, both ends included.
type numberedRun struct{ from, to int }

// parts are the units as they become chunks: as the model cuts, within the caps, and not below min_chars if that can be.
func (n *numbered) parts() []numberedRun {
	var out []numberedRun
	for i := range n.units {
		last := len(out) - 1
		if last < 0 || n.units[i-1].cut || !n.fit(out[last].from, i) {
			out = append(out, numberedRun{i, i})
			continue
		}
		out[last].to = i
	}
	return n.mend(out)
}

func (n *numbered) span(from, to int) (lo, hi int) {
	return trimSpan(n.m.text, n.units[from].start, n.units[to].end)
}

func (n *numbered) fit(from, to int) bool {
	lo, hi := n.span(from, to)
	return n.m.fits(lo, hi, nil)
}

func (n *numbered) small(p numberedRun) bool {
	lo, hi := n.span(p.from, p.to)
	least := n.m.b.minChars
	return least > 0 && chars(n.m.text[lo:hi], least) < least
}

// mend joins parts that are too small with a neighbour. Where both together are over the cap, they are divided anew so that neither is.
func (n *numbered) mend(parts []numberedRun) []numberedRun {
	out := parts[:0]
	for _, p := range parts {
		k := len(out) - 1
		switch {
		case k < 0 || !n.small(p) && !n.small(out[k]):
			out = append(out, p)
		case n.fit(out[k].from, p.to):
			out[k].to = p.to
		default:
			if at, ok := n.divide(out[k].from, p.to); ok {
				out[k].to, p.from = at, at+1
			}
			out = append(out, p)
		}
	}
	return out
}

// divide finds the unit behind which a run of units is divided, nearest to its middle, so that both halves fit and neither is small.
func (n *numbered) divide(from, to int) (at int, ok bool) {
	lo, hi := n.span(from, to)
	best := -1
	for k := from; k < to; k++ {
		far := n.units[k].end - (lo+hi)/2
		if far < 0 {
			far = -far
		}
		if best >= 0 && far >= best {
			continue
		}
		if n.fit(from, k) && n.fit(k+1, to) && !n.small(numberedRun{from, k}) && !n.small(numberedRun{k + 1, to}) {
			best, at = far, k
		}
	}
	return at, best >= 0
}

// chunk is a part; false if it is blank.
func (n *numbered) chunk(p numberedRun) (connector.Chunk, bool) {
	lo, hi := n.span(p.from, p.to)
	if lo == hi {
		return connector.Chunk{}, false
	}
	base := n.stream.base
	c := connector.Chunk{Text: n.m.text[lo:hi], Spans: []connector.Span{{Start: base + lo, End: base + hi}}}
	c.Tokens, c.TokenUnit = n.m.tokens(lo, hi, nil)
	c.Headings, c.Page = n.stream.markAt(base + skipBlank(n.m.text, lo, hi))
	c.ForcedSplit = n.units[p.to].forced || p.from > 0 && n.units[p.from-1].forced ||
		n.atoms != nil && (n.stream.cutsBig(n.atoms, lo) || n.stream.cutsBig(n.atoms, hi))
	if reason := n.units[p.from].reason; reason != "" {
		noted(&c, "boundaries_missing", reason)
	}
	return c, true
}
