package wordpieces

import (
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"golang.org/x/text/unicode/norm"
)

// bertWords reads a text word by word as BERT's basic tokenizer does: control characters are dropped, punctuation and Chinese
// characters are words of their own, and uncased models know neither capitals nor accents.
type bertWords struct {
	text  string
	lower bool
	pos   int

	word  []byte
	from  []int32 // for each byte of word, where its character begins in the text, less start
	to    []int32
	chars int
	start int // where the word begins in the text
	cut   []piece
	room  []byte // what the character at pos becomes
}

func (w *bertWords) reset(text string, lower bool) {
	*w = bertWords{text: text, lower: lower, word: w.word[:0], from: w.from[:0], to: w.to[:0], cut: w.cut[:0], room: w.room[:0]}
}

// next reads a word; false at the end of the text.
func (w *bertWords) next() bool {
	w.word, w.from, w.to, w.chars = w.word[:0], w.from[:0], w.to[:0], 0
	for w.pos < len(w.text) {
		r, size := rune(w.text[w.pos]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(w.text[w.pos:])
		}
		class := w.fold(r)
		if class != letter && len(w.word) > 0 && class != dropped {
			return true
		}
		if len(w.word) == 0 {
			w.start = w.pos
		}
		lo := w.pos
		w.pos += size
		switch class {
		case alone:
			w.put(lo)
			if len(w.word) > 0 {
				return true
			}
		case letter:
			w.put(lo)
		}
	}
	return len(w.word) > 0
}

// fold leaves what a character becomes in w.room, without case and accents for uncased models, and says what it does to words.
func (w *bertWords) fold(r rune) class {
	w.room = w.room[:0]
	switch {
	case r < utf8.RuneSelf:
		if w.lower && 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		w.room = append(w.room, byte(r))
		return ascii(r)
	case !w.lower || 0x3400 <= r && r <= 0x9FFF:
		w.room = utf8.AppendRune(w.room, r)
		return classify(r)
	}
	class := classify(r)
	if class == dropped || class == space {
		return class
	}
	var one [utf8.UTFMax]byte
	char := one[:utf8.EncodeRune(one[:], r)]
	if p := norm.NFD.Properties(char); p.Decomposition() == nil && (r < 0xAC00 || r > 0xD7A3) {
		if unicode.Is(unicode.Mn, r) {
			return dropped
		}
		w.room = utf8.AppendRune(w.room, unicode.ToLower(r))
		return class
	}
	var all [64]byte
	for b := norm.NFD.Append(all[:0], char...); len(b) > 0; {
		d, size := utf8.DecodeRune(b)
		b = b[size:]
		if !unicode.Is(unicode.Mn, d) {
			w.room = utf8.AppendRune(w.room, unicode.ToLower(d))
		}
	}
	if len(w.room) == 0 {
		return dropped
	}
	if first, _ := utf8.DecodeRune(w.room); class == letter {
		class = classify(first)
	}
	return class
}

// put takes what fold left, from the character at lo, into the word.
func (w *bertWords) put(lo int) {
	w.word = append(w.word, w.room...)
	for range w.room {
		w.from, w.to = append(w.from, int32(lo-w.start)), append(w.to, int32(w.pos-w.start))
	}
	w.chars += utf8.RuneCount(w.room)
}

// span is the place of a piece of the word in the text.
func (w *bertWords) span(p piece) connector.Span {
	return connector.Span{Start: w.start + int(w.from[p.from]), End: w.start + int(w.to[p.to-1])}
}

// class is what a character does to words.
type class uint8

const (
	letter  class = iota
	space         // ends a word
	alone         // is a word
	dropped       // is as if it were not there
)

func classify(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		return ascii(r)
	case r == utf8.RuneError:
		return dropped
	case chinese(r), unicode.IsPunct(r):
		return alone
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co): // U+0085 among them, which is white space as well
		return dropped
	case unicode.IsSpace(r):
		return space
	}
	return letter
}

func ascii(r rune) class {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return letter
	case r == ' ', r == '\t', r == '\n', r == '\r':
		return space
	case r < ' ', r == 0x7f:
		return dropped
	}
	return alone
}

// chinese says whether BERT puts spaces around a character: the blocks of CJK ideographs, no kana or hangul.
func chinese(r rune) bool {
	return 0x4E00 <= r && r <= 0x9FFF || 0x3400 <= r && r <= 0x4DBF || 0x20000 <= r && r <= 0x2A6DF || 0x2A700 <= r && r <= 0x2B73F ||
		0x2B740 <= r && r <= 0x2B81F || 0x2B920 <= r && r <= 0x2CEAF || 0xF900 <= r && r <= 0xFAFF || 0x2F800 <= r && r <= 0x2FA1F
}
