package org

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// blocks are the blocks in the lines lo to hi.
func (b *builder) blocks(lo, hi int, at place) []connector.Element {
	var els []connector.Element
	for i := b.Skip(lo, hi); i < hi; {
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

// block reads the block that starts in line i; kept is false for a comment.
func (b *builder) block(i, hi int, at place) (el connector.Element, next int, kept bool) {
	line := b.Line(i)
	if isComment(line) {
		end := i + 1
		for end < hi && !b.Blank(end) && isComment(b.Line(end)) {
			end++
		}
		b.Cut(i, end)
		return el, end, false
	}
	start, caption := i, ""
	for i+1 < hi && affiliated(line) && !b.Blank(i+1) { // lines that belong to the block below
		if key, value, _ := keywordOf(line); key == "caption" {
			caption = plain(value)
		}
		i++
		line = b.Line(i)
	}
	if isComment(line) { // it is cut in its turn
		return b.Element(connector.KindText, start, i), i, true
	}
	el, next, kept = b.bare(start, i, hi, caption, at)
	return el, next, kept
}

// isComment tells "# …" and "#".
func isComment(line string) bool {
	return line[0] == '#' && (len(line) == 1 || line[1] == ' ' || line[1] == '\t')
}

// affiliated tells lines that say something of the block below them.
func affiliated(line string) bool {
	key, _, ok := keywordOf(line)
	switch key {
	case "caption", "name", "header", "headers", "results", "plot", "tblname", "label", "attr_html", "attr_latex", "attr_org", "attr_odt", "attr_ascii":
		return ok
	}
	return ok && strings.HasPrefix(key, "attr_")
}

// bare reads the block of line i, which starts in line start with what is said of it.
func (b *builder) bare(start, i, hi int, caption string, at place) (connector.Element, int, bool) {
	line := b.Line(i)
	element := func(kind connector.Kind, end int) connector.Element {
		el := b.Element(kind, start, end)
		el.Title = caption
		return el
	}
	switch c := line[0]; {
	case c == '#':
		if end, ok := b.blockEnd(line, i, hi); ok {
			el, kept := b.fenced(start, i, end, caption, at)
			return el, end + 1, kept
		}
		end := i + 1
		for end < hi && !b.Blank(end) && isKeyword(b.Line(end)) && !affiliated(b.Line(end)) {
			if _, ok := b.blockEnd(b.Line(end), end, hi); ok {
				break
			}
			end++
		}
		if isKeyword(line) {
			return element(connector.KindText, end), end, true
		}
	case c == '|':
		return b.table(start, i, hi, caption)
	case c == ':' && (len(line) == 1 || line[1] == ' '):
		end := i + 1
		for end < hi && !b.Blank(end) && (b.Line(end) == ":" || strings.HasPrefix(b.Line(end), ": ")) {
			end++
		}
		el := element(connector.KindCode, end)
		el.Atom = true
		return el, end, true
	case c == ':' && isDrawer(line):
		if end := b.end(":end:", i+1, hi); end < hi {
			el := element(connector.KindText, end+1)
			if !strings.EqualFold(line, ":properties:") {
				el.Children = b.inner(i+1, end, at.in())
			}
			return el, end + 1, true
		}
	case c == '-' && len(line) >= 5 && lightmarkup.OneOf(line, '-'):
		return element(connector.KindBreak, i+1), i + 1, true
	case c == '\\' && strings.HasPrefix(line, `\begin{`):
		if name, _, ok := strings.Cut(line[len(`\begin{`):], "}"); ok {
			if end := b.end(`\end{`+name+`}`, i, hi); end < hi {
				el := element(connector.KindMath, end+1)
				el.Atom = true
				return el, end + 1, true
			}
		}
	case c == '[' && b.Lines[i].Indent == 0 && strings.HasPrefix(line, "[fn:"):
		if k := strings.IndexByte(line, ']'); k > 4 && k < 128 && !strings.Contains(line[4:k], ":") {
			end := b.noteEnd(i, hi)
			el := element(connector.KindFootnote, end)
			b.Enter(i, k+1)
			el.Children = b.inner(i, end, at.in())
			return el, end, true
		}
	}
	if markOf(line, int(b.Lines[i].Indent)).length > 0 {
		el, end := b.list(i, hi, at)
		el.Span.Start = b.At(start)
		return el, end, true
	}
	return b.paragraph(start, i, hi, caption)
}

func isKeyword(line string) bool {
	_, _, ok := keywordOf(line)
	return ok || strings.HasPrefix(strings.ToLower(line), "#+begin") || strings.HasPrefix(strings.ToLower(line), "#+end")
}

// isDrawer tells ":NAME:".
func isDrawer(line string) bool {
	return len(line) > 2 && line[len(line)-1] == ':' && !strings.ContainsAny(line[1:len(line)-1], ": \t") && !strings.EqualFold(line, ":end:")
}

// noteEnd is where a footnote ends that starts in line i: before the next one, or two blank lines.
func (b *builder) noteEnd(i, hi int) int {
	for i++; i < hi; i++ {
		if b.Blank(i) {
			if i+1 < hi && b.Blank(i+1) {
				return i
			}
			continue
		}
		if b.Lines[i].Indent == 0 && strings.HasPrefix(b.Line(i), "[fn:") {
			return i
		}
	}
	return hi
}

// blockEnd finds the line that ends the block that a line opens.
func (b *builder) blockEnd(line string, i, hi int) (int, bool) {
	name, ok := opens(line)
	if !ok {
		return 0, false
	}
	what := "#+end_" + name
	if name == "" {
		what = "#+end:"
	}
	end := b.end(what, i+1, hi)
	if end == hi && name == "" {
		end = b.end("#+end", i+1, hi)
	}
	return end, end < hi
}

// opens is the name of the block that a line opens, in lower case; it is empty for "#+BEGIN:".
func opens(line string) (name string, ok bool) {
	if len(line) < 8 || !strings.EqualFold(line[:7], "#+begin") {
		return "", false
	}
	switch line[7] {
	case ':':
		return "", true
	case '_':
		name, _, _ = strings.Cut(line[8:], " ")
		return strings.ToLower(name), name != ""
	}
	return "", false
}

// fenced is the block that opens in line i and ends in line end; kept is false for a comment.
func (b *builder) fenced(start, i, end int, caption string, at place) (el connector.Element, kept bool) {
	line := b.Line(i)
	name, _ := opens(line)
	_, arg, _ := strings.Cut(line, " ")
	el = b.Element(connector.KindText, start, end+1)
	el.Title = caption
	switch name {
	case "src":
		el.Kind, el.Atom = connector.KindCode, true
		if words := strings.Fields(arg); len(words) > 0 && words[0][0] != ':' && words[0][0] != '-' {
			el.Language = lightmarkup.Language(words[0])
		}
	case "example":
		el.Kind, el.Atom = connector.KindCode, true
	case "export":
		if el.Kind, el.Atom = connector.KindCode, true; strings.EqualFold(strings.TrimSpace(arg), "html") {
			el.Kind, el.Atom = connector.KindHTML, false
		} else {
			el.Language = lightmarkup.Language(arg)
		}
	case "comment":
		b.Cut(start, end+1)
		return el, false
	case "quote", "verse":
		el.Kind = connector.KindQuote
		if name == "quote" {
			el.Children = b.inner(i+1, end, at.in())
		}
	default:
		el.Children = b.inner(i+1, end, at.in())
	}
	return el, true
}

// paragraph reads lines up to what starts another block.
func (b *builder) paragraph(start, i, hi int, caption string) (connector.Element, int, bool) {
	end := i + 1
	for end < hi && !b.Blank(end) && !b.interrupts(end, hi) {
		end++
	}
	el := b.Element(connector.KindText, start, end)
	el.Title = ""
	first, last := b.Line(i), b.Line(end-1)
	switch {
	case end == i+1 && image(first):
		el.Kind, el.Title = connector.KindImage, caption
	case strings.HasPrefix(first, `\[`) && strings.HasSuffix(last, `\]`), len(first)+len(last) > 4 && strings.HasPrefix(first, "$$") && strings.HasSuffix(last, "$$"):
		el.Kind, el.Atom = connector.KindMath, true
	}
	return el, end, true
}

// interrupts tells that line i starts a block though no blank line stands before it.
func (b *builder) interrupts(i, hi int) bool {
	line := b.Line(i)
	switch line[0] {
	case '#':
		if isComment(line) {
			return true
		}
		if _, opened := opens(line); opened {
			_, ok := b.blockEnd(line, i, hi)
			return ok
		}
		_, _, ok := keywordOf(line)
		return ok
	case '|':
		return true
	case ':':
		return len(line) == 1 || line[1] == ' ' || isDrawer(line) && b.end(":end:", i+1, hi) < hi
	case '\\':
		return strings.HasPrefix(line, `\begin{`)
	case '[':
		return b.Lines[i].Indent == 0 && strings.HasPrefix(line, "[fn:") && strings.Contains(line, "]") && !strings.Contains(line[4:strings.IndexByte(line, ']')], ":")
	case '-':
		if len(line) >= 5 && lightmarkup.OneOf(line, '-') {
			return true
		}
	}
	return markOf(line, int(b.Lines[i].Indent)).length > 0
}

// image tells a line that is nothing but a link to a picture.
func image(line string) bool {
	if !strings.HasPrefix(line, "[[") || !strings.HasSuffix(line, "]]") || strings.Contains(line[2:len(line)-2], "[[") {
		return false
	}
	target, _, _ := strings.Cut(line[2:len(line)-2], "][")
	dot := strings.LastIndexByte(target, '.')
	if dot < 0 {
		return false
	}
	switch strings.ToLower(target[dot:]) {
	case ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".bmp", ".tif", ".tiff", ".pdf", ".eps", ".ps", ".avif":
		return true
	}
	return false
}
