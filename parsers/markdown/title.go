package markdown

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxTitleMarkup bounds the headings whose markup is parsed; finding links in hostile text is quadratic.
const maxTitleMarkup = 512

var attributes = regexp.MustCompile(`\s*\{[#.][^{}]*\}$`)

// newInlineParser makes a parser of a heading's text.
func newInlineParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(extension.NewStrikethroughParser(), 500))...),
	)
}

// title is a heading's plain text: without markers, markup, and attributes such as {#id}.
func (b *builder) title(n *ast.Heading) string {
	var raw strings.Builder
	lines := n.Lines()
	for i := range lines.Len() {
		seg := lines.At(i)
		if i > 0 {
			raw.WriteByte(' ')
		}
		raw.WriteString(strings.TrimSpace(b.text[seg.Start:seg.Stop]))
	}
	return b.p.plainTitle(raw.String())
}

func (p *Parser) plainTitle(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasSuffix(s, "}") && len(s) <= maxTitleMarkup {
		s = attributes.ReplaceAllString(s, "")
	}
	if strings.ContainsAny(s, "*_`[]<&\\~!") && len(s) <= maxTitleMarkup {
		s = p.unmarked(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

// unmarked is s without inline markup; s itself if nothing would be left.
func (p *Parser) unmarked(s string) (plain string) {
	defer func() {
		if recover() != nil {
			plain = s
		}
	}()
	src := []byte(s)
	var out strings.Builder
	writeInline(&out, p.inlines.Parse(text.NewReader(src)), src)
	if strings.TrimSpace(out.String()) == "" {
		return s
	}
	return out.String()
}

func writeInline(out *strings.Builder, n ast.Node, src []byte) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			value := c.Segment.Value(src)
			if n.Kind() != ast.KindCodeSpan {
				value = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
			}
			out.Write(value)
			if c.SoftLineBreak() || c.HardLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(c.Value)
		case *ast.AutoLink:
			out.Write(c.Label(src))
		case *ast.RawHTML:
		default:
			writeInline(out, c, src)
		}
	}
}
