package markdown

import (
	"context"
	"sort"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/kbsync/kbsync/connector"
)

// Sizes of fences, in bytes of code, that are divided. Smaller ones are hardly ever cut; larger ones are cut between lines.
const (
	minFence = 256
	maxFence = 1 << 20
)

// contentLine is one line of a fence's code in the document, without what the containers around the fence put before it.
type contentLine struct{ lo, hi int }

// noteFence keeps the lines of a fence that may be divided.
func (b *builder) noteFence(n *ast.FencedCodeBlock, el *connector.Element) {
	if b.p.code == nil || el.Language == "" || el.Span.Len() < minFence {
		return
	}
	segments := n.Lines()
	lines := make([]contentLine, 0, segments.Len())
	size := 0
	for i := range segments.Len() {
		s := segments.At(i)
		if s.Start < el.Span.Start || s.Stop > el.Span.End || s.Stop <= s.Start {
			return
		}
		lines = append(lines, contentLine{s.Start, s.Stop})
		size += s.Stop - s.Start
	}
	if size >= minFence && size <= maxFence {
		b.fences[el.Span.Start] = lines
	}
}

// divide gives the fences in el the declarations of their code as children.
func (p *Parser) divide(ctx context.Context, el *connector.Element, fences map[int][]contentLine) error {
	if len(fences) == 0 {
		return nil
	}
	if el.Kind != connector.KindCode {
		for i := range el.Children {
			if err := p.divide(ctx, &el.Children[i], fences); err != nil {
				return err
			}
		}
		return nil
	}
	lines := fences[el.Span.Start]
	if len(lines) == 0 {
		return nil
	}
	var code strings.Builder
	f := fence{el: el, lines: lines, starts: make([]int, len(lines))}
	for i, l := range lines {
		f.starts[i] = code.Len()
		code.WriteString(el.Text[l.lo-el.Span.Start : l.hi-el.Span.Start])
	}
	parts, err := p.code.Divide(ctx, el.Language, code.String())
	if err == nil && len(parts) > 0 {
		el.Children = f.place(parts)
	}
	return err
}

// fence maps places in code to places in the document.
type fence struct {
	el     *connector.Element
	lines  []contentLine
	starts []int // of the lines in the code
}

// at is where a place of the code stands in the document: for the start of a line, where that line starts there, with what is before the code.
func (f *fence) at(pos int) int {
	i := sort.SearchInts(f.starts, pos+1) - 1
	l := f.lines[i]
	at := min(l.lo+pos-f.starts[i], l.hi)
	if pos == f.starts[i] {
		return f.lineStart(l.lo)
	}
	return at
}

// lineStart is the start of the document's line of pos.
func (f *fence) lineStart(pos int) int {
	base := f.el.Span.Start
	return base + strings.LastIndexByte(f.el.Text[:pos-base], '\n') + 1
}

// place moves elements of the code to the document.
func (f *fence) place(els []connector.Element) []connector.Element {
	out := make([]connector.Element, 0, len(els))
	for _, el := range els {
		el.Span = f.span(el.Span)
		if el.Span.Len() <= 0 {
			continue
		}
		el.Text = f.el.Text[el.Span.Start-f.el.Span.Start : el.Span.End-f.el.Span.Start]
		if el.Symbol != nil {
			s := *el.Symbol
			s.Header, s.Doc, s.Body = f.span(s.Header), f.span(s.Doc), f.span(s.Body)
			el.Symbol = &s
		}
		el.Children = f.place(el.Children)
		out = append(out, el)
	}
	return out
}

func (f *fence) span(s connector.Span) connector.Span {
	lo := f.at(s.Start)
	return connector.Span{Start: lo, End: max(lo, f.at(s.End))}
}
