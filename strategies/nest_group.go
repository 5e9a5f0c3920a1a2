package strategies

import (
	"slices"
	"sort"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// grouper gathers the nodes of one level until they are more than a parent holds.
type grouper struct {
	level   int
	pending []*nestNode
	least   int // bytes of text below which nothing is cut
	next    int // and below which all that is pending is known to fit
}

// newSection tells that the latest node stands below other headings than the one before.
func (g *grouper) newSection() bool {
	n := len(g.pending)
	return n > 1 && !slices.Equal(g.pending[n-2].last.chunk.Headings, g.pending[n-1].first.chunk.Headings)
}

// cut makes parents of what is pending, as far as it is decided; of all if final. The text at hand is measured once, and again only when it
// has grown by half: the work is linear.
func (r *nestRun) cut(g *grouper, final bool) bool {
	if len(g.pending) == 0 {
		return true
	}
	list, level := g.pending, r.levels[g.level]
	base, end := list[0].start, 0
	for _, n := range list {
		end = max(end, n.end)
	}
	m := level.b.measure(r.text.slice(base, end))
	g.pending = nil
	for len(list) > 0 {
		k, decided := r.boundary(g, m, base, list, final)
		if !decided {
			break
		}
		if k < len(list) {
			r.part(g, list, k)
		}
		group := list[:k:k]
		if list = list[k:]; len(list) == 0 {
			list = nil
		}
		g.pending = list // what is written needs to know what is not
		if !r.close(g, m, base, group) {
			return false
		}
	}
	g.pending = slices.Clone(list)
	g.next = 0
	if len(list) > 0 {
		g.next = (end - list[0].start) * 3 / 2
	}
	return true
}

// boundary finds how many of the nodes the first parent has. It is undecided while all fit and more may come.
func (r *nestRun) boundary(g *grouper, m *measure, base int, list []*nestNode, final bool) (k int, decided bool) {
	limit := len(list)
	if r.levels[g.level].sections {
		for k := 1; k < limit; k++ {
			if !slices.Equal(list[k-1].last.chunk.Headings, list[k].first.chunk.Headings) {
				limit = k
			}
		}
	}
	start, ends := list[0].start-base, make([]int, 0, limit)
	fit := 0
	for k := range limit { // as far as could fit, and no further: nodes of many parents may be pending
		end := list[k].end - base
		if k > 0 {
			end = max(end, ends[k-1])
		}
		ends = append(ends, end)
		if k+1 < limit && k&(k+1) != 0 {
			continue
		}
		if !m.fits(start, end, nil) {
			break
		}
		fit = k + 1
	}
	if fit < len(ends) {
		fit += sort.Search(len(ends)-fit, func(i int) bool { return !m.fits(start, ends[fit+i], nil) })
	}
	switch {
	case fit == 0:
		return 1, true // longer than a parent: it stands alone
	case fit == len(list):
		return fit, final
	case fit+1 == len(list) && !final: // what is behind the boundary is known by what follows it
		return 0, false
	case fit == limit:
		return fit, true
	}
	return r.choose(g, m.text, base, list, ends, fit), true
}

// Kinds of boundaries between nodes, the better ones first: 0 to 6 is the number of headings that both sides share where the headings
// differ.
const (
	kindSame      = 7 // the headings are the same
	kindEntangled = 8 // the sides share text
)

// choose finds the best boundary in the later half of what fits: where the headings change at the shallowest level and, of equal ones, the
// one whose hash of the text around it is the smallest, so that an edit moves few of them.
func (r *nestRun) choose(g *grouper, text string, base int, list []*nestNode, ends []int, fit int) int {
	start := list[0].start - base
	best, least := fit, ^uint64(0)
	for k := fit; k > 0; k-- {
		at := list[k].start - base
		if k < fit && at-start < (ends[fit-1]-start)/2 {
			break
		}
		kind := uint64(kindSame)
		before, after := list[k-1].last.chunk.Headings, list[k].first.chunk.Headings
		if !slices.Equal(before, after) {
			kind = uint64(min(shared(before, after), kindSame-1))
		}
		if at < ends[k-1] && (g.level > 0 || r.trimmed(list, k, base+ends[k-1]) == nil) {
			kind = kindEntangled
		}
		near := text[start:min(len(text), max(list[k].end-base, at))]
		key, _ := keyAround(near, min(max(at, ends[k-1])-start, len(near)), kind)
		if key < least {
			best, least = k, key
		}
	}
	return best
}

// shared is how many headings two breadcrumbs begin with alike.
func shared(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// part prepares the boundary before list[k]: leaves on both sides of a parent's end share no text, if that can be. Levels above have their
// boundaries where lower ones have them.
func (r *nestRun) part(g *grouper, list []*nestNode, k int) {
	if g.level > 0 {
		return
	}
	end := 0
	for _, n := range list[:k] {
		end = max(end, n.end)
	}
	if n := list[k]; n.start < end {
		if c := r.trimmed(list, k, end); c != nil {
			n.chunk, n.start, n.end = c, c.Spans[0].Start, c.Spans[0].End
		}
	}
}

// trimmed is the leaf list[k] without what it repeats of the text before end; nil where that must stay.
func (r *nestRun) trimmed(list []*nestNode, k, end int) *connector.Chunk {
	c := *list[k].chunk
	if list[k].end <= end || len(c.Spans) != 1 || c.Rendered || c.Generated || c.ForcedSplit || list[k-1].chunk.ForcedSplit {
		return nil
	}
	start := c.Spans[0].Start
	from, to := skipBlank(c.Text, end-start, len(c.Text)), len(c.Text)
	if k := strings.LastIndexAny(c.Text[end-start:from], "\r\n"); k >= 0 {
		from = end - start + k + 1 // a line's indentation stays with it
	}
	if from >= to || k+1 == len(list) && !r.final || k+1 < len(list) && list[k+1].start <= start+from {
		return nil // the next one repeats some of that text too
	}
	c.Text, c.Spans = c.Text[from:to], []connector.Span{{Start: start + from, End: start + to}}
	c.Tokens, c.TokenUnit, c.Vector = 0, "", nil
	for _, limit := range r.caps {
		if limit.Counter.Count(c.EmbedText()) > limit.Max {
			return nil // fewer bytes can be more tokens
		}
	}
	return &c
}

// close hands a group to the level above. A node that is longer than a parent goes up as it is, and so does an only child, except to
// the highest level: between them no text is stored twice.
func (r *nestRun) close(g *grouper, m *measure, base int, kids []*nestNode) bool {
	first, last := kids[0], kids[len(kids)-1]
	n := &nestNode{start: first.start, kids: kids, level: g.level, first: first.first, last: last.last, headings: first.headings}
	for _, kid := range kids {
		n.end = max(n.end, kid.end)
		n.headings = n.headings[:shared(n.headings, kid.headings)]
	}
	top := g.level == len(r.groups)-1
	if len(kids) == 1 && (!top || first.kids != nil || !m.fits(n.start-base, n.end-base, nil)) {
		return r.add(g.level+1, first)
	}
	return r.add(g.level+1, n)
}
