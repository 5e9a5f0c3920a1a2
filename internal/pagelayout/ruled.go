package pagelayout

import (
	"sort"

	"github.com/kbsync/kbsync/connector"
)

// Bounds of what is taken for the lines of a table, in points.
const (
	touch    = 3.0 // lines this near are one, or meet
	thin     = 2.5 // a line is no thicker
	shortest = 4.0 // a line is no shorter
	maxCells = 1e5 // of a raster and of a grid
)

// stroke is a line along or across the page.
type stroke struct {
	at, lo, hi float64
	across     bool // along x
}

// strokes are the straight ones among what is drawn.
func strokes(rules []Rule) []stroke {
	var out []stroke
	for _, r := range rules {
		x0, x1, y0, y1 := min(r.X0, r.X1), max(r.X0, r.X1), min(r.Y0, r.Y1), max(r.Y0, r.Y1)
		switch {
		case y1-y0 <= thin && x1-x0 >= shortest:
			out = append(out, stroke{(y0 + y1) / 2, x0, x1, true})
		case x1-x0 <= thin && y1-y0 >= shortest:
			out = append(out, stroke{(x0 + x1) / 2, y0, y1, false})
		}
	}
	return out
}

// frames groups strokes that meet. The page is a raster whose cells remember the stroke that went through them, so that the work is the
// strokes' length and not the number of their pairs.
func frames(all []stroke, width, height float64) [][]stroke {
	step := touch
	for (width/step+3)*(height/step+3) > 4*maxCells {
		step *= 2
	}
	w, h := int(width/step)+3, int(height/step)+3
	parent := make([]int, len(all))
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	raster := make([]int32, w*h)
	mark := func(i, x, y int) {
		for dx := 0; dx <= 1; dx++ { // a raster cell and its neighbours to the right and below
			for dy := 0; dy <= 1; dy++ {
				cx, cy := x+dx, y+dy
				if cx < 0 || cy < 0 || cx >= w || cy >= h {
					continue
				}
				if other := raster[cy*w+cx]; other > 0 {
					parent[find(i)] = find(int(other) - 1)
				}
				raster[cy*w+cx] = int32(i) + 1
			}
		}
	}
	for i, s := range all {
		lo, hi := int(max(s.lo, 0)/step), int(min(max(s.hi, 0), 1e5)/step)
		at := int(max(s.at, 0) / step)
		for k := lo; k <= hi; k++ {
			if s.across {
				if k >= w || at >= h {
					break
				}
				mark(i, k, at)
			} else {
				if k >= h || at >= w {
					break
				}
				mark(i, at, k)
			}
		}
	}
	groups := map[int][]stroke{}
	var roots []int
	for i, s := range all {
		r := find(i)
		if groups[r] == nil {
			roots = append(roots, r)
		}
		groups[r] = append(groups[r], s)
	}
	out := make([][]stroke, 0, len(roots))
	for _, r := range roots {
		out = append(out, groups[r])
	}
	return out
}

// lattice is the grid of lines of a table.
type lattice struct {
	xs, ys []float64
	// below[r][c]: a line is drawn between rows r-1 and r of column c; beside[r][c]: between columns c-1 and c of row r.
	below, beside [][]bool
}

// positions merges values that are near each other.
func positions(values []float64) []float64 {
	sort.Float64s(values)
	var out []float64
	start := 0
	for i := 1; i <= len(values); i++ {
		if i < len(values) && values[i]-values[i-1] <= touch {
			continue
		}
		out = append(out, (values[start]+values[i-1])/2)
		start = i
	}
	return out
}

func newLattice(f []stroke) *lattice {
	var xs, ys []float64
	across, along := 0, 0
	box := connector.Box{X0: 1e9, Y0: 1e9, X1: -1e9, Y1: -1e9}
	for _, s := range f {
		if s.across {
			across++
			ys = append(ys, s.at)
			box = union(box, connector.Box{X0: s.lo, X1: s.hi, Y0: s.at, Y1: s.at})
		} else {
			along++
			xs = append(xs, s.at)
			box = union(box, connector.Box{X0: s.at, X1: s.at, Y0: s.lo, Y1: s.hi})
		}
	}
	if across == 0 || along == 0 {
		return nil
	}
	l := &lattice{xs: positions(append(xs, box.X0, box.X1)), ys: positions(append(ys, box.Y0, box.Y1))}
	rows, cols := len(l.ys)-1, len(l.xs)-1
	if rows < 1 || cols < 1 || rows*cols < 2 || rows*cols > maxCells {
		return nil
	}
	l.below, l.beside = flags(rows+1, cols), flags(rows, cols+1)
	for r, spans := range l.drawn(f, true) {
		for _, v := range spans {
			mark(l.below[r], l.xs, v.lo, v.hi)
		}
	}
	for c, spans := range l.drawn(f, false) {
		column := make([]bool, rows)
		for _, v := range spans {
			mark(column, l.ys, v.lo, v.hi)
		}
		for r, v := range column {
			l.beside[r][c] = v
		}
	}
	return l
}

// drawn are the ranges that lines cover at each position, across or along the page; lines are often drawn in pieces.
func (l *lattice) drawn(f []stroke, across bool) map[int][]interval {
	at := l.xs
	if across {
		at = l.ys
	}
	out := map[int][]interval{}
	for _, s := range f {
		if s.across == across {
			k := nearest(at, s.at)
			out[k] = append(out[k], interval{s.lo, s.hi})
		}
	}
	for k, all := range out {
		sort.Slice(all, func(i, j int) bool { return all[i].lo < all[j].lo || all[i].lo == all[j].lo && all[i].hi < all[j].hi })
		out[k] = merge(all, touch)
	}
	return out
}

func flags(rows, cols int) [][]bool {
	out := make([][]bool, rows)
	for i := range out {
		out[i] = make([]bool, cols)
	}
	return out
}

// mark sets the places between positions that [lo, hi] covers.
func mark(row []bool, at []float64, lo, hi float64) {
	i := sort.SearchFloat64s(at, lo-touch)
	for ; i+1 < len(at) && (at[i]+at[i+1])/2 < hi; i++ {
		row[i] = true
	}
}

func nearest(at []float64, v float64) int {
	i := sort.SearchFloat64s(at, v)
	if i == len(at) || i > 0 && v-at[i-1] < at[i]-v {
		i--
	}
	return i
}

// origins are, for every cell, the first of the merged ones that it belongs to, as a number counted along the rows.
func (l *lattice) origins() []int {
	rows, cols := len(l.ys)-1, len(l.xs)-1
	out := make([]int, rows*cols)
	for r := range rows {
		for c := range cols {
			at := r*cols + c
			switch {
			case c > 0 && !l.beside[r][c]:
				out[at] = out[at-1]
			case r > 0 && !l.below[r][c]:
				out[at] = out[at-cols]
			default:
				out[at] = at
			}
		}
	}
	return out
}
