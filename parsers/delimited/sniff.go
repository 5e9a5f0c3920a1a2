package delimited

import (
	"bytes"
	"strings"

	"github.com/kbsync/kbsync/internal/tablehead"
)

const (
	sampleSize    = 64 << 10 // bytes of the head from which dialect and header are told
	sampleRecords = 200
)

// delimiters in order of preference among equals.
var delimiters = [...]byte{',', '\t', ';', '|'}

// sample is the head of a document, cut into records.
type sample struct {
	records [][]string
	starts  []int // where each record stands; blank lines are not records
	ends    []int
	quoted  []int // how many of the record's cells are in quotes
}

// cut reads the records of the head. A record that the end of the head may have cut short is left out, unless it is the second.
func (d dialect) cut(head []byte, whole bool) sample {
	var s sample
	var fields []field
	for pos := 0; pos < len(head) && len(s.records) < sampleRecords; {
		rest := head[pos:]
		var end int
		var st status
		fields, end, st = d.scan(rest, whole, fields[:0])
		if st == unclosed {
			fields, end, st = dialect{delim: d.delim}.scan(rest, whole, fields[:0])
		}
		if st != scanned {
			if len(s.records) == 1 && len(fields) > 0 {
				// The first cells of a long record tell whether the one above is a header.
				for len(fields) < len(s.records[0]) {
					fields = append(fields, field{start: len(rest), end: len(rest)})
				}
				s.add(d, string(rest), fields, pos)
			}
			break
		}
		if !blank(rest, fields) {
			s.add(d, string(rest[:end]), fields, pos)
		}
		pos += end
	}
	return s
}

func (s *sample) add(d dialect, text string, fields []field, pos int) {
	cells := make([]string, len(fields))
	quotedCells := 0
	for i, f := range fields {
		cells[i] = d.value(text, f)
		if f.form != bare {
			quotedCells++
		}
	}
	s.records = append(s.records, cells)
	s.starts = append(s.starts, pos)
	s.ends = append(s.ends, pos+len(text))
	s.quoted = append(s.quoted, quotedCells)
}

// mode is the commonest number of cells, the larger of equals, and how many records have it.
func (s *sample) mode() (cells, records int) { return tablehead.Mode(s.records) }

// sniff chooses the dialect: the delimiter under which most records have the same number of cells and the cells are
// clean (hold no other candidate), after the idea of van den Burg et al., "Wrangling messy CSV files by
// detecting row and type patterns" (2019). tabs prefers the tabulator wherever it divides anything.
func sniff(head []byte, whole, tabs bool) dialect {
	quote := sniffQuote(head)
	best, bestScore := dialect{delim: ',', quote: quote}, 0.0
	if tabs {
		best.delim = '\t'
	}
	for _, delim := range delimiters {
		d := dialect{delim: delim, quote: quote}
		score := d.score(head, whole)
		if tabs && delim == '\t' && score > 0 {
			return d
		}
		if score > bestScore+1e-9 {
			best, bestScore = d, score
		}
	}
	return best
}

func (d dialect) score(head []byte, whole bool) float64 {
	s := d.cut(head, whole)
	cells, n := s.mode()
	if cells < 2 {
		return 0
	}
	clean, total := 0, 0
	for i, r := range s.records {
		if len(r) != cells {
			continue
		}
		total += cells
		clean += s.quoted[i]
		for _, c := range r {
			if !strings.ContainsAny(c, ",;\t|") || tablehead.Number(c) {
				clean++
			}
		}
	}
	pattern := float64(n) / float64(len(s.records)) * float64(cells-1) / float64(cells)
	return pattern * (0.5 + 0.5*min(1, float64(clean)/float64(total)))
}

// sniffQuote is the double quote unless the head has none at a field's edge and single ones enclose fields again and again.
func sniffQuote(head []byte) byte {
	if quoteEdges(head, '"') > 0 {
		return '"'
	}
	if quoteEdges(head, '\'') >= 4 {
		return '\''
	}
	return '"'
}

// quoteEdges counts places where q opens or closes a field; 0 if it opens more than twice as often as it closes, or less than half as often.
func quoteEdges(head []byte, q byte) int {
	edge := func(c byte) bool { return c == '\n' || bytes.IndexByte(delimiters[:], c) >= 0 }
	opens, closes := 0, 0
	for i, c := range head {
		if c != q {
			continue
		}
		if i == 0 || edge(head[i-1]) {
			opens++
		}
		if i+1 == len(head) || edge(head[i+1]) {
			closes++
		}
	}
	if opens > 2*closes || closes > 2*opens {
		return 0
	}
	return opens + closes
}
