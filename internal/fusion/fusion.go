// Package fusion joins rankings of the same items into one, for all sinks in the same way.
//
// [Hybrid] is what a hybrid query does. Its relative score is a convex combination of the two rankings' scores (Bruch, Gai and Ingber,
// "An Analysis of Fusion Functions for Hybrid Retrieval", 2022), each normalised by the least and the greatest of its candidates: the
// cosines of many models lie in a narrow band (those of e5 between 0.75 and 0.95), so bounds that hold for any cosine would leave
// nothing of their differences. The vectors' share of the score is the only number that matters much. A half serves models that see
// meaning: which side is the better one depends more on the documents than on the model. A model whose vectors are made of words may
// name less ([connector.Model.HybridShare]). docs/benchmarks.md has the measurements.
package fusion

import (
	"cmp"
	"slices"

	"github.com/kbsync/kbsync/connector"
)

// RRFConstant is the k of reciprocal rank fusion that its authors use.
const RRFConstant = 60

// DefaultShare is what the vectors weigh in a relative score, the words having the rest, where the query does not say.
const DefaultShare = 0.5

// Depth is how many candidates each ranking contributes to a hybrid answer of k hits.
func Depth(k int) int { return max(100, 5*k) }

// Hybrid joins the best [Depth] by vectors and by words as the query asks: by relative score, or by reciprocal ranks, which know no
// share. The result is sorted by [Sort].
func Hybrid(q connector.Query, dense, lexical []Ranked) []Ranked {
	if q.Fusion == connector.FusionRRF {
		return RRF([][]Ranked{dense, lexical}, RRFConstant)
	}
	share := q.Share
	if !(share > 0 && share <= 1) {
		share = DefaultShare
	}
	return Relative([][]Ranked{dense, lexical}, []float64{share, 1 - share})
}

// Ranked is an item of a ranking with its score; higher is better.
type Ranked struct {
	ID    string
	Score float64
}

// Relative joins rankings by relative score: each list's scores are normalised to [0, 1] by its own minimum and
// maximum (a list whose scores are all equal counts 1 throughout), and an item's score is the weighted mean over the
// lists, 0 where a list lacks it. Nil weights are equal ones. The result is sorted by [Sort].
func Relative(lists [][]Ranked, weights []float64) []Ranked {
	total := 0.0
	for i := range lists {
		total += weight(weights, i)
	}
	sum := map[string]float64{}
	for i, list := range lists {
		lo, hi := bounds(list)
		for _, r := range list {
			norm := 1.0
			if hi > lo {
				norm = (r.Score - lo) / (hi - lo)
			}
			share := 0.0
			if total > 0 {
				share = norm * weight(weights, i) / total
			}
			sum[r.ID] += share
		}
	}
	return collect(sum)
}

// RRF joins rankings by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): an item's score is the sum
// over the lists of 1/(k + rank), ranks from 1. Each list must be in order, best first; scores are not looked at.
func RRF(lists [][]Ranked, k int) []Ranked {
	sum := map[string]float64{}
	for _, list := range lists {
		for rank, r := range list {
			sum[r.ID] += 1 / float64(k+rank+1)
		}
	}
	return collect(sum)
}

// Sort orders by score, best first, and equal scores by id.
func Sort(list []Ranked) { slices.SortFunc(list, better) }

func better(a, b Ranked) int {
	if c := cmp.Compare(b.Score, a.Score); c != 0 {
		return c
	}
	return cmp.Compare(a.ID, b.ID)
}

func weight(weights []float64, i int) float64 {
	if i >= len(weights) {
		return 1
	}
	return weights[i]
}

func bounds(list []Ranked) (lo, hi float64) {
	for i, r := range list {
		if i == 0 || r.Score < lo {
			lo = r.Score
		}
		if i == 0 || r.Score > hi {
			hi = r.Score
		}
	}
	return lo, hi
}

func collect(sum map[string]float64) []Ranked {
	out := make([]Ranked, 0, len(sum))
	for id, score := range sum {
		out = append(out, Ranked{id, score})
	}
	Sort(out)
	return out
}
