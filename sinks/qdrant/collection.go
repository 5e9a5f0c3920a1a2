package qdrant

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "github.com/qdrant/go-client/qdrant"
	"google.golang.org/protobuf/proto"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
	"github.com/kbsync/kbsync/internal/remote"
)

// maxRequest is what a request with points may take: the server's authors advise to stay under 5 MB.
const maxRequest = 4 << 20

// maxIDs bounds the ids in a request that returns points or changes them.
const maxIDs = 256

// Collection is one generation. It goes by its real name, so that a moved alias does not move what is written.
type Collection struct {
	sink      *Sink
	name      string
	schema    connector.Schema
	metaPoint bool // the description is a point, which is no chunk
}

var _ connector.Collection = (*Collection)(nil)

// Schema implements [connector.Collection].
func (c *Collection) Schema() connector.Schema { return c.schema }

// Marker implements [connector.Collection]; it asks the server, so that a collection made anew behind this one's back shows.
func (c *Collection) Marker(ctx context.Context) (string, error) {
	d, err := c.sink.describe(ctx, c.name)
	switch {
	case err != nil:
		return "", fmt.Errorf("qdrant: marker of %s: %w", c.name, err)
	case d == nil:
		return "", connector.Errorf(connector.ClassNotFound, "qdrant: marker: the collection %s is gone", c.name)
	case !d.own:
		return "", fmt.Errorf("qdrant: marker: %w", remote.Foreign("a collection "+c.name))
	}
	return d.meta.Marker, nil
}

// Upsert implements [connector.Collection]. The server stores a batch in parts even when it answers with an error, so after
// one each point is old or new; what is wrong with a point is therefore found here, before anything is sent.
func (c *Collection) Upsert(ctx context.Context, points []connector.Point) error {
	failed := map[int]error{}
	at := make(map[string]int, len(points))
	structs := make([]*pb.PointStruct, 0, len(points))
	for i := range points {
		p, err := c.encode(&points[i])
		if err != nil {
			failed[i] = err
			continue
		}
		if n, twice := at[points[i].ChunkID]; twice {
			structs[n] = p
			continue
		}
		at[points[i].ChunkID] = len(structs)
		structs = append(structs, p)
	}
	if err := c.write(ctx, structs); err != nil {
		return fmt.Errorf("qdrant: upsert into %s: %w", c.name, err)
	}
	return batchError(failed)
}

// write stores points, in requests of at most maxRequest bytes unless a single point is larger.
func (c *Collection) write(ctx context.Context, points []*pb.PointStruct) error {
	for len(points) > 0 {
		n, size := 1, proto.Size(points[0])
		for n < len(points) {
			if size += proto.Size(points[n]) + 8; size > maxRequest {
				break
			}
			n++
		}
		r, err := call(ctx, c.sink, c.sink.client.GetPointsClient().Upsert, &pb.UpsertPoints{CollectionName: c.name, Wait: pb.PtrOf(true), Points: points[:n]})
		if err == nil {
			err = applied(r.GetResult())
		}
		if err != nil {
			return err
		}
		points = points[n:]
	}
	return ctx.Err()
}

func batchError(failed map[int]error) error {
	if len(failed) == 0 {
		return nil
	}
	return &connector.BatchError{Items: failed}
}

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

// Delete implements [connector.Collection]. It names ids, always: a selection by an empty filter is one of everything.
func (c *Collection) Delete(ctx context.Context, ids []string) error {
	for part := range slices.Chunk(stored(ids), 20*maxIDs) {
		r, err := call(ctx, c.sink, c.sink.client.GetPointsClient().Delete, &pb.DeletePoints{CollectionName: c.name, Wait: pb.PtrOf(true), Points: pb.NewPointsSelectorIDs(part)})
		if err == nil {
			err = applied(r.GetResult())
		}
		if err != nil {
			return fmt.Errorf("qdrant: delete from %s: %w", c.name, err)
		}
	}
	return ctx.Err()
}

// stored are the ids that a chunk can have; the server refuses requests with others.
func stored(ids []string) []*pb.PointId {
	out := make([]*pb.PointId, 0, len(ids))
	for _, id := range ids {
		if payload.CheckID(id) == nil && id != metaID {
			out = append(out, pb.NewIDUUID(id))
		}
	}
	return out
}

// Fetch implements [connector.Collection].
func (c *Collection) Fetch(ctx context.Context, ids []string, vectors bool) ([]connector.Point, error) {
	found := map[string]*pb.RetrievedPoint{}
	for part := range slices.Chunk(ids, maxIDs) {
		points, err := c.retrieve(ctx, part, true, c.withVector(vectors))
		if err != nil {
			return nil, fmt.Errorf("qdrant: fetch from %s: %w", c.name, err)
		}
		for id, p := range points {
			found[id] = p
		}
	}
	out := make([]connector.Point, 0, len(found))
	for _, id := range ids {
		if p := found[id]; p != nil {
			out = append(out, c.pointOf(p))
		}
	}
	return out, ctx.Err()
}

// withVector selects the dense vector, or none.
func (c *Collection) withVector(want bool) *pb.WithVectorsSelector {
	switch {
	case !want:
		return pb.NewWithVectors(false)
	case c.sink.layout.denseName == "":
		return pb.NewWithVectors(true) // the one without a name cannot be asked for by name on every version
	}
	return pb.NewWithVectorsInclude(c.sink.layout.denseName)
}

func (c *Collection) retrieve(ctx context.Context, ids []string, fields bool, vectors *pb.WithVectorsSelector) (map[string]*pb.RetrievedPoint, error) {
	want := stored(ids)
	if len(want) == 0 {
		return nil, ctx.Err()
	}
	r, err := call(ctx, c.sink, c.sink.client.GetPointsClient().Get, &pb.GetPoints{CollectionName: c.name, Ids: want, WithPayload: pb.NewWithPayload(fields), WithVectors: vectors})
	if err != nil {
		return nil, err
	}
	out := make(map[string]*pb.RetrievedPoint, len(r.GetResult()))
	for _, p := range r.GetResult() {
		out[p.GetId().GetUuid()] = p
	}
	return out, nil
}

func (c *Collection) pointOf(p *pb.RetrievedPoint) connector.Point {
	return connector.Point{Record: c.sink.layout.record(p.GetId().GetUuid(), p.GetPayload()), Vector: denseOf(p.GetVectors(), c.sink.layout.denseName)}
}

// Count implements [connector.Collection].
func (c *Collection) Count(ctx context.Context) (int, error) {
	req := &pb.CountPoints{CollectionName: c.name, Exact: pb.PtrOf(true)}
	if c.metaPoint {
		req.Filter = &pb.Filter{MustNot: []*pb.Condition{pb.NewHasID(pb.NewIDUUID(metaID))}}
	}
	r, err := call(ctx, c.sink, c.sink.client.GetPointsClient().Count, req)
	if err != nil {
		return 0, fmt.Errorf("qdrant: count %s: %w", c.name, err)
	}
	return int(r.GetResult().GetCount()), nil
}

// Flush implements [connector.Collection]: writes are waited for, so there is nothing left to do.
func (c *Collection) Flush(ctx context.Context) error { return ctx.Err() }
