package lightmarkup

import (
	"strings"
	"unicode/utf8"

	"github.com/go-enry/go-enry/v2"
)

// SplitColumns cuts a line before the columns of bounds, which ascend: one more piece than bounds. A letter that stands over a bound belongs to
// the piece in which it starts.
func SplitColumns(line string, bounds []int) []string {
	out := make([]string, 0, len(bounds)+1)
	start, column := 0, 0
	for i := 0; i < len(line); {
		for len(out) < len(bounds) && column >= bounds[len(out)] {
			out = append(out, line[start:i])
			start = i
		}
		if line[i] == '\t' {
			column += tabStop - column%tabStop
			i++
			continue
		}
		r, size := rune(line[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(line[i:])
		}
		column += runeWidth(r)
		i += size
	}
	for len(out) < len(bounds) {
		out = append(out, line[start:])
		start = len(line)
	}
	return append(out, line[start:])
}

// Record is one record of comma-separated values: its cells, and the lines that it stands in, from First up to Last, which it does not include.
type Record struct {
	Cells       []string
	First, Last int
}

// CSV reads the lines lo to hi as values between delim, some of them in double quotes, which may go over lines. A quote that nothing closes is
// a letter like others. Blank lines are no records.
func (s *Source) CSV(lo, hi int, delim byte) []Record {
	c := csvReader{s: s, hi: hi, delim: delim}
	var out []Record
	for i := s.Skip(lo, hi); i < hi; i = s.Skip(i, hi) {
		r := Record{First: i}
		r.Cells, i = c.record(i)
		r.Last = i
		out = append(out, r)
	}
	return out
}

type csvReader struct {
	s     *Source
	hi    int
	delim byte
	open  bool // a quote was found that nothing closes: no further one goes over lines
}

// record reads the record that starts in line i, and returns where the next may start.
func (c *csvReader) record(i int) (cells []string, next int) {
	line := c.s.Line(i)
	for {
		line = strings.TrimLeft(line, " ")
		if strings.HasPrefix(line, `"`) {
			if cell, rest, at, ok := c.quoted(line[1:], i); ok {
				cells = append(cells, cell)
				j := strings.IndexByte(rest, c.delim)
				if j < 0 {
					cells[len(cells)-1] += strings.TrimSpace(rest)
					return cells, at + 1
				}
				cells[len(cells)-1] += strings.TrimSpace(rest[:j])
				line, i = rest[j+1:], at
				continue
			}
		}
		j := strings.IndexByte(line, c.delim)
		if j < 0 {
			return append(cells, strings.TrimSpace(line)), i + 1
		}
		cells = append(cells, strings.TrimSpace(line[:j]))
		line = line[j+1:]
	}
}

// quoted reads a value behind its first quote.
func (c *csvReader) quoted(line string, i int) (cell, rest string, at int, ok bool) {
	var b strings.Builder
	for {
		j := strings.IndexByte(line, '"')
		switch {
		case j >= 0 && j+1 < len(line) && line[j+1] == '"':
			b.WriteString(line[:j+1])
			line = line[j+2:]
			continue
		case j >= 0:
			b.WriteString(line[:j])
			return b.String(), line[j+1:], i, true
		}
		b.WriteString(line)
		if c.open || i+1 >= c.hi {
			c.open = true
			return "", "", 0, false
		}
		b.WriteByte('\n')
		i++
		line = c.s.Line(i)
	}
}

// Language is the name that go-enry has for a programming language, in lower case; what go-enry does not know stays as it is.
func Language(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" || len(name) > 64 || strings.ContainsAny(name, " \t") {
		return ""
	}
	switch name {
	case "none", "text", "default":
		return ""
	case "elisp":
		return "emacs lisp"
	case "python3", "ipython", "ipython3", "pycon", "pycon3":
		return "python"
	}
	if known, ok := enry.GetLanguageByAlias(name); ok {
		return strings.ToLower(known)
	}
	return name
}
