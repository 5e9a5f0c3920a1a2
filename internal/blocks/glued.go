package blocks

import (
	"unicode"
	"unicode/utf8"
)

// Glued puts two lines of one text together: with a space, but not between Chinese or Japanese characters.
func Glued(a, b string) string {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	if a == "" || b == "" || dense(last) && dense(first) {
		return a + b
	}
	return a + " " + b
}

// dense says that r is of a script without spaces, or a mark of one.
func dense(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFF60
}
