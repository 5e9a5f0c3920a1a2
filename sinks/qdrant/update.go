package qdrant

import (
	"context"
	"fmt"
	"strings"

	pb "github.com/qdrant/go-client/qdrant"
	"google.golang.org/protobuf/proto"

	"github.com/kbsync/kbsync/connector"
)

// update is the new payload of one point, with an estimate from above of the bytes that it takes in a request.
type update struct {
	id     string
	fields map[string]*pb.Value
	size   int
}

// UpdatePayload implements [connector.Collection]: one request looks which points exist, one overwrites their payloads. Vectors
// stay, the sparse one of the embedded text included.
func (c *Collection) UpdatePayload(ctx context.Context, records []connector.Record) error {
	failed := map[int]error{}
	updates := make([]update, len(records))
	for i := range records {
		fields, size, err := c.sink.layout.fields(&records[i])
		if err != nil {
			failed[i] = err
		}
		updates[i] = update{records[i].ChunkID, fields, size + 128}
	}
	for start := 0; start < len(updates); start += maxIDs {
		if err := c.updatePart(ctx, updates[start:min(start+maxIDs, len(updates))], start, failed); err != nil {
			return fmt.Errorf("qdrant: update payloads of %s: %w", c.name, err)
		}
	}
	return batchError(failed)
}

// updatePart updates at most maxIDs points; what fails is noted by its index, counted from first.
func (c *Collection) updatePart(ctx context.Context, part []update, first int, failed map[int]error) error {
	ids := make([]string, 0, len(part))
	for i := range part {
		if failed[first+i] == nil {
			ids = append(ids, part[i].id)
		}
	}
	exist, err := c.retrieve(ctx, ids, false, nil)
	if err != nil {
		return err
	}
	var todo []update
	for i, u := range part {
		switch {
		case failed[first+i] != nil:
		case exist[u.id] == nil:
			failed[first+i] = connector.Errorf(connector.ClassNotFound, "there is no point %s", u.id)
		default:
			todo = append(todo, u)
		}
	}
	for from, size := 0, 0; from < len(todo); size = 0 {
		to := from
		for to < len(todo) && (to == from || size+todo[to].size <= maxRequest) {
			size += todo[to].size
			to++
		}
		if err := c.overwrite(ctx, todo[from:to]); err != nil {
			return err
		}
		from = to
	}
	return ctx.Err()
}

// overwrite replaces payloads in one request.
func (c *Collection) overwrite(ctx context.Context, updates []update) error {
	ops := make([]*pb.PointsUpdateOperation, len(updates))
	for i, u := range updates {
		ops[i] = pb.NewPointsUpdateOverwritePayload(&pb.PointsUpdateOperation_OverwritePayload{
			Payload: u.fields, PointsSelector: pb.NewPointsSelector(pb.NewIDUUID(u.id)),
		})
	}
	r, err := call(ctx, c.sink, c.sink.client.GetPointsClient().UpdateBatch, &pb.UpdateBatchPoints{CollectionName: c.name, Wait: pb.PtrOf(true), Operations: ops})
	switch {
	case connector.ClassOf(err) == connector.ClassUnsupported:
		return c.rewrite(ctx, updates)
	case connector.ClassOf(err) == connector.ClassNotFound && strings.Contains(strings.ToLower(err.Error()), "point"):
		return connector.Errorf(connector.ClassTransient, "a point was deleted meanwhile: %w", err) // the next try names it
	case err == nil && len(r.GetResult()) != len(ops):
		return connector.Errorf(connector.ClassTransient, "%d answers to %d operations", len(r.GetResult()), len(ops))
	}
	for _, result := range r.GetResult() {
		if err == nil {
			err = applied(result)
		}
	}
	return err
}

// rewrite is overwrite for servers without UpdateBatch: it reads the vectors and writes the points whole.
func (c *Collection) rewrite(ctx context.Context, updates []update) error {
	ids := make([]string, len(updates))
	for i := range updates {
		ids[i] = updates[i].id
	}
	old, err := c.retrieve(ctx, ids, false, pb.NewWithVectors(true))
	if err != nil {
		return err
	}
	var points []sized
	for _, u := range updates {
		if p := old[u.id]; p != nil {
			vectors := c.sink.layout.again(p.GetVectors())
			points = append(points, sized{&pb.PointStruct{Id: p.GetId(), Payload: u.fields, Vectors: vectors}, u.size + proto.Size(vectors)})
		}
	}
	return c.write(ctx, points)
}

// again makes the vectors of an answer those of a request.
func (l *layout) again(v *pb.VectorsOutput) *pb.Vectors {
	out := map[string]*pb.Vector{}
	if d := denseOf(v, l.denseName); d != nil {
		out[l.denseName] = pb.NewVectorDense(d)
	}
	if s := v.GetVectors().GetVectors()[l.sparseName]; s.GetSparse() != nil {
		out[l.sparseName] = pb.NewVectorSparse(s.GetSparse().GetIndices(), s.GetSparse().GetValues())
	} else if s.GetIndices() != nil { //nolint:staticcheck // servers before 1.16 fill the old fields alone
		out[l.sparseName] = pb.NewVectorSparse(s.GetIndices().GetData(), s.GetData()) //nolint:staticcheck // as above
	}
	return pb.NewVectorsMap(out)
}
