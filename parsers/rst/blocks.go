package rst

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// builder makes the blocks of one document.
type builder struct {
	*lightmarkup.Source
	styles     []style
	highlight  string // the language of code that names none
	noTableEnd int    // from this line on no simple table ends before line noTableHi
	noTableHi  int
}

// style is how the titles of one level are adorned.
type style struct {
	char byte
	over bool
}

// place is where blocks stand.
type place struct {
	depth int // containers around them
	lists int // lists around them
}

func (p place) in() place   { return place{p.depth + 1, p.lists} }
func (p place) list() place { return place{p.depth + 1, p.lists + 1} }

// blocks are the blocks in the lines lo to hi, which are indented by indent or more.
func (b *builder) blocks(lo, hi, indent int, at place) []connector.Element {
	var els []connector.Element
	for i := b.Skip(lo, hi); i < hi; {
		var next int
		if int(b.Lines[i].Indent) > indent {
			next = b.Indented(i, hi, indent)
			els = append(els, b.quote(i, next, at))
		} else {
			els, next = b.block(els, i, hi, indent, at)
		}
		i = b.Skip(max(next, i+1), hi)
	}
	return els
}

// block adds the block that starts in line i, and returns where it ends. A comment adds nothing.
func (b *builder) block(els []connector.Element, i, hi, indent int, at place) ([]connector.Element, int) {
	line := b.Line(i)
	add := func(el connector.Element, next int) ([]connector.Element, int) { return append(els, el), next }
	switch c := line[0]; {
	case c == '.' && (line == ".." || strings.HasPrefix(line, ".. ")):
		return b.explicit(els, i, hi, indent, at)
	case line == "::":
		return add(b.literal(i, i+1, hi, indent))
	case bullet(line) > 0:
		return add(b.list(i, hi, indent, at, func(j int) int { return sameBullet(b.Line(j), line) }))
	case enumerator(line).mark > 0 && b.enumerates(i, hi, indent):
		form := enumerator(line).form
		return add(b.list(i, hi, indent, at, func(j int) int {
			if e := enumerator(b.Line(j)); e.form == form && b.enumerates(j, hi, indent) {
				return e.mark
			}
			return 0
		}))
	case c == ':' && fieldMark(line) > 0:
		return add(b.definitions(i, hi, indent, at, func(j int) bool { return fieldMark(b.Line(j)) > 0 }))
	case (c == '-' || c == '/') && b.option(i, hi, indent):
		return add(b.definitions(i, hi, indent, at, func(j int) bool { return b.option(j, hi, indent) }))
	case strings.HasPrefix(line, ">>>") && (len(line) == 3 || line[3] == ' '):
		end := b.untilBlank(i, hi, -1)
		el := b.Element(connector.KindCode, i, end)
		el.Atom, el.Language = true, "python"
		return add(el, end)
	case c == '|' && (len(line) == 1 || line[1] == ' '):
		return add(b.lineBlock(i, hi, indent))
	case c == '+' && gridBorder(line):
		if end := b.gridEnd(i, hi, indent); end > i+2 {
			return add(b.gridTable(i, end, i, end, ""), end)
		}
	case c == '=' && simpleBorder(line):
		if end := b.simpleEnd(i, hi); end > 0 {
			return add(b.simpleTable(i, end, i, end, ""), end)
		}
	case strings.HasPrefix(line, "__ "):
		return add(b.Element(connector.KindText, i, i+1), i+1)
	}
	if at.depth == 0 {
		if el, next, ok := b.section(i, hi); ok {
			return add(el, next)
		}
	}
	if len(line) >= 4 && adornment(line) != 0 && b.blankAt(i-1) && b.blankAt(i+1) {
		return add(b.Element(connector.KindBreak, i, i+1), i+1)
	}
	return b.text(els, i, hi, indent, at)
}

func (b *builder) blankAt(i int) bool { return i < 0 || b.Blank(i) }

// untilBlank is the first blank line behind i, or the first that is not indented by indent, if that is not negative.
func (b *builder) untilBlank(i, hi, indent int) int {
	for i++; i < hi && !b.Blank(i) && (indent < 0 || int(b.Lines[i].Indent) == indent); i++ {
	}
	return i
}

// text reads a paragraph, a definition list, or a paragraph that announces a literal block.
func (b *builder) text(els []connector.Element, i, hi, indent int, at place) ([]connector.Element, int) {
	end := i + 1
	for end < hi && !b.Blank(end) && int(b.Lines[end].Indent) <= indent && (at.depth > 0 || !b.titleAt(end, hi)) {
		end++
	}
	announces := strings.HasSuffix(b.Line(end-1), "::")
	if end == i+1 && end < hi && !b.Blank(end) && int(b.Lines[end].Indent) > indent && !announces {
		el, next := b.definitions(i, hi, indent, at, func(j int) bool { return b.term(j, hi, indent) })
		el.Kind = connector.KindDefinition
		return append(els, el), next
	}
	els = append(els, b.Element(connector.KindText, i, end))
	if announces {
		if code := b.Skip(end, hi); code < hi && b.literalAt(code, indent) {
			el, next := b.literal(code, code, hi, indent)
			return append(els, el), next
		}
	}
	return els, end
}

// titleAt tells a paragraph's next line that has an overline and a title below it. It ends the paragraph, though the standard wants a blank line.
func (b *builder) titleAt(i, hi int) bool {
	return adornment(b.Line(i)) != 0 && len(b.Line(i)) >= 4 && b.overlined(i, hi)
}

// term tells a line with an indented one below it.
func (b *builder) term(i, hi, indent int) bool {
	line := b.Line(i)
	if i+1 >= hi || b.Blank(i+1) || int(b.Lines[i+1].Indent) <= indent || strings.HasSuffix(line, "::") {
		return false
	}
	switch {
	case strings.HasPrefix(line, ".. "), bullet(line) > 0, line[0] == ':' && fieldMark(line) > 0, line[0] == '|':
		return false
	}
	return enumerator(line).mark == 0
}

// literalAt tells that a literal block may start in line i: deeper than the text that announces it, or quoted.
func (b *builder) literalAt(i, indent int) bool {
	line := b.Line(i)
	return int(b.Lines[i].Indent) > indent || line[0] < utf8.RuneSelf && unicode.IsPunct(rune(line[0])) && line[0] != '.' && line[0] != '_' || line[0] == '>' || line[0] == '|' || line[0] == '$'
}

// literal is the block from line i on whose code starts in line from or later.
func (b *builder) literal(i, from, hi, indent int) (connector.Element, int) {
	code := b.Skip(from, hi)
	end := from
	switch {
	case code >= hi:
	case int(b.Lines[code].Indent) > indent:
		end = b.Indented(code, hi, indent)
	case b.literalAt(code, indent):
		first := b.Line(code)[0]
		for end = code; end < hi && !b.Blank(end) && b.Line(end)[0] == first; end++ {
		}
	}
	kind := connector.KindCode
	if end == from {
		kind = connector.KindText
	}
	el := b.Element(kind, i, max(end, i+1))
	if kind == connector.KindCode {
		el.Atom, el.Language = true, b.highlight
	}
	return el, max(end, i+1)
}

// quote is an indented block.
func (b *builder) quote(lo, hi int, at place) connector.Element {
	el := b.Element(connector.KindQuote, lo, hi)
	el.Children = b.inner(lo, hi, at.in())
	return el
}

// inner are the blocks of a container, none if there is but one paragraph, or they would be nested too deeply.
func (b *builder) inner(lo, hi int, at place) []connector.Element {
	indent := b.MinIndent(lo, hi)
	if at.depth > lightmarkup.MaxDepth || indent < 0 {
		return nil
	}
	els := b.blocks(lo, hi, indent, at)
	if len(els) == 1 && els[0].Kind == connector.KindText && len(els[0].Children) == 0 {
		return nil
	}
	return els
}

// lineBlock reads lines that start with a bar; indented lines go on with the line before.
func (b *builder) lineBlock(i, hi, indent int) (connector.Element, int) {
	end := i + 1
	for ; end < hi && !b.Blank(end); end++ {
		if int(b.Lines[end].Indent) <= indent && b.Line(end)[0] != '|' {
			break
		}
	}
	return b.Element(connector.KindText, i, end), end
}
