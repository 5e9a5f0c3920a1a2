package wordpieces

import (
	"sync"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// maxWord is the number of characters above which BERT takes a word for unknown.
const maxWord = 100

// bert cuts words at spaces, punctuation and Chinese characters, and each word from its beginning into the longest pieces that the
// vocabulary has (Wu et al. 2016, as in BERT). A word with a part in no piece is one unknown piece.
type bert struct {
	v           *Vocabulary
	head, inner *trie     // pieces at the beginning of a word, and inside
	pool        sync.Pool // of *bertWords
}

func newBERT(v *Vocabulary) (*bert, error) {
	all, err := v.entries("")
	if err != nil {
		return nil, err
	}
	inner, err := v.entries("##")
	if err != nil {
		return nil, err
	}
	b := &bert{v: v, head: newTrie(all), inner: newTrie(inner)}
	b.pool.New = func() any { return new(bertWords) }
	return b, nil
}

// Name implements [connector.Counter].
func (b *bert) Name() string { return b.v.Name }

// Specials implements [Tokenizer].
func (b *bert) Specials() int { return 2 }

// Encode implements [Tokenizer].
func (b *bert) Encode(text string, limit int) ([]int32, []connector.Span) {
	ids, spans, end := []int32{b.v.Begin}, []connector.Span{{}}, 0
	b.each(text, limit, func(w *bertWords, p piece) {
		span := w.span(p)
		ids, spans, end = append(ids, p.id), append(spans, span), span.End
	}, nil)
	return append(ids, b.v.End), append(spans, connector.Span{Start: end, End: end})
}

// AppendIDs implements [Tokenizer].
func (b *bert) AppendIDs(ids []int32, text string, limit int) []int32 {
	ids = append(ids, b.v.Begin)
	b.each(text, limit, func(_ *bertWords, p piece) { ids = append(ids, p.id) }, nil)
	return append(ids, b.v.End)
}

// Count implements [connector.Counter].
func (b *bert) Count(text string) int { return b.pieces(text) + b.Specials() }

// Ruler implements [connector.Counter].
func (b *bert) Ruler(text string) connector.Ruler { return newRuler(b, text) }

func (b *bert) pieces(text string) int {
	n := 0
	b.each(text, 0, func(*bertWords, piece) { n++ }, nil)
	return n
}

// starts implements [splitter].
func (b *bert) starts(text string, begin func(at, pieces int)) {
	n := 0
	b.each(text, 0, func(*bertWords, piece) { n++ }, func(w *bertWords) { begin(w.start, n) })
}

// each is that of unigram.
func (b *bert) each(text string, limit int, f func(*bertWords, piece), begin func(*bertWords)) {
	left := room(limit, b.Specials())
	w := b.pool.Get().(*bertWords)
	for w.reset(text, b.v.Lowercase); left > 0 && w.next(); {
		if begin != nil {
			begin(w)
		}
		b.cut(w)
		for _, p := range w.cut[:min(left, len(w.cut))] {
			f(w, p)
			left--
		}
	}
	w.text = ""
	if cap(w.word) <= keep {
		b.pool.Put(w)
	}
}

// cut leaves the pieces of the word in w.cut.
func (b *bert) cut(w *bertWords) {
	word, t := w.word, b.head
	w.cut = w.cut[:0]
	for i := 0; i < len(word); t = b.inner {
		id, end := int32(-1), 0
		for e, node := i, int32(0); e < len(word); {
			if node = t.step(node, word[e]); node < 0 {
				break
			}
			e++
			// A piece ends where a character does, also in a vocabulary that says otherwise.
			if found := t.id(node); found >= 0 && (e == len(word) || utf8.RuneStart(word[e])) {
				id, end = found, e
			}
		}
		if id < 0 || w.chars > maxWord {
			w.cut = append(w.cut[:0], piece{0, int32(len(word)), b.v.Unknown})
			return
		}
		w.cut = append(w.cut, piece{int32(i), int32(end), id})
		i = end
	}
}
