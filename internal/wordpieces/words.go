package wordpieces

import (
	"unicode/utf8"
)

// Mark is SentencePiece's sign for the beginning of a word.
const Mark = "\u2581"

// words reads a text word by word, normalised as SentencePiece does: every word begins with the mark, which stands for the white space
// before it. So only one word is in memory, and nothing behind the last word that is needed is read.
type words struct {
	cm    *charmap
	text  string
	spans bool // fill from and to

	word []byte // the normalised word
	// From and to are, for each byte of word, the place in the text of the character that it came from, less start.
	from, to []int32
	start    int  // where the word's white space begins in the text
	gap      int  // where the first character of that white space ends; it may give the first letter too
	letter   int  // where the word's first character begins in the text
	whole    bool // the text can be cut at start: no character belongs to two words

	pos   int    // of what isn't read
	rest  string // the unread part of what the characters in text[lo:hi] became
	lo    int
	hi    int
	split bool // some of what text[lo:hi] became is taken
	first bool
	comp  []byte // room for composed sequences
}

func (w *words) reset(cm *charmap, text string, spans bool) {
	*w = words{cm: cm, text: text, spans: spans, first: true, word: w.word[:0], from: w.from[:0], to: w.to[:0], comp: w.comp[:0]}
}

// next reads a word. It returns false at the end of the text.
func (w *words) next() bool {
	if !w.first && w.rest == "" {
		return false
	}
	w.word, w.from, w.to = append(w.word[:0], Mark...), w.from[:0], w.to[:0]
	if w.spans {
		w.from, w.to = append(w.from, 0, 0, 0), append(w.to, 0, 0, 0)
	}
	space := !w.first // the word begins with white space that is in the text
	w.start, w.gap, w.whole = w.lo, w.hi, !w.split
	if w.first {
		w.start, w.gap, w.whole, w.first = 0, 0, true, false
	}
	w.letter = -1
	for w.rest != "" || w.read() {
		if w.rest[0] != ' ' {
			if w.letter < 0 {
				w.letter = w.lo
			}
			w.take()
			continue
		}
		if w.letter >= 0 {
			return true // the next word begins here
		}
		space = true
		w.rest = w.rest[1:]
	}
	if w.letter < 0 {
		w.letter = w.hi
	}
	return space || len(w.word) > len(Mark)
}

// take moves the first bytes of rest, up to a space, into the word.
func (w *words) take() {
	n := 0
	for n < len(w.rest) && w.rest[n] != ' ' {
		n++
	}
	w.word = append(w.word, w.rest[:n]...)
	if w.spans {
		for range n {
			w.from = append(w.from, int32(w.lo-w.start))
			w.to = append(w.to, int32(w.hi-w.start))
		}
	}
	w.rest, w.split = w.rest[n:], true
}

// read normalises the next character, or sequence of them, that becomes anything; false at the end of the text.
func (w *words) read() bool {
	for w.pos < len(w.text) {
		w.lo, w.split = w.pos, false
		r, size := rune(w.text[w.pos]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(w.text[w.pos:])
		}
		w.hi = w.pos + size
		if end := w.pos + size; end < len(w.text) && w.text[end] >= 0xCC {
			if n := marks(w.text[w.pos:], size); n > size && w.composed(n) {
				if w.rest != "" {
					return true
				}
				continue
			}
		}
		w.pos = w.hi
		to, ok := w.cm.find(r)
		switch {
		case !ok && r == utf8.RuneError && size == 1:
			w.rest = "\uFFFD"
		case !ok:
			w.rest = w.text[w.lo:w.hi]
		default:
			w.rest = to
		}
		if w.rest != "" {
			return true
		}
	}
	return false
}

// composed normalises the sequence of n bytes at the place if it has another, composed form.
func (w *words) composed(n int) bool {
	seq := w.text[w.pos : w.pos+n]
	var other bool
	if w.comp, other = compose(w.comp[:0], seq); !other {
		return false
	}
	var out []byte
	for _, r := range string(w.comp) {
		if to, ok := w.cm.find(r); ok {
			out = append(out, to...)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	w.pos += n
	w.hi = w.pos
	w.rest = string(out)
	return true
}
