package ods

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sheets"
)

// Bounds of what a file may repeat, and of its nesting.
const (
	maxColumns  = 1 << 14
	maxRows     = 1 << 20
	maxCopies   = 1000    // of one row that holds something
	maxRepeated = 1 << 22 // cells that repetitions may add to a document
	maxDepth    = 256
	maxSpaces   = 1000
)

// reader reads content.xml as a stream.
type reader struct {
	d      *xml.Decoder
	w      *sheets.Writer
	alive  func() error
	hidden bool
	hide   map[string]bool // styles of hidden sheets
	style  string          // the style whose properties come
	budget int

	depth  int
	sheet  string
	number int // of the next row
	cells  []string
	filled bool
	notes  []string
}

// table is the namespace of tables.
const table = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"

func (r *reader) token() (xml.Token, error) {
	t, err := r.d.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil, err
	case err != nil:
		return nil, connector.Errorf(connector.ClassInvalid, "content.xml: %w", err)
	}
	switch t.(type) {
	case xml.StartElement:
		if r.depth++; r.depth > maxDepth {
			return nil, connector.Errorf(connector.ClassInvalid, "content.xml is nested over %d deep", maxDepth)
		}
	case xml.EndElement:
		r.depth--
	}
	return t, nil
}

// read reads all sheets.
func (r *reader) read() error {
	for {
		t, err := r.token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		start, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "style":
			r.style = attribute(start, "name")
		case "table-properties":
			if attribute(start, "display") == "false" {
				r.hide[r.style] = true
			}
		case "table":
			if start.Name.Space != table {
				continue
			}
			r.sheet, r.number, r.notes = attribute(start, "name"), 1, nil
			if r.hide[attribute(start, "style-name")] && !r.hidden {
				if err := errors.Join(r.w.End(), r.w.Drop(connector.DropHidden, "hidden sheet: "+r.sheet), r.pass()); err != nil {
					return err
				}
				continue
			}
			if err := r.table(); err != nil {
				return err
			}
		}
	}
}

// pass passes over the rest of the open element.
func (r *reader) pass() error {
	for depth := r.depth; r.depth >= depth; {
		if _, err := r.token(); err != nil {
			return cutShort(err)
		}
	}
	return nil
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return connector.Errorf(connector.ClassInvalid, "content.xml is cut short")
	}
	return err
}

// table writes the open sheet.
func (r *reader) table() error {
	if err := r.w.Begin(r.sheet, sheets.Heading(r.sheet), nil); err != nil {
		return err
	}
	for depth := r.depth; r.depth >= depth; {
		t, err := r.token()
		if err != nil {
			return cutShort(err)
		}
		start, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "table-row":
			err = r.row(start)
		case "p", "h": // in a drawing that belongs to the sheet
			var b strings.Builder
			if err = r.text(&b); err == nil && strings.TrimSpace(b.String()) != "" {
				r.notes = append(r.notes, b.String())
			}
		case "title", "desc":
			if start.Name.Space != table {
				err = r.pass()
			}
		}
		if err != nil {
			return err
		}
	}
	if err := r.w.End(); err != nil {
		return err
	}
	return r.w.Text(connector.KindText, strings.Join(r.notes, "\n"))
}

// row reads one row.
func (r *reader) row(start xml.StartElement) error {
	if err := r.alive(); err != nil {
		return err
	}
	r.cells, r.filled = nil, false
	for depth := r.depth; r.depth >= depth; {
		t, err := r.token()
		if err != nil {
			return cutShort(err)
		}
		if cell, ok := t.(xml.StartElement); ok && (cell.Name.Local == "table-cell" || cell.Name.Local == "covered-table-cell") {
			if err := r.cell(cell); err != nil {
				return err
			}
		}
	}
	times := count(start, "number-rows-repeated", maxRows)
	at := r.number
	if r.number += times; !r.filled || r.number > 2*maxRows {
		return nil
	}
	copies := max(1, min(times, maxCopies, r.budget/len(r.cells)))
	r.budget -= (copies - 1) * len(r.cells)
	for i := range copies {
		if err := r.w.Row(at+i, append([]string(nil), r.cells...)); err != nil {
			return err
		}
	}
	if copies < times {
		return r.w.Drop(connector.DropRepeated, fmt.Sprintf("sheet %s, row %d: %d more copies of %s", r.sheet, at, times-copies, strings.Join(r.cells, " ")))
	}
	return nil
}

// cell reads one cell.
func (r *reader) cell(start xml.StartElement) error {
	var b strings.Builder
	lines := 0
	for depth := r.depth; r.depth >= depth; {
		t, err := r.token()
		if err != nil {
			return cutShort(err)
		}
		inner, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		switch inner.Name.Local {
		case "p", "h":
			if lines++; lines > 1 {
				b.WriteByte('\n')
			}
			err = r.text(&b)
		case "annotation":
			err = r.note(len(r.cells))
		case "frame", "custom-shape":
			err = r.note(-1)
		}
		if err != nil {
			return err
		}
	}
	value := b.String()
	if strings.TrimSpace(value) == "" {
		value = stored(start)
	}
	return r.put(start, value)
}

// put adds a cell as often as the file says.
func (r *reader) put(start xml.StartElement, value string) error {
	times := min(count(start, "number-columns-repeated", maxColumns), maxColumns-len(r.cells))
	if value != "" && times > 1 {
		times = max(1, min(times, r.budget))
		r.budget -= times - 1
	}
	across, down := count(start, "number-columns-spanned", maxColumns), count(start, "number-rows-spanned", maxRows)
	if value != "" && (across > 1 || down > 1) {
		r.w.Merge(sheets.Merge{Row: r.number, Col: len(r.cells), LastRow: r.number + down - 1, LastCol: len(r.cells) + across - 1})
	}
	for range times {
		r.cells = append(r.cells, value)
	}
	r.filled = r.filled || value != ""
	return nil
}

// stored is the value of a cell that shows no text.
func stored(start xml.StartElement) string {
	for _, name := range []string{"string-value", "date-value", "time-value", "boolean-value", "value"} {
		if v := attribute(start, name); v != "" {
			return v
		}
	}
	return ""
}

// note keeps the text of a comment, or of a drawing in a cell.
func (r *reader) note(column int) error {
	var b strings.Builder
	author := ""
	for depth := r.depth; r.depth >= depth; {
		t, err := r.token()
		if err != nil {
			return cutShort(err)
		}
		inner, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		switch inner.Name.Local {
		case "p", "h":
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			err = r.text(&b)
		case "creator":
			var name strings.Builder
			err = r.text(&name)
			author = name.String() + ": "
		case "date", "date-string", "title", "desc":
			err = r.pass()
		}
		if err != nil {
			return err
		}
	}
	text := strings.TrimSpace(b.String())
	if text == "" {
		return nil
	}
	if column >= 0 {
		text = fmt.Sprintf("[%s%d] %s%s", letters(column), r.number, author, text)
	}
	r.notes = append(r.notes, text)
	return nil
}

// text writes the text of the open paragraph.
func (r *reader) text(b *strings.Builder) error {
	for depth := r.depth; r.depth >= depth; {
		t, err := r.token()
		if err != nil {
			return cutShort(err)
		}
		switch t := t.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			switch t.Name.Local {
			case "s":
				b.WriteString(strings.Repeat(" ", count(t, "c", maxSpaces)))
			case "tab":
				b.WriteByte('\t')
			case "line-break":
				b.WriteByte('\n')
			}
		}
	}
	return nil
}

func attribute(start xml.StartElement, name string) string {
	for _, a := range start.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// count is a number of an attribute, from 1 to most; 1 where there is none.
func count(start xml.StartElement, name string, most int) int {
	n, err := strconv.Atoi(attribute(start, name))
	if err != nil {
		return 1
	}
	return max(1, min(n, most))
}

// letters is the name of a column, from 0.
func letters(column int) string {
	name := ""
	for column++; column > 0; column = (column - 1) / 26 {
		name = string(rune('A'+(column-1)%26)) + name
	}
	return name
}
