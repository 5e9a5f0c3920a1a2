package keywords

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord bounds a word in bytes: longer ones are hashes, encoded data, generated names.
const maxWord = 40

// scan calls see with the candidates of folded text, in order, and their rarity.
func (d *Document) scan(text string, see func(word string, weight int64)) {
	for i := 0; i < len(text); {
		if strings.HasPrefix(text[i:], "http://") || strings.HasPrefix(text[i:], "https://") {
			i += addressEnd(text[i:])
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case isPacked(r):
			j := runEnd(text, i, isPacked)
			d.segment(text[i:j], see)
			i = j
		case isKatakana(r):
			j := runEnd(text, i, isKatakana)
			if utf8.RuneCountInString(text[i:j]) > 1 {
				d.word(text[i:j], see)
			}
			i = j
		case isLetter(r):
			j := runEnd(text, i, isLetter)
			d.word(text[i:j], see)
			i = j
		default:
			i += n
		}
	}
}

func (d *Document) word(w string, see func(string, int64)) {
	w = strings.Trim(w, "_")
	m, seen := d.memo[w]
	if !seen {
		if telling(w) {
			m.weight = d.e.lexicon.word(w)
		}
		d.remember(w, m)
	}
	if m.weight > 0 {
		see(w, m.weight)
	}
}

// telling says whether a run of letters and digits is a word: no number, no hash.
func telling(w string) bool {
	if len(w) < 2 || len(w) > maxWord || w[0] >= '0' && w[0] <= '9' || utf8.RuneCountInString(w) < 2 {
		return false
	}
	digits, hex := 0, 0
	for i := range len(w) {
		c := w[i]
		if c >= '0' && c <= '9' {
			digits++
		}
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'f' {
			hex++
		}
	}
	return !(hex == len(w) && digits > 0 && len(w) >= 7 || len(w) >= 8 && digits*2 >= len(w))
}

// addressEnd is the length of the web address that text begins with.
func addressEnd(text string) int {
	end := strings.IndexFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || isPacked(r) || strings.ContainsRune(`"'<>()[]{}|`, r) || r >= 0x3000 && r < 0x3040
	})
	if end < 0 {
		return len(text)
	}
	return end
}

func runEnd(text string, i int, in func(rune) bool) int {
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !in(r) {
			break
		}
		i += n
	}
	return i
}

// isPacked says of a character that its script does not separate words. Hiragana is left out: it is what Japanese sentences are bound by.
func isPacked(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func isKatakana(r rune) bool { return r >= 0x30A1 && r <= 0x30FC && r != 0x30FB }

func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_'
	}
	return !isPacked(r) && !isKatakana(r) && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)) && !unicode.Is(unicode.Hiragana, r)
}
