package pdf

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"io"
	"iter"
	"math"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/pagelayout"
)

// maxPixels bounds a picture of a page.
const maxPixels = 16 << 20

// How PDFium draws: red before blue, annotations too, in a bitmap of four bytes a pixel without transparency.
const (
	drawAnnotations = 0x01
	drawRGB         = 0x10
	bitmapBGRx      = 3
	white           = 0xFFFFFFFF
)

var _ connector.PageDrawer = (*Parser)(nil)

// Draw yields pictures of the pages. A page that cannot be read has none, and is white.
func (p *Parser) Draw(ctx context.Context, _ *connector.Document, r io.Reader, width int) iter.Seq2[connector.Picture, error] {
	return func(yield func(connector.Picture, error) bool) {
		if err := p.draw(ctx, r, width, yield); err != nil {
			yield(connector.Picture{}, fmt.Errorf("pdf: %w", err))
		}
	}
}

func (p *Parser) draw(ctx context.Context, r io.Reader, width int, yield func(connector.Picture, error) bool) error {
	d, err := p.open(ctx, r)
	if d == nil || err != nil {
		return err
	}
	defer d.close()
	for i := range d.count {
		out := connector.Picture{Page: i + 1}
		if !d.s.alive() {
			return d.s.err
		}
		if page := d.s.call("FPDF_LoadPage", d.doc, uint64(i)); page != 0 {
			var size pagelayout.Page
			d.view(page, &size)
			out.Width, out.Height = size.Width, size.Height
			if size.Width > 0 {
				out.PNG, err = d.picture(page, &size, float64(width)/size.Width)
			}
			d.s.call("FPDF_ClosePage", page)
		}
		if d.s.pause(); d.s.err != nil || err != nil {
			return firstOf(d.s.err, err)
		}
		if !yield(out, nil) {
			return nil
		}
	}
	return nil
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// picture draws a page as PNG, scale pixels a point, fewer where that would be too many.
func (d *document) picture(page uint64, size *pagelayout.Page, scale float64) ([]byte, error) {
	scale = min(scale, math.Sqrt(maxPixels/(size.Width*size.Height)))
	w, h := int(size.Width*scale), int(size.Height*scale)
	if w < 1 || h < 1 || w*h > 2*maxPixels {
		return nil, nil
	}
	s := d.s
	bitmap := s.call("FPDFBitmap_CreateEx", uint64(w), uint64(h), bitmapBGRx, 0, 0)
	if bitmap == 0 {
		return nil, s.err
	}
	s.call("FPDFBitmap_FillRect", bitmap, 0, 0, uint64(w), uint64(h), white)
	s.call("FPDF_RenderPageBitmap", bitmap, page, 0, 0, uint64(w), uint64(h), 0, drawAnnotations|drawRGB)
	stride := int(int32(uint32(s.call("FPDFBitmap_GetStride", bitmap))))
	pix := s.bytes(s.call("FPDFBitmap_GetBuffer", bitmap), stride*h)
	s.call("FPDFBitmap_Destroy", bitmap)
	if s.err != nil || stride < 4*w {
		return nil, s.err
	}
	for i := 3; i < len(pix); i += 4 {
		pix[i] = 0xFF
	}
	var out bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	err := enc.Encode(&out, &image.NRGBA{Pix: pix, Stride: stride, Rect: image.Rect(0, 0, w, h)})
	return out.Bytes(), err
}
