package rtf

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/htmltext"
)

// Bounds.
const (
	maxDepth = 10_000 // of groups
	maxBad   = 64     // places of undecodable bytes that are told
	maxTold  = 4 << 10
	maxInner = 8 // notes in notes
)

// dest is where the text of a group goes.
type dest uint8

const (
	toFlow   dest = iota // a text with paragraphs
	toBuffer             // state.buf
	toNowhere
	toQuiet // nowhere, but groups inside may have texts of their own
	toFonts
	toStyles
)

// state is what a group inherits and may change.
type state struct {
	dest       dest
	buf        *[]byte
	flow       *flow
	outer      dest // of \upr: the destination of its Unicode part
	uc         int
	page       int // code page
	wingdings  bool
	hidden     bool
	deleted    bool
	bold       bool
	rtfOnly    bool // \htmlrtf: not part of the HTML
	par        paragraph
	inside     int    // texts inside of others
	nestedDefs bool   // rows that are told here are of the table inside the cell
	end        func() // called when the group that set it ends
}

// font is an entry of the font table.
type font struct {
	page      int
	wingdings bool
}

// reader turns tokens into blocks.
type reader struct {
	scanner
	ctx      context.Context //nolint:containedctx // a reader lives as long as one call of Parse
	yield    func(connector.Element, error) bool
	w        *blocks.Writer
	props    map[string]any
	comments bool

	state
	stack   []state
	star    bool // \* came: the next word names a destination that may be skipped
	skip    int  // characters that stand in for a \u
	high    rune // the first half of a surrogate pair
	raw     []byte
	utf8Raw bool // bytes over 0x7F of the file are UTF-8

	ansi      int
	deff      int
	fonts     map[int]font
	font      int // entry that is being read
	styles    map[int]style
	entry     entry
	body      *flow
	footnotes int
	endnotes  int
	propName  string // of a shape
	bad       int
	furnish   map[string]bool
	author    string
	html      bool
	markup    []byte // the HTML
}

func newReader(ctx context.Context, data []byte, yield func(connector.Element, error) bool) *reader {
	r := &reader{scanner: scanner{data: data}, ctx: ctx, yield: yield, props: map[string]any{}, fonts: map[int]font{}, styles: map[int]style{}, furnish: map[string]bool{}}
	r.utf8Raw = !ascii(data) && utf8.Valid(data)
	r.ansi = 1252
	r.body = &flow{out: r.add}
	r.state = r.fresh()
	return r
}

// fresh is the state outside of all groups.
func (r *reader) fresh() state {
	return state{flow: r.body, uc: 1, dest: toNowhere, outer: toNowhere, par: plain()}
}

// add gives a block to the writer, which is made when the properties are known.
func (r *reader) add(b blocks.Block) {
	if r.w == nil {
		r.w = blocks.NewWriter(r.ctx, r.yield, r.props)
	}
	r.w.Add(b)
}

// drop reports what is left out, in the flow that is being read.
func (r *reader) drop(reason connector.DropReason, text string) {
	if strings.TrimSpace(text) != "" {
		r.flow.later = append(r.flow.later, blocks.Block{Kind: connector.KindDropped, Reason: reason, Text: text})
	}
}

// read reads the whole file.
func (r *reader) read() error {
	for n := 0; ; n++ {
		if n%1024 == 0 {
			if err := r.stopped(); err != nil {
				return err
			}
		}
		t := r.next()
		if t.kind == tokenEnd {
			break
		}
		if err := r.take(t); err != nil {
			return err
		}
	}
	r.flush()
	if open := len(r.stack); open > 0 {
		for len(r.stack) > 0 {
			r.close()
		}
		r.drop(connector.DropMarkup, fmt.Sprintf("the file ends inside of %d open groups: it may be cut short", open))
	}
	r.flow = r.body
	r.state.par = plain()
	r.body.finish(r, 0)
	r.body.close(0)
	return r.ended()
}

// ended writes the HTML that the document stands for, if so, and closes the writer.
func (r *reader) ended() error {
	if !r.html {
		if r.w == nil {
			return nil
		}
		return r.w.Close()
	}
	pos := 0
	first := true
	for _, el := range htmltext.Elements(string(r.markup), nil, htmltext.Options{KeepBoilerplate: true}) {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if el.Kind != connector.KindDropped {
			pos = el.Span.End
			if first && len(r.props) > 0 {
				el.Properties = r.props
			}
			first = false
		}
		if !r.yield(el, nil) {
			return blocks.ErrStopped
		}
	}
	for _, b := range r.body.later {
		el := connector.Element{Kind: connector.KindDropped, Reason: b.Reason, Text: b.Text[:min(len(b.Text), maxTold)], Span: connector.Span{Start: pos, End: pos}}
		el.Text = strings.ToValidUTF8(el.Text, "")
		if !r.yield(el, nil) {
			return blocks.ErrStopped
		}
	}
	return nil
}

func (r *reader) stopped() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.w != nil {
		return r.w.Err()
	}
	return nil
}

// take deals with one token.
func (r *reader) take(t token) error {
	if r.skip > 0 && t.kind != tokenOpen && t.kind != tokenClose {
		if t.kind != tokenText {
			r.skip--
			return nil
		}
		t.text = r.pastFallback(t.text)
		if len(t.text) == 0 {
			return nil
		}
	}
	switch t.kind {
	case tokenOpen:
		r.flush()
		r.skip = 0
		if len(r.stack) >= maxDepth {
			return connector.Errorf(connector.ClassInvalid, "groups are nested over %d deep at byte %d", maxDepth, r.pos)
		}
		r.open()
	case tokenClose:
		r.flush()
		r.skip, r.star = 0, false
		if len(r.stack) > 0 {
			r.close()
		}
	case tokenByte:
		r.raw = append(r.raw, t.char)
	case tokenText:
		r.literal(t.text)
	case tokenSymbol:
		r.symbol(t.char)
	case tokenWord:
		r.flush()
		r.word(t)
		if t.word != "u" {
			r.high = 0
		}
	}
	return nil
}

// pastFallback is text behind the characters that stand in for a \u.
func (r *reader) pastFallback(text []byte) []byte {
	for r.skip > 0 && len(text) > 0 {
		n := 1
		if r.utf8Raw {
			_, n = utf8.DecodeRune(text)
		}
		text = text[n:]
		r.skip--
	}
	return text
}

// literal takes bytes as they stand.
func (r *reader) literal(text []byte) {
	switch {
	case len(r.stack) == 0:
		if r.drop(connector.DropMarkup, strings.ToValidUTF8(string(text[:min(len(text), maxTold)]), "")); len(r.body.later) > maxBad {
			r.body.later = r.body.later[:maxBad]
		}
	case r.utf8Raw && !ascii(text):
		r.flush()
		r.put(strings.ToValidUTF8(string(text), ""))
	case len(r.raw) > 0 || !ascii(text) || r.page == pageSymbol:
		r.raw = append(r.raw, text...)
	default:
		r.put(string(text))
	}
}

// flush decodes the bytes that came.
func (r *reader) flush() {
	if len(r.raw) == 0 {
		return
	}
	raw := r.raw
	r.raw = r.raw[:0]
	if r.page == pageSymbol && (r.dest == toFlow || r.dest == toBuffer) {
		r.symbols(raw)
		return
	}
	page := r.page
	if page <= pageDocument {
		page = r.ansi
		if doubleByte(page) && page != 932 && !pairs(raw) { // a font of the West in a document of the East
			page = 1252
		}
	}
	text, bad := decoded(raw, page)
	r.put(text)
	r.undecodable(bad)
}

func (r *reader) undecodable(bad string) {
	if bad == "" || r.dest != toFlow {
		return
	}
	if r.bad++; r.bad <= maxBad {
		r.drop(connector.DropUndecodable, bad)
	}
}

// symbols are characters of a font of symbols.
func (r *reader) symbols(raw []byte) {
	for i, c := range raw {
		r.sign(c, raw[i:i+1])
	}
}

// sign takes a character of a font of symbols. As the marker of an item any that is unknown is a bullet.
func (r *reader) sign(c byte, raw []byte) {
	s := symbol(c, r.wingdings)
	if s == 0 && r.dest == toBuffer {
		s = '•'
	}
	if s == 0 {
		r.undecodable(hexes(raw))
		return
	}
	r.put(string(s))
}

// unicode takes a \u.
func (r *reader) unicode(n int) {
	c := rune(n & 0xFFFF)
	if n > 0xFFFF && n <= utf8.MaxRune {
		c = rune(n) //nolint:gosec // it was compared
	}
	high := r.high
	r.high = 0
	switch {
	case c >= 0xD800 && c < 0xDC00:
		r.high = c
	case c >= 0xDC00 && c < 0xE000:
		if high != 0 {
			r.put(string(utf16.DecodeRune(high, c)))
		}
	case c >= 0xF000 && c < 0xF100: // a character of a font of symbols
		r.sign(byte(c&0xFF), []byte{byte(c & 0xFF)})
	case c != 0:
		r.put(string(c))
	}
	r.skip = r.uc
}

// put adds text to where it goes.
func (r *reader) put(s string) {
	switch r.dest {
	case toBuffer:
		*r.buf = append(*r.buf, s...)
	case toFlow:
		if r.html {
			if !r.rtfOnly {
				r.markup = append(r.markup, s...)
			}
			return
		}
		r.flow.put(&r.state, s)
	case toFonts, toStyles:
		r.name(s)
	case toNowhere, toQuiet:
	}
}

// open begins a group.
func (r *reader) open() {
	r.stack = append(r.stack, r.state)
	r.end = nil
	if len(r.stack) == 1 {
		r.state = r.fresh()
		r.dest = toFlow
	}
	r.star = false
}

// close ends a group.
func (r *reader) close() {
	if r.end != nil {
		r.end()
	}
	n := len(r.stack) - 1
	r.state = r.stack[n]
	r.stack = r.stack[:n]
	if n == 0 { // whatever follows is outside of the document
		r.state = r.fresh()
	}
}

// collect sends the text of this group to a buffer and gives it to done at its end.
func (r *reader) collect(done func(text string)) {
	if r.dest == toNowhere {
		return
	}
	buf := new([]byte)
	r.dest, r.buf = toBuffer, buf
	r.end = func() { done(strings.TrimSpace(string(*buf))) }
}
