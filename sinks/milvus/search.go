package milvus

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/fusion"
	"github.com/kbsync/kbsync/internal/payload"
)

// bruteRows is up to how many rows that meet a filter are compared here when the server's index gave too few of them.
const bruteRows = 20_000

func levels() map[string]entity.ConsistencyLevel {
	return map[string]entity.ConsistencyLevel{"strong": entity.ClStrong, "bounded": entity.ClBounded, "session": entity.ClSession, "eventually": entity.ClEventually}
}

func metricOf(distance string) entity.MetricType {
	switch distance {
	case "dot":
		return entity.IP
	case "l2":
		return entity.L2
	}
	return entity.COSINE
}

// Search implements [connector.Collection].
func (c *Collection) Search(ctx context.Context, q connector.Query) ([]connector.Hit, error) {
	if !slices.Contains(c.sink.conf.Modes(), q.Mode) {
		return nil, fmt.Errorf("milvus: mode %q: %w", q.Mode, connector.ErrUnsupported)
	}
	if q.Mode != connector.ModeLexical {
		if q.Vector == nil {
			q.Vector = []float32{}
		}
		if err := payload.CheckVector(q.Vector, c.meta.Schema.Dimensions, c.meta.Schema.Distance); err != nil {
			return nil, fmt.Errorf("milvus: query: %w", err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	expr, ok := c.expression(q.Filter)
	if !ok || q.K <= 0 {
		return nil, nil
	}
	ranked, err := c.rank(ctx, q, expr)
	if err != nil {
		return nil, c.fail(ctx, "search", err)
	}
	ranked = ranked[:min(q.K, len(ranked))]
	ids := make([]string, len(ranked))
	scores := map[string]float64{}
	for i, r := range ranked {
		ids[i], scores[r.ID] = r.ID, r.Score
	}
	points, err := c.records(ctx, ids)
	if err != nil {
		return nil, c.fail(ctx, "search", err)
	}
	hits := make([]connector.Hit, len(points))
	for i, p := range points {
		hits[i] = connector.Hit{Score: scores[p.ChunkID], Point: p}
	}
	return hits, nil
}

func (c *Collection) rank(ctx context.Context, q connector.Query, expr string) ([]fusion.Ranked, error) {
	switch q.Mode {
	case connector.ModeDense:
		return c.dense(ctx, q, expr, q.K)
	case connector.ModeLexical:
		return c.lexical(ctx, q.Text, expr, q.K)
	}
	candidates := fusion.Depth(q.K)
	dense, err := c.dense(ctx, q, expr, candidates)
	if err != nil {
		return nil, err
	}
	lexical, err := c.lexical(ctx, q.Text, expr, candidates)
	if err != nil {
		return nil, err
	}
	return fusion.Hybrid(q, dense, lexical), nil
}

// dense ranks by the vectors. Points that have only a placeholder are left out by a filter, but not before one was met: most
// collections hold none near any question, and a filter costs time.
func (c *Collection) dense(ctx context.Context, q connector.Query, expr string, k int) ([]fusion.Ranked, error) {
	c.mu.Lock()
	filtered := c.withRest
	c.mu.Unlock()
	only := fieldSearchable + " == true"
	if expr != "" {
		only = expr + " and " + only
	}
	if q.Exact && !c.server.lite {
		return c.compare(ctx, q, only, k)
	}
	if !filtered {
		ranked, met, err := c.nearest(ctx, q, expr, k)
		if err != nil {
			return nil, err
		}
		if !met {
			return c.complete(ctx, q, expr, only, k, ranked)
		}
		c.mu.Lock()
		c.withRest = true
		c.mu.Unlock()
	}
	ranked, _, err := c.nearest(ctx, q, only, k)
	if err != nil {
		return nil, err
	}
	return c.complete(ctx, q, only, only, k, ranked)
}

// nearest asks the server; met says that there is a placeholder among the answers.
func (c *Collection) nearest(ctx context.Context, q connector.Query, expr string, k int) (ranked []fusion.Ranked, met bool, err error) {
	k = min(k, maxHits)
	param, err := c.searchParam(k, q.Exact)
	if err != nil {
		return nil, false, err
	}
	results, err := c.search(ctx, expr, []string{fieldSearchable}, []entity.Vector{entity.FloatVector(q.Vector)}, "vector", metricOf(c.meta.Schema.Distance), k, param)
	if err != nil || len(results) == 0 {
		return nil, false, err
	}
	flags, ok := results[0].Fields.GetColumn(fieldSearchable).(*entity.ColumnBool)
	if !ok && len(results[0].Scores) > 0 {
		return nil, false, connector.Errorf(connector.ClassConflict, "the field %s is missing in the answer", fieldSearchable)
	}
	ranked, err = c.rankedOf(results[0])
	for i := range ranked {
		met = met || !flags.Data()[i]
		if c.meta.Schema.Distance == "l2" {
			ranked[i].Score = c.euclidean(ranked[i].Score)
		}
	}
	fusion.Sort(ranked)
	return ranked, met, err
}

// euclidean makes a score of what the server calls L2: the square of the distance, in Milvus Lite the distance.
func (c *Collection) euclidean(l2 float64) float64 {
	if c.server.lite {
		return -l2
	}
	return -math.Sqrt(max(0, l2))
}

// searchParam is the search parameter of the index. Exact answers of Milvus Lite come from a flat index, or from looking at as many
// vectors of a graph as the server allows; a full server is not asked for them (see compare).
func (c *Collection) searchParam(k int, exact bool) (entity.SearchParam, error) {
	var param entity.SearchParam
	var err error
	switch c.sink.conf.Index {
	case "flat":
		param, err = entity.NewIndexFlatSearchParam()
	case "autoindex":
		param, err = entity.NewIndexAUTOINDEXSearchParam(1)
	default:
		ef := max(c.sink.conf.Ef, k)
		if exact {
			ef = maxEf
		}
		param, err = entity.NewIndexHNSWSearchParam(ef)
	}
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "%w", err)
	}
	return param, nil
}

func (c *Collection) search(ctx context.Context, expr string, output []string, vectors []entity.Vector, own string, metric entity.MetricType, k int, param entity.SearchParam) (out []client.SearchResult, err error) {
	level := levels()[c.sink.conf.Consistency]
	err = c.loaded(ctx, func() (err error) {
		out, err = c.server.Search(ctx, c.name, nil, expr, output, vectors, c.sink.fields.of(own), metric, k, param, client.WithSearchQueryConsistencyLevel(level))
		return err
	})
	for _, r := range out {
		if err == nil {
			err = r.Err
		}
	}
	return out, err
}

func (c *Collection) rankedOf(r client.SearchResult) ([]fusion.Ranked, error) {
	if len(r.Scores) == 0 {
		return nil, nil
	}
	ids, ok := r.IDs.(*entity.ColumnVarChar)
	if !ok {
		return nil, connector.Errorf(connector.ClassConflict, "ids are a %T", r.IDs)
	}
	out := make([]fusion.Ranked, len(r.Scores))
	for i, id := range ids.Data() {
		out[i] = fusion.Ranked{ID: id, Score: float64(r.Scores[i])}
	}
	return out, nil
}

// complete makes good for a graph index that lost its way among points which a filter leaves out (Milvus 2.3 answered 2 of 33):
// if there are fewer hits than rows that meet the filter, those are compared here.
func (c *Collection) complete(ctx context.Context, q connector.Query, expr, only string, k int, ranked []fusion.Ranked) ([]fusion.Ranked, error) {
	if len(ranked) >= min(k, maxHits) || expr == "" {
		return ranked, nil
	}
	n, err := c.count(ctx, only)
	if err != nil || n <= len(ranked) || n > bruteRows {
		return ranked, err
	}
	return c.compare(ctx, q, only, k)
}

// compare ranks all vectors that meet a filter here. Exact answers of a full server are made so: until it has built its index it
// answers from an interim one that is approximate whatever is asked of it (2.3 found 92 to 100 of 100).
func (c *Collection) compare(ctx context.Context, q connector.Query, only string, k int) (ranked []fusion.Ranked, err error) {
	id, vector := c.sink.fields.of("id"), c.sink.fields.of("vector")
	for page, err := range c.pages(ctx, only, []string{id, vector}, c.pageSize(true)) {
		if err != nil {
			return nil, err
		}
		ids, okID := page.GetColumn(id).(*entity.ColumnVarChar)
		vectors, okVector := page.GetColumn(vector).(*entity.ColumnFloatVector)
		if !okID || !okVector {
			return nil, connector.Errorf(connector.ClassConflict, "ids or vectors are missing in the answer")
		}
		for i, v := range vectors.Data() {
			ranked = append(ranked, fusion.Ranked{ID: ids.Data()[i], Score: similarity(c.meta.Schema.Distance, q.Vector, v)})
		}
		fusion.Sort(ranked)
		ranked = ranked[:min(k, len(ranked))]
	}
	return ranked, nil
}

func similarity(distance string, a, b []float32) float64 {
	var dot, l2, na, nb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, l2, na, nb = dot+x*y, l2+(x-y)*(x-y), na+x*x, nb+y*y
	}
	switch distance {
	case "dot":
		return dot
	case "l2":
		return -math.Sqrt(l2)
	}
	return dot / math.Sqrt(na*nb)
}
