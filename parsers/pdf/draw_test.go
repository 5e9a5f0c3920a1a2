package pdf

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

// TestDraw: each page has a picture of its shape, with ink where its text stands.
func TestDraw(t *testing.T) {
	b := newBuilder()
	b.page(put("F2", 40, 300, 400, "IIIIIIII"))
	b.pageWith(put("F2", 40, 100, 100, "IIII"), "/MediaBox [0 0 600 300] /Rotate 90")
	p := opener(t)().(connector.PageDrawer)
	data := b.bytes()
	pages := 0
	for pic, err := range p.Draw(context.Background(), parsertest.Document("a.pdf", len(data)), bytes.NewReader(data), 300) {
		if err != nil {
			t.Fatal(err)
		}
		pages++
		img, err := png.Decode(bytes.NewReader(pic.PNG))
		if err != nil {
			t.Fatal(err)
		}
		size := img.Bounds()
		if want := [...]string{"1 600 800 300 400", "2 300 600 300 600"}[pages-1]; fmt.Sprint(pic.Page, pic.Width, pic.Height, size.Dx(), size.Dy()) != want {
			t.Errorf("page %d is %v by %v points, its picture %v; want %s", pic.Page, pic.Width, pic.Height, size, want)
		}
		if pages > 1 {
			continue
		}
		dark := func(x0, y0, x1, y1 int) (n int) {
			for x := x0; x < x1; x++ {
				for y := y0; y < y1; y++ {
					if r, _, _, _ := img.At(x, y).RGBA(); r < 0x4000 {
						n++
					}
				}
			}
			return n
		}
		if dark(0, 0, 300, 180) != 0 || dark(0, 0, 140, 400) != 0 || dark(150, 180, 250, 201) < 50 {
			t.Error("the text is not where it belongs")
		}
	}
	if pages != 2 {
		t.Errorf("%d pages", pages)
	}
	for _, err := range p.Draw(context.Background(), parsertest.Document("a.pdf", 4), bytes.NewReader([]byte("text")), 300) {
		if connector.ClassOf(err) != connector.ClassInvalid {
			t.Error(err)
		}
	}
}

// FuzzSound: whatever the bytes, there are sound elements or an error of the file's, and a sound file is read after it.
func FuzzSound(f *testing.F) {
	for _, data := range [][]byte{english(), chinese(), scanned()} {
		f.Add(data)
	}
	p := opener(f)()
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := parsertest.CheckSound(p, "a.pdf", string(data)); err != nil {
			t.Error(err)
		}
	})
}
