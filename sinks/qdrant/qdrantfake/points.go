package qdrantfake

import (
	"cmp"
	"context"
	"encoding/hex"
	"math"
	"slices"
	"strings"

	pb "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// pointID is a number or, if uuid is not empty, a UUID in its canonical form.
type pointID struct {
	num  uint64
	uuid string
}

// point is never changed once it is stored.
type point struct {
	id      *pb.PointId
	payload map[string]*pb.Value
	vectors map[string]*pb.Vector
}

// points is the service of points: its methods Get and Delete have the names of the service of collections.
type points struct{ *Server }

func parseID(id *pb.PointId) (pointID, error) {
	if _, ok := id.GetPointIdOptions().(*pb.PointId_Num); ok {
		return pointID{num: id.GetNum()}, nil
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(id.GetUuid(), "-", ""))
	if err != nil || len(raw) != 16 {
		return pointID{}, invalid("Unable to parse UUID: %s", id.GetUuid())
	}
	h := hex.EncodeToString(raw)
	return pointID{uuid: strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")}, nil
}

func (id pointID) message() *pb.PointId {
	if id.uuid == "" {
		return pb.NewIDNum(id.num)
	}
	return pb.NewIDUUID(id.uuid)
}

func compareIDs(a, b pointID) int {
	return cmp.Or(cmp.Compare(a.uuid, b.uuid), cmp.Compare(a.num, b.num)) // numbers come first
}

func (s *Server) written(wait bool) *pb.PointsOperationResponse {
	st := pb.UpdateStatus_Completed
	if !wait {
		st = pb.UpdateStatus_Acknowledged
	}
	if s.Status != 0 {
		st = s.Status
	}
	return &pb.PointsOperationResponse{Result: &pb.UpdateResult{Status: st}}
}

// Upsert replaces points. What the server checks before it logs the request refuses all of it; an unknown vector's name is
// found afterwards, when the other points are stored, and told to nobody who does not wait.
func (p points) Upsert(_ context.Context, r *pb.UpsertPoints) (*pb.PointsOperationResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, err := p.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	if len(r.GetPoints()) == 0 {
		return nil, invalid("Empty update request")
	}
	if p.Strict && p.MaxBatch > 0 && len(r.GetPoints()) > p.MaxBatch {
		return nil, status.Errorf(codes.InvalidArgument, "Bad request: Upsert limit exceeded: %d > %d for batch size", len(r.GetPoints()), p.MaxBatch)
	}
	made := make([]*point, len(r.GetPoints()))
	ids := make([]pointID, len(r.GetPoints()))
	for i, in := range r.GetPoints() {
		if ids[i], err = parseID(in.GetId()); err != nil {
			return nil, err
		}
		if made[i], err = c.accept(ids[i], in); err != nil {
			return nil, err
		}
	}
	var failure error
	for i, m := range made {
		if err := c.known(m); err != nil {
			failure = cmp.Or(failure, err)
			continue
		}
		c.points[ids[i]] = m
	}
	if failure != nil && r.GetWait() {
		return nil, failure
	}
	return p.written(r.GetWait()), nil
}

// accept checks what is checked up front.
func (c *collection) accept(id pointID, in *pb.PointStruct) (*point, error) {
	m := &point{id: id.message(), payload: throughJSON(in.GetPayload()), vectors: map[string]*pb.Vector{}}
	vectors := in.GetVectors().GetVectors().GetVectors()
	if v := in.GetVectors().GetVector(); v != nil {
		vectors = map[string]*pb.Vector{"": v}
	}
	for name, v := range vectors {
		if s := v.GetSparse(); s != nil {
			sorted := slices.Sorted(slices.Values(s.GetIndices()))
			if len(s.GetIndices()) != len(s.GetValues()) || len(slices.Compact(sorted)) != len(s.GetIndices()) {
				return nil, invalid("Validation error in body: indices must be unique, as many as values")
			}
			m.vectors[name] = v
			continue
		}
		data := v.GetDense().GetData()
		params := c.dense(name)
		if params != nil && uint64(len(data)) != params.GetSize() {
			return nil, invalid("Vector dimension error: expected dim: %d, got %d", params.GetSize(), len(data))
		}
		if params.GetDistance() == pb.Distance_Cosine {
			data = normalised(data)
		}
		m.vectors[name] = pb.NewVectorDense(data)
	}
	return m, nil
}

func (c *collection) known(m *point) error {
	for name, v := range m.vectors {
		if v.GetSparse() != nil && c.sparse(name) == nil || v.GetSparse() == nil && c.dense(name) == nil {
			return invalid("Not existing vector name error: %s", name)
		}
	}
	return nil
}

// normalised gives a vector of zeros back as it is, and NaN too.
func normalised(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) {
		return v
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return out
}

// Delete removes the selected points; an empty filter selects all.
func (p points) Delete(_ context.Context, r *pb.DeletePoints) (*pb.PointsOperationResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, err := p.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	ids, err := p.selected(c, r.GetPoints())
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		delete(c.points, id)
	}
	return p.written(r.GetWait()), nil
}

func (p points) selected(c *collection, sel *pb.PointsSelector) ([]pointID, error) {
	if sel.GetPoints() == nil {
		return p.matching(c, sel.GetFilter())
	}
	if len(sel.GetPoints().GetIds()) == 0 {
		return nil, invalid("Empty update request")
	}
	var out []pointID
	for _, id := range sel.GetPoints().GetIds() {
		parsed, err := parseID(id)
		if err != nil {
			return nil, err
		}
		out = append(out, parsed)
	}
	return out, nil
}

// UpdateBatch carries out the operations one by one; those before a failure stay done.
func (p points) UpdateBatch(_ context.Context, r *pb.UpdateBatchPoints) (*pb.UpdateBatchResponse, error) {
	if p.Old {
		return nil, status.Error(codes.Unimplemented, "method UpdateBatch not implemented")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c, err := p.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	out := &pb.UpdateBatchResponse{}
	for _, op := range r.GetOperations() {
		over := op.GetOverwritePayload()
		if over == nil {
			return nil, status.Error(codes.Unimplemented, "an operation other than to overwrite a payload")
		}
		ids, err := p.selected(c, over.GetPointsSelector())
		if err != nil {
			return nil, err
		}
		fields := throughJSON(over.GetPayload())
		for _, id := range ids {
			old := c.points[id]
			if old == nil {
				return nil, status.Errorf(codes.NotFound, "Not found: No point with id %s found", id.uuid)
			}
			c.points[id] = &point{id: old.id, payload: fields, vectors: old.vectors}
		}
		out.Result = append(out.Result, p.written(r.GetWait()).GetResult())
	}
	return out, nil
}

// CreateFieldIndex notes an index; one that exists, even of another type, is no error.
func (p points) CreateFieldIndex(_ context.Context, r *pb.CreateFieldIndexCollection) (*pb.PointsOperationResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, err := p.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	kind := pb.PayloadSchemaType_Keyword
	if r.GetFieldType() == pb.FieldType_FieldTypeInteger {
		kind = pb.PayloadSchemaType_Integer
	}
	c.schema[r.GetFieldName()] = &pb.PayloadSchemaInfo{DataType: kind}
	return p.written(r.GetWait()), nil
}
