package strategies

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"strconv"

	"github.com/kbsync/kbsync/connector"
)

// How parents are made, by parent_child and hierarchical alike: from the bottom up. Another strategy cuts the children; a parent is the
// parsed text from the first byte of its first child to the last byte of its last one, so no child lies in two parents, and every strategy
// can be below. Parents of parents are made the same way.

// nest is what both strategies are: one that cuts and the levels above it, the lowest first.
type nest struct {
	name   string
	base   *nestBase
	levels []nestLevel
	// mergeRatio, if not 0, is written into parents: at query time more than this share of the children must hit.
	mergeRatio float64
}

// nestLevel is one size of parents.
type nestLevel struct {
	b        *budget
	sections bool // a parent ends where the headings change
}

var _ connector.Strategy = (*nest)(nil)

// Info describes it. The caps of chunks are those of the strategy below.
func (s *nest) Info() connector.StrategyInfo {
	base := s.base.info()
	return connector.StrategyInfo{Name: s.name, Version: 1 + base.Version, Caps: base.Caps, ParentCaps: s.levels[len(s.levels)-1].b.caps,
		Models: base.Models, Exempt: base.Exempt}
}

// Chunks yields every parent before its children. It holds what the strategy below holds and the text of about two of the largest parents.
func (s *nest) Chunks(ctx context.Context, doc *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		base, elements, stop := s.base.choose(elements)
		defer stop()
		r := &nestRun{nest: s, yield: yield, caps: base.Info().Caps, groups: make([]grouper, len(s.levels))}
		for k := range r.groups {
			r.groups[k] = grouper{level: k, least: 4 * s.levels[k].b.caps[0].Max}
		}
		for c, err := range base.Chunks(ctx, doc, r.text.tap(elements)) {
			if err == nil && (c.StoreOnly || c.ParentKey != "") {
				err = fmt.Errorf("%s: of: %s makes parents of its own: choose a strategy that only cuts", s.name, base.Info().Name)
			}
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			if !r.leaf(&c) {
				return
			}
		}
		r.final = true
		for k := range r.groups {
			if !r.cut(&r.groups[k], true) {
				return
			}
		}
	}
}

// nestNode is a chunk or a group of nodes.
type nestNode struct {
	start, end         int              // in the parsed text
	chunk              *connector.Chunk // of a leaf
	kids               []*nestNode      // of a group
	level              int              // of a group: 0 is the lowest
	first, last        *nestNode        // its outermost leaves
	headings           []string         // what the breadcrumbs of its leaves begin with
	openStart, openEnd bool             // of a leaf: the boundary there is a forced one
}

// nestRun is the state of one document.
type nestRun struct {
	*nest
	yield  func(connector.Chunk, error) bool
	text   passage
	caps   []connector.Cap
	groups []grouper
	latest *nestNode // leaf
	begun  int       // where it starts
	final  bool      // no leaf is to come
}

// leaf takes the next chunk of the strategy below.
func (r *nestRun) leaf(c *connector.Chunk) bool {
	n := &nestNode{chunk: c, start: r.begun, headings: c.Headings}
	n.first, n.last = n, n
	if len(c.Spans) > 0 { // rows may come in another order than they stand in: a parent starts no earlier than the one before
		n.start, n.end = max(r.begun, c.Spans[0].Start), c.Spans[len(c.Spans)-1].End
	}
	n.end = max(n.start, n.end)
	if last := r.latest; last != nil { // where both are marked as forced splits, which boundary is one?
		last.openEnd = last.chunk.ForcedSplit && r.text.forced(last.end, last.start, r.caps)
		n.openStart = c.ForcedSplit && r.text.forced(n.start, last.start, r.caps)
	}
	r.begun, r.latest = n.start, n
	return r.add(0, n)
}

// add hands a node to a level; one above the highest is written.
func (r *nestRun) add(level int, n *nestNode) bool {
	if level == len(r.groups) {
		ok := r.emit(n, "", 0, 0)
		r.text.forget(r.needed(n))
		return ok
	}
	g := &r.groups[level]
	if len(g.pending) > 0 && n.start < g.pending[0].start {
		n.start = g.pending[0].start
	}
	g.pending = append(g.pending, n)
	if n.end-g.pending[0].start < max(g.least, g.next) && !(r.levels[level].sections && g.newSection()) {
		return true
	}
	return r.cut(g, false)
}

// needed is from where on the text is still needed, once a node is written: boundaries look at the text before them too.
func (r *nestRun) needed(written *nestNode) int {
	at := max(r.begun, written.start)
	for k := range r.groups {
		if p := r.groups[k].pending; len(p) > 0 {
			at = min(at, p[0].start)
		}
	}
	return at - 4*anchorBytes
}

// emit writes a node and what is below it.
func (r *nestRun) emit(n *nestNode, parent string, index, depth int) bool {
	if n.chunk != nil {
		c := *n.chunk
		c.Metadata = maps.Clone(c.Metadata)
		if c.Metadata == nil {
			c.Metadata = map[string]any{}
		}
		c.ParentKey, c.Metadata["level"] = parent, depth
		if parent != "" {
			c.Metadata["child_index"] = index
		}
		return r.yield(c, nil)
	}
	c := connector.Chunk{
		Key: strconv.Itoa(n.level) + ":" + strconv.Itoa(n.start) + "-" + strconv.Itoa(n.end), ParentKey: parent,
		Text: r.text.slice(n.start, n.end), Spans: []connector.Span{{Start: n.start, End: n.end}},
		Headings: n.headings, Page: n.first.chunk.Page, Language: n.first.chunk.Language, StoreOnly: true,
		ForcedSplit: n.first.openStart || n.last.openEnd,
		Metadata:    map[string]any{"level": depth, "children": len(n.kids)},
	}
	if parent != "" {
		c.Metadata["child_index"] = index
	}
	if r.mergeRatio > 0 {
		c.Metadata["merge_ratio"] = r.mergeRatio
	}
	if !r.yield(c, nil) {
		return false
	}
	for k, kid := range n.kids {
		if !r.emit(kid, c.Key, k, depth+1) {
			return false
		}
	}
	return true
}
