// Package tokens counts and makes the tokens of OpenAI's encodings cl100k_base
// and o200k_base, offline, with the same ids as OpenAI's tiktoken.
//
// Special tokens do not exist here: "<|endoftext|>" in a text is plain text.
//
// A text need not be valid UTF-8. A byte that is no part of a valid rune is
// taken as it is: it is a symbol of one byte for the pre-tokeniser and encodes
// as that byte, so Decode gives it back. (tiktoken takes no such text.)
//
// Character classes are those of the Unicode version of package unicode;
// tiktoken's may be newer by the letters of a release or two.
package tokens

import (
	"fmt"
	"math/bits"
	"strings"
	"sync"
)

// Encoding is one vocabulary with its pre-tokeniser. It is safe for concurrent
// use. The time of all methods is linear in the length of the text, whatever
// the text.
type Encoding struct {
	name    string
	vocab   *vocab
	scan    scanner
	classes *classTable
	pool    sync.Pool // of *search
}

// Name returns "cl100k" or "o200k".
func (e *Encoding) Name() string { return e.name }

type loader func() (*Encoding, error)

func newLoader(name, file string, scan scanner) loader {
	return sync.OnceValues(func() (*Encoding, error) {
		v, err := loadVocab(file)
		if err != nil {
			return nil, err
		}
		e := &Encoding{name: name, vocab: v, scan: scan, classes: sharedClasses()}
		e.pool.New = func() any { return new(search) }
		return e, nil
	})
}

var (
	loadCL100K = newLoader("cl100k", "cl100k_base.tiktoken", scanCL100K)
	loadO200K  = newLoader("o200k", "o200k_base.tiktoken", scanO200K)
)

// Get returns the encoding of that name: "cl100k" or "cl100k_base", "o200k" or
// "o200k_base". The first call for an encoding loads its vocabulary, which is
// part of the program; it stays in memory. It fails for any other name.
func Get(name string) (*Encoding, error) {
	switch name {
	case "cl100k", "cl100k_base":
		return loadCL100K()
	case "o200k", "o200k_base":
		return loadO200K()
	}
	return nil, fmt.Errorf("tokens: unknown encoding %q (known: cl100k, o200k)", name)
}

func (e *Encoding) search() *search { return e.pool.Get().(*search) }

func (e *Encoding) done(s *search) {
	if s.reset() {
		e.pool.Put(s)
	}
}

// Count returns the number of tokens of text.
func (e *Encoding) Count(text string) int {
	s := e.search()
	defer e.done(s)
	n := 0
	for p := 0; p < len(text); {
		q := e.scan(e.classes, text, p)
		n += s.count(e.vocab, text, p, q)
		p = q
	}
	return n
}

// Encode appends the token ids of text to dst.
func (e *Encoding) Encode(dst []int, text string) []int {
	s := e.search()
	defer e.done(s)
	for p := 0; p < len(text); {
		q := e.scan(e.classes, text, p)
		s.stack = s.stack[:0]
		s.encode(e.vocab, text[p:q], none, nil)
		for _, t := range s.stack {
			dst = append(dst, int(t))
		}
		p = q
	}
	return dst
}

// Decode returns the text of the tokens. It fails on a number that is no token
// of the vocabulary; the ids of special tokens are none.
func (e *Encoding) Decode(ids []int) (string, error) {
	var b strings.Builder
	for _, id := range ids {
		if id < 0 || id >= int(e.vocab.size) {
			return "", fmt.Errorf("tokens: %d is no token of %s", id, e.name)
		}
		b.WriteString(e.vocab.token(uint32(id)))
	}
	return b.String(), nil
}

// Offsets returns the offset in bytes after each token of text, as many as
// Count(text). An offset may be inside a rune. text must be below 2 GiB.
func (e *Encoding) Offsets(text string) []int32 {
	s := e.search()
	defer e.done(s)
	ends := make([]int32, 0, len(text)/3)
	for p := 0; p < len(text); {
		q := e.scan(e.classes, text, p)
		if q-p <= memoMax {
			for set := s.ends(e.vocab, text, p, q); set != 0; set &= set - 1 {
				ends = append(ends, int32(p+1+bits.TrailingZeros16(set)))
			}
			p = q
			continue
		}
		s.stack = s.stack[:0]
		s.encode(e.vocab, text[p:q], none, nil)
		for _, t := range s.stack {
			p += int(e.vocab.length[t])
			ends = append(ends, int32(p))
		}
	}
	return ends
}
