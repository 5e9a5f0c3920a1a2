// Package slideorder finds the order in which a reader takes the shapes of a slide, by their places.
package slideorder

import (
	"cmp"
	"slices"

	"github.com/kbsync/kbsync/connector"
)

// Sort returns shapes in the order in which they are read: titles first, then those whose place at tells, those without a place last.
func Sort[T any](shapes []T, at func(T) (box *connector.Box, title bool)) []T {
	var titles, rest []T
	var placed []entry
	for i, one := range shapes {
		switch box, title := at(one); {
		case title:
			titles = append(titles, one)
		case box != nil:
			placed = append(placed, entry{box, i})
		default:
			rest = append(rest, one)
		}
	}
	if len(placed) > maxShapes {
		byEdge(placed)
	} else {
		arrange(placed, maxCuts)
	}
	for _, e := range placed {
		titles = append(titles, shapes[e.index])
	}
	return append(titles, rest...)
}

// entry is a shape with a place.
type entry struct {
	box   *connector.Box
	index int
}

// Bounds of the search for an order: deeper, or with more shapes, they are sorted by their upper edges.
const (
	maxCuts   = 12
	maxShapes = 500
)

func byEdge(shapes []entry) {
	slices.SortStableFunc(shapes, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.box.Y0, b.box.Y0), cmp.Compare(a.box.X0, b.box.X0))
	})
}

// arrange sorts shapes by cutting them apart where the widest gap runs between them, across or down (the recursive X-Y cut of Nagy and Seth,
// 1984). Rows go before columns where both gaps are alike.
func arrange(shapes []entry, depth int) {
	if len(shapes) < 2 {
		return
	}
	across, acrossGap := cuts(shapes, func(b *connector.Box) (float64, float64) { return b.Y0, b.Y1 })
	down, downGap := cuts(shapes, func(b *connector.Box) (float64, float64) { return b.X0, b.X1 })
	edge, ends := func(b *connector.Box) float64 { return b.Y0 }, across
	if downGap > acrossGap {
		edge, ends = func(b *connector.Box) float64 { return b.X0 }, down
	}
	if len(ends) == 0 || depth == 0 {
		byEdge(shapes)
		return
	}
	slices.SortStableFunc(shapes, func(a, b entry) int { return cmp.Compare(edge(a.box), edge(b.box)) })
	start := 0
	for _, end := range append(ends, len(shapes)) {
		arrange(shapes[start:end], depth-1)
		start = end
	}
}

// slack is the part of a shape at each of its sides that may lie over others, up to maxSlack: text seldom fills its box.
const (
	slack    = 0.08
	maxSlack = 6 // points
)

// cuts are the places, as counts of the shapes before them in the order of their edges, at which gaps divide them; only those at least half as
// wide as the widest, which is returned.
func cuts(shapes []entry, side func(*connector.Box) (start, end float64)) (ends []int, widest float64) {
	type span struct{ at, from, to float64 }
	spans := make([]span, len(shapes))
	for i := range shapes {
		at, end := side(shapes[i].box)
		over := min(slack*(end-at), maxSlack)
		spans[i] = span{at, at + over, end - over}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.at, b.at) })
	gaps := make([]float64, len(spans))
	reach := spans[0].to
	for i := 1; i < len(spans); i++ {
		gaps[i] = spans[i].from - reach
		reach = max(reach, spans[i].to)
	}
	// A gap counts only if nothing that comes later begins before it.
	least := spans[len(spans)-1].from
	for i := len(spans) - 1; i > 0; i-- {
		least = min(least, spans[i].from)
		gaps[i] = min(gaps[i], gaps[i]-(spans[i].from-least))
		widest = max(widest, gaps[i])
	}
	for i := 1; i < len(spans) && widest > 0; i++ {
		if gaps[i] > 0 && gaps[i]*2 >= widest {
			ends = append(ends, i)
		}
	}
	return ends, widest
}
