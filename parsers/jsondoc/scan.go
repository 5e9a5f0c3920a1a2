package jsondoc

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// skipSpace is the first place at or after i that holds no JSON white space.
func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// scanner checks JSON by RFC 8259, but lets raw line ends and tabs stand in strings. It keeps its own stack, so depth costs memory only.
type scanner struct{ stack []byte }

// value finds the end of the value that starts at s[i]; ok is false if there is none.
func (sc *scanner) value(s string, i int) (end int, ok bool) {
	sc.stack = sc.stack[:0]
	for {
		i = skipSpace(s, i)
		if i == len(s) {
			return 0, false
		}
		opened := false
		switch c := s[i]; c {
		case '{', '[':
			sc.stack = append(sc.stack, c+2) // the closing byte
			i = skipSpace(s, i+1)
			opened = i == len(s) || s[i] != c+2
			if !opened {
				break
			}
			if c == '{' {
				i, ok = scanKey(s, i)
				if !ok {
					return 0, false
				}
			}
		default:
			if i, ok = scanScalar(s, i); !ok {
				return 0, false
			}
		}
		if opened {
			continue
		}
		var more bool
		if i, more, ok = sc.after(s, i); !ok {
			return 0, false
		}
		if !more {
			return i, true
		}
	}
}

// after closes what ends after a value and stops before the next one; more is false where the outermost value has ended.
func (sc *scanner) after(s string, i int) (end int, more, ok bool) {
	for len(sc.stack) > 0 {
		top := sc.stack[len(sc.stack)-1]
		i = skipSpace(s, i)
		switch {
		case i == len(s):
			return 0, false, false
		case s[i] == top:
			sc.stack = sc.stack[:len(sc.stack)-1]
			i++
		case s[i] != ',':
			return 0, false, false
		case top == '}':
			i, ok = scanKey(s, skipSpace(s, i+1))
			return i, true, ok
		default:
			return i + 1, true, true
		}
	}
	return i, false, true
}

// scanKey passes a key and its colon.
func scanKey(s string, i int) (int, bool) {
	if i == len(s) || s[i] != '"' {
		return 0, false
	}
	i, ok := scanString(s, i)
	if !ok {
		return 0, false
	}
	i = skipSpace(s, i)
	if i == len(s) || s[i] != ':' {
		return 0, false
	}
	return i + 1, true
}

func scanScalar(s string, i int) (int, bool) {
	switch c := s[i]; {
	case c == '"':
		return scanString(s, i)
	case c == '-' || c >= '0' && c <= '9':
		return scanNumber(s, i)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(s[i:], word) {
			return i + len(word), true
		}
	}
	return 0, false
}

// scanString passes the string whose opening quote is s[i].
func scanString(s string, i int) (int, bool) {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1, true
		case '\\':
			i++
			if i == len(s) || strings.IndexByte(`"\/bfnrtu`, s[i]) < 0 {
				return 0, false
			}
			if s[i] == 'u' {
				if _, ok := hex4(s, i+1); !ok {
					return 0, false
				}
				i += 4
			}
		}
	}
	return 0, false
}

func scanNumber(s string, i int) (int, bool) {
	if s[i] == '-' {
		i++
	}
	start := i
	i = digits(s, i)
	if i == start || s[start] == '0' && i > start+1 {
		return 0, false
	}
	if i < len(s) && s[i] == '.' {
		start = i + 1
		if i = digits(s, start); i == start {
			return 0, false
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		start = i
		if i = digits(s, start); i == start {
			return 0, false
		}
	}
	return i, true
}

func digits(s string, i int) int {
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}

func hex4(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[i : i+4]) {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// escaped reads the \u escape (or pair of surrogates) whose backslash is s[i]. r is -1 for a lone surrogate.
func escaped(s string, i int) (r rune, end int) {
	r, _ = hex4(s, i+2)
	end = i + 6
	if !utf16.IsSurrogate(r) {
		return r, end
	}
	if strings.HasPrefix(s[end:], `\u`) {
		low, _ := hex4(s, end+2)
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, end + 6
		}
	}
	return -1, end
}

// unquote is the value of a valid string literal without its quotes. A value that clean text cannot hold (control characters, half a
// surrogate pair) stays as it is written.
func unquote(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b = append(b, s[i])
			i++
			continue
		}
		switch c := s[i+1]; c {
		case 'n':
			b = append(b, '\n')
		case 't':
			b = append(b, '\t')
		case 'r':
			if !strings.HasPrefix(s[i+2:], `\n`) {
				b = append(b, '\n')
			}
		case 'b', 'f':
			return s
		case 'u':
			r, end := escaped(s, i)
			if !printable(r) && r != '\n' && r != '\t' {
				return s
			}
			b = utf8.AppendRune(b, r)
			i = end
			continue
		default:
			b = append(b, c)
		}
		i += 2
	}
	return string(b)
}

// printable says that r may stand in clean text as itself.
func printable(r rune) bool {
	return r >= ' ' && r != 0x7f && (r < 0x80 || r >= 0xa0) && r != 0xfeff && r != 0xfffd
}

// compact is a valid value without white space between its tokens and with \u escapes resolved where the character may stand as itself.
func compact(s string) string {
	if !strings.ContainsAny(s, " \t\n\\") {
		return s
	}
	b := make([]byte, 0, len(s))
	inString := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\n'):
			continue
		case c == '\\' && s[i+1] == 'u':
			r, end := escaped(s, i)
			if printable(r) && r != '"' && r != '\\' {
				b = utf8.AppendRune(b, r)
			} else {
				b = append(b, s[i:end]...)
			}
			i = end - 1
			continue
		case c == '\\':
			b = append(b, c)
			i++
			c = s[i]
		}
		b = append(b, c)
	}
	return string(b)
}
