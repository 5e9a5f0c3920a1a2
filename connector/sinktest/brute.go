package sinktest

import (
	"fmt"
	"math"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/fusion"
	"github.com/kbsync/kbsync/internal/ngrams"
)

// bruteSearch answers q from points by comparing with every one.
func bruteSearch(points []connector.Point, distance string, q connector.Query) ([]connector.Hit, error) {
	byID := map[string]connector.Point{}
	var candidates []connector.Point
	for _, p := range points {
		if p.Vector != nil && Matches(&p.Record, q.Filter) {
			candidates = append(candidates, p)
			byID[p.ChunkID] = p
		}
	}
	var ranked []fusion.Ranked
	switch q.Mode {
	case connector.ModeDense:
		ranked = denseRanking(candidates, distance, q.Vector)
	case connector.ModeLexical:
		ranked = lexicalRanking(candidates, q.Text)
	case connector.ModeHybrid:
		near, said := denseRanking(candidates, distance, q.Vector), lexicalRanking(candidates, q.Text)
		depth := fusion.Depth(q.K)
		ranked = fusion.Hybrid(q, near[:min(depth, len(near))], said[:min(depth, len(said))])
	}
	ranked = ranked[:max(0, min(q.K, len(ranked)))]
	hits := make([]connector.Hit, len(ranked))
	for i, r := range ranked {
		p, err := clonePoint(byID[r.ID], false)
		if err != nil {
			return nil, err
		}
		hits[i] = connector.Hit{Score: r.Score, Point: p}
	}
	return hits, nil
}

func denseRanking(points []connector.Point, distance string, query []float32) []fusion.Ranked {
	out := make([]fusion.Ranked, 0, len(points))
	for _, p := range points {
		out = append(out, fusion.Ranked{ID: p.ChunkID, Score: similarity(distance, query, p.Vector)})
	}
	fusion.Sort(out)
	return out
}

// similarity is higher for nearer vectors: the cosine, the dot product, or minus the Euclidean distance.
func similarity(distance string, a, b []float32) float64 {
	var dot, l2 float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		l2 += (float64(a[i]) - float64(b[i])) * (float64(a[i]) - float64(b[i]))
	}
	switch distance {
	case "dot":
		return dot
	case "l2":
		return -math.Sqrt(l2)
	}
	return dot / (norm(a) * norm(b))
}

func norm(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// lexicalRanking is BM25 (Robertson and Zaragoza 2009; k1 = 1.2, b = 0.75) over the terms of package ngrams; points
// without any term of the question are left out.
func lexicalRanking(points []connector.Point, question string) []fusion.Ranked {
	terms := ngrams.Query(question)
	counts := make([]map[string]int, len(points)) // per point and term
	lengths := make([]float64, len(points))
	df := map[string]int{}
	total := 0.0
	for i, p := range points {
		counts[i] = map[string]int{}
		ngrams.Each(p.EmbedText, func(term []byte, _ ngrams.Kind) {
			lengths[i]++
			for _, t := range terms {
				if t.Text == string(term) || t.Prefix && strings.HasPrefix(string(term), t.Text) {
					counts[i][t.Text]++
				}
			}
		})
		total += lengths[i]
		for t := range counts[i] {
			df[t]++
		}
	}
	var out []fusion.Ranked
	for i, p := range points {
		score := 0.0
		for _, t := range terms {
			if f := float64(counts[i][t.Text]); f > 0 {
				idf := math.Log(1 + (float64(len(points)-df[t.Text])+0.5)/(float64(df[t.Text])+0.5))
				score += idf * f * 2.2 / (f + 1.2*(0.25+0.75*lengths[i]*float64(len(points))/total))
			}
		}
		if score > 0 {
			out = append(out, fusion.Ranked{ID: p.ChunkID, Score: score})
		}
	}
	fusion.Sort(out)
	return out
}

// Matches says whether a record meets every condition of filter.
func Matches(r *connector.Record, filter connector.Filter) bool {
	for _, c := range filter {
		if !matchesOne(r, c) {
			return false
		}
	}
	return true
}

func matchesOne(r *connector.Record, c connector.Condition) bool {
	var field any
	switch c.Field {
	case "source":
		field = r.Source
	case "path":
		field = r.Path
	case "doc_id":
		field = r.DocID
	case "chunk_id":
		field = r.ChunkID
	case "parent_id":
		field = r.ParentID
	case "content_hash":
		field = r.ContentHash
	default:
		v, ok := r.Metadata[c.Field]
		if !ok {
			return false
		}
		field = v
	}
	values, isList := field.([]any)
	if !isList {
		values = []any{field}
	}
	for _, v := range values {
		for _, want := range c.Values {
			if scalar(v) == scalar(want) {
				return true
			}
		}
	}
	return false
}

// scalar spells a JSON scalar so that equal ones have equal spellings; lists and objects equal nothing.
func scalar(v any) string {
	c, err := Canonical(v)
	if err != nil {
		return fmt.Sprintf("error %p", &v)
	}
	switch c := c.(type) {
	case nil:
		return "null"
	case bool, int64:
		return fmt.Sprintf("%T %v", c, c)
	case float64:
		if c == math.Trunc(c) && math.Abs(c) < 1<<63 {
			return fmt.Sprintf("int64 %d", int64(c))
		}
		return fmt.Sprintf("float64 %v", c)
	case string:
		return "string " + c
	}
	return fmt.Sprintf("no scalar %p", &v)
}
