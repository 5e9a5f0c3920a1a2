package qdrant

import (
	"context"
	"fmt"
	"math"
	"slices"

	pb "github.com/qdrant/go-client/qdrant"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/fusion"
	"github.com/kbsync/kbsync/internal/sparse"
)

// Search implements [connector.Collection]. Both rankings of a hybrid query come from one request and are joined here, since
// the server's own fusion knows no relative scores.
func (c *Collection) Search(ctx context.Context, q connector.Query) ([]connector.Hit, error) {
	if !slices.Contains(c.sink.config.Modes(), q.Mode) {
		return nil, fmt.Errorf("qdrant: mode %q: %w", q.Mode, connector.ErrUnsupported)
	}
	if q.Mode != connector.ModeLexical && len(q.Vector) != c.schema.Dimensions {
		return nil, connector.Errorf(connector.ClassInvalid, "qdrant: a query of %d dimensions, want %d", len(q.Vector), c.schema.Dimensions)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	filter, ok := c.sink.layout.filter(q.Filter)
	if !ok || q.K <= 0 {
		return nil, nil
	}
	ranked, err := c.ranking(ctx, q, filter)
	if err == nil {
		ranked = ranked[:min(q.K, len(ranked))]
		var hits []connector.Hit
		if hits, err = c.hits(ctx, ranked); err == nil {
			return hits, nil
		}
	}
	return nil, fmt.Errorf("qdrant: search %s: %w", c.name, err)
}

func (c *Collection) ranking(ctx context.Context, q connector.Query, filter *pb.Filter) ([]fusion.Ranked, error) {
	k := q.K
	if q.Mode == connector.ModeHybrid {
		k = fusion.Depth(q.K)
	}
	var asks []*pb.QueryPoints
	if q.Mode != connector.ModeLexical {
		ask := c.ask(pb.NewQueryDense(q.Vector), c.sink.layout.denseName, filter, k)
		if q.Exact {
			ask.Params = &pb.SearchParams{Exact: pb.PtrOf(true)}
		}
		asks = append(asks, ask)
	}
	if q.Mode != connector.ModeDense {
		if v := sparse.Query(q.Text); len(v.Indices) > 0 {
			asks = append(asks, c.ask(pb.NewQuerySparse(v.Indices, v.Values), c.sink.layout.sparseName, filter, k))
		}
	}
	lists, err := c.rankings(ctx, asks, k)
	switch {
	case err != nil || len(lists) == 0:
		return nil, err
	case q.Mode != connector.ModeHybrid:
		return lists[0], nil
	case len(lists) == 1: // the question has no words
		lists = append(lists, nil)
	}
	return fusion.Hybrid(q, lists[0], lists[1]), nil
}

// tieMargin is how many hits more than k are asked for, to see whether the k-th score has equals beyond it; maxTies bounds how
// many equal ones are looked at.
const (
	tieMargin = 8
	maxTies   = 4096
)

func (c *Collection) ask(query *pb.Query, using string, filter *pb.Filter, k int) *pb.QueryPoints {
	ask := &pb.QueryPoints{CollectionName: c.name, Query: query, Filter: filter, Limit: pb.PtrOf(uint64(k + tieMargin)), WithPayload: pb.NewWithPayload(false)} //nolint:gosec // positive
	if using != "" {
		ask.Using = &using
	}
	return ask
}

// rankings answers each question with its best k, ties by id.
func (c *Collection) rankings(ctx context.Context, asks []*pb.QueryPoints, k int) ([][]fusion.Ranked, error) {
	answers, err := c.query(ctx, asks)
	if err != nil {
		return nil, err
	}
	out := make([][]fusion.Ranked, len(asks))
	for i, ask := range asks {
		for tied(answers[i], k, ask.GetLimit()) && ask.GetLimit() < uint64(k+maxTies) { //nolint:gosec // positive
			ask.Limit = pb.PtrOf(ask.GetLimit() * 4)
			more, err := c.query(ctx, []*pb.QueryPoints{ask})
			if connector.ClassOf(err) == connector.ClassInvalid {
				break // strict mode allows no more: some of the equal ones then
			}
			if err != nil {
				return nil, err
			}
			answers[i] = more[0]
		}
		out[i] = c.ranked(answers[i], ask.GetUsing())
		out[i] = out[i][:min(k, len(out[i]))]
	}
	return out, nil
}

// tied says whether hits beyond the limit may have the score of the k-th one.
func tied(points []*pb.ScoredPoint, k int, limit uint64) bool {
	return uint64(len(points)) == limit && points[k-1].GetScore() == points[len(points)-1].GetScore()
}

// query asks all questions in one request, or one by one where the server has no batches.
func (c *Collection) query(ctx context.Context, asks []*pb.QueryPoints) ([][]*pb.ScoredPoint, error) {
	var out [][]*pb.ScoredPoint
	if len(asks) > 1 {
		r, err := call(ctx, c.sink, c.sink.client.GetPointsClient().QueryBatch, &pb.QueryBatchPoints{CollectionName: c.name, QueryPoints: asks})
		if connector.ClassOf(err) != connector.ClassUnsupported {
			if err == nil && len(r.GetResult()) != len(asks) {
				err = connector.Errorf(connector.ClassTransient, "%d answers to %d questions", len(r.GetResult()), len(asks))
			}
			for _, result := range r.GetResult() {
				out = append(out, result.GetResult())
			}
			return out, err
		}
	}
	for _, ask := range asks {
		r, err := call(ctx, c.sink, c.sink.client.GetPointsClient().Query, ask)
		if err != nil {
			return nil, err
		}
		out = append(out, r.GetResult())
	}
	return out, nil
}

// ranked sorts an answer. A score of NaN is a vector that somebody else stored; without a common term there is no hit.
func (c *Collection) ranked(points []*pb.ScoredPoint, using string) []fusion.Ranked {
	lexical := c.sink.layout.sparse && using == c.sink.layout.sparseName
	out := make([]fusion.Ranked, 0, len(points))
	for _, p := range points {
		score := float64(p.GetScore())
		if id := p.GetId().GetUuid(); id != "" && !math.IsNaN(score) && (!lexical || score > 0) {
			if !lexical && c.schema.Distance == "l2" {
				score = -score // the server gives the distance
			}
			out = append(out, fusion.Ranked{ID: id, Score: score})
		}
	}
	fusion.Sort(out)
	return out
}

// hits reads the records of a ranking. A point that was deleted since is left out.
func (c *Collection) hits(ctx context.Context, ranked []fusion.Ranked) ([]connector.Hit, error) {
	found := map[string]*pb.RetrievedPoint{}
	for part := range slices.Chunk(ranked, maxIDs) {
		ids := make([]string, len(part))
		for i, r := range part {
			ids[i] = r.ID
		}
		points, err := c.retrieve(ctx, ids, true, nil)
		if err != nil {
			return nil, err
		}
		for id, p := range points {
			found[id] = p
		}
	}
	hits := make([]connector.Hit, 0, len(ranked))
	for _, r := range ranked {
		if p := found[r.ID]; p != nil {
			hits = append(hits, connector.Hit{Score: r.Score, Point: c.pointOf(p)})
		}
	}
	return hits, nil
}
