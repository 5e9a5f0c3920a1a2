// Package wordpieces cuts text into the pieces of a model's vocabulary: Unigram as SentencePiece and XLM-RoBERTa use it, and
// WordPiece as BERT does. Each piece knows the bytes of the original text that it stands for, whatever normalisation did to them.
//
// Texts are data: the names of special tokens inside them ("</s>", "[SEP]") are ordinary characters, so no document can end its own
// input. Bytes that are not UTF-8 count as U+FFFD, one a byte. Time and memory are linear in the text.
package wordpieces

import (
	"fmt"
	"math"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// Tokenizer turns texts into the input of one model. Safe for concurrent use.
type Tokenizer interface {
	// Encode returns the ids of text with the model's special tokens around it, and the bytes of text that each id stands for:
	// spans are in order, leave out the white space between words, and are empty for special tokens. At most max ids are returned,
	// the last of them still the closing special token; no limit if max <= 0. A max below the special tokens counts as just them.
	Encode(text string, max int) (ids []int32, spans []connector.Span)
	// AppendIDs appends the ids of Encode to ids.
	AppendIDs(ids []int32, text string, max int) []int32
	// Specials is the number of ids that Encode adds to every text.
	Specials() int
	// Counter counts the ids of Encode without a limit, special tokens included.
	connector.Counter
}

// Kind is the algorithm of a tokenizer.
type Kind string

// The kinds that exist.
const (
	Unigram   Kind = "unigram"
	WordPiece Kind = "wordpiece"
)

// Vocabulary is all that a tokenizer is made of. It isn't changed after New.
type Vocabulary struct {
	Kind Kind
	// Name is the tokenizer's name as a [connector.Counter].
	Name string
	// Pieces by id. SentencePiece's mark of a word's beginning is U+2581; WordPiece's mark of a word's continuation is "##".
	Pieces []string
	// Scores are the log probabilities of Unigram pieces, by id; UnknownScore that of a character in no piece.
	Scores       []float32
	UnknownScore float32
	// The ids of special tokens; they are never found in a text, except Unknown for what is in no piece.
	Begin, End, Pad, Unknown int32
	// Others are further special tokens, such as masks.
	Others []int32
	// Charmap is what single characters become, sorted, for Unigram; sequences that have a composed form are composed before.
	Charmap []Mapping
	// Lowercase is true for uncased WordPiece models, which drop accents as well.
	Lowercase bool
}

// Mapping is what a character becomes before text is cut; To may be empty.
type Mapping struct {
	From rune
	To   string
}

// New makes the tokenizer of a vocabulary.
func New(v *Vocabulary) (Tokenizer, error) {
	if err := v.Validate(); err != nil {
		return nil, err
	}
	if v.Kind == Unigram {
		return newUnigram(v)
	}
	return newBERT(v)
}

// Validate says whether the ids of special tokens and the lengths of tables fit together.
func (v *Vocabulary) Validate() error {
	n := len(v.Pieces)
	if v.Kind != Unigram && v.Kind != WordPiece {
		return fmt.Errorf("wordpieces: no tokenizer %q: want %q or %q", v.Kind, Unigram, WordPiece)
	}
	for _, id := range append([]int32{v.Begin, v.End, v.Pad, v.Unknown}, v.Others...) {
		if id < 0 || int(id) >= n {
			return fmt.Errorf("wordpieces: the special token %d is not among the %d pieces", id, n)
		}
	}
	if v.Kind == Unigram && len(v.Scores) != n {
		return fmt.Errorf("wordpieces: %d scores for %d pieces", len(v.Scores), n)
	}
	for i, s := range append(v.Scores[:len(v.Scores):len(v.Scores)], v.UnknownScore) {
		if s != s || s < -math.MaxFloat32 || s > math.MaxFloat32 {
			return fmt.Errorf("wordpieces: the score %g of piece %d is not a number", s, i)
		}
	}
	for i := 1; i < len(v.Charmap); i++ {
		if v.Charmap[i-1].From >= v.Charmap[i].From {
			return fmt.Errorf("wordpieces: the character map is not sorted at U+%04X", v.Charmap[i].From)
		}
	}
	return nil
}

// special says for each id whether it is a special token.
func (v *Vocabulary) special() map[int32]bool {
	s := map[int32]bool{v.Begin: true, v.End: true, v.Pad: true, v.Unknown: true}
	for _, id := range v.Others {
		s[id] = true
	}
	return s
}

// entries lists the pieces that begin with a prefix, without it; special tokens are left out.
func (v *Vocabulary) entries(prefix string) ([]entry, error) {
	special := v.special()
	entries := make([]entry, 0, len(v.Pieces))
	for i, p := range v.Pieces {
		if len(p) > maxPiece {
			return nil, fmt.Errorf("wordpieces: the piece %d has %d bytes, more than %d", i, len(p), maxPiece)
		}
		if rest, ok := strings.CutPrefix(p, prefix); ok && rest != "" && !special[int32(i)] {
			entries = append(entries, entry{rest, int32(i)})
		}
	}
	return entries, nil
}
