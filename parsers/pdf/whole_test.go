package pdf

import (
	"context"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/kbsync/kbsync/connector"
)

// TestNothingIsLost: every letter that PDFium gives for the pages of real files is in the text or in what was left out, page by page as
// often as PDFium gives it.
func TestNothingIsLost(t *testing.T) {
	files := realFiles(t)
	files["english"], files["chinese"] = english(), chinese()
	p := opener(t)().(*Parser)
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			got := map[rune]int{}
			scans := 0
			for _, el := range collect(t, p, data) {
				if count(got, el.Text); el.Reason == connector.DropNoText {
					scans++
				}
			}
			want := map[rune]int{}
			count(want, wholeText(t, p, data))
			if len(want) < 10 && scans == 0 {
				t.Fatalf("only %d different letters", len(want))
			}
			for r, n := range want {
				if got[r] < n {
					t.Errorf("%d of %d %q (%U) are missing", n-got[r], n, r, r)
				}
			}
		})
	}
}

// count counts letters, digits and signs; not spaces, nor hyphens, which go where a word was broken.
func count(into map[rune]int, text string) {
	for _, r := range norm.NFKC.String(text) {
		if !unicode.IsSpace(r) && !unicode.IsControl(r) && r != '-' && r != '\u00AD' && r != '\uFFFE' {
			into[r]++
		}
	}
}

// wholeText is the text of all pages as one call of PDFium gives it.
func wholeText(t *testing.T, p *Parser, data []byte) string {
	t.Helper()
	d, err := p.open(context.Background(), strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	s := d.s
	var out strings.Builder
	for i := range d.count {
		page := s.call("FPDF_LoadPage", d.doc, uint64(i))
		text := s.call("FPDFText_LoadPage", page)
		n := int(s.call("FPDFText_CountChars", text))
		room, free := s.alloc(4*n + 4)
		units := int(s.call("FPDFText_GetText", text, 0, uint64(n), room))
		out.WriteString(wide(s.bytes(room, 2*units)))
		free()
		s.call("FPDFText_ClosePage", text)
		s.call("FPDF_ClosePage", page)
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return out.String()
}

// TestPlaces: boxes are as the reader sees the page, whatever its rotation and the corner it counts from.
func TestPlaces(t *testing.T) {
	// The page shows its visible 400 by 300 points; text stands 50 points from its left and 40 from its upper edge.
	for name, c := range map[string]struct{ entries, content string }{
		"plain":   {"/MediaBox [0 0 400 300]", "BT /F1 10 Tf 50 250 Td (Some words here) Tj ET"},
		"corner":  {"/MediaBox [-100 -200 300 100]", "BT /F1 10 Tf -50 50 Td (Some words here) Tj ET"},
		"cropped": {"/MediaBox [0 0 900 900] /CropBox [100 200 500 500]", "BT /F1 10 Tf 150 450 Td (Some words here) Tj ET"},
		"90":      {"/MediaBox [0 0 300 400] /Rotate 90", "BT /F1 10 Tf 0 1 -1 0 50 50 Tm (Some words here) Tj ET"},
		"180":     {"/MediaBox [0 0 400 300] /Rotate 180", "BT /F1 10 Tf -1 0 0 -1 350 50 Tm (Some words here) Tj ET"},
		"270":     {"/MediaBox [0 0 300 400] /Rotate 270", "BT /F1 10 Tf 0 -1 1 0 250 350 Tm (Some words here) Tj ET"},
		"form":    {"/MediaBox [0 0 400 300]", "q 2 0 0 2 0 0 cm BT /F1 5 Tf 25 125 Td (Some words here) Tj ET Q"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuilder()
			b.pageWith(c.content, c.entries)
			els := collect(t, opener(t)(), b.bytes())
			if len(els) != 1 || strings.TrimSpace(els[0].Text) != "Some words here" {
				t.Fatal(show(els))
			}
			want := connector.Box{X0: 50, Y0: 42.5, X1: 128, Y1: 50}
			if b := els[0].Box; b == nil || !near(b.X0, want.X0) || !near(b.Y0, want.Y0) || !near(b.X1, want.X1) || !near(b.Y1, want.Y1) {
				t.Errorf("stands at %v, want %v", b, want)
			}
		})
	}
}

func near(a, b float64) bool { return a-b < 4 && b-a < 4 }
