package delimited

import (
	"bytes"
	"strings"
)

// dialect says how records are written. quote is 0 where quotes mean nothing.
type dialect struct {
	delim byte
	quote byte
}

// status tells how a scan for one record ended.
type status int

const (
	scanned  status = iota // a whole record, its line end included
	needMore               // the data ends inside the record
	unclosed               // the input ends inside a quoted field
)

// field is where a cell stands in the scanned bytes, and how its value is told from them.
type field struct {
	start, end int
	form       form
}

type form uint8

const (
	bare    form = iota // the value is the bytes themselves, stray quotes included
	quoted              // start and end stand inside the quotes
	doubled             // quoted, with doubled quotes inside
)

// scan finds the first record of b and appends its fields. atEOF says that nothing follows b. Text after a closing
// quote makes the whole field a bare one that ends at the next delimiter or line end, so a stray quote cannot
// swallow more than its own line (RFC 4180 leaves this open; Python's csv module does the same).
func (d dialect) scan(b []byte, atEOF bool, fields []field) ([]field, int, status) {
	i, n := 0, len(b)
	for {
		f := field{start: i}
		j := i
		if d.quote != 0 && i < n && b[i] == d.quote {
			inner, st := d.scanQuoted(b, i+1, atEOF)
			if st != scanned {
				return fields, 0, st
			}
			j = inner.end + 1
			if j == n || b[j] == d.delim || b[j] == '\n' {
				f = inner
			}
		}
		for j < n && b[j] != d.delim && b[j] != '\n' {
			j++
		}
		if j == n && !atEOF {
			return fields, 0, needMore
		}
		if f.form == bare {
			f.end = j
		}
		fields = append(fields, f)
		switch {
		case j == n:
			return fields, n, scanned
		case b[j] == '\n':
			return fields, j + 1, scanned
		}
		i = j + 1
	}
}

// scanQuoted finds the closing quote of the field whose first inner byte is at i. The byte after the quote is
// known to exist, unless the input ends there.
func (d dialect) scanQuoted(b []byte, i int, atEOF bool) (field, status) {
	f := field{start: i, form: quoted}
	for {
		k := bytes.IndexByte(b[i:], d.quote)
		switch {
		case k < 0 && atEOF:
			return f, unclosed
		case k < 0:
			return f, needMore
		}
		i += k
		if i+1 == len(b) && !atEOF {
			return f, needMore
		}
		if i+1 == len(b) || b[i+1] != d.quote {
			f.end = i
			return f, scanned
		}
		f.form = doubled
		i += 2
	}
}

// value is the cell that f stands for; text is what was scanned.
func (d dialect) value(text string, f field) string {
	s := text[f.start:f.end]
	if f.form == doubled {
		q := string(rune(d.quote))
		return strings.ReplaceAll(s, q+q, q)
	}
	return s
}

// blank tells a record that is an empty line: one bare field of spaces at most.
func blank(text []byte, fields []field) bool {
	return len(fields) == 1 && fields[0].form == bare && len(bytes.TrimSpace(text[fields[0].start:fields[0].end])) == 0
}
