package pipeline

import (
	"encoding/binary"
	"sort"
	"strings"
)

// lineIndex finds the line of a byte offset. It keeps every line end as a varint of the distance to the one before,
// with an absolute mark every so many lines: one to two bytes a line.
type lineIndex struct {
	deltas []byte
	marks  []lineMark
	lines  int // line ends so far
	last   int // offset of the last line end + 1
	size   int // bytes seen
}

type lineMark struct{ offset, pos int } // offset of a line's start, position in deltas

const linesPerMark = 64

// add appends text.
func (x *lineIndex) add(text string) {
	base := x.size
	for i := 0; ; {
		j := strings.IndexByte(text[i:], '\n')
		if j < 0 {
			break
		}
		i += j + 1
		if x.lines%linesPerMark == 0 {
			x.marks = append(x.marks, lineMark{x.last, len(x.deltas)})
		}
		x.deltas = binary.AppendUvarint(x.deltas, uint64(base+i-x.last))
		x.last = base + i
		x.lines++
	}
	x.size += len(text)
}

// line is the 1-based line that holds the byte at offset.
func (x *lineIndex) line(offset int) int {
	m := sort.Search(len(x.marks), func(i int) bool { return x.marks[i].offset > offset }) - 1
	if m < 0 {
		return 1
	}
	at, pos := x.marks[m].offset, x.marks[m].pos
	line := m*linesPerMark + 1
	for pos < len(x.deltas) {
		d, n := binary.Uvarint(x.deltas[pos:])
		if at+int(d) > offset {
			break
		}
		at, pos = at+int(d), pos+n
		line++
	}
	return line
}
