package qdrant

import (
	"context"
	"fmt"
	"strings"

	pb "github.com/qdrant/go-client/qdrant"
	"google.golang.org/protobuf/proto"

	"github.com/kbsync/kbsync/connector"
)

// UpdatePayload implements [connector.Collection]: one request looks which points exist, one overwrites their payloads. Vectors
// stay, the sparse one of the embedded text included.
func (c *Collection) UpdatePayload(ctx context.Context, records []connector.Record) error {
	failed := map[int]error{}
	fields := make([]map[string]*pb.Value, len(records))
	for i := range records {
		var err error
		if fields[i], err = c.sink.layout.fields(&records[i]); err != nil {
			failed[i] = err
		}
	}
	for start := 0; start < len(records); start += maxIDs {
		end := min(start+maxIDs, len(records))
		if err := c.updatePart(ctx, records[start:end], fields[start:end], start, failed); err != nil {
			return fmt.Errorf("qdrant: update payloads of %s: %w", c.name, err)
		}
	}
	return batchError(failed)
}

func (c *Collection) updatePart(ctx context.Context, records []connector.Record, fields []map[string]*pb.Value, first int, failed map[int]error) error {
	ids := make([]string, 0, len(records))
	for i := range records {
		if failed[first+i] == nil {
			ids = append(ids, records[i].ChunkID)
		}
	}
	exist, err := c.retrieve(ctx, ids, false, nil)
	if err != nil {
		return err
	}
	var ops []*pb.PointsUpdateOperation
	for i := range records {
		switch id := records[i].ChunkID; {
		case failed[first+i] != nil:
		case exist[id] == nil:
			failed[first+i] = connector.Errorf(connector.ClassNotFound, "there is no point %s", id)
		default:
			ops = append(ops, pb.NewPointsUpdateOverwritePayload(&pb.PointsUpdateOperation_OverwritePayload{
				Payload: fields[i], PointsSelector: pb.NewPointsSelector(pb.NewIDUUID(id)),
			}))
		}
	}
	return c.overwrite(ctx, ops)
}

// overwrite carries out payload operations in requests of at most maxRequest bytes.
func (c *Collection) overwrite(ctx context.Context, ops []*pb.PointsUpdateOperation) error {
	for len(ops) > 0 {
		n, size := 1, proto.Size(ops[0])
		for n < len(ops) {
			if size += proto.Size(ops[n]) + 8; size > maxRequest {
				break
			}
			n++
		}
		r, err := call(ctx, c.sink, c.sink.client.GetPointsClient().UpdateBatch, &pb.UpdateBatchPoints{CollectionName: c.name, Wait: pb.PtrOf(true), Operations: ops[:n]})
		switch {
		case connector.ClassOf(err) == connector.ClassUnsupported:
			err = c.rewrite(ctx, ops[:n])
		case connector.ClassOf(err) == connector.ClassNotFound && strings.Contains(strings.ToLower(err.Error()), "point"):
			err = connector.Errorf(connector.ClassTransient, "a point was deleted meanwhile: %w", err) // the next try names it
		case err == nil && len(r.GetResult()) != n:
			err = connector.Errorf(connector.ClassTransient, "%d answers to %d operations", len(r.GetResult()), n)
		case err == nil:
			for _, result := range r.GetResult() {
				if err = applied(result); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
		ops = ops[n:]
	}
	return nil
}

// rewrite is overwrite for servers without UpdateBatch: it reads the vectors and writes the points whole.
func (c *Collection) rewrite(ctx context.Context, ops []*pb.PointsUpdateOperation) error {
	ids := make([]string, len(ops))
	for i, op := range ops {
		ids[i] = op.GetOverwritePayload().GetPointsSelector().GetPoints().GetIds()[0].GetUuid()
	}
	old, err := c.retrieve(ctx, ids, false, pb.NewWithVectors(true))
	if err != nil {
		return err
	}
	var points []*pb.PointStruct
	for i, op := range ops {
		if p := old[ids[i]]; p != nil {
			points = append(points, &pb.PointStruct{Id: p.GetId(), Payload: op.GetOverwritePayload().GetPayload(), Vectors: c.sink.layout.again(p.GetVectors())})
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
