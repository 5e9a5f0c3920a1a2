package apidoc

import (
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// decl is a symbol, with places in the whole text.
type decl struct {
	kind, name  string
	path        []string
	header, doc connector.Span
	start, end  int
	kids        []decl
}

// elements turns declarations into elements that tile text: each starts at its line, with the comments above it, and
// ends where the next one starts.
func elements(text, language string, list []decl) []connector.Element {
	list = slices.DeleteFunc(list, func(d decl) bool { return d.start >= d.end })
	if len(list) == 0 {
		if text == "" {
			return nil
		}
		list = []decl{{kind: "member", end: len(text)}}
	}
	var kept []*decl
	var starts []int
	for i := range list {
		at := 0
		if i > 0 {
			at = above(text, max(list[i].start, list[i-1].end), list[i-1].end)
		}
		if i == 0 || at > starts[len(starts)-1] && apart(text, at) {
			kept, starts = append(kept, &list[i]), append(starts, at)
		}
	}
	starts = append(starts, len(text))
	out := make([]connector.Element, 0, len(kept))
	for i, d := range kept {
		if starts[i] < starts[i+1] {
			out = append(out, element(text, language, d, starts[i], starts[i+1], 0))
		}
	}
	return out
}

// element is d as an element that spans start to end, with its children inside.
func element(text, language string, d *decl, start, end, depth int) connector.Element {
	clamp := func(s connector.Span) connector.Span {
		s.Start = min(max(s.Start, start), end)
		return connector.Span{Start: s.Start, End: min(max(s.End, s.Start), end)}
	}
	e := connector.Element{
		Kind: connector.KindSymbol, Language: language, Text: text[start:end], Span: connector.Span{Start: start, End: end},
		Symbol: &connector.Symbol{
			Kind: d.kind, Name: oneLine(d.name), Path: lines(d.path), Header: clamp(d.header), Doc: clamp(d.doc),
			Body: clamp(connector.Span{Start: max(d.header.End, d.start), End: d.end}),
		},
	}
	if depth > maxNesting {
		return e
	}
	from := max(start, d.start)
	if d.header.End > d.start && d.header.End <= end {
		from = max(from, min(d.header.Start, end))
	}
	for i := range d.kids {
		k := &d.kids[i]
		ks := above(text, min(max(k.start, from), end), from)
		ke := min(max(k.end, ks), end)
		mark := k.kind == "reference" || k.kind == "attribute"
		if mark {
			ks = min(max(k.start, from), ke)
		} else if i+1 < len(d.kids) {
			if next := min(d.kids[i+1].start, end); next >= ke {
				ke = max(ke, above(text, next, ke))
			} else {
				ke = max(ks, next)
			}
		} else {
			ke = lineRest(text, ke, end)
		}
		if ks < ke && (mark || apart(text, ks)) {
			e.Children = append(e.Children, element(text, language, k, ks, ke, depth+1))
			from = ke
		}
	}
	return e
}

// lines makes names of one line.
func lines(names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		if n = oneLine(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

// above is where what starts at pos starts with its own line and the comments right above it, not before limit.
func above(text string, pos, limit int) int {
	line := lineStart(text, pos, limit)
	if line == pos && pos > limit && text[pos-1] != '\n' {
		return pos
	}
	indent := pos - line
	for at := line; at > limit; {
		prev := lineStart(text, at-1, limit)
		if prev > limit && text[prev-1] != '\n' || prev == limit && limit > 0 && text[limit-1] != '\n' {
			break
		}
		body := strings.TrimLeft(text[prev:at], " \t")
		if len(text[prev:at])-len(body) != indent || body[0] != '#' {
			break
		}
		at, line = prev, prev
	}
	return line
}

// lineStart is where the line of pos starts, if only blank space stands before pos on it and not before limit; otherwise pos.
func lineStart(text string, pos, limit int) int {
	for i := pos; i > limit; i-- {
		switch text[i-1] {
		case '\n':
			return i
		case ' ', '\t':
		default:
			if pos < len(text) && text[pos] == '\n' {
				return backToLine(text, i, limit)
			}
			return pos
		}
	}
	return limit
}

// backToLine is where the line of pos starts, whatever stands on it.
func backToLine(text string, pos, limit int) int {
	return limit + strings.LastIndexByte(text[limit:max(limit, pos)], '\n') + 1
}

// lineRest is the place after the line end of pos, if only blank space and separators stand before it and it is within
// limit; otherwise pos.
func lineRest(text string, pos, limit int) int {
	for i := pos; i < limit; i++ {
		switch text[i] {
		case '\n':
			return i + 1
		case ' ', '\t', ';', ',':
		default:
			return pos
		}
	}
	return pos
}

// trimmed is the end of text[start:end) without blank space.
func trimmed(text string, start, end int) int {
	return start + len(strings.TrimRight(text[start:max(start, end)], " \t\n"))
}
