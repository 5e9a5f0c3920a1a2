package pdf

import (
	"math"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/pagelayout"
)

// The kinds of objects on a page, of path segments, and the ways to fill a path.
const (
	objectPath  = 2
	objectImage = 3
	objectForm  = 5

	segmentLine  = 0
	segmentCurve = 1
	segmentMove  = 2
)

// Bounds of the drawings of a page.
const (
	maxObjects  = 200_000
	maxSegments = 200_000
	thin        = 3.0 // points up to which a filled rectangle is a line
)

// objectReader reads lines and pictures.
type objectReader struct {
	d        *document
	out      *pagelayout.Page
	objects  int
	segments int
}

func (o *objectReader) read(page uint64, view matrix) {
	s := o.d.s
	n := int(int32(uint32(s.call("FPDFPage_CountObjects", page))))
	for i := range n {
		if !o.more() {
			return
		}
		o.object(s.call("FPDFPage_GetObject", page, uint64(i)), view, 0)
	}
}

// more tells whether another object may be looked at.
func (o *objectReader) more() bool {
	o.objects++
	return o.objects <= maxObjects && o.segments <= maxSegments && (o.objects%256 != 0 || o.d.s.alive())
}

func (o *objectReader) object(object uint64, view matrix, depth int) {
	s := o.d.s
	if object == 0 {
		return
	}
	switch s.call("FPDFPageObj_GetType", object) {
	case objectPath:
		o.path(object, view)
	case objectImage:
		at := s.scratch
		if s.call("FPDFPageObj_GetBounds", object, at, at+4, at+8, at+12) != 0 {
			var b [4]float64 // left, bottom, right, top
			s.float32s(b[:])
			o.out.Images = append(o.out.Images, view.box(b[0], b[1], b[2], b[3]))
		}
	case objectForm:
		if depth >= maxDepth {
			return
		}
		if m, ok := o.matrix(object); ok {
			view = m.then(view)
		}
		n := int(int32(uint32(s.call("FPDFFormObj_CountObjects", object))))
		for i := range n {
			if !o.more() {
				return
			}
			o.object(s.call("FPDFFormObj_GetObject", object, uint64(i)), view, depth+1)
		}
	}
}

func (o *objectReader) matrix(object uint64) (matrix, bool) {
	s := o.d.s
	if s.call("FPDFPageObj_GetMatrix", object, s.scratch) == 0 {
		return matrix{}, false
	}
	var m [6]float64
	s.float32s(m[:])
	return matrix{m[0], m[1], m[2], m[3], m[4], m[5]}, true
}

// point is where a segment of a path ends.
type point struct{ x, y float64 }

// path adds the straight lines of a path that run along or down the page.
func (o *objectReader) path(object uint64, view matrix) {
	s := o.d.s
	n := int(int32(uint32(s.call("FPDFPath_CountSegments", object))))
	if n < 2 || n > maxSegments {
		return
	}
	at := s.scratch
	if s.call("FPDFPath_GetDrawMode", object, at, at+4) == 0 {
		return
	}
	mode := s.view(8)
	if len(mode) < 8 {
		return
	}
	filled, stroked := mode[0] != 0, mode[4] != 0
	if filled && !stroked && o.unseen(object) || !filled && !stroked {
		return
	}
	if m, ok := o.matrix(object); ok {
		view = m.then(view)
	}
	var sub []point
	straight := true
	end := func() {
		if straight {
			o.lines(sub, stroked)
		}
		sub, straight = sub[:0], true
	}
	for i := range n {
		if o.segments++; o.segments > maxSegments {
			return
		}
		seg := s.call("FPDFPath_GetPathSegment", object, uint64(i))
		kind := s.call("FPDFPathSegment_GetType", seg)
		s.call("FPDFPathSegment_GetPoint", seg, at, at+4)
		var p [2]float64
		s.float32s(p[:])
		x, y := view.apply(p[0], p[1])
		switch kind {
		case segmentMove:
			end()
		case segmentCurve:
			straight = false
		}
		sub = append(sub, point{x, y})
		if s.call("FPDFPathSegment_GetClose", seg) != 0 && len(sub) > 1 {
			sub = append(sub, sub[0])
		}
	}
	end()
}

// unseen tells fills in white or without colour.
func (o *objectReader) unseen(object uint64) bool {
	s := o.d.s
	at := s.scratch
	if s.call("FPDFPageObj_GetFillColor", object, at, at+4, at+8, at+12) == 0 {
		return false
	}
	c := s.view(16)
	return len(c) == 16 && (c[12] == 0 || c[0] >= 250 && c[4] >= 250 && c[8] >= 250)
}

// lines adds the lines of a part of a path. What is filled and not stroked counts if it is a rectangle: a thin one as one line.
func (o *objectReader) lines(sub []point, stroked bool) {
	if len(sub) < 2 {
		return
	}
	if !stroked {
		if len(sub) < 4 || len(sub) > 6 {
			return
		}
		b := connector.Box{X0: math.Inf(1), Y0: math.Inf(1), X1: math.Inf(-1), Y1: math.Inf(-1)}
		for _, p := range sub {
			b = connector.Box{X0: min(b.X0, p.x), Y0: min(b.Y0, p.y), X1: max(b.X1, p.x), Y1: max(b.Y1, p.y)}
		}
		w, h := b.X1-b.X0, b.Y1-b.Y0
		switch {
		case h <= thin && w > h:
			o.rule(b.X0, (b.Y0+b.Y1)/2, b.X1, (b.Y0+b.Y1)/2)
			return
		case w <= thin:
			o.rule((b.X0+b.X1)/2, b.Y0, (b.X0+b.X1)/2, b.Y1)
			return
		}
	}
	for i := 1; i < len(sub); i++ {
		a, b := sub[i-1], sub[i]
		if math.Abs(a.x-b.x) < 1 || math.Abs(a.y-b.y) < 1 {
			o.rule(a.x, a.y, b.x, b.y)
		}
	}
}

func (o *objectReader) rule(x0, y0, x1, y1 float64) {
	if math.Hypot(x1-x0, y1-y0) < 1 {
		return
	}
	o.out.Rules = append(o.out.Rules, pagelayout.Rule{X0: min(x0, x1), Y0: min(y0, y1), X1: max(x0, x1), Y1: max(y0, y1)})
}
