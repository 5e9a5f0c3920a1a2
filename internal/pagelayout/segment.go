package pagelayout

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// splitGap is the gap, in ems, from which on what stands on a line may belong to different columns.
const splitGap = 0.9

// segment is a stretch of a line without wide gaps, or an object that stands among them.
type segment struct {
	frags []frag
	box   connector.Box
	core  connector.Box // of the text in the main size: neither marks above the line nor initials
	size  float64
	order int
	table *grid // an object: a table that was found
	image bool  // an object: a picture
}

// segments joins frags that follow each other on a line.
func segments(frags []frag) []segment {
	var out []segment
	start := 0
	for i := 1; i <= len(frags); i++ {
		if i < len(frags) && follows(&frags[i-1], &frags[i]) {
			continue
		}
		if i > start {
			out = append(out, newSegment(frags[start:i:i]))
		}
		start = i
	}
	return out
}

// follows tells that b goes on with the line of a, or is a mark above or below it.
func follows(a, b *frag) bool {
	em := max(a.size, b.size)
	gap := apart(a, b)
	if gap > splitGap*em || gap < -1.1*em || a.hyphen {
		return false
	}
	ha, hb := a.box.Y1-a.box.Y0, b.box.Y1-b.box.Y0
	if overlap(a.box.Y0, a.box.Y1, b.box.Y0, b.box.Y1) >= 0.4*min(ha, hb) {
		return true
	}
	if gap > 0.4*em || max(a.size, b.size)*0.85 < min(a.size, b.size) {
		return false
	}
	large, small := a.box, b.box
	if a.size < b.size {
		large, small = small, large
	}
	mid, slack := (small.Y0+small.Y1)/2, 0.3*max(ha, hb)
	return mid > large.Y0-slack && mid < large.Y1+slack
}

// apart is the gap between two frags; the half of a wide mark that has no ink belongs to the mark.
func apart(a, b *frag) float64 {
	gap := b.box.X0 - a.box.X1
	last, first := lastRune(a.text), firstRune(b.text)
	if wideSure(last) && unicode.In(last, unicode.Po, unicode.Pe) || wideSure(first) && unicode.Is(unicode.Pf, last) {
		gap -= 0.5 * a.size
	}
	if wideSure(first) && unicode.Is(unicode.Ps, first) || wideSure(last) && unicode.Is(unicode.Pi, first) { // quotation marks are wide among Han text
		gap -= 0.5 * b.size
	}
	return gap
}

func overlap(a0, a1, b0, b1 float64) float64 { return min(a1, b1) - max(a0, b0) }

func newSegment(frags []frag) segment {
	s := segment{frags: frags, box: frags[0].box, order: frags[0].order}
	best, sizes := 0, map[int]int{}
	for i := range frags {
		f := &frags[i]
		s.box = union(s.box, f.box)
		key := int(f.size*4 + 0.5)
		sizes[key] += utf8.RuneCountInString(f.text)
		if n := sizes[key]; n > best || n == best && f.size > s.size {
			best, s.size = n, f.size
		}
	}
	first := true
	for i := range frags {
		if f := &frags[i]; f.size > 0.85*s.size && f.size < 1.18*s.size {
			if first {
				s.core, first = f.box, false
			} else {
				s.core = union(s.core, f.box)
			}
		}
	}
	if first {
		s.core = s.box
	}
	return s
}

func union(a, b connector.Box) connector.Box {
	return connector.Box{X0: min(a.X0, b.X0), Y0: min(a.Y0, b.Y0), X1: max(a.X1, b.X1), Y1: max(a.Y1, b.Y1)}
}

// object tells segments that are no text.
func (s *segment) object() bool { return s.table != nil || s.image }

// text is what the segment says, without regard to a hyphen at its end.
func (s *segment) text() string {
	var b strings.Builder
	for i := range s.frags {
		if i > 0 && spaced(&s.frags[i-1], &s.frags[i]) {
			b.WriteByte(' ')
		}
		b.WriteString(s.frags[i].text)
	}
	return strings.TrimSpace(b.String())
}

// spaced tells whether a space stands between two frags of a line that have none themselves.
func spaced(a, b *frag) bool {
	last, first := lastRune(a.text), firstRune(b.text)
	if last == ' ' || first == ' ' {
		return false
	}
	if first == '\u2010' && unicode.IsLetter(last) { // a hyphen in the middle of the width of a Han character
		return false
	}
	gap := apart(a, b)
	em := min(a.size, b.size)
	switch {
	case wideSure(last) && wideSure(first):
		return gap > 1.6*em
	case wideSure(last) || wideSure(first):
		return gap > 0.45*em
	}
	if em < 0.85*max(a.size, b.size) { // a mark above the line
		return gap > 0.3*max(a.size, b.size)
	}
	if single(a.text) || single(b.text) { // letters, whose boxes may be close around the ink
		return gap > 0.3*em || gap < -3*em
	}
	return gap > 0.17*em || gap < -3*em
}

func single(s string) bool { return len(s) <= utf8.UTFMax && utf8.RuneCountInString(s) == 1 }

// row is what stands on one line of a region.
type row struct {
	segs []*segment
	core connector.Box
	box  connector.Box
	size float64
}

// rowsOf puts segments into lines, from the upper one down. Small marks join the line that they stand beside. It sorts, and looks at each
// segment a bounded number of times.
func rowsOf(segs []*segment) []row {
	sorted := make([]*segment, 0, len(segs))
	sizes := map[int]int{}
	for _, s := range segs {
		sizes[int(s.size+0.5)] += len(s.frags)
	}
	main, most := 0.0, 0
	for size, n := range sizes {
		if n > most || n == most && float64(size) > main {
			main, most = float64(size), n
		}
	}
	var marks []*segment
	for _, s := range segs {
		if s.size < 0.78*main && utf8.RuneCountInString(s.text()) <= 3 && !s.object() {
			marks = append(marks, s)
		} else {
			sorted = append(sorted, s)
		}
	}
	if len(sorted) == 0 {
		sorted, marks = marks, nil
	}
	sort.SliceStable(sorted, func(i, j int) bool { return middle(sorted[i]) < middle(sorted[j]) })
	var rows []row
	for _, s := range sorted {
		if n := len(rows); n > 0 && sameRow(&rows[n-1], s) {
			rows[n-1].add(s)
			continue
		}
		rows = append(rows, row{segs: []*segment{s}, core: s.core, box: s.box, size: s.size})
	}
	rows = attach(rows, marks)
	for i := range rows {
		rows[i].sort()
	}
	return rows
}

func middle(s *segment) float64 { return (s.core.Y0 + s.core.Y1) / 2 }

func sameRow(r *row, s *segment) bool {
	h := min(r.core.Y1-r.core.Y0, s.core.Y1-s.core.Y0)
	return overlap(r.core.Y0, r.core.Y1, s.core.Y0, s.core.Y1) >= 0.5*h
}

// add puts s on the line; its height stays that of the largest text.
func (r *row) add(s *segment) {
	r.segs = append(r.segs, s)
	r.box = union(r.box, s.box)
	if s.core.Y1-s.core.Y0 > r.core.Y1-r.core.Y0 && s.size < 1.5*r.size {
		r.core.Y0, r.core.Y1 = s.core.Y0, s.core.Y1
	}
	r.core.X0, r.core.X1 = min(r.core.X0, s.core.X0), max(r.core.X1, s.core.X1)
	r.size = max(r.size, s.size)
}

// attach adds marks to the rows beside which they stand; others are rows of their own.
func attach(rows []row, marks []*segment) []row {
	if len(marks) == 0 {
		return rows
	}
	n := len(rows)
	var alone []row
	for _, m := range marks {
		at := sort.Search(n, func(i int) bool { return rows[i].core.Y1 >= m.box.Y0 })
		best, most := -1, 0.0
		for i := at; i < min(at+3, n); i++ {
			o := overlap(rows[i].core.Y0-0.3*rows[i].size, rows[i].core.Y1+0.3*rows[i].size, m.box.Y0, m.box.Y1)
			beside := m.box.X0 < rows[i].box.X1+1.5*rows[i].size && m.box.X1 > rows[i].box.X0-1.5*rows[i].size
			if beside && o > most && o > 0.5*(m.box.Y1-m.box.Y0) {
				best, most = i, o
			}
		}
		if best >= 0 {
			rows[best].segs = append(rows[best].segs, m)
			rows[best].box = union(rows[best].box, m.box)
		} else {
			alone = append(alone, row{segs: []*segment{m}, core: m.core, box: m.box, size: m.size})
		}
	}
	if len(alone) > 0 {
		rows = append(rows, alone...)
		sort.SliceStable(rows, func(i, j int) bool { return rows[i].core.Y0+rows[i].core.Y1 < rows[j].core.Y0+rows[j].core.Y1 })
	}
	return rows
}

// sort puts the segments of a row in reading order: from the left, or, in writing from the right, as the page draws them.
func (r *row) sort() {
	letters, rtl := 0, 0
	for _, s := range r.segs {
		for i := range s.frags {
			for _, c := range s.frags[i].text {
				if rightToLeft(c) {
					rtl++
				} else if c > ' ' {
					letters++
				}
			}
		}
	}
	if rtl > letters {
		sort.SliceStable(r.segs, func(i, j int) bool { return r.segs[i].order < r.segs[j].order })
		return
	}
	sort.SliceStable(r.segs, func(i, j int) bool { return r.segs[i].box.X0 < r.segs[j].box.X0 })
}
