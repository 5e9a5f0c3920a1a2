package pagelayout

import (
	"slices"
	"sort"
)

// maxDepth bounds how often columns are looked for within columns.
const maxDepth = 10

// region is a part of a page that is read from its first line to its last: text in one column, or one object.
type region struct {
	rows  []row
	table *grid
	// column counts the columns of the page in reading order; regions below each other in one column share it.
	column int
}

// cutter divides a page into regions by recursive cuts between columns and between bands (the XY-cut of Nagy and Seth 1984, with bands
// joined as long as one gutter runs through them).
type cutter struct {
	em      float64 // the size of most text
	j       *joiner
	regions []region
	column  int
	work    int // segments looked at, for the test of the running time
}

// interval is an occupied range.
type interval struct{ lo, hi float64 }

// group is a run of bands that columns, or the lack of them, hold together.
type group struct {
	segs     []*segment
	occupied []interval // by columns
	bottom   float64
	pairs    int // bands with more than one column
}

// cut divides segs and adds what it finds in reading order.
func (c *cutter) cut(segs []*segment, depth int) {
	if len(segs) == 0 {
		return
	}
	c.work += len(segs)
	if depth >= maxDepth || len(segs) == 1 && segs[0].table == nil {
		c.leaf(segs)
		return
	}
	var plain []*segment
	flush := func() {
		if len(plain) > 0 {
			c.leaf(plain)
			plain = nil
		}
	}
	for _, g := range c.groups(segs) {
		if len(g.segs) == 1 && g.segs[0].object() {
			flush()
			if t := g.segs[0].table; t != nil {
				c.regions = append(c.regions, region{table: t, column: c.column})
			}
			continue
		}
		if t := c.aligned(&g); t != nil {
			flush()
			c.regions = append(c.regions, region{table: t, column: c.column})
			continue
		}
		cols := c.columns(&g)
		if len(cols) == 0 {
			plain = append(plain, g.segs...)
			continue
		}
		flush()
		c.column++
		for _, col := range cols {
			c.cut(col, depth+1)
			c.column++
		}
	}
	flush()
}

// leaf adds text in one column; objects in it stand where their upper edge is.
func (c *cutter) leaf(segs []*segment) {
	var text []*segment
	var objects []*segment
	for _, s := range segs {
		if s.object() {
			objects = append(objects, s)
		} else {
			text = append(text, s)
		}
	}
	rows := rowsOf(text)
	sort.SliceStable(objects, func(i, j int) bool { return objects[i].box.Y0 < objects[j].box.Y0 })
	from := 0
	for _, o := range objects {
		if o.table == nil {
			continue
		}
		to := from
		for to < len(rows) && (rows[to].core.Y0+rows[to].core.Y1)/2 < o.box.Y0 {
			to++
		}
		c.text(rows[from:to])
		c.regions = append(c.regions, region{table: o.table, column: c.column})
		from = to
	}
	c.text(rows[from:])
}

func (c *cutter) text(rows []row) {
	if len(rows) > 0 {
		c.regions = append(c.regions, region{rows: rows, column: c.column})
	}
}

// bands are the runs of segments between which a straight line crosses the region.
func (c *cutter) bands(segs []*segment) [][]*segment {
	sorted := slices.Clone(segs)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].core.Y0 < sorted[j].core.Y0 })
	var out [][]*segment
	start, bottom := 0, sorted[0].core.Y1
	for i, s := range sorted {
		slack := 0.18 * min(s.size, c.em*2)
		if i > start && s.core.Y0 >= bottom-slack {
			out = append(out, sorted[start:i:i])
			start, bottom = i, s.core.Y1
		}
		bottom = max(bottom, s.core.Y1)
	}
	return append(out, sorted[start:])
}

// occupied merges the segments' ranges; gaps narrower than a gutter are none.
func (c *cutter) occupied(segs []*segment) []interval {
	all := make([]interval, len(segs))
	for i, s := range segs {
		all[i] = interval{s.box.X0, s.box.X1}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].lo < all[j].lo || all[i].lo == all[j].lo && all[i].hi < all[j].hi })
	return merge(all, c.gutter())
}

func (c *cutter) gutter() float64 { return 0.85 * c.em }

// merge joins sorted intervals whose gap is less than a gutter.
func merge(all []interval, gutter float64) []interval {
	out := all[:1:1]
	for _, v := range all[1:] {
		if last := &out[len(out)-1]; v.lo < last.hi+gutter {
			last.hi = max(last.hi, v.hi)
		} else {
			out = append(out, v)
		}
	}
	return out
}

// groups joins bands from above as long as the gutters between their columns go through.
func (c *cutter) groups(segs []*segment) []group {
	var out []group
	for _, b := range c.bands(segs) {
		occ := c.occupied(b)
		c.work += len(b)
		if n := len(out); n > 0 && c.joins(&out[n-1], b, occ) {
			g := &out[n-1]
			g.occupied = c.together(g.occupied, occ)
			g.segs = append(g.segs, b...)
			g.bottom = max(g.bottom, bottomOf(b))
			if len(occ) > 1 {
				g.pairs++
			}
			continue
		}
		g := group{segs: slices.Clone(b), occupied: occ, bottom: bottomOf(b)}
		if len(occ) > 1 {
			g.pairs = 1
		}
		out = append(out, g)
	}
	return out
}

// broad counts the columns that can hold text.
func (c *cutter) broad(occ []interval) int {
	n := 0
	for _, v := range occ {
		if v.hi-v.lo > 3*c.em {
			n++
		}
	}
	return n
}

func bottomOf(segs []*segment) float64 {
	y := segs[0].box.Y1
	for _, s := range segs {
		y = max(y, s.box.Y1)
	}
	return y
}

func (c *cutter) together(a, b []interval) []interval {
	all := append(slices.Clone(a), b...)
	sort.Slice(all, func(i, j int) bool { return all[i].lo < all[j].lo || all[i].lo == all[j].lo && all[i].hi < all[j].hi })
	return merge(all, c.gutter())
}

// joins tells whether a band goes on with a group.
func (c *cutter) joins(g *group, b []*segment, occ []interval) bool {
	if g.segs[0].table != nil || len(b) == 1 && (b[0].table != nil || b[0].image && len(g.occupied) == 1) || g.segs[0].image && len(g.segs) == 1 {
		return false
	}
	k, m := len(g.occupied), len(occ)
	both := c.together(g.occupied, occ)
	r := len(both)
	switch {
	case c.broad(both) < 2 && r > 1 && (c.broad(occ) > 1 || c.broad(g.occupied) > 1): // all that is left beside the text is a narrow margin
		return false
	case k == 1 && m == 1: // a line in the right half below lines over the page is the first of a column
		a, z := g.occupied[0], occ[0]
		return !(z.lo > (a.lo+a.hi)/2-c.em && z.hi > a.hi-3*c.em && a.hi-a.lo > 20*c.em)
	case k == 1: // text close above columns: what may be the head of one
		return r >= m && b[0].box.Y0-g.bottom < 2*max(c.em, b[0].size)
	case m == 1: // one column goes on
		return r >= k && b[0].box.Y0-g.bottom < 2.5*max(c.em, b[0].size)
	}
	return r >= min(k, m)
}
