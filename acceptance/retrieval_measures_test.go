package acceptance

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// quality is one figure for each of metrics.
type quality [4]float64

func metrics() []string { return []string{"recall@5", "nDCG@10", "hit@5", "MRR@10"} }

// depth is how many hits are asked for.
const depth = 10

// judge rates an answer: ids of chunks, best first.
func (s *searched) judge(q asked, ids []string) quality {
	gains := make([]float64, len(ids))
	for i, id := range ids {
		gains[i] = q.gain(s.chunks[id])
	}
	var ideal []float64
	for _, c := range s.chunks {
		if g := q.gain(c); g > 0 {
			ideal = append(ideal, g)
		}
	}
	slices.SortFunc(ideal, func(a, b float64) int { return cmp.Compare(b, a) })
	var out quality
	for _, g := range gains[:min(5, len(gains))] {
		out[0] += g
	}
	out[0] = min(1, out[0])
	if best := discounted(ideal); best > 0 {
		out[1] = discounted(gains) / best
	}
	if first := slices.IndexFunc(gains, func(g float64) bool { return g > 0 }); first >= 0 {
		out[3] = 1 / float64(first+1)
		if first < 5 {
			out[2] = 1
		}
	}
	return out
}

// discounted is the discounted cumulative gain (Järvelin and Kekäläinen 2002) of the first hits. What was found already gains nothing.
func discounted(gains []float64) (sum float64) {
	found := 0.0
	for i, g := range gains[:min(depth, len(gains))] {
		g = min(g, 1-found)
		found += g
		sum += g / math.Log2(float64(i+2))
	}
	return sum
}

// TestJudge checks the measures by hand.
func TestJudge(t *testing.T) {
	chunk := func(path string, start, end int) *connector.Record {
		return &connector.Record{Path: path, Spans: []connector.Span{{Start: start, End: end}}}
	}
	s := &searched{chunks: map[string]*connector.Record{
		"a": chunk("d", 0, 100), "b": chunk("d", 100, 200), "c": chunk("d", 200, 300), "x": chunk("e", 0, 100), "y": chunk("e", 100, 200),
	}}
	parts := asked{path: "d", references: union([]connector.Span{{Start: 180, End: 210}, {Start: 90, End: 140}, {Start: 130, End: 140}})}
	whole := asked{path: "e"}
	log3 := math.Log2(3)
	for _, tt := range []struct {
		name string
		q    asked
		ids  []string
		want quality
	}{
		{"all in order", parts, []string{"b", "a", "c"}, quality{1, 1, 1, 1}},
		{"most of it second", parts, []string{"x", "b"}, quality{0.75, 0.75 / log3 / (0.75 + 0.125/log3 + 0.125/2), 1, 0.5}},
		{"too late for five", parts, []string{"x", "y", "x", "y", "x", "a"}, quality{0, 0.125 / math.Log2(7) / (0.75 + 0.125/log3 + 0.125/2), 0, 1. / 6}},
		{"nothing", parts, []string{"x"}, quality{}},
		{"a document counts once", whole, []string{"y", "x"}, quality{1, 1, 1, 1}},
		{"no answer", whole, nil, quality{}},
	} {
		got := s.judge(tt.q, tt.ids)
		for i := range got {
			if math.Abs(got[i]-tt.want[i]) > 1e-12 {
				t.Errorf("%s: %s is %v, want %v", tt.name, metrics()[i], got[i], tt.want[i])
			}
		}
	}
}
