package tokens

// Encoding by backtracking, after the algorithm of the Rust crate "bpe" of
// GitHub (https://github.blog/ai-and-ml/llms/so-many-tokens-so-little-time-introducing-a-faster-more-flexible-byte-pair-tokenizer/).
//
// A sequence of tokens is the byte-pair encoding of its bytes exactly if each
// two neighbours are the encoding of theirs. So the encoding of a prefix is
// unique, and it is found by depth-first search: at each place the longest
// token is tried that joins the one before, then the shorter ones; a place from
// which nothing joins is never tried again. That makes the search linear.

// joins says whether left, right is the encoding of their bytes. It undoes the
// merges of both, last one first, and looks for a merge across the border that
// would have been made before.
func (v *vocab) joins(left, right uint32) bool {
	limit := none
	for {
		if t := v.merge(left, right); t < limit {
			return false
		}
		if left > right {
			limit = left
			if left = v.right[left]; left != limit {
				continue
			}
			// A byte cannot be taken apart: it is the other's turn.
			limit = right + 1
			if right = v.left[right]; right+1 == limit {
				return true
			}
			continue
		}
		limit = right + 1
		if right = v.left[right]; right+1 != limit {
			continue
		}
		limit = left
		if left = v.right[left]; left == limit {
			return true
		}
	}
}

// search is the memory of one encoding at work. What it remembers from other
// texts saves time, and changes no result.
type search struct {
	stack []uint32              // the tokens so far
	dead  []uint64              // one bit for each place from which nothing joins
	steps int                   // tokens tried, for tests of linearity
	memo  memo                  // the ends of tokens in short pre-tokens
	pairs [1 << pairBits]uint64 // answers of joins
}

const pairBits = 13

// joins is vocab.joins from memory. An entry is the two tokens, counted from 1
// so that 0 is no entry, and the answer as the lowest bit.
func (s *search) joins(v *vocab, left, right uint32) bool {
	key := (uint64(left)<<idBits | uint64(right)) + 1
	at := &s.pairs[key*0x9E3779B97F4A7C15>>(64-pairBits)]
	if *at>>1 == key {
		return *at&1 != 0
	}
	*at = key << 1
	if v.joins(left, right) {
		*at |= 1
		return true
	}
	return false
}

// encode pushes the encoding of piece, which must not be empty, on the stack.
// With a token before (else none), it is the encoding of piece after that
// token, and false means that there is none: the tokens before would have to
// change. stop, if not nil, is asked after each token pushed; it ends the
// search early by true. The place that it sees is that after the token.
func (s *search) encode(v *vocab, piece string, before uint32, stop func(token uint32, at int) bool) bool {
	base := len(s.stack)
	t, n := v.longest(piece)
	if n == len(piece) && before == none {
		s.stack = append(s.stack, t)
		if stop != nil {
			stop(t, n)
		}
		return true
	}
	s.clear(len(piece) + 1)
	last, at := before, 0
	for {
		for t != none {
			s.steps++
			end := at + int(v.length[t])
			if s.dead[end>>6]>>(end&63)&1 == 0 && (last == none || s.joins(v, last, t)) {
				break
			}
			t = v.prefix[t]
		}
		if t != none {
			s.stack = append(s.stack, t)
			last = t
			at += int(v.length[t])
			if stop != nil && stop(t, at) || at == len(piece) {
				return true
			}
			t, _ = v.longest(piece[at:])
			continue
		}
		if len(s.stack) == base {
			return false
		}
		s.dead[at>>6] |= 1 << (at & 63)
		t = s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		at -= int(v.length[t])
		last = before
		if len(s.stack) > base {
			last = s.stack[len(s.stack)-1]
		}
		t = v.prefix[t]
	}
}

// clear makes dead n bits of zero.
func (s *search) clear(n int) {
	words := (n + 63) >> 6
	if cap(s.dead) < words {
		s.dead = make([]uint64, words, words+words/4)
		return
	}
	s.dead = s.dead[:words]
	clear(s.dead)
}

// keep is the most that a search may hold to be used again.
const keep = 1 << 16

// reset makes the search ready for another text; false says that it has grown
// too large to keep.
func (s *search) reset() bool {
	s.stack = s.stack[:0]
	s.steps = 0
	return cap(s.stack) <= keep && cap(s.dead) <= keep
}
