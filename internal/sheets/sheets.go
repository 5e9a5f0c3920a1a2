// Package sheets turns the rows of spreadsheets into elements: it finds the tables of a sheet by the blank rows and columns around
// them, their titles and headers, and writes each as lines of cells between tabs.
//
// A cell that holds a tab or a line end, or starts with a double quote, stands in double quotes, as spreadsheet programs copy cells.
// Memory is bounded: at most [maxBlockCells] cells wait; a longer block of rows is one table.
package sheets

import (
	"context"
	"errors"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// Bounds of what waits, and of one element.
const (
	maxBlockCells   = 1 << 16
	maxBlockBytes   = 2 << 20
	maxElementBytes = 64 << 10
	maxElementRows  = 256
	// maxBlank is how many blank cells may stand between two filled ones of a row; a row with more is no row of a table.
	maxBlank = 256
)

// ErrStopped says that the consumer wants no more.
var ErrStopped = errors.New("stopped")

// Merge is a range of merged cells: rows from 1, columns from 0, both ends included.
type Merge struct{ Row, Col, LastRow, LastCol int }

// row is one row that waits. at numbers the rows of a block so that a difference over 1 is a gap.
type row struct {
	n, at int
	cells []string
}

// Writer writes sheets as elements that tile the text. It is not safe for concurrent use.
type Writer struct {
	yield  func(connector.Element, error) bool
	alive  func() error
	props  map[string]any
	clean  decode.Cleaner
	pos    int
	tables int

	sheet   string
	heading string
	title   string // a line that stands alone: the heading of a table that follows, else text
	merges  merges
	block   []row
	cells   int
	bytes   int
	open    *Table
	streams bool // the block is too large to wait: its rows go to open
}

// New returns a writer of elements to yield, none of which comes once ctx is cancelled. Properties go with the first element.
func New(ctx context.Context, yield func(connector.Element, error) bool, properties map[string]any) *Writer {
	return &Writer{yield: yield, alive: ctx.Err, props: properties}
}

// Begin starts a sheet. A heading that is not empty is written above its first row.
func (w *Writer) Begin(sheet, heading string, merged []Merge) error {
	if err := w.End(); err != nil {
		return err
	}
	w.sheet, w.heading, w.merges = clean(&w.clean, sheet), clean(&w.clean, heading), newMerges(merged)
	return nil
}

// Row adds row n of the sheet, counted from 1; n ascends. Cells are used after Row returns.
func (w *Writer) Row(n int, cells []string) error {
	cells = w.merges.fill(n, cells)
	size := 0
	for i, c := range cells {
		if c = clean(&w.clean, c); strings.TrimSpace(c) == "" {
			c = ""
		}
		cells[i] = c
		size += len(c)
	}
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) == 0 {
		return nil
	}
	if sparse(cells) {
		if err := w.flush(); err != nil {
			return err
		}
		return w.Text(connector.KindText, strings.Join(filled(cells), "\t"))
	}
	return w.add(row{n: n, cells: cells}, size)
}

func (w *Writer) add(r row, size int) error {
	r.at = 1
	if k := len(w.block); k > 0 {
		last := w.block[k-1]
		r.at = last.at + min(r.n-last.n, 2)
		switch {
		case r.n <= last.n:
			return nil // a file whose rows do not ascend
		case r.n == last.n+1:
		case r.n == last.n+2 && w.continues(r):
			r.at = last.at + 1
		default:
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	if w.streams {
		w.block = append(w.block[:0], row{n: r.n, at: r.at, cells: r.cells})
		return w.open.add(w.clip(r.cells, w.open.first))
	}
	w.block = append(w.block, r)
	if w.cells, w.bytes = w.cells+len(r.cells), w.bytes+size; w.cells >= maxBlockCells || w.bytes >= maxBlockBytes {
		return w.stream()
	}
	return nil
}

// clip are the cells of a row from the first column of its table on; what stands before it is put into the first cell.
func (w *Writer) clip(cells []string, first int) []string {
	if len(cells) <= first {
		return filled(cells)
	}
	if before := filled(cells[:first]); len(before) > 0 {
		out := append([]string{}, cells[first:]...)
		out[0] = strings.TrimSpace(strings.Join(before, " ") + " " + out[0])
		return out
	}
	return cells[first:]
}

// stream begins the table that the waiting rows are, and writes them.
func (w *Writer) stream() error {
	first, last := extent(w.block)
	w.streams = true
	t, err := w.begin(w.block, first, last)
	if err != nil {
		return err
	}
	w.open = t
	w.block = append([]row{}, w.block[len(w.block)-1])
	w.cells, w.bytes = 0, 0
	return nil
}

// End ends the sheet.
func (w *Writer) End() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.alone()
}

// alone writes the line that waits as text.
func (w *Writer) alone() error {
	text := w.title
	w.title = ""
	return w.Text(connector.KindText, text)
}

// flush writes the rows that wait.
func (w *Writer) flush() error {
	block := w.block
	w.block, w.cells, w.bytes = nil, 0, 0
	if w.streams {
		t := w.open
		w.streams, w.open = false, nil
		return t.end()
	}
	if len(block) == 0 {
		return nil
	}
	return w.divide(block, 0, width(block), 0)
}

// Text writes an element of text.
func (w *Writer) Text(kind connector.Kind, text string) error {
	if text = strings.Trim(clean(&w.clean, text), "\n"); strings.TrimSpace(text) == "" {
		return nil
	}
	if err := errors.Join(w.head(), w.alone()); err != nil {
		return err
	}
	for len(text) > maxElementBytes {
		cut := strings.LastIndexByte(text[:maxElementBytes], '\n') + 1
		if cut == 0 {
			cut = len(decode.Clip(text)) // at a border of characters
		}
		if err := w.send(connector.Element{Kind: kind, Text: text[:cut]}); err != nil {
			return err
		}
		text = text[cut:]
	}
	return w.send(connector.Element{Kind: kind, Text: text + "\n\n"})
}

// Heading writes a heading.
func (w *Writer) Heading(level int, title string) error {
	if title = strings.Join(strings.Fields(clean(&w.clean, title)), " "); title == "" {
		return nil
	}
	if err := w.head(); err != nil {
		return err
	}
	return w.send(connector.Element{Kind: connector.KindHeading, Level: level, Title: title, Text: title + "\n\n"})
}

// head writes the sheet's heading if that has not been written.
func (w *Writer) head() error {
	if w.heading == "" {
		return nil
	}
	title := w.heading
	w.heading = ""
	return w.Heading(1, title)
}

// Drop reports text that is left out.
func (w *Writer) Drop(reason connector.DropReason, text string) error {
	text = decode.Clip(strings.TrimSpace(clean(&w.clean, text)))
	if text == "" {
		return nil
	}
	if !w.yield(connector.Element{Kind: connector.KindDropped, Reason: reason, Text: text, Span: connector.Span{Start: w.pos, End: w.pos}}, nil) {
		return ErrStopped
	}
	return nil
}

// Close ends the sheet and reports the characters that were left out.
func (w *Writer) Close() error {
	if err := w.End(); err != nil {
		return err
	}
	for _, d := range w.clean.Dropped() {
		el := d.Element()
		el.Span = connector.Span{Start: w.pos, End: w.pos}
		if !w.yield(el, nil) {
			return ErrStopped
		}
	}
	return nil
}

// send yields el, whose place is the end of the text.
func (w *Writer) send(el connector.Element) error {
	if err := w.alive(); err != nil {
		return err
	}
	el.Span = connector.Span{Start: w.pos, End: w.pos + len(el.Text)}
	w.pos = el.Span.End
	el.Properties, w.props = w.props, nil
	if !w.yield(el, nil) {
		return ErrStopped
	}
	return nil
}

// clean gives s as UTF-8 without what is no text. Most cells need nothing.
func clean(c *decode.Cleaner, s string) string {
	for i := range len(s) {
		if b := s[i]; b < ' ' || b >= 0x7F {
			return c.Clean(strings.ToValidUTF8(s, "\uFFFD"))
		}
	}
	return s
}

// Heading is the heading of a sheet: its name, unless that is one that programs give.
func Heading(name string) string {
	switch strings.TrimRight(strings.ToLower(strings.TrimSpace(name)), "0123456789() ") {
	case "", "sheet", "工作表", "工作簿", "tabelle", "feuil", "feuille", "hoja", "foglio", "planilha", "blad", "лист", "シート":
		return ""
	}
	return name
}
