package wordpieces

import (
	"sort"

	"github.com/kbsync/kbsync/connector"
)

// splitter is a tokenizer that cuts words on their own.
type splitter interface {
	connector.Counter
	Specials() int
	// pieces counts the pieces of a text without special tokens.
	pieces(text string) int
	// starts calls begin for each word before which the text can be cut: where it begins, with the white space before it, and how
	// many pieces there are before.
	starts(text string, begin func(at, pieces int))
}

// ruler knows where the words of a text begin. A range is then measured by its two ends: only what lies between a word's beginning and
// another's is the same in every range.
type ruler struct {
	s      splitter
	text   string
	at     []int // where words begin
	before []int // the pieces before them
	// What stands before every range: a text of head pieces, and its last word tail, which a range may go on with.
	head int
	tail string
}

func newRuler(s splitter, text string) *ruler {
	r := &ruler{s: s, text: text}
	s.starts(text, func(at, pieces int) {
		r.at, r.before = append(r.at, at), append(r.before, pieces)
	})
	return r
}

// Count implements [connector.Ruler].
func (r *ruler) Count(i, j int) int {
	// The first word's beginning after i may follow half a character, which is another one than in the whole text; the second does not.
	p := sort.SearchInts(r.at, i) + 1
	q := sort.SearchInts(r.at, j+1) - 1
	if p >= q {
		return r.head + r.s.pieces(r.tail+r.text[i:j]) + r.s.Specials()
	}
	return r.head + r.s.pieces(r.tail+r.text[i:r.at[p]]) + r.before[q] - r.before[p] + r.s.pieces(r.text[r.at[q]:j]) + r.s.Specials()
}
