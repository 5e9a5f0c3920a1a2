package qdrant

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"

	pb "github.com/qdrant/go-client/qdrant"

	"github.com/kbsync/kbsync/connector"
)

// Scan implements [connector.Collection]. The server scrolls by ascending id, and UUIDs ascend byte by byte; a server that does
// otherwise is an error, not a scan in another order.
func (c *Collection) Scan(ctx context.Context, vectors bool) iter.Seq2[connector.Point, error] {
	return func(yield func(connector.Point, error) bool) {
		last := ""
		for p, err := range c.sink.scroll(ctx, c.name, c.withVector(vectors)) {
			if err != nil {
				yield(connector.Point{}, fmt.Errorf("qdrant: scan %s: %w", c.name, err))
				return
			}
			id := p.GetId().GetUuid()
			if id == "" || id == metaID { // a number: nothing that kbsync wrote
				continue
			}
			if id <= last {
				yield(connector.Point{}, fmt.Errorf("qdrant: scan %s: the server lists %s after %s", c.name, id, last))
				return
			}
			last = id
			if !yield(c.pointOf(p), nil) {
				return
			}
		}
	}
}

// scroll pages through a collection. Each page starts at the id that the one before named, so points may come and go meanwhile.
func (s *Sink) scroll(ctx context.Context, name string, vectors *pb.WithVectorsSelector) iter.Seq2[*pb.RetrievedPoint, error] {
	return func(yield func(*pb.RetrievedPoint, error) bool) {
		var next *pb.PointId
		for {
			r, err := call(ctx, s, s.client.GetPointsClient().Scroll, &pb.ScrollPoints{
				CollectionName: name, Offset: next, Limit: pb.PtrOf(uint32(maxIDs)), WithPayload: pb.NewWithPayload(true), WithVectors: vectors,
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, p := range r.GetResult() {
				if !yield(p, nil) {
					return
				}
			}
			if next = r.NextPageOffset; next == nil {
				return
			}
		}
	}
}

// Foreign implements [connector.Importer]. Of several dense vectors it gives the one without a name, or the configured one, or
// the first by name.
func (s *Sink) Foreign(ctx context.Context, collection string) iter.Seq2[connector.Foreign, error] {
	return func(yield func(connector.Foreign, error) bool) {
		for p, err := range s.scroll(ctx, collection, pb.NewWithVectors(true)) {
			if err != nil {
				yield(connector.Foreign{}, fmt.Errorf("qdrant: read %s: %w", collection, err))
				return
			}
			id := p.GetId().GetUuid()
			if id == "" {
				id = strconv.FormatUint(p.GetId().GetNum(), 10)
			}
			if id == metaID && p.GetPayload()[metaKey] != nil {
				continue
			}
			if !yield(connector.Foreign{ID: id, Vector: s.layout.anyDense(p.GetVectors()), Fields: plainMap(p.GetPayload())}, nil) {
				return
			}
		}
	}
}

func (l *layout) anyDense(v *pb.VectorsOutput) []float32 {
	named := v.GetVectors().GetVectors()
	names := make([]string, 0, len(named))
	for name := range named {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range append([]string{"", l.denseName}, names...) {
		if d := denseOf(v, name); len(d) > 0 {
			return d
		}
	}
	return nil
}
