package org

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// mark is what starts an item.
type mark struct {
	length  int
	ordered bool
}

// markOf reads "-", "+", an indented "*", "1.", "1)" and "a)".
func markOf(line string, indent int) mark {
	n, ordered := 1, false
	switch c := line[0]; {
	case c == '-' || c == '+' || c == '*' && indent > 0:
	case c >= '0' && c <= '9':
		for n < len(line) && n < 10 && line[n] >= '0' && line[n] <= '9' {
			n++
		}
		ordered = true
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		ordered = true
	default:
		return mark{}
	}
	if ordered {
		if n >= len(line) || line[n] != '.' && line[n] != ')' {
			return mark{}
		}
		n++
	}
	if n < len(line) && line[n] != ' ' && line[n] != '\t' {
		return mark{}
	}
	return mark{n, ordered}
}

// list reads the items that start in the column of line i. One ends before a line that is not deeper, or two blank lines.
func (b *builder) list(i, hi int, at place) (connector.Element, int) {
	indent := int(b.Lines[i].Indent)
	first := markOf(b.Line(i), indent)
	el := connector.Element{Kind: connector.KindList, Level: at.lists + 1}
	lo, described := i, 0
	for i < hi {
		m := mark{}
		if !b.Blank(i) && int(b.Lines[i].Indent) == indent {
			m = markOf(b.Line(i), indent)
		}
		if m.length == 0 || m.ordered != first.ordered {
			break
		}
		end, over := b.itemEnd(i, hi, indent)
		item := b.Element(connector.KindItem, i, end)
		item.Level = el.Level
		if strings.Contains(b.Line(i), " ::") {
			described++
		}
		b.Enter(i, m.length)
		item.Children = b.inner(i, end, at.list())
		el.Children = append(el.Children, item)
		i = end
		if over {
			break
		}
	}
	el.Span = b.Span(lo, i)
	if described == len(el.Children) && !first.ordered {
		el.Kind, el.Level = connector.KindDefinition, 0
	}
	return el, i
}

// itemEnd is where the item of line i ends; over tells that its list ends with it. A block inside is not ended by its own lines.
func (b *builder) itemEnd(i, hi, indent int) (end int, over bool) {
	for i++; i < hi; i++ {
		if b.Blank(i) {
			if next := b.Skip(i, hi); next >= i+2 {
				return next, true
			}
			continue
		}
		if int(b.Lines[i].Indent) <= indent {
			return i, false
		}
		if line := b.Line(i); line[0] == '#' {
			if end, ok := b.blockEnd(line, i, hi); ok {
				i = end
			}
		}
	}
	return hi, false
}
