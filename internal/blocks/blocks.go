// Package blocks turns the blocks of an office document, which come one after another as the format has them, into elements that tile the
// parsed text: list items become lists, cells become tables. It is what the parsers of office documents share.
//
// A list's element is held until the list ends, or is over 1 MiB; everything else is yielded as it comes.
package blocks

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// Block is one block.
type Block struct {
	// Kind is that of the element. KindItem blocks that follow each other make a list, KindCode blocks one element.
	Kind connector.Kind
	// Note says that the block belongs to a place in the text, as footnotes and comments do, and waits for the end of the list or table in which
	// that is.
	Note bool
	// Level is that of a heading, where more than 6 counts as 6, or the depth of an item, from 1.
	Level int
	// List tells the lists of items: an item at the level at which a list began, with another number, starts a new list.
	List int
	// Marker stands before an item ("-", "1.", "（一）"), a heading or a note.
	Marker string
	Text   string
	// Page and PageEnd as in [connector.Element].
	Page, PageEnd int
	Box           *connector.Box       // as in [connector.Element]
	Guess         bool                 // of KindCode: it is set in a typewriter's letters and may be code
	Reason        connector.DropReason // of KindDropped
	Table         *Table               // of KindTable
}

// ErrStopped says that the consumer wants no more.
var ErrStopped = errors.New("stopped")

// Writer makes elements of blocks. The first error ends it: what is added afterwards is ignored.
type Writer struct {
	ctx    context.Context //nolint:containedctx // a writer lives as long as one call of Parse
	yield  func(connector.Element, error) bool
	props  map[string]any
	pos    int
	tables int
	clean  decode.Cleaner
	err    error

	held     []Block // items of a list, or lines of code
	heldSize int
	after    []Block // notes that wait for the end of the list
}

// NewWriter returns a writer whose first element that is not dropped has the properties, which may be empty.
func NewWriter(ctx context.Context, yield func(connector.Element, error) bool, props map[string]any) *Writer {
	if len(props) == 0 {
		props = nil
	}
	return &Writer{ctx: ctx, yield: yield, props: props}
}

// Err is why the writer stopped: [ErrStopped] or the context's error; nil while it goes on.
func (w *Writer) Err() error { return w.err }

// maxHeld is the size from which on a list goes on in another element.
const maxHeld = 1 << 20

// Add takes the next block.
func (w *Writer) Add(b Block) {
	if w.err != nil {
		return
	}
	switch b.Kind {
	case connector.KindDropped:
		w.drop(b.Reason, b.Text)
		return
	case connector.KindTable:
		w.flush()
		w.table(b)
		return
	case connector.KindCode:
		b.Text = w.cleaned(b.Text)
	default:
		b.Text = tidy(w.cleaned(b.Text))
	}
	if b.Text == "" && b.Kind != connector.KindCode {
		return
	}
	b.Marker = oneLine(w.cleaned(b.Marker))
	switch b.Kind {
	case connector.KindItem, connector.KindCode:
		if len(w.held) > 0 && !w.continues(b) {
			w.flush()
		}
		w.held = append(w.held, b)
		w.heldSize += len(b.Text)
	default:
		if b.Note && len(w.held) > 0 {
			w.after = append(w.after, b)
			return
		}
		w.flush()
		w.plain(b)
	}
}

// continues says that b goes on with what is held.
func (w *Writer) continues(b Block) bool {
	first := w.held[0]
	switch {
	case b.Kind != first.Kind:
		return false
	case b.Kind == connector.KindCode:
		return w.heldSize < maxHeld
	}
	return b.Level > first.Level || b.List == first.List && w.heldSize < maxHeld
}

// flush writes what is held.
func (w *Writer) flush() {
	held, after := w.held, w.after
	w.held, w.after, w.heldSize = nil, nil, 0
	if len(held) == 0 {
		return
	}
	if held[0].Kind == connector.KindCode {
		w.code(held)
	} else {
		w.list(held)
	}
	for _, b := range after {
		w.plain(b)
	}
}

// Close writes what is left. It returns the writer's error.
func (w *Writer) Close() error {
	w.flush()
	for _, d := range w.clean.Dropped() {
		el := d.Element()
		el.Span = connector.Span{} // places in the parts mean nothing in the text
		w.send(el)
	}
	return w.err
}

// cleaned is s without what is no text.
func (w *Writer) cleaned(s string) string {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7F {
			return w.clean.Clean(strings.ToValidUTF8(s, "\uFFFD"))
		}
	}
	return s
}

// tidy is s without white space at its ends and the ends of its lines, and without blank lines.
func tidy(s string) string {
	s = strings.TrimSpace(s)
	if strings.IndexByte(s, '\n') < 0 {
		return s
	}
	var b strings.Builder
	for l := range strings.SplitSeq(s, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(l)
		}
	}
	return b.String()
}

// oneLine is s with line ends and what follows them as one space.
func oneLine(s string) string {
	if strings.IndexByte(s, '\n') < 0 {
		return strings.TrimSpace(s)
	}
	return strings.ReplaceAll(tidy(s), "\n", " ")
}

// marked is the text of a block behind its marker.
func marked(b Block) string {
	if b.Marker == "" {
		return b.Text
	}
	return b.Marker + " " + b.Text
}

// plain writes a block that is one element.
func (w *Writer) plain(b Block) {
	switch b.Kind {
	case connector.KindHeading:
		b.Text = oneLine(marked(b))
		el := w.element(b, b.Text)
		el.Level, el.Title = max(1, min(b.Level, 6)), b.Text
		w.send(el)
	case connector.KindMath:
		el := w.element(b, "$$"+b.Text+"$$")
		el.Atom = true
		w.send(el)
	case connector.KindImage:
		el := w.element(b, b.Text)
		el.Title = oneLine(b.Text)
		w.send(el)
	case connector.KindRecord: // the fields of one thing: they are found together
		el := w.element(b, b.Text)
		el.Atom = true
		w.send(el)
	default:
		w.send(w.element(b, marked(b)))
	}
}

// code writes lines of code.
func (w *Writer) code(lines []Block) {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text)
		b.WriteByte('\n')
	}
	text := strings.Trim(b.String(), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	if guessed(lines) && !likeCode(text) {
		for _, l := range lines {
			if l.Text = tidy(l.Text); l.Text != "" {
				l.Kind = connector.KindText
				w.plain(l)
			}
		}
		return
	}
	el := w.element(lines[0], text)
	el.Atom = true
	w.send(el)
}

func guessed(lines []Block) bool {
	for _, l := range lines {
		if !l.Guess {
			return false
		}
	}
	return true
}

// likeCode says that one in forty characters is a sign that prose hardly has.
func likeCode(text string) bool {
	signs := 0
	for i := range len(text) {
		switch text[i] {
		case '{', '}', '=', ';', '<', '>', '[', ']', '_', '\\', '$', '#', '|', '*', '/', '+', '&', '(':
			signs++
		}
	}
	return signs*40 >= len(text)
}

// element is one with text and a blank line behind what was written.
func (w *Writer) element(b Block, text string) connector.Element {
	text += "\n\n"
	el := connector.Element{Kind: b.Kind, Text: text, Span: connector.Span{Start: w.pos, End: w.pos + len(text)}, Page: b.Page, Box: b.Box}
	if b.PageEnd != b.Page {
		el.PageEnd = b.PageEnd
	}
	return el
}

// drop reports what is left out, in pieces if it is long, so that all of it can be seen.
func (w *Writer) drop(reason connector.DropReason, text string) {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	for text != "" {
		piece := decode.Clip(text)
		if len(piece) < len(text) {
			if i := strings.LastIndexByte(piece, ' '); i > 0 {
				piece = piece[:i+1]
			}
		}
		text = text[len(piece):]
		w.send(connector.Element{Kind: connector.KindDropped, Reason: reason, Text: piece, Span: connector.Span{Start: w.pos, End: w.pos}})
	}
}

// send yields an element.
func (w *Writer) send(el connector.Element) {
	if w.err != nil {
		return
	}
	if w.err = w.ctx.Err(); w.err != nil {
		return
	}
	if el.Kind != connector.KindDropped {
		w.pos = el.Span.End
		el.Properties, w.props = w.props, nil
	}
	if !w.yield(el, nil) {
		w.err = ErrStopped
	}
}

// width is how many columns s takes, roughly.
func width(s string) int { return utf8.RuneCountInString(s) }
