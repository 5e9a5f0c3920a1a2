package milvus

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/fusion"
	"github.com/kbsync/kbsync/internal/sparse"
)

// idfLife is how long a number of documents is used again.
const idfLife = time.Minute

// effort is how many hits a count may cost. The inverse document frequency is the part of BM25 that this side has to know. How
// many documents hold a term is counted by a search for the term alone: exactly up to a number of hits, and beyond by a sample
// of the points, which the ids (random by their making) give for a range of them.
type effort struct{ exact, sample int }

// effort is smaller for Milvus Lite, which takes half a millisecond for each hit.
func (s *server) effort() effort {
	if s.lite {
		return effort{exact: 64, sample: 512}
	}
	return effort{exact: 1000, sample: 4096}
}

// idf is a number of documents, and until when it may be used.
type idf struct {
	documents float64
	until     time.Time
}

// lexical ranks by BM25: one search with the question's sparse vector, the weights of which are the terms' inverse document
// frequencies.
func (c *Collection) lexical(ctx context.Context, text, expr string, k int) ([]fusion.Ranked, error) {
	question := sparse.Query(text)
	if len(question.Indices) == 0 {
		return nil, nil
	}
	weighted, err := c.weigh(ctx, question)
	if err != nil || len(weighted.Indices) == 0 {
		return nil, err
	}
	results, err := c.sparseSearch(ctx, expr, []sparse.Vector{weighted}, min(k, maxHits))
	if err != nil || len(results) == 0 {
		return nil, err
	}
	ranked := slices.DeleteFunc(results[0], func(r fusion.Ranked) bool { return r.Score <= 0 })
	fusion.Sort(ranked)
	return ranked, nil
}

func (c *Collection) sparseSearch(ctx context.Context, expr string, questions []sparse.Vector, k int) ([][]fusion.Ranked, error) {
	vectors := make([]entity.Vector, len(questions))
	for i, q := range questions {
		e, err := entity.NewSliceSparseEmbedding(q.Indices, q.Values)
		if err != nil {
			return nil, connector.Errorf(connector.ClassInvalid, "%w", err)
		}
		vectors[i] = e
	}
	param, err := entity.NewIndexSparseInvertedSearchParam(0)
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "%w", err)
	}
	results, err := c.search(ctx, expr, nil, vectors, "sparse", entity.IP, k, param)
	if err != nil {
		return nil, err
	}
	out := make([][]fusion.Ranked, len(results))
	for i, r := range results {
		if out[i], err = c.rankedOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// weigh multiplies the inverse document frequencies in; terms that no document holds fall out.
func (c *Collection) weigh(ctx context.Context, question sparse.Vector) (sparse.Vector, error) {
	now := time.Now()
	c.mu.Lock()
	if c.idfs == nil {
		c.idfs = map[uint32]idf{}
	}
	for term, known := range c.idfs {
		if now.After(known.until) {
			delete(c.idfs, term)
		}
	}
	documents := map[uint32]float64{}
	var missing []uint32
	for _, term := range question.Indices {
		if known, ok := c.idfs[term]; ok {
			documents[term] = known.documents
		} else {
			missing = append(missing, term)
		}
	}
	total := c.total
	c.mu.Unlock()
	if len(missing) > 0 || now.After(total.until) {
		n, err := c.count(ctx, "")
		if err != nil {
			return sparse.Vector{}, err
		}
		total = idf{float64(n), now.Add(idfLife)}
		counted, err := c.documents(ctx, missing, n)
		if err != nil {
			return sparse.Vector{}, err
		}
		c.mu.Lock()
		c.total = total
		for term, n := range counted {
			documents[term] = n
			if n > 0 { // what is not there yet may come at any moment
				c.idfs[term] = idf{n, now.Add(idfLife)}
			}
		}
		c.mu.Unlock()
	}
	var out sparse.Vector
	for i, term := range question.Indices {
		if n := documents[term]; n > 0 {
			out.Indices = append(out.Indices, term)
			out.Values = append(out.Values, question.Values[i]*float32(math.Log1p((max(total.documents, n)-n+0.5)/(n+0.5))))
		}
	}
	return out, nil
}

// documents counts the documents that hold each of the terms.
func (c *Collection) documents(ctx context.Context, terms []uint32, total int) (map[uint32]float64, error) {
	out := map[uint32]float64{}
	frequent, cost := terms, c.server.effort()
	for _, step := range []struct {
		limit int
		share float64
	}{{cost.exact, 1}, {maxHits, float64(cost.sample) / float64(max(total, cost.sample))}} {
		if len(frequent) == 0 {
			break
		}
		questions := make([]sparse.Vector, len(frequent))
		for i, t := range frequent {
			questions[i] = sparse.Vector{Indices: []uint32{t}, Values: []float32{1}}
		}
		expr := ""
		if step.share < 1 {
			expr = fmt.Sprintf(`%s < "%08x"`, c.sink.fields.of("id"), uint32(step.share*(1<<32)))
		}
		results, err := c.sparseSearch(ctx, expr, questions, step.limit)
		if err != nil {
			return nil, err
		}
		var more []uint32
		for i, r := range results {
			out[frequent[i]] = max(out[frequent[i]], float64(len(r))/step.share)
			if len(r) == step.limit {
				more = append(more, frequent[i])
			}
		}
		frequent = more
	}
	return out, nil
}
