package htmltext

import (
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/kbsync/kbsync/connector"
)

// listWriter renders a list and what is nested in it as lines with markers.
type listWriter struct {
	w      *writer
	out    []byte
	line   line
	marker string // starts the next line
	rest   string // starts the lines after it
}

// list writes a list whose items hold lines and lists.
func (w *writer) list(n *node) {
	lw := &listWriter{w: w}
	items := lw.items(n, 1, "")
	w.rendered(connector.KindList, lw, items)
}

// definitions writes a definition list: terms on lines of their own, definitions after ": ".
func (w *writer) definitions(n *node) {
	lw := &listWriter{w: w}
	lw.terms(n)
	w.rendered(connector.KindDefinition, lw, nil)
}

func (lw *listWriter) terms(n *node) {
	for _, k := range n.kids {
		switch {
		case lw.w.leftOut(k):
			lw.w.drop(k)
		case k.class == classDef:
			lw.flush()
			lw.marker, lw.rest = "", ""
			if k.tag == atom.Dd {
				lw.marker, lw.rest = ": ", "  "
			}
			lw.content(k, 1)
			lw.flush()
		case k.isText() || k.class == classImage:
			lw.line.add(k.text)
		default:
			lw.terms(k)
		}
	}
	lw.flush()
}

func (w *writer) rendered(kind connector.Kind, lw *listWriter, items []connector.Element) {
	text := strings.TrimSuffix(string(lw.out), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	base := w.pos
	el := w.emit(kind, text)
	if kind == connector.KindList {
		el.Level = 1
	}
	place(items, el.Text, base)
	el.Children = items
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

// items renders the items of n; spans count from the start of the output.
func (lw *listWriter) items(n *node, depth int, indent string) []connector.Element {
	var els []connector.Element
	number := max(n.start, 1)
	for _, k := range n.kids {
		if lw.w.leftOut(k) {
			lw.w.drop(k)
			continue
		}
		if k.isText() && strings.TrimSpace(k.text) == "" {
			continue
		}
		marker := "- "
		if n.tag == atom.Ol {
			marker = strconv.Itoa(number) + ". "
		}
		rest := indent + strings.Repeat(" ", len(marker))
		start := len(lw.out)
		var kids []connector.Element
		switch {
		case k.class == classItem:
			lw.marker, lw.rest = indent+marker, rest
			kids = lw.content(k, depth)
			lw.flush()
		case k.class == classList:
			kids = lw.items(k, depth+1, rest)
		default: // text that stands outside of items
			lw.marker, lw.rest = indent, indent
			kids = lw.content(&node{kids: []*node{k}}, depth)
			lw.flush()
		}
		if len(lw.out) == start {
			continue
		}
		if k.class == classItem {
			number++
		}
		els = append(els, connector.Element{Kind: connector.KindItem, Level: depth, Span: connector.Span{Start: start, End: len(lw.out)}, Children: kids})
	}
	return els
}

// content renders what an item holds and returns its nested lists.
func (lw *listWriter) content(n *node, depth int) []connector.Element {
	var lists []connector.Element
	for _, k := range n.kids {
		switch {
		case lw.w.leftOut(k):
			lw.w.drop(k)
		case k.isText():
			lw.line.add(k.text)
		case k.class == classImage:
			lw.line.add(" " + k.text + " ")
		case k.class == classBreak:
			lw.line.br()
		case k.class == classInline:
			lists = append(lists, lw.content(k, depth)...)
		case k.class == classList:
			lw.flush()
			marker, rest := lw.marker, lw.rest
			start := len(lw.out)
			items := lw.items(k, depth+1, rest)
			if len(lw.out) > start {
				lists = append(lists, connector.Element{Kind: connector.KindList, Level: depth + 1, Span: connector.Span{Start: start, End: len(lw.out)}, Children: items})
				marker = rest
			}
			lw.marker, lw.rest = marker, rest
		default:
			lw.flush()
			lists = append(lists, lw.content(k, depth)...)
			lw.flush()
		}
	}
	return lists
}

// flush writes the gathered text as lines.
func (lw *listWriter) flush() {
	text := lw.line.take()
	if text == "" {
		return
	}
	for l := range strings.SplitSeq(text, "\n") {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		lw.out = append(lw.out, lw.marker...)
		lw.out = append(lw.out, l...)
		lw.out = append(lw.out, '\n')
		lw.marker = lw.rest
	}
}

// looseList writes a list whose items hold tables, code or headings: items that do not are lists of their own, the others
// are written block by block.
func (w *writer) looseList(n *node) {
	var run []*node
	number := max(n.start, 1)
	end := func() {
		if len(run) > 0 {
			w.list(&node{tag: n.tag, class: classList, kids: run, start: number})
			for _, k := range run {
				if k.class == classItem {
					number++
				}
			}
			run = nil
		}
	}
	for _, k := range n.kids {
		if w.leftOut(k) || !k.complex {
			run = append(run, k)
			continue
		}
		end()
		if k.class == classItem {
			if n.tag == atom.Ol {
				w.line.add(strconv.Itoa(number) + ". ")
			} else {
				w.line.add("- ")
			}
			number++
			w.marked(k)
		} else {
			w.block(k)
		}
		w.flush()
	}
	end()
}

// marked writes an item block by block, with its marker waiting in the line. A marker that no text follows is taken back.
func (w *writer) marked(n *node) {
	marker := len(w.line.buf)
	for _, k := range n.kids {
		if !isLine(k) && len(w.line.buf) == marker {
			w.line.take()
		}
		marker = min(marker, len(w.line.buf))
		w.block(k)
		if len(w.line.buf) == 0 {
			marker = -1
		}
	}
	if len(w.line.buf) == marker {
		w.line.take()
	}
}
