package pptx

import (
	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/ooxml"
	"github.com/kbsync/kbsync/internal/slideorder"
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

// ordered are the shapes in the order in which they are read.
func ordered(shapes []shape) []shape {
	return slideorder.Sort(shapes, func(one shape) (*connector.Box, bool) { return one.place.box(), one.title })
}

// shape is what a shape or group holds.
type shape struct {
	place  place
	title  bool
	blocks []blocks.Block
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
