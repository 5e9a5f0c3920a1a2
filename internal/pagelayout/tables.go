package pagelayout

import (
	"sort"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// Bounds of tables.
const (
	maxTables   = 100 // that are looked for on a page
	maxCellText = 350 // mean length of the cells, in characters
)

// ruledTables takes the tables that are drawn with lines out of the text of a page; each stands among the segments that are left as an
// object.
func (j *joiner) ruledTables(s *sheet) {
	all := strokes(s.rules)
	if len(all) < 3 || len(s.segs) == 0 {
		return
	}
	var tables []*grid
	for _, l := range s.lattices() {
		if g := j.latticeTable(l, s); g != nil {
			tables = append(tables, g)
		}
	}
	for _, g := range tables {
		s.segs = append(s.segs, segment{table: g, box: g.box, core: g.box, size: 10, order: 1 << 30})
	}
	j.openTables(s, all)
}

// lattices are the grids of lines that are drawn on the page.
func (s *sheet) lattices() []*lattice {
	if s.framed {
		return s.frames
	}
	s.framed = true
	all := strokes(s.rules)
	if len(all) < 3 || len(s.segs) == 0 {
		return nil
	}
	for _, f := range frames(all, s.width, s.height) {
		if l := newLattice(f); l != nil && len(s.frames) < maxTables {
			s.frames = append(s.frames, l)
		}
	}
	return s.frames
}

// inLattice tells whether a box lies in a grid of several rows and columns.
func inLattice(all []*lattice, b connector.Box) bool {
	x, y := (b.X0+b.X1)/2, (b.Y0+b.Y1)/2
	for _, l := range all {
		if n, m := len(l.xs)-1, len(l.ys)-1; n > 1 && m > 1 && x > l.xs[0] && x < l.xs[n] && y > l.ys[0] && y < l.ys[m] {
			return true
		}
	}
	return false
}

// latticeTable makes a table of what stands between the lines of a lattice, and takes it from the page.
func (j *joiner) latticeTable(l *lattice, s *sheet) *grid {
	rows, cols := len(l.ys)-1, len(l.xs)-1
	g := &grid{box: connector.Box{X0: l.xs[0], X1: l.xs[cols], Y0: l.ys[0], Y1: l.ys[rows]}, head: -1, cols: l.xs[:cols], page: s.number}
	inside, rest := take(s.segs, g.box)
	origin := l.origins()
	cells := make([][][]frag, rows)
	for r := range cells {
		cells[r] = make([][]frag, cols)
	}
	usedRows, usedCols := map[int]bool{}, map[int]bool{}
	for _, f := range inside {
		x, y := (f.box.X0+f.box.X1)/2, (f.box.Y0+f.box.Y1)/2
		if at := sort.SearchFloat64s(l.xs, f.box.X0+1); at <= cols && at > 0 && f.box.X1 > l.xs[at]+touch && l.beside[min(max(place(l.ys, y), 0), rows-1)][at] {
			x = f.box.X0 + 1 // goes over the edge of its cell
		}
		at := origin[place(l.ys, y)*cols+place(l.xs, x)]
		r, c := at/cols, at%cols
		cells[r][c] = append(cells[r][c], f)
		if strings.TrimSpace(f.text) != "" {
			usedRows[r], usedCols[c] = true, true
		}
	}
	if len(usedRows) < 2 || len(usedCols) < 2 {
		return nil
	}
	filled, letters := 0, 0
	parts := make([][][]*segment, rows)
	for r := range cells {
		parts[r] = make([][]*segment, cols)
		for c, frags := range cells[r] {
			if len(frags) > 0 {
				filled++
			}
			for i := range frags {
				letters += int(2 * ems(frags[i].text))
			}
			segs := segments(frags)
			for i := range segs {
				parts[r][c] = append(parts[r][c], &segs[i])
			}
		}
	}
	if 4*filled < len(usedRows)*len(usedCols) || letters > maxCellText*filled { // the grid of a drawing, or boxes of text
		return nil
	}
	g.fill(j, parts)
	if !g.compact() {
		return nil
	}
	s.segs = rest
	return g
}

// place is the range between positions in which v lies.
func place(at []float64, v float64) int {
	return min(max(sort.SearchFloat64s(at, v)-1, 0), len(at)-2)
}

// take divides segments into the frags inside a box, and the segments of what stands outside. Whatever has its middle inside is inside.
func take(segs []segment, box connector.Box) (inside []frag, rest []segment) {
	for _, s := range segs {
		if s.object() || s.box.X1 < box.X0 || s.box.X0 > box.X1 || s.box.Y1 < box.Y0 || s.box.Y0 > box.Y1 {
			rest = append(rest, s)
			continue
		}
		var out []frag
		for _, f := range s.frags {
			x, y := (f.box.X0+f.box.X1)/2, (f.box.Y0+f.box.Y1)/2
			if x > box.X0-1 && x < box.X1+1 && y > box.Y0-1 && y < box.Y1+1 {
				inside = append(inside, f)
			} else {
				out = append(out, f)
			}
		}
		switch {
		case len(out) == len(s.frags):
			rest = append(rest, s)
		case len(out) > 0:
			rest = append(rest, segments(out)...)
		}
	}
	return inside, rest
}

// openTables finds the tables with lines between their rows alone: three or more that start and end at the same places.
func (j *joiner) openTables(s *sheet, all []stroke) {
	var across []stroke
	for _, k := range all {
		if k.across && k.hi-k.lo > 60 {
			across = append(across, k)
		}
	}
	sort.Slice(across, func(a, b int) bool {
		if d := across[a].lo - across[b].lo; abs(d) > touch {
			return d < 0
		}
		return across[a].at < across[b].at
	})
	tried := 0
	for start := 0; start < len(across) && tried < maxTables; {
		end := start + 1
		for end < len(across) && abs(across[end].lo-across[start].lo) <= touch && abs(across[end].hi-across[start].hi) <= 2*touch {
			end++
		}
		if end-start >= 3 {
			tried++
			j.openTable(s, across[start:end])
		}
		start = end
	}
}

func (j *joiner) openTable(s *sheet, lines []stroke) {
	var ys []float64
	for _, l := range lines {
		ys = append(ys, l.at)
	}
	ys = positions(ys)
	if len(ys) < 3 {
		return
	}
	box := connector.Box{X0: lines[0].lo, X1: lines[0].hi, Y0: ys[0], Y1: ys[len(ys)-1]}
	var inside []*segment
	for i := range s.segs {
		g := &s.segs[i]
		if y := middle(g); y > box.Y0 && y < box.Y1 && g.box.X0 > box.X0-touch && g.box.X1 < box.X1+touch {
			if g.object() {
				return
			}
			inside = append(inside, g)
		}
	}
	if len(inside) < 4 {
		return
	}
	c := cutter{em: inside[0].size, j: j}
	g := c.tableOf(inside, ys)
	if g == nil {
		return
	}
	g.box, g.page = box, s.number
	gone := map[*segment]bool{}
	for _, p := range inside {
		gone[p] = true
	}
	rest := s.segs[:0:0]
	for i := range s.segs {
		if !gone[&s.segs[i]] {
			rest = append(rest, s.segs[i])
		}
	}
	s.segs = append(rest, segment{table: g, box: box, core: box, size: 10, order: 1 << 30})
}
