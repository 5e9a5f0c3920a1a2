package pagelayout

import (
	"sort"
	"unicode/utf8"
)

// aligned makes a table of a group whose segments stand in rows and columns of gaps; nil where they are columns of text, or lists.
func (c *cutter) aligned(g *group) *grid {
	if len(g.occupied) < 2 || g.pairs < 3 || hasObject(g.segs) {
		return nil
	}
	rows := rowsOf(g.segs)
	c.work += len(g.segs)
	if len(rows) < 3 || !c.tabular(rows, g.occupied) {
		return nil
	}
	t := c.tableOf(g.segs, nil)
	if t != nil {
		t.box = boxOf(g.segs)
	}
	return t
}

// columnOf is the column in which s starts.
func columnOf(cols []interval, s *segment) int {
	x := s.box.X0 + min(2, (s.box.X1-s.box.X0)/2)
	return min(sort.Search(len(cols), func(i int) bool { return cols[i].hi >= x }), len(cols)-1)
}

// tabular tells whether what stands in the columns are cells rather than text that goes on from line to line.
func (c *cutter) tabular(rows []row, cols []interval) bool {
	both, marks, mono, total := 0, 0, 0, 0
	width := make([]float64, len(cols))
	count := make([]int, len(cols))
	lined := make([]int, len(cols))
	for _, r := range rows {
		seen := map[int]bool{}
		for _, s := range r.segs {
			k := columnOf(cols, s)
			if !seen[k] {
				lined[k]++
			}
			seen[k] = true
			width[k] += (s.box.X1 - s.box.X0) / max(s.size, 1)
			count[k]++
			t := s.text()
			if k > 0 && marker(t) != "" && bullet(marker(t)) {
				marks++
			}
			total++
			if s.frags[0].mono {
				mono++
			}
		}
		if len(seen) > 1 {
			both++
		}
	}
	if both < 3 || 10*both < 6*len(rows) || 2*mono > total || 3*marks > total {
		return false
	}
	prose, narrow := 0, 0
	for k := range cols {
		if count[k] == 0 {
			return false
		}
		mean := width[k] / float64(lined[k])
		full := (cols[k].hi - cols[k].lo) / max(rows[0].size, 1)
		if mean > 11 && mean > 0.7*full {
			prose++
		}
		if full < 4 && markersOnly(columnSegments(rows, cols, k)) {
			narrow++
		}
	}
	return prose < 2 && len(cols)-narrow > 1 && (prose == 0 || len(cols) > 2 || 10*both >= 9*len(rows))
}

func columnSegments(rows []row, cols []interval, k int) []*segment {
	var out []*segment
	for _, r := range rows {
		for _, s := range r.segs {
			if columnOf(cols, s) == k {
				out = append(out, s)
			}
		}
	}
	return out
}

// tableOf makes a table of segments. ys are the places of lines drawn between its rows, the outer ones included; nil where none are.
func (c *cutter) tableOf(segs []*segment, ys []float64) *grid {
	rows := rowsOf(segs)
	cols := c.tableColumns(rows)
	if len(cols) < 2 || len(rows) < 2 {
		return nil
	}
	if ys != nil && !c.tabularRuled(rows, cols) {
		return nil
	}
	g := &grid{head: -1}
	for _, v := range cols {
		g.cols = append(g.cols, v.lo)
	}
	var cells [][][]*segment
	cuts := len(ys) - 2 // lines inside
	band := -1
	for _, r := range rows {
		by := make([][]*segment, len(cols))
		for _, s := range r.segs {
			k := columnOf(cols, s)
			by[k] = append(by[k], s)
		}
		in := sort.SearchFloat64s(ys, (r.core.Y0+r.core.Y1)/2)
		joined := len(cells) > 0 && in == band && (cuts >= 3 && 8*(cuts+1) >= 3*len(rows) || c.goesOn(by, cells[len(cells)-1], &r))
		if joined {
			last := cells[len(cells)-1]
			for k := range by {
				last[k] = append(last[k], by[k]...)
			}
		} else {
			cells = append(cells, by)
		}
		if ys != nil && in == 1 && cuts >= 1 {
			g.head = len(cells)
		}
		band = in
	}
	if g.head >= len(cells) || g.head > maxHeaderRows {
		g.head = -1
	}
	g.fill(c.j, cells)
	if !g.compact() {
		return nil
	}
	return g
}

// goesOn tells whether a line belongs to the row above: it lacks the first cell, holds little, and stands close.
func (c *cutter) goesOn(by, above [][]*segment, r *row) bool {
	if len(by[0]) > 0 {
		return false
	}
	filled := 0
	bottom := 0.0
	for k := range by {
		if len(by[k]) > 0 {
			filled++
			if len(above[k]) == 0 {
				return false
			}
		}
		for _, s := range above[k] {
			bottom = max(bottom, s.core.Y1)
		}
	}
	return filled > 0 && filled < len(by) && r.core.Y0-bottom < 0.8*r.size
}

// tabularRuled is tabular for text between drawn lines, which may hold more.
func (c *cutter) tabularRuled(rows []row, cols []interval) bool {
	both, long := 0, 0
	for _, r := range rows {
		seen := map[int]bool{}
		for _, s := range r.segs {
			seen[columnOf(cols, s)] = true
			if utf8.RuneCountInString(s.text()) > 60 {
				long++
			}
		}
		if len(seen) > 1 {
			both++
		}
	}
	return both >= 2 && 2*both >= len(rows) && 3*long <= len(rows)
}

// tableColumns are the ranges between gaps that nearly all rows leave.
func (c *cutter) tableColumns(rows []row) []interval {
	type edge struct {
		x float64
		d int
	}
	var edges []edge
	for _, r := range rows {
		segs := make([]*segment, len(r.segs))
		copy(segs, r.segs)
		for _, v := range c.narrow(segs) {
			edges = append(edges, edge{v.lo, 1}, edge{v.hi, -1})
		}
	}
	sort.Slice(edges, func(i, j int) bool {
		return edges[i].x < edges[j].x || edges[i].x == edges[j].x && edges[i].d > edges[j].d
	})
	limit := 0
	if len(rows) >= 6 {
		limit = len(rows) / 8
	}
	var out []interval
	cover := 0
	for _, e := range edges {
		was := cover
		cover += e.d
		switch {
		case was <= limit && cover > limit:
			if n := len(out); n > 0 && e.x-out[n-1].hi < 0.45*c.em {
				continue
			}
			out = append(out, interval{e.x, e.x})
		case was > limit && cover <= limit && len(out) > 0:
			out[len(out)-1].hi = e.x
		}
	}
	return out
}

// narrow are the ranges that the segments of a row occupy.
func (c *cutter) narrow(segs []*segment) []interval {
	all := make([]interval, len(segs))
	for i, s := range segs {
		all[i] = interval{s.box.X0, s.box.X1}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].lo < all[j].lo || all[i].lo == all[j].lo && all[i].hi < all[j].hi })
	return merge(all, 0.3*c.em)
}
