package blocks

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// Bounds of lists: how deep they nest, and how far they are indented.
const (
	maxNesting = 16
	maxIndent  = 64
)

// listing renders a list as lines with markers.
type listing struct{ out []byte }

// list writes items that follow each other.
func (w *Writer) list(items []Block) {
	var l listing
	els := l.items(items, 1, "")
	text := strings.TrimSuffix(string(l.out), "\n")
	if text == "" {
		return
	}
	first := items[0]
	first.Kind, first.PageEnd = connector.KindList, last(items[len(items)-1])
	el := w.element(first, text)
	el.Level = 1
	place(els, el.Text, w.pos)
	el.Children = els
	w.send(el)
}

func last(b Block) int { return max(b.Page, b.PageEnd) }

// items renders the first of items and its siblings; deeper ones behind each are its list. Spans count from the start of the output.
func (l *listing) items(items []Block, depth int, indent string) []connector.Element {
	var els []connector.Element
	for i := 0; i < len(items); {
		b := items[i]
		j := i + 1
		for j < len(items) && items[j].Level > b.Level && depth < maxNesting {
			j++
		}
		start := len(l.out)
		rest := indent
		if b.Marker != "" && len(indent) < maxIndent {
			rest += strings.Repeat(" ", min(width(b.Marker), 8)+1)
		}
		l.item(b, indent, rest)
		el := connector.Element{Kind: connector.KindItem, Level: depth, Page: b.Page}
		if b.PageEnd != b.Page {
			el.PageEnd = b.PageEnd
		}
		if j > i+1 {
			inner := len(l.out)
			kids := l.items(items[i+1:j], depth+1, rest)
			el.Children = []connector.Element{{Kind: connector.KindList, Level: depth + 1, Page: items[i+1].Page, Span: connector.Span{Start: inner, End: len(l.out)}, Children: kids}}
		}
		el.Span = connector.Span{Start: start, End: len(l.out)}
		els = append(els, el)
		i = j
	}
	return els
}

// item writes the lines of one item.
func (l *listing) item(b Block, indent, rest string) {
	start := indent
	if b.Marker != "" {
		start += b.Marker + " "
	}
	for line := range strings.SplitSeq(b.Text, "\n") {
		l.out = append(l.out, start...)
		l.out = append(l.out, line...)
		l.out = append(l.out, '\n')
		start = rest
	}
}

// place moves spans by base and fills in the texts, of which full is the whole.
func place(els []connector.Element, full string, base int) {
	for i := range els {
		s := els[i].Span
		els[i].Text = full[s.Start:s.End]
		els[i].Span = connector.Span{Start: s.Start + base, End: s.End + base}
		place(els[i].Children, full, base)
	}
}
