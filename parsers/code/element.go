package code

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// decl is a declaration or a group of statements, with places in the whole text.
type decl struct {
	symbol     connector.Symbol
	start, end int
	children   []decl
	language   string // where it is not the file's
}

// isType says that functions among the members of such a declaration are methods.
func isType(kind string) bool {
	switch kind {
	case "class", "struct", "interface", "trait", "impl", "enum":
		return true
	}
	return false
}

// callMethods makes methods of the functions among the members of a type.
func callMethods(members []decl) {
	for i := range members {
		if members[i].symbol.Kind == "function" {
			members[i].symbol.Kind = "method"
		}
	}
}

// largeText is the size in bytes from which a body or statement is given parts, so that it can be cut between them.
const largeText = 1 << 10

// Depths beyond which declarations are not told apart and statements not divided.
const (
	maxNesting = 24
	maxParts   = 12
)

func statementSymbol(start, end int) connector.Symbol {
	return connector.Symbol{Kind: "statement", Header: connector.Span{Start: start, End: start}, Doc: connector.Span{Start: start, End: start}, Body: connector.Span{Start: start, End: end}}
}

// elements turns declarations into elements that tile text, which stands at base. Every element starts at the start
// of its line where nothing else stands before it there, and ends where the next one starts.
func elements(text, language string, list []decl) []connector.Element {
	if len(list) == 0 {
		list = []decl{{symbol: statementSymbol(0, len(text)), end: len(text)}}
	}
	starts := make([]int, len(list)+1)
	starts[len(list)] = len(text)
	for i := len(list) - 1; i > 0; i-- {
		starts[i] = min(lineStart(text, list[i].start, list[i-1].end), starts[i+1])
	}
	out := make([]connector.Element, 0, len(list))
	for i, d := range list {
		if starts[i] < starts[i+1] {
			out = append(out, element(text, language, d, starts[i], starts[i+1], maxNesting))
		}
	}
	return out
}

// element is d as an element that spans start to end, with its children inside.
func element(text, language string, d decl, start, end, depth int) connector.Element {
	symbol := d.symbol
	if d.language != "" {
		language = d.language
	}
	clamp := func(s connector.Span) connector.Span {
		s.Start = min(max(s.Start, start), end)
		return connector.Span{Start: s.Start, End: min(max(s.End, s.Start), end)}
	}
	symbol.Header, symbol.Doc, symbol.Body = clamp(symbol.Header), clamp(symbol.Doc), clamp(symbol.Body)
	e := connector.Element{
		Kind: connector.KindSymbol, Language: language,
		Text: text[start:end], Span: connector.Span{Start: start, End: end}, Symbol: &symbol,
	}
	if depth == 0 || d.symbol.Kind == "statement" && end-start < largeText {
		return e
	}
	from := start
	for i, c := range d.children {
		cs := max(lineStart(text, min(c.start, end), from), from)
		limit := end
		if i+1 < len(d.children) {
			limit = min(max(d.children[i+1].start, cs), end)
		}
		ce := min(max(c.end, cs), limit)
		if i+1 < len(d.children) {
			ce = lineStart(text, limit, ce)
		} else {
			ce = lineEnd(text, ce, end)
		}
		if cs < ce {
			e.Children = append(e.Children, element(text, language, c, cs, ce, depth-1))
		}
		from = max(from, ce)
	}
	return e
}

// shorten makes a name of one line and bounded length.
func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

// trimmed is the end of the text before end that is not white space, but not before start.
func trimmed(text string, start, end int) int {
	return start + len(strings.TrimRight(text[start:end], " \t\n"))
}

// lineStart is where the line of pos starts, if only white space stands before pos on it and not before limit; otherwise pos.
func lineStart(text string, pos, limit int) int {
	for i := pos; i > limit; i-- {
		switch text[i-1] {
		case '\n':
			return i
		case ' ', '\t':
		default:
			return pos
		}
	}
	return limit
}

// lineEnd is the place after the line end of pos, if only white space and separators stand before it and it is within limit; otherwise pos.
func lineEnd(text string, pos, limit int) int {
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
