package delimited

import (
	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/tablehead"
)

const maxPreamble = 20 // records before the header that may be titles

// layout is what the head of a document says about the table: where its first record stands, and its header.
type layout struct {
	start      int // the first byte of the table; titles stand before it
	headerSpan connector.Span
	header     [][]string // its rows, merged cells of the upper ones filled
}

// plan finds titles and the header. whole says that the sample is the whole document.
func plan(s sample, mode string, whole bool) layout {
	first := preamble(s, mode)
	if first >= len(s.records) {
		return layout{}
	}
	var l layout
	if first > 0 {
		l.start = s.starts[first]
	}
	rows := s.records[first:]
	n := 0
	if mode != headerNo {
		n = tablehead.Stacked(rows)
	}
	switch {
	case mode == headerNo:
	case n > 0:
		l.header = tablehead.Fill(rows[:n])
	case mode == headerYes && (!whole || len(rows) > 1), mode == headerAuto && tablehead.Like(rows[0], rows[1:]):
		n = 1
		l.header = rows[:1]
	}
	if n > 0 {
		l.headerSpan = connector.Span{Start: s.starts[first], End: s.ends[first+n-1]}
	}
	return l
}

// preamble counts the leading records that are titles: at most one cell of them is filled while most records have several.
func preamble(s sample, mode string) int {
	cells, n := s.mode()
	if mode == headerNo || cells < 2 || n < 2 {
		return 0
	}
	for i, r := range s.records {
		if i > maxPreamble {
			return 0
		}
		if tablehead.Filled(r) > 1 {
			return i
		}
	}
	return 0
}
