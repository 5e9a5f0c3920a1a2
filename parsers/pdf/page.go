package pdf

import (
	"fmt"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/pagelayout"
)

// matrix maps (x, y) to (a·x+c·y+e, b·x+d·y+f).
type matrix struct{ a, b, c, d, e, f float64 }

func (m matrix) apply(x, y float64) (float64, float64) {
	return m.a*x + m.c*y + m.e, m.b*x + m.d*y + m.f
}

// then is m followed by n.
func (m matrix) then(n matrix) matrix {
	return matrix{
		m.a*n.a + m.b*n.c, m.a*n.b + m.b*n.d,
		m.c*n.a + m.d*n.c, m.c*n.b + m.d*n.d,
		m.e*n.a + m.f*n.c + n.e, m.e*n.b + m.f*n.d + n.f,
	}
}

// box is the box around a rectangle that was mapped.
func (m matrix) box(x0, y0, x1, y1 float64) connector.Box {
	ax, ay := m.apply(x0, y0)
	bx, by := m.apply(x1, y1)
	cx, cy := m.apply(x0, y1)
	dx, dy := m.apply(x1, y0)
	return connector.Box{X0: min(ax, bx, cx, dx), Y0: min(ay, by, cy, dy), X1: max(ax, bx, cx, dx), Y1: max(ay, by, cy, dy)}
}

// read reads a page: its text, and with drawings its lines and pictures. Where PDFium cannot load it the page says so, and ok is false.
func (d *document) read(index int, drawings bool) (pagelayout.Page, bool) {
	out := pagelayout.Page{Number: index + 1}
	s := d.s
	s.alive()
	defer s.pause()
	page := s.call("FPDF_LoadPage", d.doc, uint64(index))
	if page == 0 {
		out.Dropped = append(out.Dropped, pagelayout.Dropped{Reason: connector.DropUndecodable, Text: fmt.Sprintf("page %d: cannot be read", index+1)})
		return out, false
	}
	defer func() { s.call("FPDF_ClosePage", page) }()
	view := d.view(page, &out)
	if !s.alive() {
		return out, true
	}
	t := textReader{d: d, view: view, out: &out}
	t.read(page)
	if drawings {
		d.annotations(page, view, &out)
		o := objectReader{d: d, out: &out}
		o.read(page, view)
	}
	if blank(out.Runs) {
		if out.Runs = nil; len(out.Images) > 0 && d.ocr.on() && s.alive() {
			d.recognise(page, &out)
		}
	}
	return out, true
}

// blank tells whether there is no text.
func blank(runs []pagelayout.Run) bool {
	for i := range runs {
		if strings.TrimSpace(runs[i].Text) != "" {
			return false
		}
	}
	return true
}

// view gives what maps places of the page's own to those that a reader sees, and sets the page's size.
func (d *document) view(page uint64, out *pagelayout.Page) matrix {
	var b [4]float64 // left, top, right, bottom
	d.s.call("FPDF_GetPageBoundingBox", page, d.s.scratch)
	d.s.float32s(b[:])
	left, top, right, bottom := b[0], b[1], b[2], b[3]
	out.Width, out.Height = right-left, top-bottom
	switch d.s.call("FPDFPage_GetRotation", page) & 3 {
	case 1: // turned clockwise
		out.Width, out.Height = out.Height, out.Width
		return matrix{b: 1, c: 1, e: -bottom, f: -left}
	case 2:
		return matrix{a: -1, d: 1, e: right, f: -bottom}
	case 3:
		out.Width, out.Height = out.Height, out.Width
		return matrix{b: -1, c: -1, e: top, f: right}
	}
	return matrix{a: 1, d: -1, e: -left, f: top}
}
