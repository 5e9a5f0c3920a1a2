package neardup

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// width is how many words, or characters of a script without spaces, make a shingle.
const width = 3

// fnv is FNV-1a of 64 bits, by hand: no allocation for each word.
const (
	fnvStart uint64 = 14695981039346656037
	fnvPrime uint64 = 1099511628211
)

// shingles are the distinct shingles of a text, ascending, and what its numbers and negations are, in order.
func shingles(s string) (set []uint64, marks uint64) {
	if !norm.NFKC.IsNormalString(s) {
		s = norm.NFKC.String(s)
	}
	marks = fnvStart
	var last [width]uint64
	n := 0
	end := func(word string, mark bool) {
		h := fnvStart
		for i := range len(word) {
			h = (h ^ uint64(word[i])) * fnvPrime
		}
		if mark {
			marks = mix(marks ^ h)
		}
		copy(last[:], last[1:])
		last[width-1] = h
		if n++; n >= width {
			set = append(set, mix(last[0]^mix(last[1]^mix(last[2]))))
		}
	}
	words(strings.ToLower(s), end)
	if n > 0 && n < width {
		set = append(set, mix(last[width-1]^uint64(n)))
	}
	slices.Sort(set)
	return slices.Compact(set), marks
}

// words calls end with each word of s and each character of a script without spaces, and whether it is a mark: a number or a negation. What joins the digits of a
// number (3.14, 2024-01-31, 1,000) belongs to it.
func words(s string, end func(word string, mark bool)) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case packed(r):
			end(s[i:i+n], hanMark(r))
			i += n
		case wordy(r):
			j, digit := i, false
			for j < len(s) {
				r, n := utf8.DecodeRuneInString(s[j:])
				if !wordy(r) && !joins(s, j, n) {
					break
				}
				digit = digit || unicode.IsDigit(r)
				j += n
			}
			end(s[i:j], digit || negation(s[i:j]))
			i = j
		default:
			if sign(s, i, r, n) {
				end(s[i:i+n], true)
			}
			i += n
		}
	}
}

func packed(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func wordy(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && !packed(r)
}

// joins says that the character at i stands between digits, or within a word as an apostrophe does.
func joins(s string, i, n int) bool {
	if i == 0 || i+n >= len(s) {
		return false
	}
	before, after := s[i-1], s[i+n]
	switch s[i : i+n] {
	case ".", ",", ":", "/", "-":
		return before >= '0' && before <= '9' && after >= '0' && after <= '9'
	case "'", "\u2019":
		return before >= 'a' && before <= 'z' && after >= 'a' && after <= 'z'
	}
	return false
}

// sign says that a character before or behind a number changes it: -5, 5 %, $5.
func sign(s string, i int, r rune, n int) bool {
	digitAfter := i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '9'
	digitBefore := i > 0 && s[i-1] >= '0' && s[i-1] <= '9'
	if !digitBefore && i > 1 && s[i-1] == ' ' && r != '-' {
		digitBefore = s[i-2] >= '0' && s[i-2] <= '9'
	}
	switch {
	case r == '-' || r == '<' || r == '>' || r == '~':
		return digitAfter && !digitBefore
	case r == '%' || unicode.Is(unicode.Sc, r):
		return digitAfter || digitBefore
	}
	return false
}

func negation(w string) bool {
	switch w {
	case "not", "no", "never", "none", "without", "cannot", "neither", "nor", "except", "unless", "false", "true":
		return true
	}
	return strings.HasSuffix(w, "n't") || strings.HasSuffix(w, "n\u2019t")
}

func hanMark(r rune) bool {
	return strings.ContainsRune("〇零一二三四五六七八九十百千万亿两半不没无非未勿莫否禁两萬億無沒", r)
}
