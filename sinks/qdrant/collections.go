package qdrant

import (
	"context"
	"slices"

	pb "github.com/qdrant/go-client/qdrant"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// metaKey is where a collection's metadata holds the description of itself. Servers before 1.16 keep no metadata: there a point
// without vectors holds it under metaID, which no chunk can have.
const (
	metaKey  = "kbsync"
	stampKey = "kbsync_stamp"
	metaID   = "00000000-0000-0000-0000-000000000000"
)

// described is a physical collection of the server.
type described struct {
	name    string
	info    *pb.CollectionInfo
	meta    remote.Meta
	stamp   string // see [connector.Stamper]
	own     bool   // kbsync made it: meta is set
	inPoint bool   // meta stands in a point
	live    bool
}

// describe reads a physical collection; nil if there is none.
func (s *Sink) describe(ctx context.Context, name string) (*described, error) {
	r, err := call(ctx, s, s.client.GetCollectionsClient().Get, &pb.GetCollectionInfoRequest{CollectionName: name})
	if connector.ClassOf(err) == connector.ClassNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := &described{name: name, info: r.GetResult()}
	metadata := d.info.GetConfig().GetMetadata()
	if d.meta, d.own = remote.ParseMeta(metadata[metaKey].GetStringValue()); d.own {
		d.stamp = metadata[stampKey].GetStringValue()
		return d, nil
	}
	points, err := call(ctx, s, s.client.GetPointsClient().Get, &pb.GetPoints{CollectionName: name, Ids: []*pb.PointId{pb.NewIDUUID(metaID)}, WithPayload: pb.NewWithPayload(true)})
	if connector.ClassOf(err) == connector.ClassNotFound { // it was dropped in between
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, p := range points.GetResult() {
		d.meta, d.own = remote.ParseMeta(p.GetPayload()[metaKey].GetStringValue())
		d.inPoint, d.stamp = d.own, p.GetPayload()[stampKey].GetStringValue()
	}
	return d, nil
}

// livePhysical is the name of the collection that queries are answered from; empty if there is none.
func (s *Sink) livePhysical(ctx context.Context) (string, error) {
	if s.config.InPlace {
		return s.config.Collection, nil
	}
	r, err := call(ctx, s, s.client.GetCollectionsClient().ListAliases, &pb.ListAliasesRequest{})
	if err != nil {
		return "", err
	}
	for _, a := range r.GetAliases() {
		if a.GetAliasName() == s.config.Collection {
			return a.GetCollectionName(), nil
		}
	}
	return "", nil
}

func (s *Sink) list(ctx context.Context) ([]string, error) {
	r, err := call(ctx, s, s.client.GetCollectionsClient().List, &pb.ListCollectionsRequest{})
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(r.GetCollections()))
	for _, c := range r.GetCollections() {
		names = append(names, c.GetName())
	}
	slices.Sort(names)
	return names, nil
}

// generations are the physical collections of this target that kbsync made, the live one first.
func (s *Sink) generations(ctx context.Context) ([]described, error) {
	live, err := s.livePhysical(ctx)
	if err != nil {
		return nil, err
	}
	names, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	var out []described
	for _, name := range names {
		generation, ok := s.config.Generation(name)
		if s.config.InPlace {
			ok = name == s.config.Collection
		}
		if !ok {
			continue
		}
		d, err := s.describe(ctx, name)
		if err != nil {
			return nil, err
		}
		if d == nil || !d.own || !s.config.InPlace && d.meta.Schema.Generation != generation {
			continue
		}
		d.live = name == live
		out = append(out, *d)
	}
	slices.SortStableFunc(out, func(a, b described) int {
		switch {
		case a.live == b.live:
			return 0
		case a.live:
			return -1
		}
		return 1
	})
	return out, nil
}
