// Package sentences finds where sentences end in English, Chinese, Japanese and mixed text.
//
// It follows the sentence rules of Unicode (UAX #29, SB6 to SB11) where a full stop is concerned: no end before a lower-case word,
// none without blank space behind it, and adds lists of abbreviations, the habits of Chinese typesetting (closing
// quotes and brackets stay with their sentence, an ellipsis is one mark) and those of plain text (a single line end
// ends nothing unless a list item, heading or quote follows).
//
// Nothing here allocates, and every question is answered from a bounded neighbourhood of its place.
package sentences

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lookahead bounds how much blank space is passed to see what follows a full stop.
const lookahead = 64

// class tells which bytes can start the end of a sentence.
type class [256]bool

func enders() *class {
	var t class
	for _, c := range []byte{'\n', '.', '!', '?', 0xE2, 0xE3, 0xEF} {
		t[c] = true
	}
	return &t
}

// A pointer to a table that is never written.
var endersTable = enders()

// Next returns the end of the sentence that starts at i: i < end <= len(text), for i < len(text). Blank space behind a sentence
// belongs to it, so sentences tile the text.
func Next(text string, i int) int {
	t := endersTable
	for p := i; p < len(text); p++ {
		if !t[text[p]] {
			continue
		}
		if end := endAt(text, i, p); end > 0 {
			return skipSpace(text, end)
		}
	}
	return len(text)
}

// All yields the sentences of text as byte ranges that tile it.
func All(text string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := 0; i < len(text); {
			end := Next(text, i)
			if !yield(i, end) {
				return
			}
			i = end
		}
	}
}

// endAt returns where the sentence that started at i ends if the character at p ends it, else 0.
func endAt(text string, i, p int) int {
	switch text[p] {
	case '\n':
		if p+1 < len(text) && (blankAt(text, p+1) || StartsBlock(text, p+1) || heading(text, i, p)) {
			if strings.TrimSpace(text[max(i, p-lookahead):p]) == "" {
				return 0 // blank space at the start of the text is no sentence
			}
			return p + 1
		}
	case '.', '!', '?':
		return LatinStop(text, p)
	default:
		if strings.HasPrefix(text[p:], "；") {
			if inNumber(text, p, p+3) {
				return 0
			}
			return p + 3
		}
		return WideStop(text, p)
	}
	return 0
}

// inNumber tells that the mark text[p:q] stands between two digits: full-width ones part no number (UAX #29, WB11 and WB12).
func inNumber(text string, p, q int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:p])
	after, _ := utf8.DecodeRuneInString(text[q:])
	return unicode.IsDigit(before) && unicode.IsDigit(after)
}

// heading tells whether the sentence's line is a Markdown heading, which its line end ends.
func heading(text string, i, p int) bool {
	return text[i] == '#' && p-i < 1000 && strings.IndexByte(text[i:p], '\n') < 0
}

// LatinStop returns the position after the stop at p (one of . ! ?), the closing quotes and brackets behind it and
// one blank, if that stop ends a sentence; else 0. Of several stops in a row only the last can. At the end of the text every
// stop ends a sentence.
func LatinStop(text string, p int) int {
	if p+1 < len(text) && stop(text[p+1]) {
		return 0
	}
	end := closers(text, p+1)
	if end >= len(text) {
		return end
	}
	r, n := utf8.DecodeRuneInString(text[end:])
	if !unicode.IsSpace(r) {
		if text[p] != '.' && (han(r) || han(lastRune(text, p))) && !continues(r) {
			return end
		}
		return 0
	}
	next := nextRune(text, end)
	switch lower := unicode.IsLower(next); {
	case text[p] != '.':
		if lower && end > p+1 {
			return 0 // "Why?" she asked.
		}
	case lower:
		return 0 // and so on ... until the end
	case p > 0 && stop(text[p-1]):
	case abbreviation(text, p, next):
		return 0
	}
	return end + n
}

func stop(c byte) bool { return c == '.' || c == '!' || c == '?' }

// WideStop returns the position after the mark at p (one of 。！？…．｡) and the closing quotes and brackets behind it,
// if a sentence ends there; else 0. Of several marks in a row only the last can end it.
func WideStop(text string, p int) int {
	n := wideMark(text, p)
	if n == 0 {
		return 0
	}
	if q := p + n; q < len(text) && (wideMark(text, q) > 0 || text[q] == '!' || text[q] == '?') {
		return 0
	}
	if text[p:p+n] == "．" && (unicode.IsDigit(lastRune(text, p)) || inWord(text, p, p+n)) { // a decimal point, a list number, an initial
		return 0
	}
	end := closers(text, p+n)
	if end >= len(text) {
		return end
	}
	r, _ := utf8.DecodeRuneInString(text[end:])
	if continues(r) {
		return 0
	}
	if onlyEllipsis(text, p) && !han(r) { // inside a Latin sentence
		if !unicode.IsSpace(r) || unicode.IsLower(nextRune(text, end)) {
			return 0
		}
	}
	return end
}

// inWord tells that the mark text[p:q] stands between two letters of scripts that write words apart (UAX #29, WB6 and WB7).
func inWord(text string, p, q int) bool {
	before := lastRune(text, p)
	after, _ := utf8.DecodeRuneInString(text[q:])
	return unicode.IsLetter(before) && unicode.IsLetter(after) &&
		!unicode.In(before, unicode.Han, unicode.Hiragana, unicode.Katakana) && !unicode.In(after, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// onlyEllipsis tells whether the mark at p is an ellipsis that no other mark stands before.
func onlyEllipsis(text string, p int) bool {
	for n := 0; n < 4 && p >= 0 && strings.HasPrefix(text[p:], "…"); n++ {
		p -= 3
	}
	return p < 0 || wideMark(text, p) == 0 || strings.HasPrefix(text[p:], "…")
}

// wideMark is the length of the full-width mark at p that can end a sentence, or 0.
func wideMark(text string, p int) int {
	if p+3 > len(text) {
		return 0
	}
	switch text[p] {
	case 0xE3, 0xEF, 0xE2:
		switch text[p : p+3] {
		case "。", "！", "？", "…", "．", "｡":
			return 3
		}
	}
	return 0
}

// closers passes the quotes and brackets that close at p.
func closers(text string, p int) int {
	for limit := p + lookahead; p < len(text) && p < limit; {
		switch c := text[p]; {
		case c == '"' || c == '\'' || c == ')' || c == ']' || c == '}' || c == '*' || c == '_':
			p++
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(text[p:])
			switch r {
			case '”', '’', '」', '』', '）', '】', '》', '〉', '〕', '»', '｣', '］', '｝':
				p += n
			default:
				return p
			}
		default:
			return p
		}
	}
	return p
}

// continues tells the marks after which the sentence goes on, though a stop stood before them.
func continues(r rune) bool {
	switch r {
	case '，', '、', '；', '：', '。', '！', '？', ',', ';', ':':
		return true
	}
	return false
}

func han(r rune) bool {
	return r >= 0x2E80 && r <= 0x9FFF || r >= 0xF900 && r <= 0xFAFF || r >= 0xFF00 && r <= 0xFFEF || r >= 0x20000 && r <= 0x3FFFF || r == '“' || r == '‘'
}

func lastRune(text string, p int) rune {
	r, _ := utf8.DecodeLastRuneInString(text[:p])
	return r
}

// nextRune is the first character at or after p that is neither blank space nor an opening quote or bracket, looking a bounded
// way ahead.
func nextRune(text string, p int) rune {
	for limit := min(len(text), p+lookahead); p < limit; {
		r, n := utf8.DecodeRuneInString(text[p:])
		if !unicode.IsSpace(r) && r != '"' && r != '\'' && r != '(' && r != '[' && r != '“' && r != '‘' {
			return r
		}
		p += n
	}
	return ' '
}

func skipSpace(text string, p int) int {
	for p < len(text) {
		if c := text[p]; c < utf8.RuneSelf {
			if c != ' ' && (c < '\t' || c > '\r') {
				return p
			}
			p++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[p:])
		if !unicode.IsSpace(r) {
			return p
		}
		p += n
	}
	return p
}

// blankAt tells whether the line at p is blank, looking a bounded way ahead.
func blankAt(text string, p int) bool {
	for limit := min(len(text), p+lookahead); p < limit; p++ {
		switch text[p] {
		case ' ', '\t', '\r':
		case '\n':
			return true
		default:
			return false
		}
	}
	return false
}

// StartsBlock tells whether the line at p starts a list item, a heading, a quote, a table row, a fence or an indented
// paragraph of Chinese text: such a line never goes on with the sentence above it.
func StartsBlock(text string, p int) bool {
	for limit := min(len(text), p+16); p < limit && (text[p] == ' ' || text[p] == '\t'); p++ {
	}
	if p >= len(text) {
		return false
	}
	switch c := text[p]; {
	case c == '-' || c == '*' || c == '+':
		return spaceAt(text, p+1)
	case c == '#':
		q := p
		for q < len(text) && q < p+6 && text[q] == '#' {
			q++
		}
		return spaceAt(text, q)
	case c == '>' || c == '|':
		return true
	case c == '`' || c == '~':
		return strings.HasPrefix(text[p:], "```") || strings.HasPrefix(text[p:], "~~~")
	case c >= '0' && c <= '9':
		q := p
		for q < len(text) && q < p+9 && text[q] >= '0' && text[q] <= '9' {
			q++
		}
		if strings.HasPrefix(text[q:], "、") {
			return true
		}
		return q < len(text) && (text[q] == '.' || text[q] == ')') && spaceAt(text, q+1)
	case c >= utf8.RuneSelf:
		return wideBlock(text[p:min(len(text), p+32)])
	}
	return false
}

// wideBlock is StartsBlock for lines that start with a character beyond ASCII.
func wideBlock(line string) bool {
	r, n := utf8.DecodeRuneInString(line)
	switch {
	case r == 0x3000, r >= 0x2460 && r <= 0x24FF: // ideographic space, ①
		return true
	case strings.ContainsRune("•·●○■◆▪", r):
		return true
	case r == '（' || strings.ContainsRune(numerals, r):
		rest := line
		if r == '（' {
			rest = line[n:]
		}
		tail := strings.TrimLeft(rest, numerals)
		return len(tail) < len(rest) && (strings.HasPrefix(tail, "、") || r == '（' && strings.HasPrefix(tail, "）"))
	}
	return false
}

const numerals = "一二三四五六七八九十百"

func spaceAt(text string, p int) bool {
	return p < len(text) && (text[p] == ' ' || text[p] == '\t')
}
