package ods

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
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
