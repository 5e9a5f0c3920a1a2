package htmltext

import (
	"strings"
	"unicode/utf8"
)

// line gathers inline text and collapses its white space.
type line struct {
	buf     []byte
	space   bool // white space is waiting
	newline bool // the waiting white space holds a line end
}

// add appends text. A line end of the source between two East Asian wide characters is no space.
func (l *line) add(s string) {
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case ' ', '\t', '\n':
			l.space = true
			l.newline = l.newline || c == '\n'
			i++
			continue
		}
		j := i
		for j < len(s) && s[j] != ' ' && s[j] != '\t' && s[j] != '\n' {
			j++
		}
		if l.space && len(l.buf) > 0 && l.buf[len(l.buf)-1] != '\n' && !(l.newline && l.wideAround(s[i:])) {
			l.buf = append(l.buf, ' ')
		}
		l.space, l.newline = false, false
		l.buf = append(l.buf, s[i:j]...)
		i = j
	}
}

func (l *line) wideAround(next string) bool {
	if l.buf[len(l.buf)-1] < utf8.RuneSelf || next[0] < utf8.RuneSelf {
		return false
	}
	before, _ := utf8.DecodeLastRune(l.buf)
	after, _ := utf8.DecodeRuneInString(next)
	return wide(before) && wide(after)
}

// wide says that r is of a script that is written without spaces, or its punctuation.
func wide(r rune) bool {
	return r >= 0x2E80 && r < 0xA4D0 || r >= 0xF900 && r < 0xFB00 || r >= 0xFE30 && r < 0xFE50 || r >= 0xFF00 && r < 0xFF61 || r >= 0x20000 && r < 0x40000
}

// br ends the line.
func (l *line) br() {
	if len(l.buf) > 0 {
		l.buf = append(l.buf, '\n')
	}
	l.space, l.newline = false, false
}

// take gives the text without white space around it and empties the line.
func (l *line) take() string {
	s := strings.Trim(string(l.buf), " \t\n")
	if strings.TrimSpace(s) == "" { // no-break spaces alone
		s = ""
	}
	l.buf = l.buf[:0]
	l.space, l.newline = false, false
	return s
}

// flat is the text of n on one line.
func (w *writer) flat(n *node) string {
	var l line
	w.flatten(n, &l)
	return strings.ReplaceAll(l.take(), "\n", " ")
}

func (w *writer) flatten(n *node, l *line) {
	for _, k := range n.kids {
		switch {
		case w.leftOut(k):
			w.drop(k)
		case k.isText():
			l.add(k.text)
		case k.class == classImage:
			l.add(" " + k.text + " ")
		case k.class == classInline:
			w.flatten(k, l)
		default:
			l.add(" ")
			w.flatten(k, l)
			l.add(" ")
		}
	}
}
