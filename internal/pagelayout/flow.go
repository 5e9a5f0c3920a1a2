package pagelayout

import (
	"math"
	"unicode"

	"github.com/kbsync/kbsync/connector"
)

// join puts together the paragraphs that go on in the next column, on the next page or behind a table, and the items of lists.
func (d *document) join(blocks []block) []block {
	indents := indented(blocks)
	out := blocks[:0:0]
	open := -1 // the last paragraph of out that may go on
	for i := range blocks {
		b := blocks[i]
		switch {
		case b.table == nil && len(b.lines) == 0: // a title's line that went to the next
			continue
		case b.table != nil || b.caption || b.aside:
			out = append(out, b)
			continue
		case b.kind == connector.KindHeading:
			open = -1
			out = append(out, b)
			continue
		case b.kind == connector.KindFootnote:
			out = append(out, b)
			continue
		}
		if open >= 0 && goesOn(&out[open], &b, indents) {
			o := &out[open]
			o.lines = append(o.lines, b.lines...)
			o.end, o.short, o.column, o.region = b.end, b.short, b.column, b.region
			o.notes = append(o.notes, b.notes...)
			continue
		}
		open = len(out)
		out = append(out, b)
	}
	return lists(out)
}

// indented tells whether paragraphs start with an indented line.
func indented(blocks []block) bool {
	n, all := 0, 0
	for i := range blocks {
		if b := &blocks[i]; b.kind == connector.KindText && len(b.lines) > 2 && b.marker == "" {
			all++
			if b.indented {
				n++
			}
		}
	}
	return 5*n > 2*all
}

// goesOn tells whether paragraph b is the rest of a.
func goesOn(a, b *block, indents bool) bool {
	if a.region == b.region || a.kind != b.kind || len(a.lines) == 0 || len(b.lines) == 0 {
		return false
	}
	x, y := a.last(), b.first()
	if math.Max(x.size, y.size) > 1.08*math.Min(x.size, y.size) || x.mono != y.mono || x.down != y.down || b.page > a.end+1 {
		return false
	}
	if a.kind == connector.KindCode {
		return a.column != b.column
	}
	if x.hyphen {
		return unicode.IsLetter(firstRune(y.text))
	}
	if b.marker != "" || x.heavy != y.heavy && x.heavy {
		return false
	}
	if b.indented && (len(b.lines) > 1 || indents) {
		return false
	}
	first := firstRune(y.text)
	switch {
	case terminal(x.text):
		return !a.short && indents && !b.indented && a.column != b.column
	case a.short:
		return unicode.IsLower(first) && a.column != b.column && a.right-x.box.X1 < 8*x.size
	case a.column == b.column: // behind a table or a picture
		return unicode.IsLower(first) || wideSure(first) && wideSure(lastRune(x.text))
	}
	return true
}

// lists finds runs of items: at least two with marks of one kind, or bullets.
func lists(blocks []block) []block {
	out := blocks[:0:0]
	for i := 0; i < len(blocks); {
		n := listAt(blocks[i:])
		if n == 0 {
			out = append(out, blocks[i])
			i++
			continue
		}
		out = append(out, items(blocks[i:i+n])...)
		i += n
	}
	return out
}

func itemLike(b *block) bool {
	return b.kind == connector.KindText && b.marker != "" && b.table == nil && !b.caption && len(b.lines) > 0
}

// listAt counts the blocks of the list that starts here; 0 where none does.
func listAt(blocks []block) int {
	if !itemLike(&blocks[0]) {
		return 0
	}
	marks, n := 1, 1
	for ; n < len(blocks); n++ {
		b := &blocks[n]
		if itemLike(b) {
			marks++
			continue
		}
		if !belongs(&blocks[0], &blocks[n-1], b) {
			break
		}
	}
	for n > 1 && !itemLike(&blocks[n-1]) && marks == 1 {
		n--
	}
	if marks < 2 && !bullet(blocks[0].marker) {
		return 0
	}
	return n
}

// belongs tells whether a paragraph without a mark is a further one of the item before it.
func belongs(first, before, b *block) bool {
	if b.kind != connector.KindText || b.table != nil || b.caption || len(b.lines) == 0 || b.column != before.column || len(before.lines) == 0 {
		return false
	}
	l := b.first()
	return l.box.X0 > before.first().box.X0+0.8*l.size && l.box.X0 > first.first().box.X0+0.8*l.size && abs(l.size-before.first().size) < 0.1*l.size
}

// items makes the items of a list; paragraphs without a mark join the item before.
func items(blocks []block) []block {
	var out []block
	var edges []float64 // where the items of each level start
	for i := range blocks {
		b := blocks[i]
		if b.marker == "" {
			last := &out[len(out)-1]
			last.lines = append(last.lines, b.lines...)
			last.end = b.end
			last.notes = append(last.notes, b.notes...)
			continue
		}
		x, em := b.first().box.X0, b.first().size
		if n := len(out); n > 0 && b.column != out[n-1].column { // another column starts elsewhere
			shift := b.left - out[n-1].left
			for k := range edges {
				edges[k] += shift
			}
		}
		for len(edges) > 1 && x < edges[len(edges)-1]-0.6*em {
			edges = edges[:len(edges)-1]
		}
		if len(edges) == 0 || x > edges[len(edges)-1]+0.8*em {
			edges = append(edges, x)
		}
		b.kind, b.level, b.starts = connector.KindItem, len(edges), len(out) == 0
		out = append(out, b)
	}
	return out
}
