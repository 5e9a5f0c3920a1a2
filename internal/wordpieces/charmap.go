package wordpieces

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// charmap is the normalisation of a Unigram model: what single characters become. SentencePiece's tables hold sequences as well:
// the decomposed forms of composed characters (nmt_nfkc is NFKC and some rules for white space and control characters, all of them
// on single characters). Those sequences are composed by the rules of Unicode before the table is asked.
type charmap struct {
	pages [utf8.MaxRune>>8 + 1]*[256]uint32 // index of to plus 1, 0 where a character stays
	to    []string
}

// maxMarks bounds a sequence that is composed; longer ones are no text.
const maxMarks = 30

func newCharmap(table []Mapping) *charmap {
	m := &charmap{}
	for _, e := range table {
		if e.From < 0 || e.From > utf8.MaxRune {
			continue
		}
		page := &m.pages[e.From>>8]
		if *page == nil {
			*page = new([256]uint32)
		}
		m.to = append(m.to, e.To)
		(*page)[e.From&255] = uint32(len(m.to))
	}
	return m
}

// find returns what a character becomes; ok is false if it stays.
func (m *charmap) find(r rune) (to string, ok bool) {
	page := m.pages[r>>8]
	if page == nil || page[r&255] == 0 {
		return "", false
	}
	return m.to[page[r&255]-1], true
}

// marks returns the length of the sequence at the beginning of text, one character and what may be composed with it, where its first
// character has size bytes.
func marks(text string, size int) int {
	end := size
	for range maxMarks {
		if end >= len(text) || text[end] < 0xCC { // U+0300, the first mark, is CC 80
			break
		}
		p := norm.NFC.PropertiesString(text[end:])
		if p.Size() == 0 || p.BoundaryBefore() {
			break
		}
		end += p.Size()
	}
	return end
}

// compose appends the composed form of a sequence of marks to dst, and says whether that is another one.
func compose(dst []byte, seq string) ([]byte, bool) {
	n := len(dst)
	dst = norm.NFC.AppendString(dst, seq)
	return dst, string(dst[n:]) != seq
}
