package sentences

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestWord bounds the words that are looked up.
const longestWord = 12

// abbreviation tells whether the full stop at p belongs to an abbreviation, an initial or a list number, so that the
// sentence goes on. next is the first letter of what follows; it is no lower-case letter.
func abbreviation(text string, p int, next rune) bool {
	from := p
	for from > 0 && from > p-longestWord && (letter(text[from-1]) || text[from-1] == '.') {
		from--
	}
	word := text[from:p]
	if word == "" {
		return listNumber(text, p)
	}
	if from > 0 && from == p-longestWord && letter(text[from-1]) {
		return false
	}
	if from > 0 && text[from-1] >= utf8.RuneSelf && unicode.IsLetter(lastRune(text, from)) && !han(lastRune(text, from)) {
		return false // the end of a word with accents
	}
	if len(word) == 1 {
		return upper(word[0]) && word != "I" && (from == 0 || !digit(text[from-1]))
	}
	if dotted(word) {
		return !(unicode.IsUpper(next) && clock(word))
	}
	if strings.IndexByte(word, '.') >= 0 {
		return false
	}
	return listed(word, next)
}

// listed looks the word up.
func listed(word string, next rune) bool {
	var buf [longestWord]byte
	lower := buf[:copy(buf[:], word)]
	for i, c := range lower {
		if upper(c) {
			lower[i] = c | 0x20
		}
	}
	switch string(lower) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "messrs", "mme", "gen", "col", "capt", "lt", "sgt", "cmdr", "rev", "hon", "gov", "sen", "rep",
		"mt", "vs", "cf", "viz", "approx", "ca":
		return true
	case "etc", "inc", "ltd", "co", "corp", "jr", "sr", "al", "ed", "eds", "dept", "est", "resp", "incl", "excl", "bros":
		return !unicode.IsUpper(next) && !han(next) && next != ' '
	case "no", "nos", "fig", "figs", "eq", "eqs", "vol", "vols", "pp", "ch", "chap", "sec", "art", "par", "para", "ver", "tab", "tel", "ext",
		"jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec":
		return unicode.IsDigit(next) || next == '§'
	}
	return false
}

// dotted tells single letters with dots between them: e.g, i.e, U.S, Ph.D counts too.
func dotted(word string) bool {
	if word == "Ph.D" {
		return true
	}
	if len(word)%2 == 0 || len(word) < 3 {
		return false
	}
	for i := range len(word) {
		if i%2 == 0 != letter(word[i]) {
			return false
		}
	}
	return true
}

func clock(word string) bool {
	return strings.EqualFold(word, "a.m") || strings.EqualFold(word, "p.m")
}

// listNumber tells a number that starts its line: the 3 of "3. Third item".
func listNumber(text string, p int) bool {
	q := p
	for q > 0 && q > p-9 && digit(text[q-1]) {
		q--
	}
	if q == p {
		return false
	}
	for stop := max(0, q-16); q > stop && (text[q-1] == ' ' || text[q-1] == '\t'); q-- {
	}
	return q == 0 || text[q-1] == '\n'
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func upper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
