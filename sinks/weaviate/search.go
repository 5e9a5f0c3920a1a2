package weaviate

import (
	"context"
	"math"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/fusion"
	"github.com/kbsync/kbsync/internal/payload"
)

// searchMost is the server's bound of one answer (QUERY_MAXIMUM_RESULTS).
const searchMost = 10_000

// Search implements [connector.Collection]. Dense scores are the cosine, the dot product, or minus the Euclidean distance;
// lexical ones the server's BM25; hybrid ones those of the fusion. The ranking comes first, without any text, then the records
// of the hits.
func (c *Collection) Search(ctx context.Context, q connector.Query) ([]connector.Hit, error) {
	if err := c.checkQuery(&q); err != nil {
		return nil, c.wrap("search", err)
	}
	if err := ctx.Err(); err != nil || q.K <= 0 {
		return nil, err
	}
	ranked, err := c.rank(ctx, &q)
	if err != nil {
		return nil, c.wrap("search", err)
	}
	ranked = ranked[:min(q.K, len(ranked))]
	ids := make([]string, len(ranked))
	score := make(map[string]float64, len(ranked))
	for i, r := range ranked {
		ids[i], score[r.ID] = r.ID, r.Score
	}
	points, err := c.Fetch(ctx, ids, false)
	if err != nil {
		return nil, err
	}
	hits := make([]connector.Hit, len(points))
	for i, p := range points {
		hits[i] = connector.Hit{Score: score[p.ChunkID], Point: p}
	}
	return hits, nil
}

func (c *Collection) checkQuery(q *connector.Query) error {
	has := false
	for _, mode := range c.sink.config.Modes() {
		has = has || mode == q.Mode
	}
	if !has {
		return connector.ErrUnsupported
	}
	switch q.Fusion {
	case "", connector.FusionRelative, connector.FusionRRF:
	default:
		return connector.Errorf(connector.ClassInvalid, "fusion %q: want relative or rrf", q.Fusion)
	}
	if q.Mode == connector.ModeLexical {
		return nil
	}
	if q.Vector == nil {
		return connector.Errorf(connector.ClassInvalid, "the query has no vector")
	}
	return payload.CheckVector(q.Vector, c.schema.Dimensions, c.schema.Distance)
}

// rank answers with ids and scores, best first.
func (c *Collection) rank(ctx context.Context, q *connector.Query) ([]fusion.Ranked, error) {
	filter, none := searchFilter(c.sink.names, q.Filter)
	if none {
		return nil, nil
	}
	switch q.Mode {
	case connector.ModeDense:
		return c.dense(ctx, q, filter, q.K)
	case connector.ModeLexical:
		return c.lexical(ctx, q, filter, q.K)
	}
	k := fusion.Depth(q.K)
	dense, err := c.dense(ctx, q, filter, k)
	if err != nil {
		return nil, err
	}
	lexical, err := c.lexical(ctx, q, filter, k)
	if err != nil {
		return nil, err
	}
	return fusion.Hybrid(*q, dense, lexical), nil
}

func (c *Collection) dense(ctx context.Context, q *connector.Query, filter *pb.Filters, k int) ([]fusion.Ranked, error) {
	if q.Exact && filter == nil {
		// The server compares with every point that a filter leaves, up to a number.
		filter = boolFilter(c.sink.names[fieldSearchable])
	}
	near := &pb.NearVector{VectorBytes: vectorBytes(q.Vector)}
	if v := c.sink.names[fieldVector]; v != "" {
		near.Targets = &pb.Targets{TargetVectors: []string{v}}
	}
	return c.best(ctx, k, func() *pb.SearchRequest {
		return &pb.SearchRequest{NearVector: near, Filters: filter, Metadata: &pb.MetadataRequest{Uuid: true, Distance: true}}
	}, func(m *pb.MetadataResult) float64 {
		d := float64(m.GetDistance())
		switch c.schema.Distance {
		case "dot":
			return -d
		case "l2":
			return -math.Sqrt(max(0, d))
		}
		return 1 - d
	})
}

func (c *Collection) lexical(ctx context.Context, q *connector.Query, filter *pb.Filters, k int) ([]fusion.Ranked, error) {
	terms := question(q.Text)
	if terms == "" {
		return nil, nil
	}
	return c.best(ctx, k, func() *pb.SearchRequest {
		return &pb.SearchRequest{
			Bm25Search: &pb.BM25{Query: terms, Properties: []string{c.sink.names[fieldWords]}},
			Filters:    filter, Metadata: &pb.MetadataRequest{Uuid: true, Score: true},
		}
	}, func(m *pb.MetadataResult) float64 { return float64(m.GetScore()) })
}

// best asks for somewhat more than k, and for more again while the last one has the score of the k-th, so that points of
// equal scores come by id.
func (c *Collection) best(ctx context.Context, k int, request func() *pb.SearchRequest, score func(*pb.MetadataResult) float64) ([]fusion.Ranked, error) {
	for limit := min(searchMost, k+16); ; limit = min(searchMost, 4*limit) {
		req := request()
		req.Limit, req.Properties = uint32(limit), &pb.PropertiesRequest{} //nolint:gosec // small
		reply, err := c.search(ctx, req)
		if err != nil {
			return nil, err
		}
		ranked := make([]fusion.Ranked, 0, len(reply.GetResults()))
		for _, r := range reply.GetResults() {
			ranked = append(ranked, fusion.Ranked{ID: r.GetMetadata().GetId(), Score: score(r.GetMetadata())})
		}
		fusion.Sort(ranked)
		if n := len(ranked); n < limit || limit == searchMost || ranked[n-1].Score < ranked[k-1].Score {
			return ranked[:min(k, n)], nil
		}
	}
}
