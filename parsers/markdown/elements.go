package markdown

import (
	"strings"

	"github.com/go-enry/go-enry/v2"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/kbsync/kbsync/connector"
)

// maxDepth is how deep Children go. What lies deeper is in the text of the last level.
const maxDepth = 32

// builder turns the tree of one document into elements.
type builder struct {
	p      *Parser
	text   string
	src    []byte
	tables int
	langs  map[string]string
	fences map[int][]contentLine
}

// elements are the blocks of text in order, front matter first. They tile it. fences are the lines of the fences that may be divided, by
// where their elements start.
func (p *Parser) elements(text string) (all []connector.Element, fences map[int][]contentLine, err error) {
	var els []connector.Element
	front, size := cutFrontMatter(text)
	if size > 0 {
		els = append(els, connector.Element{Kind: connector.KindFrontMatter, Text: text[:size], Span: connector.Span{End: size}, Atom: true, Front: front})
	}
	if size == len(text) {
		return els, nil, nil
	}
	b := &builder{p: p, text: text, src: []byte(text), langs: map[string]string{}, fences: map[int][]contentLine{}}
	doc, err := p.tree(b.src[size:])
	if err != nil {
		return nil, nil, err
	}
	// The tree's positions count from the end of the front matter.
	b.text, b.src = text[size:], b.src[size:]
	blocks := b.children(doc, connector.Span{End: len(b.text)}, 0, true)
	if len(blocks) == 0 { // nothing but blank lines
		blocks = []connector.Element{{Kind: connector.KindText, Text: b.text, Span: connector.Span{End: len(b.text)}}}
	}
	if size == 0 {
		return blocks, b.fences, nil
	}
	shift(blocks, size)
	moved := make(map[int][]contentLine, len(b.fences))
	for start, lines := range b.fences {
		for i := range lines {
			lines[i].lo += size
			lines[i].hi += size
		}
		moved[start+size] = lines
	}
	return append(els, blocks...), moved, nil
}

func shift(els []connector.Element, by int) {
	move := func(s *connector.Span) { s.Start += by; s.End += by }
	for i := range els {
		move(&els[i].Span)
		if t := els[i].Table; t != nil {
			move(&t.HeaderSpan)
			for k := range t.Rows {
				move(&t.Rows[k].Span)
			}
		}
		shift(els[i].Children, by)
	}
}

// children are the blocks of parent, whose text is in span: each from the start of its line to the start of the next
// block. With tile the first starts at span.Start.
func (b *builder) children(parent ast.Node, span connector.Span, depth int, tile bool) []connector.Element {
	type block struct {
		node  ast.Node
		start int
	}
	blocks := make([]block, 0, parent.ChildCount())
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		pos := n.Pos()
		if n.Type() != ast.TypeBlock || pos < 0 {
			continue
		}
		start := max(span.Start, strings.LastIndexByte(b.text[:pos], '\n')+1)
		if tile && len(blocks) == 0 {
			start = span.Start
		}
		if len(blocks) > 0 && start <= blocks[len(blocks)-1].start {
			continue // two blocks cannot start on one line; the text is in the first one's span
		}
		blocks = append(blocks, block{n, start})
	}
	els := make([]connector.Element, 0, len(blocks))
	for i, bl := range blocks {
		end := span.End
		if i+1 < len(blocks) {
			end = blocks[i+1].start
		}
		els = append(els, b.element(bl.node, connector.Span{Start: bl.start, End: end}, depth))
	}
	return els
}

func (b *builder) element(n ast.Node, span connector.Span, depth int) connector.Element {
	el := connector.Element{Kind: connector.KindText, Text: b.text[span.Start:span.End], Span: span}
	switch n := n.(type) {
	case *ast.Heading:
		el.Kind, el.Level, el.Title = connector.KindHeading, n.Level, b.title(n)
	case *ast.FencedCodeBlock:
		el.Kind, el.Atom, el.Language = connector.KindCode, true, b.language(n)
		b.noteFence(n, &el)
	case *ast.CodeBlock:
		el.Kind, el.Atom = connector.KindCode, true
	case *ast.Blockquote:
		el.Kind = connector.KindQuote
		el.Children = b.nested(n, span, depth+1)
	case *ast.List:
		el.Kind, el.Level = connector.KindList, listLevel(n)
		el.Children = b.nested(n, span, depth+1)
	case *ast.ListItem:
		el.Kind, el.Level = connector.KindItem, listLevel(n)
		el.Children = b.nested(n, span, depth+1)
	case *ast.HTMLBlock:
		el.Kind = connector.KindHTML
	case *ast.ThematicBreak:
		el.Kind = connector.KindBreak
	case *extast.Footnote:
		el.Kind = connector.KindFootnote
		el.Children = b.nested(n, span, depth+1)
	case *extast.DefinitionList:
		el.Kind = connector.KindDefinition
	case *mathBlock:
		el.Kind, el.Atom = connector.KindMath, true
	case *tableBlock:
		el.Kind, el.Table = connector.KindTable, b.table(n, span)
	case *ast.Paragraph:
		if alt, ok := loneImage(el.Text); ok {
			el.Kind, el.Title = connector.KindImage, alt
		}
	}
	return el
}

// nested are the children of a container; one that is a single paragraph has none.
func (b *builder) nested(n ast.Node, span connector.Span, depth int) []connector.Element {
	if depth > maxDepth {
		return nil
	}
	first := n.FirstChild()
	if first == nil || first.NextSibling() == nil && (first.Kind() == ast.KindParagraph || first.Kind() == ast.KindTextBlock) {
		return nil
	}
	return b.children(n, span, depth, false)
}

// listLevel is the nesting depth of a list or item: the number of lists around it, itself included.
func listLevel(n ast.Node) int {
	level := 0
	for range 4 * maxDepth {
		if n == nil {
			break
		}
		if n.Kind() == ast.KindList {
			level++
		}
		n = n.Parent()
	}
	return max(level, 1)
}

// lineEnd is the position after the line that pos stands in, at most limit.
func (b *builder) lineEnd(pos, limit int) int {
	if i := strings.IndexByte(b.text[pos:limit], '\n'); i >= 0 {
		return pos + i + 1
	}
	return limit
}

// language is the info string's language, in lower case, by the name that go-enry has for it where it knows it.
func (b *builder) language(n *ast.FencedCodeBlock) string {
	info := string(n.Language(b.src))
	info = strings.ToLower(strings.Trim(info, "{}. \t"))
	info, _, _ = strings.Cut(info, ",")
	if info == "" || len(info) > 64 {
		return ""
	}
	lang, ok := b.langs[info]
	if !ok {
		lang = info
		if known, found := enry.GetLanguageByAlias(info); found {
			lang = strings.ToLower(known)
		}
		b.langs[info] = lang
	}
	return lang
}

// loneImage recognises a paragraph that is one image: "![alt](target)".
func loneImage(s string) (alt string, ok bool) {
	if len(s) < 2 || s[0] != '!' || s[1] != '[' {
		return "", false
	}
	s = strings.TrimSpace(s)
	i := strings.Index(s, "](")
	if i < 0 || !strings.HasSuffix(s, ")") || strings.ContainsAny(s[i+2:len(s)-1], "()[]\n") || strings.ContainsAny(s[2:i], "[]\n") {
		return "", false
	}
	return s[2:i], true
}
