package pagelayout

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// A window of pages is laid out at once: what repeats is found in it, and its sizes of text are compared. Documents of up to this many
// pages and runs are one window; of larger ones, memory holds no more than that.
const (
	windowPages = 2000
	windowRuns  = 300_000
	windowRules = 2_000_000
)

// Elements lays pages out and gives their elements in reading order, as a parser yields them; outline are the document's bookmarks and
// properties what it says of itself. The text of every run is in the elements, or in a dropped one: running headers, footers and page
// numbers are [connector.DropFurniture], text that is drawn twice [connector.DropRepeated]. A page with images and no text is a dropped
// element of reason [connector.DropNoText]. An error of pages ends the sequence. The work is n log n in what stands on a page, and linear
// in the pages.
func Elements(ctx context.Context, pages iter.Seq2[Page, error], outline []Entry, properties map[string]any) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		d := &document{ctx: ctx, out: output{yield: yield, properties: properties}, outline: newOutline(outline)}
		runs, rules := 0, 0
		for p, err := range pages {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(connector.Element{}, err)
				return
			}
			s := d.cleaner.sheet(&p)
			if len(p.Runs) == 0 && len(p.Images) > 0 {
				s.drops = append(s.drops, drop{connector.DropNoText, noText(&p), nil})
			}
			d.sheets = append(d.sheets, s)
			runs += len(p.Runs)
			rules += len(s.rules)
			if len(d.sheets) < windowPages && runs < windowRuns && rules < windowRules {
				continue
			}
			if !d.window(false) {
				return
			}
			runs, rules = 0, 0
		}
		if d.window(true) {
			d.end()
		}
	}
}

func noText(p *Page) string {
	if n := len(p.Images); n != 1 {
		return fmt.Sprintf("page %d: %d images", p.Number, n)
	}
	return fmt.Sprintf("page %d: 1 image", p.Number)
}

// document is what is known of the pages so far.
type document struct {
	ctx     context.Context
	cleaner cleaner
	joiner  joiner
	running running
	sizes   map[int]int // letters by twice their size
	outline outline
	ranks   ranks
	tables  int
	column  int
	regions int
	work    int // segments looked at, for the test of the running time

	sheets []*sheet
	blocks []block // laid out and not written yet
	out    output
}

// window lays out the pages that were gathered and writes what is complete; false where nobody wants more.
func (d *document) window(final bool) bool {
	if d.sizes == nil {
		d.sizes = map[int]int{}
	}
	for _, s := range d.sheets {
		for _, segs := range [][]segment{s.segs, s.down} {
			for i := range segs {
				d.learn(&segs[i])
			}
		}
	}
	body := d.body()
	d.running.body = body
	d.running.count(d.sheets)
	d.running.strip(d.sheets)
	widths := map[int]float64{}
	for _, s := range d.sheets {
		for _, p := range s.drops {
			d.out.later(s.number, p)
		}
		widths[s.number] = s.width
		d.blocks = append(d.blocks, d.layout(s, body)...)
	}
	d.out.widths = widths
	clear(d.sheets)
	d.sheets = d.sheets[:0]
	d.blocks = d.notes(d.blocks, body)
	d.blocks = captions(d.blocks)
	d.headings(d.blocks, body)
	d.blocks = d.join(d.blocks)
	keep := len(d.blocks)
	if !final { // the last paragraph may go on
		for keep > 0 && d.blocks[keep-1].end == d.blocks[len(d.blocks)-1].end {
			keep--
		}
	}
	ok := d.write(d.blocks[:keep])
	d.blocks = append([]block(nil), d.blocks[keep:]...)
	return ok
}

// learn takes in the sizes and words of a segment.
func (d *document) learn(s *segment) {
	for i := range s.frags {
		f := &s.frags[i]
		d.sizes[int(f.size*2+0.5)] += len(strings.TrimSpace(f.text))
	}
	d.joiner.see(s.text())
}

// body is the size of most text.
func (d *document) body() float64 {
	best, size := 0, 10.0
	for k, n := range d.sizes {
		if s := float64(k) / 2; n > best || n == best && s > size {
			best, size = n, s
		}
	}
	return size
}

// layout gives the blocks of a page in reading order.
func (d *document) layout(s *sheet, body float64) []block {
	d.joiner.ruledTables(s)
	var out []block
	across := func() { out = append(out, d.part(s, s.segs, false, body)...) }
	if len(s.down) > len(s.segs) {
		out = d.part(s, s.down, true, body)
		across()
		return out
	}
	across()
	return append(out, d.part(s, s.down, true, body)...)
}

// part lays out the lines along a page, or the columns of vertical writing.
func (d *document) part(s *sheet, segs []segment, down bool, body float64) []block {
	if len(segs) == 0 {
		return nil
	}
	all := make([]*segment, 0, len(segs))
	sizes := map[int]int{}
	for i := range segs {
		all = append(all, &segs[i])
		for k := range segs[i].frags {
			sizes[int(segs[i].size*2+0.5)] += len(segs[i].frags[k].text)
		}
	}
	em, most := body, 0
	for k, n := range sizes {
		if n > most || n == most && float64(k)/2 > em {
			em, most = float64(k)/2, n
		}
	}
	if !down {
		for _, b := range pictures(s) {
			all = append(all, &segment{image: true, box: b, core: b, size: em})
		}
	}
	c := cutter{em: em, j: &d.joiner}
	c.cut(all, 0)
	var out []block
	for _, r := range c.regions {
		d.regions++
		if r.table != nil {
			r.table.page, r.table.down = s.number, down
			out = append(out, block{kind: connector.KindTable, table: r.table, page: s.number, end: s.number, column: d.column + r.column, region: d.regions})
			continue
		}
		for _, b := range split(r.rows, s.number, down) {
			b.column, b.region = d.column+r.column, d.regions
			b.aside = down != (len(s.down) > len(s.segs))
			out = append(out, b)
		}
	}
	d.column += c.column + 1
	d.work += c.work
	return out
}

// Bounds of the pictures that part text.
const (
	maxPictures = 40
	minPicture  = 24.0 // points
)

// pictures are the images that text stands around: no backgrounds, no ornaments.
func pictures(s *sheet) []connector.Box {
	var out []connector.Box
	for _, b := range s.images {
		b = ordered(b)
		if len(out) == maxPictures || b.X1-b.X0 < minPicture || b.Y1-b.Y0 < minPicture || (b.X1-b.X0)*(b.Y1-b.Y0) > 0.6*s.width*s.height {
			continue
		}
		covered := 0
		for i := range s.segs {
			g := &s.segs[i]
			if overlap(g.box.X0, g.box.X1, b.X0, b.X1) > 1 && overlap(g.box.Y0, g.box.Y1, b.Y0, b.Y1) > 1 {
				covered++
			}
		}
		if covered == 0 {
			out = append(out, b)
		}
	}
	return out
}
