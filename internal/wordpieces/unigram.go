package wordpieces

import (
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// unigram cuts every word into the pieces whose log probabilities have the greatest sum (Kudo 2018), by Viterbi's algorithm. A run of
// characters in no piece is one unknown piece. No piece of such a vocabulary reaches over the beginning of a word, so that words are
// cut on their own.
type unigram struct {
	v    *Vocabulary
	trie *trie
	cm   *charmap
	pool sync.Pool // of *lattice
}

// lattice is what cutting needs, reused.
type lattice struct {
	words words
	best  []float64 // by the place in the word, the score of the best pieces up to there
	last  []piece   // by the place in the word, the last of these pieces
	cut   []piece   // the pieces of the word, the last one first
}

// piece is a piece of a word, from a place to the one that it is kept for.
type piece struct{ from, to, id int32 }

// keep bounds what stays in the pool: a word is rarely longer.
const keep = 1 << 16

func newUnigram(v *Vocabulary) (*unigram, error) {
	entries, err := v.entries("")
	if err != nil {
		return nil, err
	}
	u := &unigram{v: v, trie: newTrie(entries), cm: newCharmap(v.Charmap)}
	u.pool.New = func() any { return new(lattice) }
	return u, nil
}

// Name implements [connector.Counter].
func (u *unigram) Name() string { return u.v.Name }

// Specials implements [Tokenizer].
func (u *unigram) Specials() int { return 2 }

// Encode implements [Tokenizer].
func (u *unigram) Encode(text string, limit int) ([]int32, []connector.Span) {
	ids, spans := []int32{u.v.Begin}, []connector.Span{{}}
	end := 0
	u.each(text, limit, true, func(l *lattice, p piece) {
		span := l.span(p)
		ids, spans, end = append(ids, p.id), append(spans, span), span.End
	}, nil)
	return append(ids, u.v.End), append(spans, connector.Span{Start: end, End: end})
}

// AppendIDs implements [Tokenizer].
func (u *unigram) AppendIDs(ids []int32, text string, limit int) []int32 {
	ids = append(ids, u.v.Begin)
	u.each(text, limit, false, func(_ *lattice, p piece) { ids = append(ids, p.id) }, nil)
	return append(ids, u.v.End)
}

// Count implements [connector.Counter].
func (u *unigram) Count(text string) int { return u.pieces(text) + u.Specials() }

// Ruler implements [connector.Counter].
func (u *unigram) Ruler(text string) connector.Ruler { return newRuler(u, text) }

func (u *unigram) pieces(text string) int {
	n := 0
	u.each(text, 0, false, func(*lattice, piece) { n++ }, nil)
	return n
}

// starts implements [splitter].
func (u *unigram) starts(text string, begin func(at, pieces int)) {
	n := 0
	u.each(text, 0, false, func(*lattice, piece) { n++ }, func(l *lattice) {
		if l.words.whole {
			begin(l.words.start, n)
		}
	})
}

// each calls f for the pieces of a text, at most limit with the special tokens if limit > 0. Begin, if not nil, is called before the
// pieces of each word.
func (u *unigram) each(text string, limit int, spans bool, f func(*lattice, piece), begin func(*lattice)) {
	left := room(limit, u.Specials())
	l := u.pool.Get().(*lattice)
	for l.words.reset(u.cm, text, spans); left > 0 && l.words.next(); {
		if begin != nil {
			begin(l)
		}
		u.viterbi(l)
		for i := len(l.cut) - 1; i >= 0 && left > 0; i-- {
			f(l, l.cut[i])
			left--
		}
	}
	l.words.text, l.words.rest = "", ""
	if cap(l.words.word) <= keep {
		u.pool.Put(l)
	}
}

// room is how many pieces fit between the special tokens.
func room(limit, specials int) int {
	if limit <= 0 {
		return math.MaxInt
	}
	return max(0, limit-specials)
}

// viterbi cuts the word and leaves its pieces in l.cut, the last one first.
func (u *unigram) viterbi(l *lattice) {
	word := l.words.word
	n := len(word)
	l.best, l.last = slices.Grow(l.best[:0], n+1)[:n+1], slices.Grow(l.last[:0], n+1)[:n+1]
	for i := range l.best {
		l.best[i] = math.Inf(-1)
	}
	l.best[0] = 0
	for i := 0; i < n; {
		size := 1
		if word[i] >= utf8.RuneSelf {
			_, size = utf8.DecodeRune(word[i:])
		}
		if known := u.reach(l, word, i, size); !known {
			l.offer(i, i+size, u.v.Unknown, l.best[i]+float64(u.v.UnknownScore))
		}
		i += size
	}
	l.cut = l.cut[:0]
	for at := int32(n); at > 0; {
		p := l.last[at]
		at = p.from
		if k := len(l.cut); k > 0 && p.id == u.v.Unknown && l.cut[k-1].id == p.id {
			l.cut[k-1].from = p.from
			continue
		}
		l.cut = append(l.cut, p)
	}
}

// reach offers the pieces that begin at i, and says whether the character there, of size bytes, is one of them.
func (u *unigram) reach(l *lattice, word []byte, i, size int) (known bool) {
	best := l.best[i]
	for e, node := i, int32(0); e < len(word); {
		if node = u.trie.step(node, word[e]); node < 0 {
			break
		}
		e++
		if id := u.trie.id(node); id >= 0 {
			l.offer(i, e, id, best+float64(u.v.Scores[id]))
			known = known || e == i+size
		}
	}
	return known
}

// offer keeps a piece if nothing better leads to its end.
func (l *lattice) offer(from, to int, id int32, score float64) {
	if score > l.best[to] {
		l.best[to] = score
		l.last[to] = piece{int32(from), int32(to), id}
	}
}

// span is the place of a piece of the word in the text: without the white space before the word, unless it is all of the piece.
func (l *lattice) span(p piece) connector.Span {
	w := &l.words
	if int(p.to) <= len(Mark) {
		return connector.Span{Start: w.start, End: max(w.letter, w.gap)}
	}
	from := max(int(p.from), len(Mark))
	return connector.Span{Start: w.start + int(w.from[from]), End: w.start + int(w.to[p.to-1])}
}
