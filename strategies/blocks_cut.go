package strategies

import (
	"strings"
	"unicode"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sentences"
)

// part is what packing moves as a whole: a block, or a piece of one that does not fit.
type part struct {
	lo, hi int
	el     int    // the window's element that it belongs to
	extra  *extra // what is repeated above a chunk that starts here
	glue   bool   // a heading: does not end a chunk
	fresh  bool   // starts a chunk
	cutLo  bool   // its start lies inside a word or an atom
	cutHi  bool   // its end does
}

// extra is text repeated in the context: the header of a table, the first line of a fence, the declarations around code.
type extra struct {
	text  string // ends in a line end
	spans []connector.Span
	room  map[*crumb][]int // what remains below it and a breadcrumb
	most  int              // while it is written: the bytes it may have
	over  bool             // it would have more
}

// maxNesting bounds the recursion into lists in lists; what is deeper is cut as text.
const maxNesting = 32

// cutter collects the parts of one section.
type cutter struct {
	w     *window
	c     *crumb
	room  []int // below the section's breadcrumb
	el    int
	parts []part
	extra *extra
	seps  *separators
}

// parts are the blocks of els[first:end), those of them cut that do not fit below the breadcrumb of c.
func (w *window) parts(first, end int, c *crumb) []part {
	k := &cutter{w: w, c: c, room: w.f.room(c), parts: make([]part, 0, end-first)}
	for i := first; i < end; i++ {
		k.el, k.extra = i, nil
		k.block(&w.els[i])
	}
	return k.parts
}

// add adds text[lo:hi) as a part of the element at hand.
func (k *cutter) add(lo, hi int) *part {
	k.parts = append(k.parts, part{lo: lo, hi: hi, el: k.el, extra: k.extra})
	return &k.parts[len(k.parts)-1]
}

// fits tells whether the trimmed range fits the room.
func (k *cutter) fits(lo, hi int, room []int) bool {
	lo, hi = trimSpan(k.w.text, lo, hi)
	return lo == hi || k.w.m.fits(lo, hi, room)
}

// block adds one element.
func (k *cutter) block(el *connector.Element) {
	lo, hi := k.w.at(k.el), k.w.at(k.el+1)
	switch {
	case el.Kind == connector.KindTable && el.Table != nil && len(el.Table.Rows) > 0:
		k.table(el, lo, hi)
	case el.Kind == connector.KindHeading:
		if !k.fits(lo, hi, k.room) {
			k.text(lo, hi)
			return
		}
		k.add(lo, hi).glue = true
	case k.fits(lo, hi, k.room), keepsTogether(el) && k.fits(lo, hi, nil):
		k.add(lo, hi)
	default:
		k.cut(el, lo, hi)
	}
}

// keepsTogether tells the blocks that stay whole at the cost of their breadcrumb.
func keepsTogether(el *connector.Element) bool {
	return isAtom(el) || el.Kind == connector.KindCode || el.Kind == connector.KindTable || el.Kind == connector.KindMath
}

// cut adds the pieces of an element that does not fit.
func (k *cutter) cut(el *connector.Element, lo, hi int) {
	first := len(k.parts)
	switch {
	case el.Kind == connector.KindCode:
		k.code(el, lo, hi)
	case len(el.Children) > 0:
		k.children(el.Children, lo, hi, 0)
	case el.Kind == connector.KindHTML, el.Kind == connector.KindMath:
		k.split(lo, hi, k.room)
	default:
		k.text(lo, hi)
	}
	if isAtom(el) {
		k.markCuts(k.parts[first:])
	}
}

// isAtom tells what is not cut while it fits: marked elements, and records, which are rows.
func isAtom(el *connector.Element) bool {
	return el.Atom || el.Kind == connector.KindRecord && el.Table != nil
}

// markCuts marks the inner borders of the parts of one atom. Blank parts at its ends cut nothing.
func (k *cutter) markCuts(parts []part) {
	blank := func(p *part) bool { return strings.TrimSpace(k.w.text[p.lo:p.hi]) == "" }
	for len(parts) > 0 && blank(&parts[0]) {
		parts = parts[1:]
	}
	for len(parts) > 0 && blank(&parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	for i := range parts {
		parts[i].cutLo = parts[i].cutLo || i > 0
		parts[i].cutHi = parts[i].cutHi || i < len(parts)-1
	}
}

func (k *cutter) separators() *separators {
	if k.seps == nil {
		k.seps = defaultSeparators()
	}
	return k.seps
}

// split adds text cut at the best separators that fit.
func (k *cutter) split(lo, hi int, room []int) {
	c := cutting{seps: k.separators(), fill: minFill}
	for open := false; lo < hi; {
		got := k.w.m.next(lo, hi, room, c)
		p := k.add(lo, got.at)
		p.cutLo, p.cutHi = open, got.forced
		lo, open = got.at, got.forced
	}
}

// text adds sentences.
func (k *cutter) text(lo, hi int) {
	text := k.w.text[:hi]
	for lo < hi {
		next := sentences.Next(text, lo)
		if next <= lo {
			next = hi
		}
		if k.fits(lo, next, k.room) {
			k.add(lo, next)
		} else {
			k.split(lo, next, k.room)
		}
		lo = next
	}
}

// children adds the parts of a container, each with the text up to the next.
func (k *cutter) children(children []connector.Element, lo, hi, depth int) {
	first := min(max(children[0].Span.Start-k.w.base, lo), hi)
	if own := k.w.text[lo:first]; first > lo && strings.ContainsRune(strings.TrimSpace(own), '\n') || len(own) > 64 || inlineAtom(&children[0]) && k.apart(own, first, children[0].Span.End-k.w.base) {
		k.range_(nil, lo, first, depth)
		lo = first
	}
	for i := range children {
		end := hi
		if i+1 < len(children) {
			end = min(max(children[i+1].Span.Start-k.w.base, lo), hi)
		}
		if own := min(children[i].Span.End-k.w.base, end); inlineAtom(&children[i]) && own > lo && hasWord(k.w.text[own:end]) {
			k.range_(&children[i], lo, own, depth) // the words behind it are no part of it
			k.range_(nil, own, end, depth)
			lo = end
		}
		if end > lo {
			k.range_(&children[i], lo, end, depth)
		}
		lo = end
	}
}

// inlineAtom tells an atom within a text, as a citation is.
func inlineAtom(el *connector.Element) bool { return isAtom(el) && el.Table == nil }

// apart tells that what stands before an atom, at text[lo:hi), is a part for itself: words are, and an indentation that the atom has no room for.
func (k *cutter) apart(before string, lo, hi int) bool {
	if hasWord(before) {
		return true
	}
	return before != "" && strings.TrimSpace(before) == "" && !k.fits(lo-len(before), hi, nil) && k.fits(lo, hi, nil)
}

// hasWord tells text from the mark of an item.
func hasWord(text string) bool { return strings.ContainsFunc(text, unicode.IsLetter) }

// range_ adds one child's range, cut if it does not fit.
func (k *cutter) range_(el *connector.Element, lo, hi, depth int) {
	first := len(k.parts)
	switch {
	case k.fits(lo, hi, k.room):
		k.add(lo, hi)
	case el == nil:
		k.text(lo, hi)
	case isAtom(el) && el.Kind != connector.KindCode && k.fits(lo, hi, nil):
		k.add(lo, hi)
	case el.Table != nil && len(el.Table.Rows) > 0:
		before := k.extra
		k.table(el, lo, hi)
		k.extra = before
	case el.Kind == connector.KindCode:
		before := k.extra
		if k.fits(lo, hi, nil) {
			k.add(lo, hi)
		} else {
			k.code(el, lo, hi)
		}
		k.extra = before
	case len(el.Children) > 0 && depth < maxNesting:
		k.children(el.Children, lo, hi, depth+1)
	default:
		k.text(lo, hi)
	}
	if el != nil && isAtom(el) {
		k.markCuts(k.parts[first:])
	}
}

// freshHeading moves the start of a chunk from part i to the headings right above it.
func (k *cutter) freshHeading(i int) {
	for i > 0 && k.parts[i-1].glue {
		k.parts[i].fresh = false
		i--
		k.parts[i].fresh = true
	}
}

// newExtra makes the text to repeat, or nil if it would take more than half of a cap.
func (k *cutter) newExtra(text string, span connector.Span) *extra {
	if !k.w.f.b.within(text, k.w.f.b.share(2)) {
		return nil
	}
	return &extra{text: text, spans: []connector.Span{span}}
}

// extraRoom is what remains below the section's breadcrumb and x.
func (k *cutter) extraRoom(x *extra) []int {
	if x == nil {
		return k.room
	}
	return k.w.f.roomBelow(k.c, x)
}

// roomBelow is what remains of the caps below a breadcrumb and x, which may be nil.
func (f *flow) roomBelow(c *crumb, x *extra) []int {
	if x == nil {
		return f.room(c)
	}
	room, ok := x.room[c]
	if !ok {
		line, _ := f.breadcrumb(c)
		room = f.b.room(line + x.text)
		if x.room == nil {
			x.room = map[*crumb][]int{}
		}
		x.room[c] = room
	}
	return room
}

// table adds a table: whole if it fits, else its rows, with the header repeated. Rows of a table whose first part was
// another element repeat it in any case.
func (k *cutter) table(el *connector.Element, lo, hi int) {
	t := el.Table
	own := len(t.HeaderText) > 0 && t.HeaderSpan.Start >= el.Span.Start && t.HeaderSpan.End <= el.Span.End && t.HeaderSpan.Len() > 0
	more := k.sameTable(k.el-1, t.ID) || k.sameTable(k.el+1, t.ID)
	if !more && (own || t.HeaderText == "") && (k.fits(lo, hi, k.room) || k.fits(lo, hi, nil)) {
		k.add(lo, hi)
		return
	}
	var again *extra
	if t.HeaderText != "" {
		again = k.newExtra(t.HeaderText, trimmedSpan(t.HeaderText, t.HeaderSpan))
	}
	first, before := len(k.parts), k.extra
	if !own {
		k.extra = again
	}
	room := k.extraRoom(again)
	tail := hi // what follows the last row, as the end of an environment does, is no part of it
	if last := t.Rows[len(t.Rows)-1].Span.End - k.w.base; last > lo && last < hi && strings.TrimSpace(k.w.text[last:hi]) != "" {
		hi = last
	}
	for i := range t.Rows {
		end := hi
		if i+1 < len(t.Rows) {
			end = min(max(t.Rows[i+1].Span.Start-k.w.base, lo), hi)
		}
		if i == 0 { // a caption is no part of the first row
			k.header(t, &lo, hi, room)
		}
		if i == 0 && own {
			k.extra = again
		}
		k.row(lo, end, room)
		lo = end
	}
	if k.extra = before; lo < tail {
		k.text(lo, tail)
	}
	if !k.sameTable(k.el-1, t.ID) && first < len(k.parts) {
		k.parts[first].fresh = true
		k.freshHeading(first)
	}
}

// header adds what stands before the first row, kept with that row.
func (k *cutter) header(t *connector.Table, lo *int, hi int, room []int) {
	end := min(max(t.Rows[0].Span.Start-k.w.base, *lo), hi)
	if end == *lo {
		return
	}
	if k.fits(*lo, end, room) {
		k.add(*lo, end).glue = true
	} else {
		k.split(*lo, end, room)
	}
	*lo = end
}

// row adds one row, cut only if it is too long by itself.
func (k *cutter) row(lo, hi int, room []int) {
	if k.fits(lo, hi, room) || k.fits(lo, hi, nil) {
		k.add(lo, hi)
		return
	}
	first := len(k.parts)
	k.split(lo, hi, room)
	k.markCuts(k.parts[first:])
}

// sameTable tells whether element i belongs to table id.
func (k *cutter) sameTable(i, id int) bool {
	return i >= 0 && i < len(k.w.els) && k.w.els[i].Table != nil && k.w.els[i].Table.ID == id
}

// trimmedSpan drops the blank space at the end of what stands in span.
func trimmedSpan(text string, span connector.Span) connector.Span {
	if n := len(text) - len(strings.TrimRight(text, " \t\r\n")); n < span.Len() {
		span.End -= n
	}
	return span
}
