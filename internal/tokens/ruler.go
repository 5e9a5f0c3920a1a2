package tokens

import (
	"math/bits"
	"sort"
)

// Ruler measures byte ranges of one text in tokens. It keeps the text and, for
// each of its bytes, about a third of a byte. It is safe for concurrent use.
//
// A range is not the sum of its parts: cut off from the rest, its first and
// last pre-tokens can be others than in the whole text, and so can the tokens
// in a pre-token that is cut. But pre-tokens depend on what follows them only,
// and on little of that; so those of the range meet those of the text after a
// few, and leave them shortly before the end. The same holds for the tokens in
// a long pre-token, where joins tells that they have met. So a count costs the
// two ends, not the length, except where they do not meet: in a range inside a
// long run of digits, in which groups of three start at its beginning.
type Ruler struct {
	e      *Encoding
	text   string
	tok    bitset   // the places where a token starts, and the end
	pre    bitset   // the places where a pre-token starts, and the end
	before []uint32 // the tokens that start before each word of tok
}

// Ruler makes the ruler for text, which must be below 4 GiB, in the time of
// about one Count of it.
func (e *Encoding) Ruler(text string) *Ruler {
	r := &Ruler{e: e, text: text, tok: newBitset(len(text)), pre: newBitset(len(text))}
	s := e.search()
	defer e.done(s)
	r.tok.set(0)
	r.pre.set(0)
	for p := 0; p < len(text); {
		q := e.scan(e.classes, text, p)
		r.pre.set(q)
		if q-p <= memoMax {
			r.tok.or(p+1, s.ends(e.vocab, text, p, q))
		} else {
			s.stack = s.stack[:0]
			s.encode(e.vocab, text[p:q], none, nil)
			at := p
			for _, t := range s.stack {
				at += int(e.vocab.length[t])
				r.tok.set(at)
			}
		}
		p = q
	}
	r.before = make([]uint32, len(r.tok))
	n := 0
	for w, word := range r.tok {
		r.before[w] = uint32(n)
		n += bits.OnesCount64(word)
	}
	return r
}

// rank returns the number of tokens of the text that start before p.
func (r *Ruler) rank(p int) int {
	w := p >> 6
	return int(r.before[w]) + bits.OnesCount64(r.tok[w]&(1<<(p&63)-1))
}

// place returns where token number k of the text starts, from 0; the end of
// the text if there are not so many.
func (r *Ruler) place(k int) int {
	if k >= r.rank(len(r.text)) {
		return len(r.text)
	}
	w := sort.Search(len(r.before), func(w int) bool { return int(r.before[w]) > k }) - 1
	word := r.tok[w]
	for range k - int(r.before[w]) {
		word &= word - 1
	}
	return w<<6 + bits.TrailingZeros64(word)
}

// Count returns exactly Encoding.Count(text[i:j]), for any 0 <= i <= j <=
// len(text), also inside runes.
func (r *Ruler) Count(i, j int) int {
	s := r.e.search()
	defer r.e.done(s)
	return r.count(s, i, j, j-i)
}

// count is Count, or a number above limit if that is.
func (r *Ruler) count(s *search, i, j, limit int) int {
	text := r.text[:j]
	n, p := 0, i
	for p < j && !r.pre.has(p) {
		if n > limit {
			return n
		}
		q := r.e.scan(r.e.classes, text, p)
		n += r.piece(s, p, q)
		p = q
	}
	if p < j {
		end := r.settled(p, j)
		n += r.rank(end) - r.rank(p)
		p = end
	}
	for p < j {
		q := r.e.scan(r.e.classes, text, p)
		n += r.piece(s, p, q)
		p = q
	}
	return n
}

// margin is more than the bytes that a pre-token's end depends on after the
// run that zone finds: a rune, or the start of a contraction and a rune.
const margin = 8

// settled returns a place from p to j, both included, up to which the
// pre-tokens from p, where one starts, are the same in text[:j] as in the text.
func (r *Ruler) settled(p, j int) int {
	if j == len(r.text) {
		return j
	}
	b := r.pre.floor(j, p)
	for b > p && r.zone(b, j)+margin > j {
		b = r.pre.floor(b-1, p)
	}
	return b
}

// zone returns the end of what a pre-token that ends at b has to look at, less
// a few bytes, or j if that is first: white space up to its end, and in o200k
// capital letters up to the one that no small letter follows.
func (r *Ruler) zone(b, j int) int {
	t, text := r.e.classes, r.text[:j]
	q := t.run(text, b, space)
	for q < j {
		cl, size := t.at(text, q)
		if cl&(up|low) != up {
			break
		}
		q += size
	}
	return q
}

// direct is the length in bytes up to which a pre-token is just encoded.
const direct = 128

// piece returns the number of tokens of text[p:q], a pre-token of some range.
func (r *Ruler) piece(s *search, p, q int) int {
	switch {
	case r.pre.has(p) && r.pre.has(q) && r.pre.ceil(p+1, q) == q:
		return r.rank(q) - r.rank(p)
	case q-p <= direct:
		return s.count(r.e.vocab, r.text, p, q)
	}
	if n := r.long(s, p, q); n >= 0 {
		return n
	}
	s.stack = s.stack[:0]
	s.encode(r.e.vocab, r.text[p:q], none, nil)
	return len(s.stack)
}

// long is piece for a part of one pre-token of the text. It encodes only the
// ends, and takes the tokens of the text between. It returns -1 where that
// does not lead to the encoding.
func (r *Ruler) long(s *search, p, q int) int {
	if r.pre.ceil(p+1, q) < q {
		return -1 // there are several
	}
	head, at, last := 0, p, none
	if !r.pre.has(p) {
		if head, at, last = r.meet(s, p, q); at == q {
			return head
		}
	}
	if r.pre.has(q) {
		return head + r.rank(q) - r.rank(at)
	}
	for back := direct / 2; ; back *= 4 {
		from, before := r.tok.floor(q-back, at), last
		if from > at {
			before = r.tokenBefore(from)
		}
		s.stack = s.stack[:0]
		if s.encode(r.e.vocab, r.text[from:q], before, nil) {
			return head + r.rank(from) - r.rank(at) + len(s.stack)
		}
		if from == at {
			return -1
		}
	}
}

// meet encodes text[p:q], a part of a pre-token of the text, up to the place
// from which the tokens are those of the text, or to q. It returns how many
// tokens there are before that place, the place, and the last of them.
func (r *Ruler) meet(s *search, p, q int) (n, at int, last uint32) {
	s.stack = s.stack[:0]
	at, last = q, none
	s.encode(r.e.vocab, r.text[p:q], none, func(t uint32, after int) bool {
		here := p + after
		if here >= q || !r.tok.has(here) {
			return false
		}
		next := r.tok.ceil(here+1, q+1)
		if next > q || !r.e.vocab.joins(t, r.e.vocab.lookup(r.text[here:next])) {
			return false
		}
		at, last = here, t
		return true
	})
	return len(s.stack), at, last
}

// tokenBefore returns the token of the text that ends at p.
func (r *Ruler) tokenBefore(p int) uint32 {
	return r.e.vocab.lookup(r.text[r.tok.floor(p-1, 0):p])
}

// Fits says whether Count(i, j) <= max. It is cheaper than Count where the
// answer is clear.
func (r *Ruler) Fits(i, j, max int) bool {
	s := r.e.search()
	defer r.e.done(s)
	return r.fits(s, i, j, max)
}

func (r *Ruler) fits(s *search, i, j, max int) bool {
	switch {
	case j-i <= max:
		return true
	case max < 0 || j-i > max*r.e.vocab.most:
		return false
	}
	return r.count(s, i, j, max) <= max
}
