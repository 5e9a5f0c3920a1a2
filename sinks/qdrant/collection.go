package qdrant

import (
	"context"
	"fmt"
	"slices"

	pb "github.com/qdrant/go-client/qdrant"

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

var (
	_ connector.Collection = (*Collection)(nil)
	_ connector.Stamper    = (*Collection)(nil)
)

// Schema implements [connector.Collection].
func (c *Collection) Schema() connector.Schema { return c.schema }

// Marker implements [connector.Collection]; it asks the server, so that a collection made anew behind this one's back shows.
func (c *Collection) Marker(ctx context.Context) (string, error) {
	d, err := c.describe(ctx)
	if err != nil {
		return "", fmt.Errorf("qdrant: marker of %s: %w", c.name, err)
	}
	return d.meta.Marker, nil
}

// Stamp implements [connector.Stamper].
func (c *Collection) Stamp(ctx context.Context) (string, error) {
	d, err := c.describe(ctx)
	if err != nil {
		return "", fmt.Errorf("qdrant: stamp of %s: %w", c.name, err)
	}
	return d.stamp, nil
}

// SetStamp implements [connector.Stamper]: it stands beside the description, in the collection's metadata, to which the server
// adds what it is given, or in the point.
func (c *Collection) SetStamp(ctx context.Context, stamp string) error {
	d, err := c.describe(ctx)
	switch {
	case err != nil:
	case d.inPoint:
		d.stamp = stamp
		err = c.sink.putMeta(ctx, d)
	default:
		_, err = call(ctx, c.sink, c.sink.client.GetCollectionsClient().Update, &pb.UpdateCollection{
			CollectionName: c.name, Metadata: map[string]*pb.Value{stampKey: pb.NewValueString(stamp)},
		})
	}
	if err != nil {
		return fmt.Errorf("qdrant: stamp %s: %w", c.name, err)
	}
	return nil
}

// describe is that of the sink, for a collection that must be there.
func (c *Collection) describe(ctx context.Context) (*described, error) {
	d, err := c.sink.describe(ctx, c.name)
	switch {
	case err != nil:
		return nil, err
	case d == nil:
		return nil, connector.Errorf(connector.ClassNotFound, "the collection is gone")
	case !d.own:
		return nil, remote.Foreign("a collection " + c.name)
	}
	return d, nil
}

// Upsert implements [connector.Collection]. The server stores a batch in parts even when it answers with an error, so after
// one each point is old or new; what is wrong with a point is therefore found here, before its request is sent. Requests go one
// after another, and while one is under way the next is made.
func (c *Collection) Upsert(ctx context.Context, points []connector.Point) error {
	failed := map[int]error{}
	requests, done := make(chan []sized, 1), make(chan error, 1)
	go func() {
		var err error
		for request := range requests {
			if err == nil {
				err = c.write(ctx, request)
			}
		}
		done <- err
	}()
	for part := range slices.Chunk(indexes(len(points)), c.sink.config.perRequest()) {
		requests <- c.encodeAll(points, part, failed)
	}
	close(requests)
	if err := <-done; err != nil {
		return fmt.Errorf("qdrant: upsert into %s: %w", c.name, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return batchError(failed)
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// encodeAll makes the points of these indexes, of several with one id the last; what is wrong with one is noted in failed.
func (c *Collection) encodeAll(points []connector.Point, part []int, failed map[int]error) []sized {
	at := make(map[string]int, len(part))
	out := make([]sized, 0, len(part))
	for _, i := range part {
		p, err := c.encode(&points[i])
		if err != nil {
			failed[i] = err
			continue
		}
		if n, twice := at[points[i].ChunkID]; twice {
			out[n] = p
			continue
		}
		at[points[i].ChunkID] = len(out)
		out = append(out, p)
	}
	return out
}

// write stores points, in requests of at most maxRequest bytes unless a single point is larger.
func (c *Collection) write(ctx context.Context, points []sized) error {
	batch := make([]*pb.PointStruct, 0, len(points))
	for i, size := 0, 0; i < len(points); i++ {
		batch = append(batch, points[i].PointStruct)
		size += points[i].size
		if i+1 < len(points) && size+points[i+1].size <= maxRequest {
			continue
		}
		r, err := call(ctx, c.sink, c.sink.client.GetPointsClient().Upsert, &pb.UpsertPoints{CollectionName: c.name, Wait: pb.PtrOf(true), Points: batch})
		if err == nil {
			err = applied(r.GetResult())
		}
		if err != nil {
			return err
		}
		batch, size = batch[:0], 0
	}
	return ctx.Err()
}

func batchError(failed map[int]error) error {
	if len(failed) == 0 {
		return nil
	}
	return &connector.BatchError{Items: failed}
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
	selector := pb.NewWithPayload(true)
	if !fields {
		selector = pb.NewWithPayloadInclude(c.sink.layout.docID) // the Python client's local mode cannot answer without any
	}
	r, err := call(ctx, c.sink, c.sink.client.GetPointsClient().Get, &pb.GetPoints{CollectionName: c.name, Ids: want, WithPayload: selector, WithVectors: vectors})
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
