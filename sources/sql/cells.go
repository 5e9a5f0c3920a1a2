package sql

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// column is one of a statement's columns: its name and the database's word for its type.
type column struct {
	name string
	typ  string // upper case
}

type kind byte

const (
	kindNull kind = iota
	kindText
	kindInteger
	kindDecimal
	kindFloat
	kindBoolean
	kindBytes
	kindTime
)

// cell is one value of a row.
type cell struct {
	kind kind
	// text is how the value is written in a document; for kindBytes the bytes themselves.
	text string
	// param finds the value again, as a parameter.
	param any
}

// parseTime reads a time as databases write it; without a zone it is taken as UTC, in which the sessions run.
func parseTime(text string) (time.Time, bool) {
	for _, form := range [...]string{
		"2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
		"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04Z07:00", "2006-01-02 15:04",
	} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// timeCell writes a time by RFC 3339 in UTC. What cannot be written so (infinity, the year 0000) stays as it is.
func timeCell(text string, param any) cell {
	if t, ok := parseTime(text); ok {
		return cell{kindTime, t.Format(time.RFC3339Nano), param}
	}
	return cell{kindTime, text, param}
}

// formatFloat writes the fewest digits that give the same number back.
func formatFloat(f float64, bits int) string {
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.FormatFloat(f, 'e', -1, bits)
	}
	return strconv.FormatFloat(f, 'f', -1, bits)
}

// plain is the value for the metadata: whole numbers, floats and booleans as such, all else as text, NULL as nothing.
func (c cell) plain() (value any, err error) {
	switch c.kind {
	case kindNull:
		return nil, nil
	case kindInteger:
		if i, err := strconv.ParseInt(c.text, 10, 64); err == nil {
			return i, nil
		}
	case kindFloat:
		if f, err := strconv.ParseFloat(c.text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f, nil
		}
	case kindBoolean:
		return c.text == "true", nil
	case kindBytes:
		return nil, fmt.Errorf("it holds bytes, which are no text")
	}
	return c.text, nil
}

// moment is the time that the value tells: a time, a date, or seconds since 1970.
func (c cell) moment() time.Time {
	if c.kind == kindInteger {
		if s, err := strconv.ParseInt(c.text, 10, 64); err == nil {
			return time.Unix(s, 0).UTC()
		}
	}
	if t, ok := parseTime(c.text); ok {
		return t
	}
	if t, err := time.Parse(time.DateOnly, c.text); err == nil {
		return t
	}
	return time.Time{}
}

// render is the content of a row: one column as it stands, several as lines of "column: value".
func render(columns []column, cells []cell) (string, error) {
	if len(cells) == 1 {
		return cells[0].text, nil
	}
	var b strings.Builder
	for i, c := range cells {
		if c.kind == kindNull {
			continue
		}
		if c.kind == kindBytes && !utf8.ValidString(c.text) {
			return "", fmt.Errorf("the column %q holds bytes that are no text: name the columns of the text in content, or this one alone", columns[i].name)
		}
		b.WriteString(columns[i].name)
		b.WriteString(": ")
		b.WriteString(c.text)
		b.WriteByte('\n')
	}
	return b.String(), nil
}
