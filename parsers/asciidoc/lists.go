package asciidoc

import (
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// mark is what starts an item. Items of one key are of one list; another key starts a list inside.
type mark struct {
	key    string
	length int  // of what stands before the item's text
	term   bool // of a list of definitions
}

// markOf reads the mark of an item.
func markOf(line string) (mark, bool) {
	n := 0
	switch c := line[0]; {
	case c == '*' || c == '.':
		for n < len(line) && line[n] == c {
			n++
		}
		if n <= 6 && spaced(line, n) {
			return mark{key: line[:n], length: n}, true
		}
	case c == '-':
		if spaced(line, 1) {
			return mark{key: "-", length: 1}, true
		}
	case strings.HasPrefix(line, "•"):
		if spaced(line, len("•")) {
			return mark{key: "•", length: len("•")}, true
		}
	case c == '<':
		if n = strings.IndexByte(line, '>'); n > 1 && n < 8 && strings.Trim(line[1:n], "0123456789.") == "" && spaced(line, n+1) {
			return mark{key: "<", length: n + 1}, true
		}
	case c >= '0' && c <= '9':
		for n < len(line) && n < 10 && line[n] >= '0' && line[n] <= '9' {
			n++
		}
		if n < len(line) && line[n] == '.' && spaced(line, n+1) {
			return mark{key: "1.", length: n + 1}, true
		}
	case len(line) > 2 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
		for n < len(line) && n < 8 && strings.IndexByte("ivxIVX", line[n]) >= 0 {
			n++
		}
		if n > 0 && line[n:] != "" && line[n] == ')' && spaced(line, n+1) {
			return mark{key: "i)", length: n + 1}, true
		}
		if line[1] == '.' && spaced(line, 2) {
			if c <= 'Z' {
				return mark{key: "A.", length: 2}, true
			}
			return mark{key: "a.", length: 2}, true
		}
	}
	return termMark(line)
}

func spaced(line string, n int) bool { return n < len(line) && (line[n] == ' ' || line[n] == '\t') }

// termMark reads "term::", with two to four colons, or two semicolons.
func termMark(line string) (mark, bool) {
	if strings.HasPrefix(line, "//") || line[0] == '[' && line[len(line)-1] == ']' {
		return mark{}, false
	}
	for at := 0; ; {
		i := strings.IndexAny(line[at:], ":;")
		if i < 0 {
			return mark{}, false
		}
		i += at
		n := i
		for n < len(line) && line[n] == line[i] {
			n++
		}
		at = n
		k := n - i
		if i > 0 && (k == 2 || line[i] == ':' && k <= 4) && k >= 2 && (n == len(line) || spaced(line, n)) && strings.TrimSpace(line[:i]) != "" {
			return mark{key: line[i:n], length: n, term: true}, true
		}
	}
}

// entry is one item with what is attached to it, without the lists inside.
type entry struct {
	mark
	lo, hi int
}

// list reads a list with the lists inside it.
func (b *builder) list(i, hi int, m mark, at place) (connector.Element, int) {
	var all []entry
	end := i
	for over := false; !over; {
		e := entry{mark: m, lo: i}
		e.hi, over = b.entryEnd(i, hi)
		all = append(all, e)
		i, end = e.hi, e.hi
		if !over {
			m, _ = markOf(b.Line(i))
		}
	}
	el, _ := b.nested(all, 0, nil, at)
	return el, end
}

// entryEnd is where the item of line i ends; over tells that no further one follows.
func (b *builder) entryEnd(i, hi int) (end int, over bool) {
	joined := false // a "+" stands above
	for i++; i < hi; {
		if b.Blank(i) {
			next := b.Skip(i, hi)
			if next >= hi {
				return hi, true
			}
			if _, ok := markOf(b.Line(next)); ok && !joined {
				return next, b.otherBlock(next)
			}
			if b.Line(next) != "+" && b.Lines[next].Indent == 0 && !joined {
				return next, true
			}
			i = next
			continue
		}
		line := b.Line(i)
		switch {
		case line == "+":
			joined = true
			i++
			continue
		case joined:
			i = b.attached(i, hi)
		case b.otherBlock(i), b.Lines[i].Indent == 0 && (attributeLine(line) || isComment(line) || delimiter(line) != 0 && b.fenceEnd(i, hi) < hi):
			return i, true
		default:
			if _, ok := markOf(line); ok {
				return i, false
			}
			i++
		}
		joined = false
	}
	return hi, true
}

// otherBlock tells lines that look like items and are breaks.
func (b *builder) otherBlock(i int) bool { return isBreak(b.Line(i)) }

// attached is the end of the block in line i, which is joined to an item.
func (b *builder) attached(i, hi int) int {
	for i < hi && !b.Blank(i) && b.Lines[i].Indent == 0 && (attributeLine(b.Line(i)) || blockTitle(b.Line(i)) || isComment(b.Line(i))) {
		i++
	}
	if i >= hi || b.Blank(i) {
		return i
	}
	if b.Lines[i].Indent == 0 && delimiter(b.Line(i)) != 0 {
		if end := b.fenceEnd(i, hi); end < hi {
			return end + 1
		}
	}
	if _, ok := markOf(b.Line(i)); ok {
		return i + 1
	}
	for i++; i < hi && !b.Blank(i) && b.Line(i) != "+"; i++ {
		if _, ok := markOf(b.Line(i)); ok {
			break
		}
	}
	return i
}

// nested makes the list that starts with all[k]; above are the keys of the lists around it. It returns the first entry behind it.
func (b *builder) nested(all []entry, k int, above []string, at place) (connector.Element, int) {
	key := all[k].key
	el := connector.Element{Kind: connector.KindList, Level: at.lists + 1}
	if all[k].term {
		el.Kind, el.Level = connector.KindDefinition, 0
	}
	keys := append(above[:len(above):len(above)], key)
	inside := at.list()
	start := all[k].lo
	end := start
	for k < len(all) && (all[k].key == key || len(keys) > lightmarkup.MaxDepth && !slices.Contains(above, all[k].key)) {
		e := &all[k]
		item := b.Element(connector.KindItem, e.lo, e.hi)
		item.Level = at.lists + 1
		item.Children = b.ofItem(e, inside)
		for k++; k < len(all) && !slices.Contains(keys, all[k].key) && len(keys) <= lightmarkup.MaxDepth; {
			var sub connector.Element
			if len(item.Children) == 0 && !e.term {
				item.Children = b.text(e)
			}
			sub, k = b.nested(all, k, keys, inside)
			item.Children = append(item.Children, sub)
			item.Span.End = sub.Span.End
		}
		end = item.Span.End
		el.Children = append(el.Children, item)
	}
	el.Span = connector.Span{Start: b.At(start), End: end}
	if k < len(all) {
		el.Span.End = min(el.Span.End, b.At(all[k].lo))
	}
	return el, k
}

// text is the own text of an item as its first child.
func (b *builder) text(e *entry) []connector.Element {
	return []connector.Element{b.Element(connector.KindText, e.lo, e.hi)}
}

// ofItem are the blocks of an item without the lists inside it.
func (b *builder) ofItem(e *entry, at place) []connector.Element {
	b.Enter(e.lo, e.length)
	b.Lines[e.lo].Indent = 0
	if first := b.Skip(e.lo, e.hi); first < e.hi && e.term {
		b.Lines[first].Indent = 0 // the text of a term may be indented, and is no code
	}
	at.text = e.lo + 1
	return b.inner(e.lo, e.hi, at)
}
