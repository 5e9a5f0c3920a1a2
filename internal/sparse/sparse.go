// Package sparse makes sparse vectors whose inner product is BM25: the term frequency's half stands in the document's vector,
// the question's holds 1 a term, and the inverse document frequency is multiplied in by the database or by the caller.
//
// Terms are those of package ngrams, hashed to 32 bits, and beside the pairs of characters of scripts without spaces their single
// characters, so that a question of one character finds it.
package sparse

import (
	"cmp"
	"hash/fnv"
	"slices"
	"unicode/utf8"

	"github.com/kbsync/kbsync/internal/ngrams"
)

// BM25's parameters (Robertson and Zaragoza 2009), and the length in terms that counts as usual: a database that computes the
// inverse document frequency does not know the average length, so it is a constant, as in Qdrant's own BM25 model.
const (
	K1         = 1.2
	B          = 0.75
	MeanLength = 256
)

// Vector is a sparse vector: Indices ascend without repetition, each with its value.
type Vector struct {
	Indices []uint32
	Values  []float32
}

// Document is the vector of a text: per term f·(K1+1) / (f + K1·(1−B+B·length/MeanLength)). A text without terms gives an empty
// vector.
func Document(text string) Vector {
	counts := map[uint32]float64{}
	length := 0.0
	ngrams.Each(text, func(term []byte, kind ngrams.Kind) {
		length++
		if kind == ngrams.Word {
			counts[hash(0, term)]++
			return
		}
		if kind == ngrams.Bigram {
			counts[hash(0, term)]++
		}
		_, n := utf8.DecodeRune(term)
		counts[hash(1, term[:n])]++
	})
	norm := K1 * (1 - B + B*length/MeanLength)
	return collect(counts, func(f float64) float64 { return f * (K1 + 1) / (f + norm) })
}

// Query is the vector of a question: 1 for each distinct term.
func Query(text string) Vector {
	counts := map[uint32]float64{}
	for _, t := range ngrams.Query(text) {
		if t.Prefix {
			counts[hash(1, []byte(t.Text))] = 1
		} else {
			counts[hash(0, []byte(t.Text))] = 1
		}
	}
	return collect(counts, func(f float64) float64 { return f })
}

func collect(counts map[uint32]float64, weight func(float64) float64) Vector {
	type entry struct {
		index uint32
		value float32
	}
	entries := make([]entry, 0, len(counts))
	for i, f := range counts {
		entries = append(entries, entry{i, float32(weight(f))})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.index, b.index) })
	v := Vector{Indices: make([]uint32, len(entries)), Values: make([]float32, len(entries))}
	for i, e := range entries {
		v.Indices[i], v.Values[i] = e.index, e.value
	}
	return v
}

// hash is FNV-1a of the term, those of single characters apart from the others. The highest bit is clear, since some databases
// take signed indexes.
func hash(space byte, term []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte{space})
	_, _ = h.Write(term)
	sum := h.Sum32()
	return (sum ^ sum>>31) & 0x7fffffff
}
