package qdrantfake

import (
	"cmp"
	"context"
	"math"
	"slices"

	pb "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Get gives points by id.
func (p points) Get(_ context.Context, r *pb.GetPoints) (*pb.GetResponse, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	c, err := p.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	out := &pb.GetResponse{}
	for _, id := range r.GetIds() {
		parsed, err := parseID(id)
		if err != nil {
			return nil, err
		}
		if m := c.points[parsed]; m != nil {
			out.Result = append(out.Result, c.output(m, r.GetWithPayload(), r.GetWithVectors()))
		}
	}
	return out, nil
}

func (c *collection) output(m *point, fields *pb.WithPayloadSelector, vectors *pb.WithVectorsSelector) *pb.RetrievedPoint {
	out := &pb.RetrievedPoint{Id: m.id}
	if fields.GetEnable() {
		out.Payload = m.payload
	}
	if !vectors.GetEnable() && vectors.GetInclude() == nil {
		return out
	}
	named := map[string]*pb.VectorOutput{}
	for name, v := range m.vectors {
		if vectors.GetInclude() != nil && !slices.Contains(vectors.GetInclude().GetNames(), name) {
			continue
		}
		if s := v.GetSparse(); s != nil {
			named[name] = &pb.VectorOutput{Vector: &pb.VectorOutput_Sparse{Sparse: s}}
		} else {
			named[name] = &pb.VectorOutput{Vector: &pb.VectorOutput_Dense{Dense: v.GetDense()}}
		}
	}
	if v := named[""]; v != nil && len(named) == 1 {
		out.Vectors = &pb.VectorsOutput{VectorsOptions: &pb.VectorsOutput_Vector{Vector: v}}
		return out
	}
	out.Vectors = &pb.VectorsOutput{VectorsOptions: &pb.VectorsOutput_Vectors{Vectors: &pb.NamedVectorsOutput{Vectors: named}}}
	return out
}

// Scroll lists points by ascending id.
func (p points) Scroll(_ context.Context, r *pb.ScrollPoints) (*pb.ScrollResponse, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	c, err := p.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	ids, err := p.matching(c, r.GetFilter())
	if err != nil {
		return nil, err
	}
	if r.Offset != nil {
		from, err := parseID(r.GetOffset())
		if err != nil {
			return nil, err
		}
		n, _ := slices.BinarySearchFunc(ids, from, compareIDs)
		ids = ids[n:]
	}
	limit := 10
	if r.Limit != nil {
		limit = int(r.GetLimit())
	}
	out := &pb.ScrollResponse{}
	if len(ids) > limit {
		out.NextPageOffset = ids[limit].message()
		ids = ids[:limit]
	}
	for _, id := range ids {
		out.Result = append(out.Result, c.output(c.points[id], r.GetWithPayload(), r.GetWithVectors()))
	}
	return out, nil
}

// Count counts the points that match.
func (p points) Count(_ context.Context, r *pb.CountPoints) (*pb.CountResponse, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	c, err := p.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	ids, err := p.matching(c, r.GetFilter())
	if err != nil {
		return nil, err
	}
	return &pb.CountResponse{Result: &pb.CountResult{Count: uint64(len(ids))}}, nil
}

// Query answers a nearest query, dense or sparse.
func (p points) Query(_ context.Context, r *pb.QueryPoints) (*pb.QueryResponse, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	out, err := p.nearest(r)
	return &pb.QueryResponse{Result: out}, err
}

// QueryBatch answers several.
func (p points) QueryBatch(_ context.Context, r *pb.QueryBatchPoints) (*pb.QueryBatchResponse, error) {
	if p.Old {
		return nil, status.Error(codes.Unimplemented, "method QueryBatch not implemented")
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	out := &pb.QueryBatchResponse{}
	for _, q := range r.GetQueryPoints() {
		found, err := p.nearest(q)
		if err != nil {
			return nil, err
		}
		out.Result = append(out.Result, &pb.BatchResult{Result: found})
	}
	return out, nil
}

func (p points) nearest(r *pb.QueryPoints) ([]*pb.ScoredPoint, error) {
	c, err := p.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	ids, err := p.matching(c, r.GetFilter())
	if err != nil {
		return nil, err
	}
	score, err := c.scorer(r.GetUsing(), r.GetQuery().GetNearest())
	if err != nil {
		return nil, err
	}
	var out []*pb.ScoredPoint
	for _, id := range ids {
		m := c.points[id]
		if v := m.vectors[r.GetUsing()]; v != nil {
			if s, ok := score(v); ok {
				hit := &pb.ScoredPoint{Id: m.id, Score: s}
				if r.GetWithPayload().GetEnable() {
					hit.Payload = m.payload
				}
				out = append(out, hit)
			}
		}
	}
	down := c.dense(r.GetUsing()).GetDistance() != pb.Distance_Euclid
	// Equal scores in no useful order, and NaN before everything.
	slices.SortStableFunc(out, func(a, b *pb.ScoredPoint) int {
		x, y := float64(a.GetScore()), float64(b.GetScore())
		if math.IsNaN(x) || math.IsNaN(y) {
			return cmp.Compare(rank(math.IsNaN(y)), rank(math.IsNaN(x)))
		}
		if down {
			x, y = y, x
		}
		return cmp.Or(cmp.Compare(x, y), -cmp.Compare(a.GetId().GetUuid(), b.GetId().GetUuid()))
	})
	limit := 10
	if r.Limit != nil {
		limit = int(min(r.GetLimit(), math.MaxInt32)) //nolint:gosec // bounded
	}
	return out[:min(limit, len(out))], nil
}

func rank(nan bool) int {
	if nan {
		return 1
	}
	return 0
}

// scorer compares a query with vectors; ok is false where there is nothing in common.
func (c *collection) scorer(using string, in *pb.VectorInput) (func(*pb.Vector) (score float32, ok bool), error) {
	if s := in.GetSparse(); s != nil {
		params := c.sparse(using)
		if params == nil {
			return nil, invalid("Not existing vector name error: %s", using)
		}
		weights := c.weights(using, s, params.GetModifier() == pb.Modifier_Idf)
		return func(v *pb.Vector) (score float32, ok bool) {
			for i, index := range v.GetSparse().GetIndices() {
				if w, hit := weights[index]; hit {
					score, ok = score+w*v.GetSparse().GetValues()[i], true
				}
			}
			return score, ok
		}, nil
	}
	params := c.dense(using)
	query := in.GetDense().GetData()
	if params == nil {
		return nil, invalid("Not existing vector name error: %s", using)
	}
	if uint64(len(query)) != params.GetSize() {
		return nil, invalid("Vector dimension error: expected dim: %d, got %d", params.GetSize(), len(query))
	}
	if params.GetDistance() == pb.Distance_Cosine {
		query = normalised(query)
	}
	return func(v *pb.Vector) (float32, bool) {
		sum := 0.0
		for i, x := range v.GetDense().GetData() {
			if params.GetDistance() == pb.Distance_Euclid {
				sum += (float64(x) - float64(query[i])) * (float64(x) - float64(query[i]))
			} else {
				sum += float64(x) * float64(query[i])
			}
		}
		if params.GetDistance() == pb.Distance_Euclid {
			sum = math.Sqrt(sum)
		}
		return float32(sum), true
	}, nil
}

// weights are the query's values, times the inverse document frequency among the points that have the vector.
func (c *collection) weights(using string, query *pb.SparseVector, idf bool) map[uint32]float32 {
	out := map[uint32]float32{}
	for i, index := range query.GetIndices() {
		out[index] = query.GetValues()[i]
	}
	if !idf {
		return out
	}
	n, df := 0.0, map[uint32]float64{}
	for _, m := range c.points {
		if v := m.vectors[using]; v != nil {
			n++
			for _, index := range v.GetSparse().GetIndices() {
				if _, asked := out[index]; asked {
					df[index]++
				}
			}
		}
	}
	for index := range out {
		out[index] *= float32(math.Log((n-df[index]+0.5)/(df[index]+0.5) + 1))
	}
	return out
}
