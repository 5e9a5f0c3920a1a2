package asciidoc

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// blocks are the blocks in the lines lo to hi.
func (b *builder) blocks(lo, hi int, at place) []connector.Element {
	var els []connector.Element
	for i := b.Skip(lo, hi); i < hi; {
		if at.item && b.Line(i) == "+" {
			i = b.Skip(i+1, hi)
			continue
		}
		el, next, kept := b.block(i, hi, at)
		if kept {
			els = append(els, el)
		}
		i = b.Skip(max(next, i+1), hi)
	}
	return els
}

// inner are the blocks of a container, none if there is but one paragraph, or they would be nested too deeply.
func (b *builder) inner(lo, hi int, at place) []connector.Element {
	if at.depth > lightmarkup.MaxDepth {
		return nil
	}
	els := b.blocks(lo, hi, at)
	if len(els) == 1 && els[0].Kind == connector.KindText && len(els[0].Children) == 0 {
		return nil
	}
	return els
}

// isComment tells "// …".
func isComment(line string) bool {
	return strings.HasPrefix(line, "//") && (len(line) == 2 || line[2] != '/')
}

// block reads the block that starts in line i; kept is false for a comment.
func (b *builder) block(i, hi int, at place) (el connector.Element, next int, kept bool) {
	if isComment(b.Line(i)) && b.Lines[i].Indent == 0 {
		b.Cut(i, i+1)
		return el, i + 1, false
	}
	m, i := b.meta(i, hi)
	if i >= hi || b.Blank(i) { // attributes of nothing
		return b.Element(connector.KindText, m.start, i), i, true
	}
	line := b.Line(i)
	if b.Lines[i].Indent == 0 {
		if d := delimiter(line); d != 0 {
			if end := b.fenceEnd(i, hi); end < hi {
				el, kept = b.fenced(&m, d, i, end, at)
				return el, end + 1, kept
			}
		}
		if level, title, size := b.section(i, hi); level > 0 && !at.item {
			el = b.Element(connector.KindHeading, m.start, i+size)
			el.Level, el.Title = level, title
			return el, i + size, true
		}
		if line[0] == ':' && b.attribute(i) {
			next = b.entryLines(i, hi)
			return b.Element(connector.KindText, m.start, next), next, true
		}
		if el, ok := b.single(&m, i, line); ok {
			return el, i + 1, true
		}
	}
	if mark, ok := markOf(line); ok && at.text != i+1 && m.style != "source" && m.style != "listing" && m.style != "literal" {
		el, next = b.list(i, hi, mark, at)
		el.Span.Start = b.At(m.start)
		return el, next, true
	}
	return b.paragraph(&m, i, hi, at)
}

// single reads the blocks of one line: breaks, pictures and other macros.
func (b *builder) single(m *meta, i int, line string) (connector.Element, bool) {
	el := b.Element(connector.KindText, m.start, i+1)
	if isBreak(line) {
		el.Kind = connector.KindBreak
		return el, true
	}
	switch name := macro(line); name {
	case "":
		return el, false
	case "image", "video", "audio":
		el.Kind, el.Title = connector.KindImage, m.title
		if open := strings.IndexByte(line, '['); el.Title == "" && open >= 0 {
			if alt := unquote(commas(line[open+1 : len(line)-1])[0]); !strings.Contains(alt, "=") {
				el.Title = alt
			}
		}
	}
	return el, true
}

func isBreak(line string) bool {
	switch line {
	case "---", "- - -", "***", "* * *", "<<<":
		return true
	}
	return len(line) >= 3 && (lightmarkup.OneOf(line, '\'') || lightmarkup.OneOf(line, '<'))
}

// macro is the name of the macro that a line is: "name::target[attributes]".
func macro(line string) string {
	i := strings.Index(line, "::")
	if i < 1 || i > 40 || line[len(line)-1] != ']' || i+2 >= len(line) || line[i+2] == ' ' || !strings.Contains(line[i:], "[") {
		return ""
	}
	for k := range i {
		if c := line[k]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9' || k == 0) && c != '-' && c != '_' {
			return ""
		}
	}
	return line[:i]
}

// admonitions are the labels of notes to the reader.
func admonition(style string) bool {
	switch style {
	case "note", "tip", "important", "warning", "caution":
		return true
	}
	return false
}

func formula(style string) bool {
	return style == "stem" || style == "latexmath" || style == "asciimath"
}

// fenced is the block between line i and line end, which delimit it; kept is false for a comment.
func (b *builder) fenced(m *meta, delim byte, i, end int, at place) (el connector.Element, kept bool) {
	el = b.Element(connector.KindText, m.start, end+1)
	el.Title = m.title
	code := func(language string) {
		el.Kind, el.Atom, el.Language = connector.KindCode, true, lightmarkup.Language(language)
	}
	switch {
	case delim == '/' || m.style == "comment":
		b.Cut(m.start, end+1)
		return el, false
	case strings.IndexByte("|,:!", delim) >= 0:
		return b.table(m, i, end), true
	case delim == '`':
		code(strings.TrimSpace(strings.SplitN(b.Line(i)[3:], ",", 2)[0]))
	case delim == '+' && formula(m.style), m.style == "latexmath", m.style == "asciimath", m.style == "stem":
		el.Kind, el.Atom = connector.KindMath, true
	case delim == '+':
		el.Kind = connector.KindHTML
	case delim == '.', delim == '-' && len(b.Line(i)) > 2, m.style == "source", m.style == "listing", m.style == "literal":
		language := ""
		if m.style == "source" || m.style == "" && len(m.words) > 0 {
			language = m.language(b.language)
		}
		code(language)
	case m.style == "verse":
		el.Kind = connector.KindQuote
	case delim == '_', m.style == "quote", admonition(m.style):
		el.Kind = connector.KindQuote
		fallthrough
	default:
		el.Children = b.inner(i+1, end, at.in())
	}
	return el, true
}

// paragraph reads lines up to a blank one, or one that starts a delimited block or names attributes. Comments among them are cut out.
func (b *builder) paragraph(m *meta, i, hi int, at place) (el connector.Element, next int, kept bool) {
	literal := b.Lines[i].Indent > 0
	end := i + 1
	for ; end < hi && !b.Blank(end); end++ {
		line := b.Line(end)
		if at.item && line == "+" || b.Lines[end].Indent == 0 && (attributeLine(line) || delimiter(line) != 0 && b.fenceEnd(end, hi) < hi) {
			break
		}
		if isComment(line) && !literal && m.style == "" {
			b.Cut(end, end+1)
		}
	}
	el = b.Element(connector.KindText, m.start, end)
	el.Title = m.title
	switch first := b.Line(i); {
	case m.style == "comment":
		b.Cut(m.start, end)
		return el, end, false
	case m.style == "source" || m.style == "listing" || m.style == "" && len(m.words) > 0:
		el.Kind, el.Atom = connector.KindCode, true
		if m.style != "listing" {
			el.Language = lightmarkup.Language(m.language(b.language))
		}
	case m.style == "literal", literal && m.style != "normal":
		el.Kind, el.Atom = connector.KindCode, true
	case formula(m.style):
		el.Kind, el.Atom = connector.KindMath, true
	case m.style == "pass":
		el.Kind = connector.KindHTML
	case m.style == "quote", m.style == "verse", admonition(m.style), labelled(first):
		el.Kind = connector.KindQuote
	default:
		el.Title = ""
	}
	return el, end, true
}

// labelled tells "NOTE: …".
func labelled(line string) bool {
	label, _, ok := strings.Cut(line[:min(len(line), 16)], ": ")
	return ok && label == strings.ToUpper(label) && admonition(strings.ToLower(label))
}
