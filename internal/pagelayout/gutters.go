package pagelayout

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// columns divides a group at its gutters; nil where it has none, or where what stands beside the text are its marks or numbers.
func (c *cutter) columns(g *group) [][]*segment {
	if len(g.occupied) < 2 || g.pairs == 0 || code(g.segs) {
		return nil
	}
	cols := make([][]*segment, len(g.occupied))
	for _, s := range g.segs {
		i := sort.Search(len(g.occupied), func(i int) bool { return g.occupied[i].hi >= s.box.X0 })
		i = min(i, len(cols)-1)
		cols[i] = append(cols[i], s)
	}
	var out [][]*segment
	marks := false // the column before holds marks of this one
	for _, col := range cols {
		switch n := len(out); {
		case len(col) == 0:
		case marks:
			out[n-1] = append(out[n-1], col...)
			marks = false
		case n > 0 && numbersOnly(col):
			out[n-1] = append(out[n-1], col...)
		default:
			marks = markersOnly(col)
			out = append(out, slices.Clone(col))
		}
	}
	if len(out) < 2 {
		return nil
	}
	most := 0
	for _, col := range out {
		lines := len(rowsOf(col))
		c.work += len(col)
		if lines < 2 && !hasObject(col) {
			if len(out) == 2 {
				return nil
			}
		}
		most = max(most, lines)
	}
	if most < 3 && len(rowsOf(g.segs)) <= most { // a few lines side by side
		return nil
	}
	if rtl(g.segs) {
		slices.Reverse(out)
	}
	return out
}

// code tells text of which nearly all is in a font for code.
func code(segs []*segment) bool {
	mono := 0
	for _, s := range segs {
		if len(s.frags) > 0 && s.frags[0].mono {
			mono++
		}
	}
	return 10*mono >= 9*len(segs)
}

func hasObject(segs []*segment) bool {
	return slices.ContainsFunc(segs, func(s *segment) bool { return s.object() })
}

// markersOnly tells columns of bullets or numbers of items.
func markersOnly(segs []*segment) bool {
	for _, s := range segs {
		if s.object() {
			return false
		}
		t := s.text()
		if utf8.RuneCountInString(t) > 6 || !(markerAlone(t) || strings.Trim(t, "0123456789.") == "") {
			return false
		}
	}
	return true
}

// numbersOnly tells columns of page numbers or numbers of equations.
func numbersOnly(segs []*segment) bool {
	for _, s := range segs {
		t := s.text()
		if s.object() || utf8.RuneCountInString(t) > 6 || strings.Trim(t, "0123456789().-ivxlIVXL ") != "" {
			return false
		}
	}
	return true
}

// rtl tells whether most letters are of scripts written from the right.
func rtl(segs []*segment) bool {
	n := 0
	for _, s := range segs {
		for i := range s.frags {
			for _, r := range s.frags[i].text {
				if rightToLeft(r) {
					n++
				} else if r > '9' {
					n--
				}
			}
		}
	}
	return n > 0
}

// boxOf is the box around segments.
func boxOf(segs []*segment) connector.Box {
	b := segs[0].box
	for _, s := range segs[1:] {
		b = union(b, s.box)
	}
	return b
}
