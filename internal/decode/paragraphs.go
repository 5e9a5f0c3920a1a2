package decode

import (
	"bytes"
	"errors"
	"io"
	"unicode"
	"unicode/utf8"
)

// ParagraphMax is the longest piece that Paragraphs gives, in bytes.
const ParagraphMax = 64 << 10

// Paragraphs cuts clean text into paragraphs: runs of lines that are not blank, with the blank lines after them
// (and before the first). A paragraph over ParagraphMax comes in several pieces, cut at line ends, or within an
// enormous line after white space, or between characters. The pieces joined are the text. Memory is bounded.
type Paragraphs struct {
	r     io.Reader
	buf   []byte
	start int
	end   int
	err   error
}

// NewParagraphs cuts the text that r gives, which is valid UTF-8 with "\n" as its only line end.
func NewParagraphs(r io.Reader) *Paragraphs {
	return &Paragraphs{r: r, buf: make([]byte, firstSize)}
}

// Next is the next piece, never empty; io.EOF after the last.
func (p *Paragraphs) Next() (string, error) {
	if p.end-p.start <= ParagraphMax && p.err == nil {
		copy(p.buf, p.buf[p.start:p.end])
		p.end -= p.start
		p.start = 0
		for p.err == nil && p.end < 4*ParagraphMax {
			if p.end == len(p.buf) {
				p.buf = append(p.buf, make([]byte, 3*len(p.buf))...)
			}
			var n int
			n, p.err = p.r.Read(p.buf[p.end:])
			p.end += n
		}
	}
	if p.err != nil && !errors.Is(p.err, io.EOF) {
		return "", p.err
	}
	if p.start == p.end {
		return "", p.err
	}
	n := paragraphEnd(p.buf[p.start:p.end])
	piece := string(p.buf[p.start : p.start+n])
	p.start += n
	return piece, nil
}

// paragraphEnd is the length of the first piece of b, which holds more than ParagraphMax bytes or all that is left.
func paragraphEnd(b []byte) int {
	text, blank := false, false
	i := 0
	for i < len(b) {
		end := len(b)
		if j := bytes.IndexByte(b[i:], '\n'); j >= 0 {
			end = i + j + 1
		}
		if end > ParagraphMax {
			break
		}
		isBlank := len(bytes.TrimSpace(b[i:end])) == 0
		if !isBlank && blank && text {
			return i
		}
		text = text || !isBlank
		blank = isBlank
		i = end
	}
	if i > 0 {
		return i
	}
	return CutLine(b[:ParagraphMax])
}

// CutLine is where to cut a line that is longer than b, of which b is the start: after the last white space in the
// second half of b, else between two characters, not before a mark, joiner or selector that belongs to the one before.
func CutLine(b []byte) int {
	end := len(b) - incompleteTail(b)
	for i := end; i > len(b)/2; {
		r, size := utf8.DecodeLastRune(b[:i])
		if unicode.IsSpace(r) {
			return i
		}
		i -= size
	}
	// The last character may be followed by something that belongs to it: cut before it.
	i := end
	for range 64 {
		r, size := utf8.DecodeLastRune(b[:i])
		i -= size
		if i <= len(b)/2 {
			break
		}
		before, _ := utf8.DecodeLastRune(b[:i])
		if !extends(r) && !joins(before) {
			return i
		}
	}
	return end
}

// extends says that r continues the grapheme cluster of the character before it.
func extends(r rune) bool {
	return unicode.Is(unicode.M, r) || r == 0x200C || r == 0x200D || r >= 0x1F3FB && r <= 0x1F3FF || r >= 0xE0000 && r <= 0xE01EF ||
		r >= 0x1F1E6 && r <= 0x1F1FF || r >= 0x1160 && r <= 0x11FF || r == 0xFF9E || r == 0xFF9F
}

// joins says that the character after r continues its grapheme cluster.
func joins(r rune) bool {
	return r == 0x200D || r >= 0x1F1E6 && r <= 0x1F1FF || r >= 0x1100 && r <= 0x115F
}
