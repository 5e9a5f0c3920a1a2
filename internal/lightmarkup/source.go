// Package lightmarkup is what the parsers of light markup (reStructuredText, AsciiDoc, Org) share: the lines of a source, elements over whole
// lines, comments that are taken out of the text, columns of tables, records of comma-separated values, and the reading of one document.
//
// A parser makes elements whose spans are places of the source, from the start of a line to the start of another. [Read] tiles them, takes
// out what was cut, and gives them their texts.
package lightmarkup

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/kbsync/kbsync/connector"
)

// MaxDepth is how deep containers are taken apart. What lies deeper is in the text of the last level.
const MaxDepth = 16

// MaxSize is the most that max_tree_size may be, since places are kept in 32 bits.
const MaxSize = 1 << 30

const tabStop = 8

// Line is one line of a source.
type Line struct {
	Start, End int32 // End is before the line end
	From       int32 // where its text starts: behind the indentation, or behind the marks of the items that it starts
	Indent     int32 // the column of From; tabs go to multiples of eight
}

// Blank tells a line without text.
func (l *Line) Blank() bool { return l.From >= l.End }

// Source is a document in lines.
type Source struct {
	Text   string
	Lines  []Line
	cuts   []cut
	tables int
	work   int
}

// Work is how much was looked at so far: lines, and 64 bytes of their text. It says how the time grows, whatever else the machine does.
func (s *Source) Work() int { return s.work }

type cut struct {
	lo, hi int
	before int // how much was cut before lo
}

// NewSource cuts text into lines.
func NewSource(text string) *Source {
	s := &Source{Text: text, Lines: make([]Line, 0, strings.Count(text, "\n")+1)}
	for at := 0; at < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i
		}
		l := Line{Start: int32(at), From: int32(at), End: int32(end)}
		for l.From < l.End {
			switch text[l.From] {
			case ' ':
				l.Indent++
			case '\t':
				l.Indent += tabStop - l.Indent%tabStop
			default:
				goto done
			}
			l.From++
		}
	done:
		for l.End > l.From && (text[l.End-1] == ' ' || text[l.End-1] == '\t') {
			l.End--
		}
		s.Lines = append(s.Lines, l)
		at = end + 1
	}
	return s
}

// Line is the text of line i, from its From to its last letter.
func (s *Source) Line(i int) string {
	l := &s.Lines[i]
	if l.From >= l.End {
		return ""
	}
	s.work += 1 + int(l.End-l.From)/64
	return s.Text[l.From:l.End]
}

// Whole is line i with its indentation, without blank space at its end.
func (s *Source) Whole(i int) string {
	l := &s.Lines[i]
	return s.Text[l.Start:max(l.End, l.Start)]
}

// Blank tells whether line i is blank or behind the last one.
func (s *Source) Blank(i int) bool {
	s.work++
	return i >= len(s.Lines) || s.Lines[i].Blank()
}

// At is where line i starts; the end of the text for the line behind the last.
func (s *Source) At(i int) int {
	if i >= len(s.Lines) {
		return len(s.Text)
	}
	return int(s.Lines[i].Start)
}

// Span covers the lines lo to hi, which it does not include.
func (s *Source) Span(lo, hi int) connector.Span {
	return connector.Span{Start: s.At(lo), End: s.At(hi)}
}

// Element is an element over the lines lo to hi, which it does not include.
func (s *Source) Element(kind connector.Kind, lo, hi int) connector.Element {
	return connector.Element{Kind: kind, Span: s.Span(lo, hi)}
}

// Table makes a table element; its rows and header are the caller's to add.
func (s *Source) Table(lo, hi int) connector.Element {
	el := s.Element(connector.KindTable, lo, hi)
	s.tables++
	el.Table = &connector.Table{ID: s.tables, FirstRow: 1}
	return el
}

// Cut takes the lines lo to hi out of the text, as a comment.
func (s *Source) Cut(lo, hi int) {
	if span := s.Span(lo, hi); span.Len() > 0 {
		s.cuts = append(s.cuts, cut{lo: span.Start, hi: span.End})
	}
}

// Skip is the first line from i on that is not blank, hi if there is none before it.
func (s *Source) Skip(i, hi int) int {
	for i < hi && s.Lines[i].Blank() {
		s.work++
		i++
	}
	return i
}

// Trim is the line behind the last one before hi that is not blank, at least lo.
func (s *Source) Trim(lo, hi int) int {
	for hi > lo && s.Lines[hi-1].Blank() {
		s.work++
		hi--
	}
	return hi
}

// Indented is the end of the lines from i on that are blank or deeper than indent.
func (s *Source) Indented(i, hi, indent int) int {
	for i < hi && (s.Lines[i].Blank() || int(s.Lines[i].Indent) > indent) {
		s.work++
		i++
	}
	return i
}

// MinIndent is the least indentation of lines with text; -1 if there are none.
func (s *Source) MinIndent(lo, hi int) int {
	least := -1
	s.work += hi - lo
	for i := lo; i < hi; i++ {
		if l := &s.Lines[i]; !l.Blank() && (least < 0 || int(l.Indent) < least) {
			least = int(l.Indent)
		}
	}
	return least
}

// Enter makes what stands mark bytes behind the start of line i's text the text of that line. It returns the column of the new start.
func (s *Source) Enter(i, mark int) int {
	l := &s.Lines[i]
	l.Indent += int32(Width(s.Text[l.From : int(l.From)+mark]))
	l.From += int32(mark)
	for l.From < l.End && (s.Text[l.From] == ' ' || s.Text[l.From] == '\t') {
		if s.Text[l.From] == '\t' {
			l.Indent += tabStop - 1 - l.Indent%tabStop
		}
		l.Indent++
		l.From++
	}
	return int(l.Indent)
}

// Width is how many columns s takes: letters of Chinese, Japanese and Korean take two, marks that stand on others none.
func Width(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		n += runeWidth(r)
		i += size
	}
	return n
}

func runeWidth(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// OneOf tells that s is not empty and nothing but the byte c.
func OneOf(s string, c byte) bool {
	for i := range len(s) {
		if s[i] != c {
			return false
		}
	}
	return s != ""
}

// Join is a text of several lines as one: no space comes between letters of Chinese.
func Join(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		l = strings.TrimSpace(l)
		if l == "" {
			continue
		}
		if b.Len() > 0 {
			last, _ := utf8.DecodeLastRuneInString(b.String())
			first, _ := utf8.DecodeRuneInString(l)
			if runeWidth(last) < 2 || runeWidth(first) < 2 {
				b.WriteByte(' ')
			}
		}
		b.WriteString(l)
	}
	return b.String()
}
