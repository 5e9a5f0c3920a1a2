package pagelayout

import (
	"math"
	"sort"
	"strings"
	"unicode"

	"github.com/kbsync/kbsync/connector"
)

// block is a paragraph, a table, or whatever else stands by itself.
type block struct {
	kind     connector.Kind
	level    int
	lines    []line
	table    *grid
	page     int
	end      int // the page on which it ends
	column   int // of the document, counted in reading order
	region   int // of the document; regions below each other may share a column
	left     float64
	right    float64
	indented bool // its first line stands further in
	short    bool // its last line ends before the others
	caption  bool
	marker   string
	notes    []block // footnotes that belong below it
	aside    bool    // runs across the direction of the page's text
	starts   bool    // an item that starts a list
}

func (b *block) first() *line { return &b.lines[0] }
func (b *block) last() *line  { return &b.lines[len(b.lines)-1] }

// box is where the part of the block on its first page and column stands.
func (b *block) box(width float64) *connector.Box {
	if b.table != nil {
		box := b.table.box
		return &box
	}
	if len(b.lines) == 0 {
		return nil
	}
	box := b.lines[0].box
	for i := 1; i < len(b.lines); i++ {
		l := &b.lines[i]
		if l.page != b.page || l.box.Y0 < b.lines[i-1].box.Y0-2*l.size { // the next column
			break
		}
		box = union(box, l.box)
	}
	if b.lines[0].down {
		box = turnedBack(box, width)
	}
	return &box
}

// paragraphs cuts the lines of a region.
type paragraphs struct {
	lines []line
	right map[int]float64 // by size
	left  map[int]float64
	pitch map[int]float64
	out   []block
}

func sizeKey(size float64) int { return int(size + 0.5) }

// split gives the blocks of a region's lines.
func split(rows []row, page int, down bool) []block {
	p := &paragraphs{right: map[int]float64{}, left: map[int]float64{}, pitch: map[int]float64{}}
	for i := range rows {
		l := lineOf(&rows[i])
		if l.text == "" {
			continue
		}
		l.page, l.down = page, down
		p.lines = append(p.lines, l)
	}
	if len(p.lines) == 0 {
		return nil
	}
	p.measure()
	start := 0
	for i := 1; i <= len(p.lines); i++ {
		if i < len(p.lines) && !p.ends(start, i) {
			continue
		}
		p.add(start, i)
		start = i
	}
	return p.out
}

// measure finds the edges of the text and the distance of its lines.
func (p *paragraphs) measure() {
	gaps := map[int][]float64{}
	for i := range p.lines {
		l := &p.lines[i]
		k := sizeKey(l.size)
		if v, ok := p.right[k]; !ok || l.box.X1 > v {
			p.right[k] = l.box.X1
		}
		if v, ok := p.left[k]; !ok || l.box.X0 < v {
			p.left[k] = l.box.X0
		}
		if i > 0 && sizeKey(p.lines[i-1].size) == k {
			if d := distance(&p.lines[i-1], l); d > 0.8*l.size {
				gaps[k] = append(gaps[k], d)
			}
		}
	}
	for k, g := range gaps {
		sort.Float64s(g)
		p.pitch[k] = min(g[len(g)/5], 2.2*float64(k))
	}
}

func distance(a, b *line) float64 {
	return (b.core.Y0+b.core.Y1)/2 - (a.core.Y0+a.core.Y1)/2
}

// ends tells whether a paragraph that began at line start ends before line i.
func (p *paragraphs) ends(start, i int) bool {
	a, b := &p.lines[i-1], &p.lines[i]
	k := sizeKey(b.size)
	if math.Max(a.size, b.size) > 1.13*math.Min(a.size, b.size) {
		return true
	}
	pitch := p.pitch[k]
	if pitch == 0 {
		pitch = 1.5 * b.size
	}
	gap := distance(a, b)
	if a.mono && b.mono {
		return gap > 3.2*pitch
	}
	if gap > pitch+0.42*b.size {
		return true
	}
	em := b.size
	short := p.right[k]-a.box.X1 > b.firstWord()+0.3*em+extra(b)
	if a.mono != b.mono && (short || terminal(a.text) || a.mono && p.lines[start].mono) { // else code inside of a sentence
		return true
	}
	if leader(a.text) {
		return true
	}
	if len(b.marks) > 0 && strings.HasPrefix(b.text, b.marks[0]) { // a footnote
		return true
	}
	first := &p.lines[start]
	if a.heavy != b.heavy && (short || terminal(a.text) || a.heavy && first.heavy) { // else bold words inside of a paragraph
		return true
	}
	if m := marker(b.text); m != "" {
		if bullet(m) && !strings.ContainsRune("·-–—*", firstRune(m)) || short || terminal(a.text) || marker(first.text) != "" && abs(first.box.X0-b.box.X0) < 0.5*em {
			return true
		}
	}
	in := b.box.X0 - a.box.X0
	switch {
	case a.hyphen:
		return false
	case i-1 == start: // a is a first line
		if in > 0.8*em && marker(a.text) == "" && b.box.X0-p.left[k] > 0.8*em && (short || terminal(a.text)) {
			return true
		}
	case in > 0.8*em && in < 5*em && !centred(a, b): // an indented first line
		return true
	case in < -0.8*em && first.box.X0 < a.box.X0-0.8*em && marker(first.text) == "" && !centred(a, b): // a hanging paragraph ends
		return true
	}
	if !short {
		return false
	}
	if terminal(a.text) {
		return true
	}
	if centred(a, b) {
		return false
	}
	if wideSure(lastRune(a.text)) {
		return p.right[k]-a.box.X1 > 2.2*em && !a.heavy
	}
	return p.right[k]-a.box.X1 > 0.35*(p.right[k]-p.left[k]) && unicode.IsUpper(firstRune(b.text)) && !a.heavy
}

// extra is how much shorter than the others a line of Han text may be without ending its paragraph: marks that may not start a line
// pull a character down.
func extra(next *line) float64 {
	if wideSure(firstRune(next.text)) {
		return 1.2 * next.size
	}
	return 0
}

// centred tells that two lines share their middle and not their edges.
func centred(a, b *line) bool {
	mid := (a.box.X0 + a.box.X1 - b.box.X0 - b.box.X1) / 2
	return abs(mid) < 0.6*b.size && abs(a.box.X0-b.box.X0) > 0.6*b.size && abs(a.box.X1-b.box.X1) > 0.6*b.size
}

// add makes a block of lines[start:end).
func (p *paragraphs) add(start, end int) {
	lines := p.lines[start:end:end]
	a, z := &lines[0], &lines[len(lines)-1]
	k := sizeKey(z.size)
	b := block{kind: connector.KindText, lines: lines, page: a.page, end: a.page, left: p.left[k], right: p.right[k], marker: marker(a.text)}
	b.indented = a.box.X0-p.left[sizeKey(a.size)] > 0.8*a.size
	b.short = p.right[k]-z.box.X1 > 1.5*z.size
	if a.mono && z.mono && allMono(lines) {
		b.kind = connector.KindCode
	}
	p.out = append(p.out, b)
}

func allMono(lines []line) bool {
	for i := range lines {
		if !lines[i].mono {
			return false
		}
	}
	return true
}
