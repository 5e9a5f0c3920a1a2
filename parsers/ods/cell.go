package ods

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/internal/sheets"
)

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
