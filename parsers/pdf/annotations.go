package pdf

import (
	"fmt"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/pagelayout"
)

// Annotations that show text on the page, and the type of their values.
const (
	annotFreeText = 3
	annotWidget   = 20
	valueString   = 3
)

// maxAnnotations bounds the annotations of a page.
const maxAnnotations = 10_000

// annotations adds what forms and text boxes on the page say, at their places; the comments of reviewers are left out.
func (d *document) annotations(page uint64, view matrix, out *pagelayout.Page) {
	s := d.s
	n := int(int32(uint32(s.call("FPDFPage_GetAnnotCount", page))))
	if n <= 0 {
		return
	}
	if n > maxAnnotations {
		out.Dropped = append(out.Dropped, pagelayout.Dropped{Reason: connector.DropLimit, Text: fmt.Sprintf("page %d: %d annotations, of which %d are read", out.Number, n, maxAnnotations)})
	}
	value, freeValue := s.place([]byte("V\x00"))
	defer freeValue()
	contents, freeContents := s.place([]byte("Contents\x00"))
	defer freeContents()
	for i := range min(n, maxAnnotations) {
		if i%256 == 255 && !s.alive() {
			return
		}
		annot := s.call("FPDFPage_GetAnnot", page, uint64(i))
		if annot == 0 {
			continue
		}
		kind, key := s.call("FPDFAnnot_GetSubtype", annot), contents
		if kind == annotWidget {
			key = value
		}
		text := ""
		if s.call("FPDFAnnot_GetValueType", annot, key) == valueString {
			text = wide(s.text(maxTextBytes, "FPDFAnnot_GetStringValue", annot, key))
		}
		var b [4]float64 // left, top, right, bottom
		s.call("FPDFAnnot_GetRect", annot, s.scratch)
		s.float32s(b[:])
		s.call("FPDFPage_CloseAnnot", annot)
		switch {
		case strings.TrimSpace(text) == "":
		case kind == annotWidget || kind == annotFreeText:
			out.Runs = append(out.Runs, fieldRuns(text, view.box(b[0], b[3], b[2], b[1]))...)
		default:
			out.Dropped = append(out.Dropped, pagelayout.Dropped{Reason: connector.DropComment, Text: text})
		}
	}
}

// fieldRuns sets the lines of a field into its box.
func fieldRuns(text string, box connector.Box) []pagelayout.Run {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\r' || r == '\n' })
	high := (box.Y1 - box.Y0) / float64(len(lines))
	var runs []pagelayout.Run
	for i, l := range lines {
		size := min(high, 10)
		y := box.Y0 + high*float64(i) + (high-size)/2
		runs = append(runs, pagelayout.Run{Text: l, Size: size, Box: connector.Box{X0: box.X0, Y0: y, X1: min(box.X1, box.X0+size*breadth(l)), Y1: y + size}})
	}
	return runs
}
