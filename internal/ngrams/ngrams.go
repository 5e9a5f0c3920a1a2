// Package ngrams cuts text into the terms that are indexed and asked for: whole words of scripts that separate them,
// overlapping pairs of characters (bigrams) of scripts that do not (Han, Kana, Hangul, Thai, Lao, Khmer, Burmese).
//
// Terms are folded so that spellings of the same word meet: lower case, full width to half width, compatibility and
// decomposed forms to composed ones (NFKC). They hold letters, marks and digits alone.
package ngrams

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord bounds a term in bytes: longer runs (base64, hashes) are cut, so that an index never meets a huge term.
const maxWord = 64

// Kind tells what a term is.
type Kind uint8

// The kinds of terms.
const (
	Word   Kind = iota // a whole word
	Bigram             // two characters of a script without spaces
	Single             // the last character of such a run, or the whole of a run of length 1
)

// Each calls f with every term of text as an index holds it, in order. A run of characters of a script without spaces
// gives its bigrams and then its last character alone; so every character starts a term, and a prefix query finds a
// single character wherever it stands. The slice is valid only during the call.
func Each(text string, f func(term []byte, kind Kind)) {
	s := scanner{emit: f, word: make([]byte, 0, 128)}
	s.scan(fold(text))
}

// Append appends text's index terms to dst, each followed by a space.
func Append(dst []byte, text string) []byte {
	Each(text, func(term []byte, _ Kind) {
		dst = append(dst, term...)
		dst = append(dst, ' ')
	})
	return dst
}

// Term is a term of a question.
type Term struct {
	Text string
	// Prefix says that every indexed term which starts with Text matches.
	Prefix bool
}

// Query is the distinct terms to ask an index for, in the order of text: words, bigrams, and for a run of length 1 its
// character as a prefix. Function words ("what", "of", 什么) are asked for only where there is nothing else.
func Query(text string) []Term {
	var terms []Term
	seen := map[Term]bool{}
	inRun := false // the term before was a bigram, so a single character only ends its run
	Each(text, func(term []byte, kind Kind) {
		tail := kind == Single && inRun
		inRun = kind == Bigram
		t := Term{Text: string(term), Prefix: kind == Single}
		if tail || seen[t] {
			return
		}
		seen[t] = true
		terms = append(terms, t)
	})
	return withoutFunctionWords(terms)
}

type scanner struct {
	emit func([]byte, Kind)
	word []byte // folded bytes of the word, or of the last one or two characters of a run
	prev int    // bytes of the character before in word, for runs; 0 outside of a run
}

type class uint8

const (
	space  class = iota // ends a term
	letter              // part of a word
	packed              // character of a script without spaces
	silent              // ignored wherever it stands
)

func (s *scanner) scan(text string) {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			i++
			switch lower := asciiFold[c]; {
			case lower == 0:
				s.flush()
			default:
				s.letter(rune(lower))
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		r, cl := classify(r)
		switch cl {
		case letter:
			s.letter(r)
		case packed:
			s.packed(r)
		case space:
			s.flush()
		case silent:
		}
	}
	s.flush()
}

func (s *scanner) letter(r rune) {
	if s.prev > 0 || len(s.word) >= maxWord-utf8.UTFMax {
		s.flush()
	}
	if r < utf8.RuneSelf {
		s.word = append(s.word, byte(r))
		return
	}
	s.word = utf8.AppendRune(s.word, r)
}

func (s *scanner) packed(r rune) {
	if s.prev == 0 {
		s.flush()
	}
	before := s.prev
	s.word = utf8.AppendRune(s.word, r)
	if before > 0 {
		s.emit(s.word, Bigram)
		s.word = append(s.word[:0], s.word[before:]...)
	}
	s.prev = len(s.word)
}

func (s *scanner) flush() {
	if len(s.word) > 0 {
		kind := Word
		if s.prev > 0 {
			kind = Single
		}
		s.emit(s.word, kind)
	}
	s.word, s.prev = s.word[:0], 0
}

// asciiFold maps ASCII letters and digits to lower case, the rest to 0.
var asciiFold = func() (t [utf8.RuneSelf]byte) {
	for c := byte('a'); c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = c, c
	}
	for c := byte('0'); c <= '9'; c++ {
		t[c] = c
	}
	return t
}()

// classify folds a rune and says what it does to the term.
func classify(r rune) (rune, class) {
	switch {
	case r >= 0x4E00 && r <= 0x9FFF: // by far the most frequent ones
		return r, packed
	case r >= 0x3000 && r <= 0x303F && r != '々' && r != '〆' && r != '〇':
		return r, space
	case r >= 0xFF01 && r <= 0xFF5E: // full-width ASCII
		if low := asciiFold[r-0xFEE0]; low != 0 {
			return rune(low), letter
		}
		return r, space
	case r == 0xAD || r == 0x200C || r == 0x200D || r >= 0xFE00 && r <= 0xFE0F || r == 0x2060 || r == 0xFEFF:
		return r, silent
	case r == 'ς':
		return 'σ', letter
	case r == utf8.RuneError:
		return r, space
	case unicode.In(r, unicode.L, unicode.M, unicode.N):
		if isPacked(r) {
			return r, packed
		}
		return unicode.ToLower(r), letter
	}
	return r, space
}

func isPacked(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return r == 'ー' || r == '々' || r == '〆' || r == '〇' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// fold composes text (NFKC) if it holds a character that composition or compatibility may change; full-width ASCII,
// which Chinese text is full of, is left to classify.
func fold(text string) string {
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if needsNFKC(r) {
			return norm.NFKC.String(text)
		}
		i += n
	}
	return text
}

func needsNFKC(r rune) bool {
	switch {
	case r >= 0x4E00 && r <= 0x9FFF:
		return false
	case r < 0x300:
		return r == 0xAA || r == 0xB2 || r == 0xB3 || r == 0xB5 || r >= 0xB9 && r <= 0xBE && r != 0xBB || r == 0x17F ||
			r >= 0x1C4 && r <= 0x1CC || r >= 0x1F1 && r <= 0x1F3 || r >= 0x2B0 && r <= 0x2B8
	case r >= 0xFF01 && r <= 0xFF5E || r >= 0x3000 && r <= 0x3098 || r >= 0x309B && r <= 0x3130:
		return false
	}
	return r <= 0x36F || r >= 0x1100 && r <= 0x11FF || r >= 0x2070 && r <= 0x209F || r >= 0x2100 && r <= 0x218F ||
		r >= 0x2460 && r <= 0x24FF || r >= 0x2E80 && r <= 0x2FDF || r >= 0x3099 && r <= 0x309A || r >= 0x3131 && r <= 0x33FF ||
		r >= 0xF900 && r <= 0xFB4F || r >= 0xFE30 && r <= 0xFE6F || r >= 0xFF5F && r <= 0xFFEF || r >= 0x1D400 && r <= 0x1D7FF ||
		r >= 0x1F100 && r <= 0x1F2FF || r >= 0x2F800 && r <= 0x2FA1F
}
