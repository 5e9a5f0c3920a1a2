// Package neardup finds texts that say the same in nearly the same words.
//
// A text is the set of its shingles: every run of three words, or of three characters of a script that does not separate words, with
// case, punctuation and spaces put aside. Texts are compared by the Jaccard index of these sets, exactly; which texts are compared at all is
// found by MinHash in bands (Broder 1997; Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, chapter 3), so that time stays in
// proportion to the texts.
//
// Texts that differ in a number or in a negation are never near, however long they are: "version 1.2" and "version 1.3", the tables of 2023
// and 2024, "may" and "may not", 第三条 and 第四条 are different statements in the same words.
//
// # Limits
//
// Memory is bounded: when the shingles that are kept exceed a bound, the oldest texts are forgotten. Of the texts that share a band with a new one, a
// few are compared: an adversary can hide a copy among many texts that are nearly as near. Everything is deterministic.
package neardup

import (
	"fmt"
	"slices"
)

// Version is raised whenever other texts may count as near.
const Version = 1

// MinThreshold is the lowest threshold that the bands are made for.
const MinThreshold = 0.8

// DefaultThreshold is the Jaccard index from which texts are near.
const DefaultThreshold = 0.9

// The bands: pairs of a Jaccard index of 0.8 share one with a probability of 99.8 %, of 0.9 with more than 99.999 %.
const (
	bands = 21
	rows  = 6
)

const (
	// minShingles is the fewest of a text that is compared: of shorter ones every word matters.
	minShingles = 8
	// maxKept bounds the shingles that are remembered: 32 MiB.
	maxKept = 4 << 20
	// maxCandidates bounds the texts that one is compared with, maxBucket those that a band remembers under one key.
	maxCandidates = 16
	maxBucket     = 4
)

// Index holds the texts seen so far. It is used by one goroutine at a time.
type Index struct {
	threshold float64
	texts     map[int]*text // by number
	buckets   map[uint64][]int
	next      int // number of the next text
	oldest    int
	kept      int // shingles
	most      int // of them that are kept
	compared  int // exact comparisons so far
}

type text struct {
	id       int
	shingles []uint64 // ascending
	marks    uint64   // of numbers and negations, in order
	keys     [bands]uint64
}

// New makes an empty index; a threshold outside of [MinThreshold] to 1 is an error.
func New(threshold float64) (*Index, error) {
	if !(threshold >= MinThreshold && threshold <= 1) {
		return nil, fmt.Errorf("the threshold is %v: expected %v to 1", threshold, MinThreshold)
	}
	return &Index{threshold: threshold, texts: map[int]*text{}, buckets: map[uint64][]int{}, most: maxKept}, nil
}

// Add looks for a text that is near to this one. Where there is one, near is true, of is the id of the nearest (the first of equals), and the index
// stays as it is; else the text is kept under id.
func (x *Index) Add(id int, s string) (of int, near bool) {
	sh, marks := shingles(s)
	if len(sh) < minShingles {
		return 0, false
	}
	t := &text{id: id, shingles: sh, marks: marks, keys: bandKeys(sh)}
	if best := x.nearest(t); best != nil {
		return best.id, true
	}
	x.keep(t)
	return 0, false
}

// nearest is the kept text that is nearest to t, if that is near enough.
func (x *Index) nearest(t *text) (best *text) {
	var seen []int
	var share float64
	for _, key := range t.keys {
		for _, n := range x.buckets[key] {
			other := x.texts[n]
			if other == nil || slices.Contains(seen, n) {
				continue
			}
			if len(seen) == maxCandidates {
				return best
			}
			seen = append(seen, n)
			if j := x.jaccard(t, other); j >= x.threshold && j > share {
				best, share = other, j
			}
		}
	}
	return best
}

// jaccard is the share of the shingles of both that each has; 0 for texts that cannot be near.
func (x *Index) jaccard(a, b *text) float64 {
	la, lb := len(a.shingles), len(b.shingles)
	if a.marks != b.marks || float64(min(la, lb)) < x.threshold*float64(max(la, lb)) {
		return 0
	}
	x.compared++
	both := 0
	for i, j := 0, 0; i < la && j < lb; {
		switch p, q := a.shingles[i], b.shingles[j]; {
		case p == q:
			both, i, j = both+1, i+1, j+1
		case p < q:
			i++
		default:
			j++
		}
	}
	return float64(both) / float64(la+lb-both)
}

func (x *Index) keep(t *text) {
	n := x.next
	x.next++
	x.texts[n] = t
	x.kept += len(t.shingles)
	for _, key := range t.keys {
		b := x.buckets[key]
		if len(b) == maxBucket {
			b = b[:copy(b, b[1:])]
		}
		x.buckets[key] = append(b, n)
	}
	for x.kept > x.most && x.oldest < n {
		x.forget(x.oldest)
		x.oldest++
	}
}

func (x *Index) forget(n int) {
	t := x.texts[n]
	delete(x.texts, n)
	x.kept -= len(t.shingles)
	for _, key := range t.keys {
		b := slices.DeleteFunc(x.buckets[key], func(m int) bool { return m == n })
		if len(b) == 0 {
			delete(x.buckets, key)
			continue
		}
		x.buckets[key] = b
	}
}

// bandKeys are the signature of a set, band by band: texts share a band's key if the least hashes of all its rows are equal.
func bandKeys(sh []uint64) (keys [bands]uint64) {
	for b := range bands {
		key := mix(uint64(b) + 1)
		for r := range rows {
			// One of a family of permutations: an odd multiplier and a mix.
			seed := mix(uint64(b*rows+r)+0x9E37) | 1
			least := ^uint64(0)
			for _, s := range sh {
				if h := s * seed; h^h>>29 < least {
					least = h ^ h>>29
				}
			}
			key = mix(key ^ least)
		}
		keys[b] = key
	}
	return keys
}

// mix is the finalizer of splitmix64 (Steele, Lea and Flood 2014).
func mix(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
