package features

import (
	"unicode"
	"unicode/utf8"
)

// Class is what a unit of text is; a unit may be of several.
type Class uint8

// The classes.
const (
	// Ideograph is one character of a script without spaces (Han, kana); other units are words.
	Ideograph Class = 1 << iota
	// Number is written in digits, with its unit if it touches ("3.14", "10GB", "12%"), or in two or more Chinese numerals.
	Number
	// Term looks technical: an identifier, an abbreviation in capitals, letters mixed with digits, a long word, or a
	// character that ends Chinese terms (率, 性, 器 …).
	Term
	// Story is a word of narration: he, said, 他, 说 …
	Story
)

// Unit is a word, a number or an ideograph.
type Unit struct {
	// Hash is equal for units that are the same but for case.
	Hash uint64
	Class
}

// longWord is the number of letters from which a word in the Latin script counts as a term.
const longWord = 12

// mostWord is how many bytes of a word are read at a time: a longer one counts as several.
const mostWord = 256

// Units yields the units of a text in order. It costs one pass.
func Units(text string, yield func(Unit)) {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf && !asciiWord(c) {
			i++
			continue
		}
		r, n := rune(c), 1
		if c >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case numeral(r):
			i = numerals(text, i, yield)
		case ideograph(r):
			class := Ideograph
			if endsTerm(r) {
				class |= Term
			}
			if tells(r) {
				class |= Story
			}
			yield(Unit{mix(offset, uint64(r)), class})
			i += n
		case wordRune(r):
			i = word(text, i, yield)
		default:
			i += n
		}
	}
}

// The constants of FNV-1a, over runes instead of bytes.
const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

func mix(h, r uint64) uint64 { return (h ^ r) * prime }

// shape is what is seen of a word while it is read.
type shape struct {
	h                             uint64
	letters, digits, upper, marks int
	latin                         int
	camel                         bool // a capital behind a small letter
	small                         bool // the last letter is small
	first                         rune
}

func (s *shape) add(r rune) {
	if s.letters+s.digits == 0 {
		s.first = r
	}
	low := r
	switch {
	case r >= 'a' && r <= 'z':
		s.letters, s.latin, s.small = s.letters+1, s.latin+1, true
	case r >= 'A' && r <= 'Z':
		s.camel = s.camel || s.small
		s.letters, s.latin, s.upper, s.small = s.letters+1, s.latin+1, s.upper+1, false
		low = r + 'a' - 'A'
	case unicode.IsDigit(r):
		s.digits++
	default:
		low = unicode.ToLower(r)
		s.letters++
		if low != r {
			s.upper++
		}
	}
	s.h = mix(s.h, uint64(low))
}

func (s *shape) class() (c Class) {
	starts := s.digits > 0 && unicode.IsDigit(s.first)
	switch {
	case starts && s.letters <= 3: // 3.14, 12th, 10GB
		return Number
	case s.digits > 0 && s.letters > 0, s.marks > 0, s.camel, s.upper >= 2 && s.upper == s.letters, s.latin >= longWord:
		return Term
	}
	if s.letters == s.latin && storyWord(s.h) {
		return Story
	}
	return 0
}

// word reads the word at i and returns its end. Letters and digits belong to it, and what joins them: don't, a_b, fmt.Println, 1,000.
func word(text string, i int, yield func(Unit)) int {
	s := shape{h: offset}
	start := i
	for i < len(text) && i-start < mostWord {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '_':
			s.marks++
			s.h = mix(s.h, '_')
		case wordRune(r) && !ideograph(r):
			s.add(r)
		case joins(text, i, r):
			if r == '.' && !digit(text, i+1) {
				s.marks++
			}
			s.h = mix(s.h, uint64(r))
		case r == '%' && s.digits > 0:
			s.h = mix(s.h, '%')
		default:
			yield(Unit{s.h, s.class()})
			return i
		}
		i += n
	}
	yield(Unit{s.h, s.class()})
	return i
}

// joins tells whether the mark r at i stands between two characters of one word.
func joins(text string, i int, r rune) bool {
	switch r {
	case '.', '\'':
		return i+1 < len(text) && asciiWord(text[i+1]) && text[i+1] != '_'
	case ',':
		return i > 0 && digit(text, i-1) && digit(text, i+1)
	case '’':
		return i+3 < len(text) && asciiWord(text[i+3])
	}
	return false
}

func digit(text string, i int) bool { return i < len(text) && text[i] >= '0' && text[i] <= '9' }

func asciiWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiWord(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// numerals reads a run of Chinese numerals: one number if there are two or more, else an ideograph.
func numerals(text string, i int, yield func(Unit)) int {
	h, n := uint64(offset), 0
	for i < len(text) && n < mostWord {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !numeral(r) {
			break
		}
		h = mix(h, uint64(r))
		n++
		i += size
	}
	if n > 1 {
		yield(Unit{h, Number | Ideograph})
	} else {
		yield(Unit{h, Ideograph})
	}
	return i
}
