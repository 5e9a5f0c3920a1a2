package rst

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// bullet is the length of the mark that starts an item, 0 if none does.
func bullet(line string) int {
	n := 1
	switch line[0] {
	case '*', '+', '-':
	case 0xE2: // • ‣ ⁃
		if !strings.HasPrefix(line, "•") && !strings.HasPrefix(line, "‣") && !strings.HasPrefix(line, "⁃") {
			return 0
		}
		n = 3
	default:
		return 0
	}
	if len(line) == n || line[n] == ' ' || line[n] == '\t' {
		return n
	}
	return 0
}

// sameBullet is the length of the mark of line if it is the one that like has.
func sameBullet(line, like string) int {
	if n := bullet(line); n > 0 && line[:n] == like[:n] {
		return n
	}
	return 0
}

// enum is the mark of an item in a numbered list.
type enum struct {
	mark int  // its length
	form byte // how it is written: '.', ')' or '('
}

// enumerator reads marks such as "1.", "(a)", "iv)" and "#.".
func enumerator(line string) enum {
	i := 0
	if line[0] == '(' {
		i = 1
	}
	start := i
	for i < len(line) && i-start < 10 && (line[i] >= '0' && line[i] <= '9' || isLetter(line[i]) || line[i] == '#') {
		i++
	}
	if i == start || i >= len(line) || !numeral(line[start:i]) {
		return enum{}
	}
	form := line[i]
	if form != '.' && form != ')' || start == 1 && form == '.' {
		return enum{}
	}
	if start == 1 {
		form = '('
	}
	if i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t' {
		return enum{i + 1, form}
	}
	return enum{}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func numeral(s string) bool {
	if len(s) == 1 {
		return true
	}
	return strings.Trim(s, "0123456789") == "" || strings.Trim(s, "ivxlcdm") == "" || strings.Trim(s, "IVXLCDM") == ""
}

// enumerates tells that an item starts in line i: the next line is blank, deeper, or the next item. Otherwise it is a paragraph, as
// "A. Einstein was a great mind" over two lines.
func (b *builder) enumerates(i, hi, indent int) bool {
	return i+1 >= hi || b.Blank(i+1) || int(b.Lines[i+1].Indent) > indent || enumerator(b.Line(i+1)).mark > 0
}

// list reads items: mark gives the length of what starts an item in a line, 0 where none starts.
func (b *builder) list(i, hi, indent int, at place, mark func(line int) int) (connector.Element, int) {
	el := connector.Element{Kind: connector.KindList, Level: at.lists + 1}
	first := i
	for i < hi {
		if b.Blank(i) {
			i++
			continue
		}
		n := 0
		if int(b.Lines[i].Indent) <= indent {
			n = mark(i)
		}
		if n == 0 {
			break
		}
		end := b.Indented(i+1, hi, indent)
		item := b.Element(connector.KindItem, i, end)
		item.Level = el.Level
		item.Children = b.entered(i, end, n, at.list())
		el.Children = append(el.Children, item)
		i = end
	}
	el.Span = b.Span(first, i)
	return el, i
}

// entered are the blocks of an item whose mark is n bytes long.
func (b *builder) entered(lo, hi, n int, at place) []connector.Element {
	column := b.Enter(lo, n)
	if least := b.MinIndent(lo+1, hi); least >= 0 && least < column {
		b.Lines[lo].Indent = int32(least)
	}
	return b.inner(lo, hi, at)
}

// fieldMark is the length of ":name:" at the start of a line, 0 if there is none.
func fieldMark(line string) int {
	if len(line) < 3 || line[0] != ':' || line[1] == ':' || line[1] == ' ' {
		return 0
	}
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case ':':
			if i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t' {
				return i + 1
			}
		case '`':
			if line[i-1] == ':' {
				return 0 // a role
			}
		}
	}
	return 0
}

// option tells an item of a list of options: "-v, --verbose  what it does".
func (b *builder) option(i, hi, indent int) bool {
	line := b.Line(i)
	switch {
	case len(line) < 2:
		return false
	case line[0] == '/':
		if !isLetter(line[1]) || len(line) > 2 && line[2] != ' ' {
			return false
		}
	case line[0] != '-':
		return false
	case line[1] == '-':
		if len(line) < 3 || !isLetter(line[2]) {
			return false
		}
	case !isLetter(line[1]) && (line[1] < '0' || line[1] > '9'), len(line) > 2 && line[1] >= '0' && line[1] <= '9' && line[2] != ' ':
		return false
	}
	if strings.Contains(line, "  ") {
		return true
	}
	return i+1 < hi && !b.Blank(i+1) && int(b.Lines[i+1].Indent) > indent && strings.Count(line, " ") <= 3
}

// definitions reads terms, fields or options, each with what is indented below it.
func (b *builder) definitions(i, hi, indent int, at place, starts func(line int) bool) (connector.Element, int) {
	el := connector.Element{Kind: connector.KindDefinition}
	first := i
	for i < hi {
		if b.Blank(i) {
			i++
			continue
		}
		if i > first && (int(b.Lines[i].Indent) > indent || !starts(i)) {
			break
		}
		end := b.Indented(i+1, hi, indent)
		item := b.Element(connector.KindItem, i, end)
		item.Level = at.lists + 1
		item.Children = b.inner(i+1, end, at.list())
		el.Children = append(el.Children, item)
		i = end
	}
	el.Span = b.Span(first, i)
	return el, i
}

// adornment is the character that a line consists of, if that is punctuation and fit to mark titles; 0 if not.
func adornment(line string) byte {
	c := line[0]
	if c <= ' ' || c >= utf8.RuneSelf || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)) {
		return 0
	}
	for i := 1; i < len(line); i++ {
		if line[i] != c {
			return 0
		}
	}
	return c
}
