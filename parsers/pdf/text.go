package pdf

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf16"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/pagelayout"
)

// Bounds of a page's text.
const (
	maxChars  = 500_000
	checkEach = 4096 // characters between two looks at the clock
)

// Signs of fonts: flags of their descriptors, weights.
const (
	flagItalic    = 1 << 6
	flagForceBold = 1 << 18
	boldWeight    = 650
	modeStroked   = 2 // letters that are filled and stroked, to look bold
)

// font is what is known of a font.
type font struct {
	name         string
	bold, italic bool
}

// textReader reads the text of a page.
type textReader struct {
	d    *document
	view matrix
	out  *pagelayout.Page

	text    uint64 // PDFium's handle
	run     pagelayout.Run
	words   strings.Builder
	object  uint64 // that the run is of
	open    bool   // a run was begun
	placed  bool   // it has a box
	last    connector.Box
	high    rune // first half of a character in two
	missing int  // characters that have no Unicode
}

// read appends the runs of the page. PDFium gives characters in the order of drawing; those of one text object are a run. It adds spaces,
// line ends and the mark of hyphens itself, which belong to the run before them.
func (t *textReader) read(page uint64) {
	s := t.d.s
	t.text = s.call("FPDFText_LoadPage", page)
	if t.text == 0 || !s.alive() {
		return
	}
	defer func() { s.call("FPDFText_ClosePage", t.text) }()
	n := int(int32(uint32(s.call("FPDFText_CountChars", t.text))))
	if n > maxChars {
		s.fail(connector.Errorf(connector.ClassInvalid, "page %d has %d characters; at most %d are read", t.out.Number, n, maxChars))
		return
	}
	for i := range n {
		if i%checkEach == checkEach-1 && !s.alive() {
			return
		}
		t.char(i)
	}
	t.flush()
	if t.missing > 0 {
		t.out.Dropped = append(t.out.Dropped, pagelayout.Dropped{Reason: connector.DropUndecodable, Text: fmt.Sprintf("page %d: %d characters of fonts that do not say what they mean", t.out.Number, t.missing)})
	}
}

// char takes in a character.
func (t *textReader) char(i int) {
	s := t.d.s
	r := rune(uint32(s.call("FPDFText_GetUnicode", t.text, uint64(i))))
	switch {
	case utf16.IsSurrogate(r):
		if t.high == 0 {
			t.high = r
			return
		}
		r, t.high = utf16.DecodeRune(t.high, r), 0
	case t.high != 0:
		t.high = 0
		t.missing++
	}
	if r == '\r' || r == '\n' {
		t.flush()
		return
	}
	object := s.call("FPDFText_GetTextObject", t.text, uint64(i))
	if object != 0 && (!t.open || object != t.object) {
		t.flush()
		t.begin(i, object)
	}
	var b [4]float64 // left, right, bottom, top
	at := s.scratch
	s.call("FPDFText_GetCharBox", t.text, uint64(i), at, at+8, at+16, at+24)
	s.float64s(b[:])
	if r == 0 {
		t.missing++
		return
	}
	t.words.WriteRune(r)
	if b[1]-b[0] > 0 && b[3]-b[2] > 0 {
		t.grow(t.view.box(b[0], b[2], b[1], b[3]))
	}
}

// begin starts a run with its first character.
func (t *textReader) begin(i int, object uint64) {
	t.open, t.placed, t.object = true, false, object
	f := t.font(i, object)
	t.run = pagelayout.Run{Font: f.name, Italic: f.italic, Bold: f.bold, Size: t.size(i)}
	if !f.bold {
		t.run.Bold = t.d.s.call("FPDFTextObj_GetTextRenderMode", object) == modeStroked
	}
}

// size is the size of a character as shown.
func (t *textReader) size(i int) float64 {
	s := t.d.s
	size := math.Float64frombits(s.call("FPDFText_GetFontSize", t.text, uint64(i)))
	if s.call("FPDFText_GetMatrix", t.text, uint64(i), s.scratch) == 0 {
		return size
	}
	var m [6]float64
	s.float32s(m[:])
	return size * math.Hypot(m[2], m[3])
}

func (t *textReader) font(i int, object uint64) font {
	s := t.d.s
	key := s.call("FPDFTextObj_GetFont", object)
	if f, ok := t.d.fonts[key]; ok && key != 0 {
		return f
	}
	const room = scratchSize - 8
	n := int(int32(uint32(s.call("FPDFText_GetFontInfo", t.text, uint64(i), s.scratch+8, room, s.scratch))))
	var flags uint32
	if view := s.view(4); len(view) == 4 {
		flags = uint32(view[0]) | uint32(view[1])<<8 | uint32(view[2])<<16 | uint32(view[3])<<24
	}
	name := strings.TrimRight(string(s.bytes(s.scratch+8, min(max(n, 0), room))), "\x00")
	if len(name) > 7 && name[6] == '+' { // a subset
		name = name[7:]
	}
	weight := int32(uint32(s.call("FPDFText_GetFontWeight", t.text, uint64(i))))
	f := font{name: strings.ToValidUTF8(name, ""), italic: flags&flagItalic != 0, bold: flags&flagForceBold != 0 || weight >= boldWeight}
	t.d.fonts[key] = f
	return f
}

// grow makes the run's box hold b.
func (t *textReader) grow(b connector.Box) {
	if !t.placed {
		t.run.Box, t.placed = b, true
	} else {
		t.run.Box = connector.Box{X0: min(t.run.Box.X0, b.X0), Y0: min(t.run.Box.Y0, b.Y0), X1: max(t.run.Box.X1, b.X1), Y1: max(t.run.Box.Y1, b.Y1)}
	}
	t.last = b
}

// flush ends the run. What has no place of its own stands where the text before it ended.
func (t *textReader) flush() {
	if t.words.Len() == 0 {
		t.open = false
		return
	}
	t.run.Text = t.words.String()
	t.words.Reset()
	if !t.placed {
		t.run.Box = connector.Box{X0: t.last.X1, Y0: t.last.Y0, X1: t.last.X1, Y1: t.last.Y1}
	}
	t.out.Runs = append(t.out.Runs, t.run)
	t.open, t.run = false, pagelayout.Run{}
}
