package pptx

import (
	"cmp"
	"slices"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// emu is how many units of the format a point has.
const emu = 12_700

// place is a rectangle, in EMU.
type place struct {
	known      bool
	x, y, w, h float64
	inX, inY   float64 // of a group: the origin and size of what is inside of it
	inW, inH   float64
}

// read reads a transformation.
func (p *place) read(s *xmlscan.Scanner) error {
	return ooxml.Each(s, func(name []byte) error {
		switch string(name) {
		case "off":
			p.x, p.y, p.known = number(s, "x"), number(s, "y"), true
		case "ext":
			p.w, p.h = max(0, number(s, "cx")), max(0, number(s, "cy"))
		case "chOff":
			p.inX, p.inY = number(s, "x"), number(s, "y")
		case "chExt":
			p.inW, p.inH = number(s, "cx"), number(s, "cy")
		}
		return nil
	})
}

// farthest bounds coordinates, in EMU: a hundred times the largest slide.
const farthest = 5e9

func number(s *xmlscan.Scanner, attr string) float64 {
	return max(-farthest, min(float64(s.Int(attr, 0)), farthest))
}

// outer is where a place inside of a group stands outside of it.
func (p *place) outer(in place) place {
	if !p.known || !in.known {
		return in
	}
	scale := func(outside, inside float64) float64 {
		if inside <= 0 {
			return 1
		}
		return outside / inside
	}
	sx, sy := scale(p.w, p.inW), scale(p.h, p.inH)
	in.x, in.y, in.w, in.h = p.x+(in.x-p.inX)*sx, p.y+(in.y-p.inY)*sy, in.w*sx, in.h*sy
	return in
}

// box is the place in points; nil where it is unknown.
func (p *place) box() *connector.Box {
	if !p.known {
		return nil
	}
	return &connector.Box{X0: p.x / emu, Y0: p.y / emu, X1: (p.x + p.w) / emu, Y1: (p.y + p.h) / emu}
}

// shape is what a shape or group holds.
type shape struct {
	place  place
	title  bool
	blocks []blocks.Block
}

// Bounds of the search for an order: deeper, or with more shapes, they are sorted by their upper edges.
const (
	maxCuts   = 12
	maxShapes = 500
)

// ordered are the shapes in the order in which they are read: titles first, those without a place last.
func ordered(shapes []shape) []shape {
	var titles, placed, rest []shape
	for _, one := range shapes {
		switch {
		case one.title:
			titles = append(titles, one)
		case one.place.known:
			placed = append(placed, one)
		default:
			rest = append(rest, one)
		}
	}
	if len(placed) > maxShapes {
		byEdge(placed)
	} else {
		arrange(placed, maxCuts)
	}
	return slices.Concat(titles, placed, rest)
}

func byEdge(shapes []shape) {
	slices.SortStableFunc(shapes, func(a, b shape) int {
		return cmp.Or(cmp.Compare(a.place.y, b.place.y), cmp.Compare(a.place.x, b.place.x))
	})
}

// arrange sorts shapes by cutting them apart where the widest gap runs between them, across or down (the recursive X-Y cut of Nagy and Seth,
// 1984). Rows go before columns where both gaps are alike.
func arrange(shapes []shape, depth int) {
	if len(shapes) < 2 {
		return
	}
	across, acrossGap := cuts(shapes, func(p *place) (float64, float64) { return p.y, p.h })
	down, downGap := cuts(shapes, func(p *place) (float64, float64) { return p.x, p.w })
	edge, ends := func(p *place) float64 { return p.y }, across
	if downGap > acrossGap {
		edge, ends = func(p *place) float64 { return p.x }, down
	}
	if len(ends) == 0 || depth == 0 {
		byEdge(shapes)
		return
	}
	slices.SortStableFunc(shapes, func(a, b shape) int { return cmp.Compare(edge(&a.place), edge(&b.place)) })
	start := 0
	for _, end := range append(ends, len(shapes)) {
		arrange(shapes[start:end], depth-1)
		start = end
	}
}

// slack is the part of a shape at each of its sides that may lie over others, up to maxSlack: text seldom fills its box.
const (
	slack    = 0.08
	maxSlack = 6 * emu
)

// cuts are the places, as counts of the shapes before them in the order of their edges, at which gaps divide them; only those at least half as
// wide as the widest, which is returned.
func cuts(shapes []shape, side func(*place) (start, size float64)) (ends []int, widest float64) {
	type span struct{ at, from, to float64 }
	spans := make([]span, len(shapes))
	for i := range shapes {
		at, size := side(&shapes[i].place)
		over := min(slack*size, maxSlack)
		spans[i] = span{at, at + over, at + size - over}
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

// union is the smallest place around both.
func (p *place) union(q place) place {
	switch {
	case !q.known:
		return *p
	case !p.known:
		return place{known: true, x: q.x, y: q.y, w: q.w, h: q.h}
	}
	x, y := min(p.x, q.x), min(p.y, q.y)
	return place{known: true, x: x, y: y, w: max(p.x+p.w, q.x+q.w) - x, h: max(p.y+p.h, q.y+q.h) - y}
}
