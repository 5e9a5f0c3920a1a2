package htmltext

import (
	"strings"
	"unicode/utf8"

	"github.com/go-enry/go-enry/v2"
	"golang.org/x/net/html/atom"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// maxHeading is how long a heading with blocks inside may be, in bytes, before it is taken for one that was never closed.
const maxHeading = 300

// writer turns the tree into elements.
type writer struct {
	keepAll bool
	scripts bool // keep scripts and styles
	els     []connector.Element
	pos     int
	line    line
	image   string // the line's text so far, if that is an image's alone
	tables  int
	quotes  int // block quotes around the current block
}

func newWriter(keepBoilerplate bool) *writer { return &writer{keepAll: keepBoilerplate} }

// page writes the whole tree. A title that a heading of level 1 makes redundant is dropped, else it is that heading.
func (w *writer) page(root *node, title string) {
	measure(root)
	exempt(root, root.size)
	preferMain(root)
	var l line
	l.add(title)
	if title = strings.ReplaceAll(l.take(), "\n", " "); title != "" {
		if w.showsH1(root) {
			w.dropped(connector.DropFurniture, title)
		} else {
			el := w.emit(connector.KindHeading, title)
			el.Level, el.Title = 1, title
		}
	}
	w.walk(root)
	w.flush()
}

func (w *writer) showsH1(n *node) bool {
	if w.leftOut(n) || !n.h1 {
		return false
	}
	if n.class == classHeading && n.tag == atom.H1 {
		return true
	}
	for _, k := range n.kids {
		if w.showsH1(k) {
			return true
		}
	}
	return false
}

func (w *writer) finish() []connector.Element { return w.els }

// leftOut says that n is not shown.
func (w *writer) leftOut(n *node) bool {
	switch n.reason {
	case "":
		return false
	case connector.DropBoilerplate:
		return !w.keepAll
	case connector.DropScript:
		return !w.scripts || n.class != classScript
	}
	return true
}

// emit adds an element whose text is text and a blank line. The pointer is good until the next call.
func (w *writer) emit(kind connector.Kind, text string) *connector.Element {
	text += "\n\n"
	w.els = append(w.els, connector.Element{Kind: kind, Text: text, Span: connector.Span{Start: w.pos, End: w.pos + len(text)}})
	w.pos += len(text)
	return &w.els[len(w.els)-1]
}

// flush ends the current paragraph.
func (w *writer) flush() {
	text := w.line.take()
	if text == "" {
		return
	}
	kind := connector.KindText
	if w.quotes > 0 {
		kind = connector.KindQuote
	}
	if w.image != "" && text == w.image {
		kind = connector.KindImage
	}
	el := w.emit(kind, text)
	if kind == connector.KindImage {
		el.Title = strings.ReplaceAll(text, "\n", " ")
	}
	w.image = ""
}

// walk writes the content of n as blocks.
func (w *writer) walk(n *node) {
	for _, k := range n.kids {
		w.block(k)
	}
}

func (w *writer) block(k *node) {
	switch {
	case w.leftOut(k):
		w.drop(k)
		return
	case k.isText():
		w.line.add(k.text)
		return
	}
	switch k.class {
	case classInline:
		w.walk(k)
	case classBreak:
		w.line.br()
	case classImage:
		var l line
		l.add(k.text)
		w.image = l.take()
		w.line.add(" " + k.text + " ")
	case classHeading:
		w.flush()
		w.heading(k)
	case classPre:
		w.flush()
		w.pre(k)
	case classScript:
		w.flush()
		w.script(k)
	case classTable:
		w.flush()
		w.table(k)
	case classList:
		w.flush()
		if inner(k) {
			w.looseList(k)
		} else {
			w.list(k)
		}
	case classDefs:
		w.flush()
		if inner(k) {
			w.walk(k)
			w.flush()
		} else {
			w.definitions(k)
		}
	case classQuote:
		w.flush()
		w.quotes++
		w.walk(k)
		w.flush()
		w.quotes--
	default:
		w.flush()
		w.walk(k)
		w.flush()
	}
}

// inner says that a list or the like holds blocks that it cannot show.
func inner(n *node) bool {
	for _, k := range n.kids {
		if k.complex {
			return true
		}
	}
	return false
}

// heading writes a heading. One that is long and holds blocks was never closed: its heading is what comes before the first
// block, or the first block.
func (w *writer) heading(n *node) {
	parts, rest := n, []*node(nil)
	if n.size > maxHeading || inner(n) {
		i := 0
		seen := 0
		for i < len(n.kids) && (isLine(n.kids[i]) || seen == 0) {
			seen += n.kids[i].size
			i++
			if !isLine(n.kids[i-1]) && seen > 0 {
				break
			}
		}
		first := n.kids[:i]
		if i > 0 && inner(&node{kids: first}) {
			i--
			first = n.kids[:i]
		}
		parts, rest = &node{kids: first}, n.kids[i:]
	}
	title := w.flat(parts)
	if cut := strings.TrimRight(title, "¶ "); cut != strings.TrimRight(title, " ") && cut != "" {
		w.dropped(connector.DropFurniture, title[len(cut):])
		title = cut
	}
	if title != "" {
		el := w.emit(connector.KindHeading, title)
		el.Level, el.Title = level(n.tag), title
	}
	for _, k := range rest {
		w.block(k)
	}
	w.flush()
}

func isLine(n *node) bool {
	return n.class == classInline || n.class == classImage || n.class == classBreak || n.reason != ""
}

// pre writes preformatted text as it stands.
func (w *writer) pre(n *node) {
	var b strings.Builder
	var collect func(n *node)
	collect = func(n *node) {
		for _, k := range n.kids {
			switch {
			case w.leftOut(k):
				w.drop(k)
			case k.isText(), k.class == classImage:
				b.WriteString(k.text)
			case k.class == classBreak:
				b.WriteByte('\n')
			default:
				if k.class != classInline && b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
					b.WriteByte('\n')
				}
				collect(k)
			}
		}
	}
	collect(n)
	text := strings.TrimPrefix(b.String(), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	if n.tag == atom.Textarea {
		w.emit(connector.KindText, strings.TrimRight(text, "\n"))
		return
	}
	el := w.emit(connector.KindCode, strings.TrimSuffix(text, "\n"))
	el.Atom, el.Language = true, n.lang
	if known, ok := enry.GetLanguageByAlias(n.lang); ok && n.lang != "" {
		el.Language = strings.ToLower(known)
	}
}

// drop reports n as left out.
func (w *writer) drop(n *node) {
	var b strings.Builder
	var collect func(n *node)
	collect = func(n *node) {
		if n.text != "" {
			b.WriteString(n.text)
		}
		for _, k := range n.kids {
			if k.class != classInline {
				b.WriteByte(' ')
			}
			collect(k)
			if k.class != classInline {
				b.WriteByte(' ')
			}
		}
	}
	collect(n)
	text := b.String()
	if n.reason == connector.DropScript {
		text = decode.Clip(strings.TrimSpace(text))
	} else {
		text = strings.Join(strings.Fields(text), " ")
	}
	w.dropped(n.reason, text)
}

// dropped reports text, in pieces if it is long, so that all of it can be seen.
func (w *writer) dropped(reason connector.DropReason, text string) {
	for text != "" {
		piece := decode.Clip(text)
		if len(piece) < len(text) {
			if i := strings.LastIndexByte(piece, ' '); i > 0 {
				piece = piece[:i+1]
			}
		}
		text = text[len(piece):]
		if strings.TrimSpace(piece) != "" && utf8.ValidString(piece) {
			w.els = append(w.els, connector.Element{Kind: connector.KindDropped, Reason: reason, Text: piece, Span: connector.Span{Start: w.pos, End: w.pos}})
		}
	}
}
