package quality

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// verbatim says that a record's content is the text in its spans.
func verbatim(r *connector.Record) bool {
	return r != nil && len(r.Spans) > 0 && r.Metadata["rendered"] != true && r.Metadata["generated"] != true
}

// at is the text of a record from the offset of the parsed text on, or up to it where before is set; empty where the record does not have it.
func at(r *connector.Record, offset int, before bool) string {
	if !verbatim(r) {
		return ""
	}
	pos := 0
	for _, s := range r.Spans {
		if pos+s.Len() > len(r.Content) {
			return "" // the spans of another that it stands for
		}
		text := r.Content[pos : pos+s.Len()]
		if before && s.Start < offset && offset <= s.End {
			return text[:offset-s.Start]
		}
		if !before && s.Start <= offset && offset < s.End {
			return text[offset-s.Start:]
		}
		pos += s.Len()
	}
	return ""
}

// cutWord says where a boundary of a chunk falls inside a word.
func cutWord(r, before, after *connector.Record) string {
	if !verbatim(r) || r.Content == "" {
		return ""
	}
	if rest := at(after, contentEnd(r), false); rest != "" {
		if left := r.Content; cuts(left, rest) {
			return "at its end: …" + tail(left) + "│" + head(rest) + "…"
		}
	}
	if left := at(before, r.Spans[0].Start, true); left != "" && cuts(left, r.Content) {
		return "at its start: …" + tail(left) + "│" + head(r.Content) + "…"
	}
	return ""
}

// contentEnd is where the content ends in the parsed text: the spans behind it are those of copies.
func contentEnd(r *connector.Record) int {
	left := len(r.Content)
	for _, s := range r.Spans {
		if left -= s.Len(); left <= 0 {
			return s.End
		}
	}
	return r.Spans[len(r.Spans)-1].End
}

const sideRunes = 12

func tail(s string) string { return strings.Join(strings.Fields(s[tailAt(s):]), " ") }

func head(s string) string { return strings.Join(strings.Fields(s[:headEnd(s)]), " ") }

func tailAt(s string) int {
	i := len(s)
	for n := 0; n < sideRunes && i > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return i
}

func headEnd(s string) int {
	i := 0
	for n := 0; n < sideRunes && i < len(s); n++ {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return i
}

// cuts says whether a boundary between left and right is inside a word, a number, a web address, an emoji or a line end.
func cuts(left, right string) bool {
	a, n := utf8.DecodeLastRuneInString(left)
	b, m := utf8.DecodeRuneInString(right)
	switch {
	case a == utf8.RuneError && n < 2 || b == utf8.RuneError && m < 2:
		return true // inside a character
	case a == '\r' && b == '\n', unicode.Is(unicode.M, b), b == 0x200D, a == 0x200D, b >= 0x1F3FB && b <= 0x1F3FF:
		return true
	case unicode.IsSpace(a) || unicode.IsSpace(b):
		return false
	case wordRune(a) && wordRune(b):
		return true
	case isDigit(b) && (a == '.' || a == ',') && len(left) > n:
		before, _ := utf8.DecodeLastRuneInString(left[:len(left)-n])
		return isDigit(before)
	case isDigit(a) && (b == '.' || b == ',') && len(right) > m:
		after, _ := utf8.DecodeRuneInString(right[m:])
		return isDigit(after)
	}
	return inAddress(left) && addressRune(b)
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// wordRune says that a character is part of a word of a script that separates words.
func wordRune(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_') && !spaceless(r)
}

// spaceless says of a character that its script does not separate words.
func spaceless(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// inAddress says that left ends inside a web address.
func inAddress(left string) bool {
	left = left[max(0, len(left)-2048):]
	i := strings.LastIndexFunc(left, func(r rune) bool { return !addressRune(r) })
	last := left[i+1:]
	return strings.HasPrefix(last, "http://") || strings.HasPrefix(last, "https://")
}

func addressRune(r rune) bool {
	return r > ' ' && r < utf8.RuneSelf && !strings.ContainsRune("\"'<>()[]{}|`*,;", r)
}
