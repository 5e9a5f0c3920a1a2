package qdrant

import (
	"context"
	"slices"
	"strings"

	pb "github.com/qdrant/go-client/qdrant"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

func (s *Sink) create(ctx context.Context, schema connector.Schema) (*Collection, error) {
	if schema.Dimensions < 1 || schema.Dimensions > 65_536 {
		return nil, connector.Errorf(connector.ClassInvalid, "%d dimensions: want 1 to 65,536", schema.Dimensions)
	}
	live, err := s.checkName(ctx)
	if err != nil {
		return nil, err
	}
	physical := s.config.Physical(schema.Generation)
	d, err := s.describe(ctx, physical)
	if err == nil && d == nil {
		d, err = s.make(ctx, physical, schema)
	}
	if err != nil {
		return nil, err
	}
	if !d.own {
		if d, err = s.resume(ctx, d, schema); err != nil {
			return nil, err
		}
	}
	if d.meta.Schema != schema {
		return nil, remote.Conflict("collection "+physical, d.meta.Schema, schema)
	}
	if err := s.checkShape(d, schema); err != nil {
		return nil, err
	}
	if err := s.complete(ctx, d); err != nil {
		return nil, err
	}
	if !s.config.InPlace && live == "" {
		found, err := s.generations(ctx)
		if err != nil {
			return nil, err
		}
		if len(found) == 1 {
			if err := s.point(ctx, "", physical); err != nil {
				return nil, err
			}
		}
	}
	return s.collectionOf(physical, d), nil
}

// checkName refuses a configured name that somebody else uses: an alias and a collection may not have one name, and an alias
// would be taken over in silence. It gives the live collection.
func (s *Sink) checkName(ctx context.Context) (live string, err error) {
	if s.config.InPlace {
		r, err := call(ctx, s, s.client.GetCollectionsClient().ListAliases, &pb.ListAliasesRequest{})
		if err != nil {
			return "", err
		}
		for _, a := range r.GetAliases() {
			if a.GetAliasName() == s.config.Collection {
				return "", connector.Errorf(connector.ClassConflict, "%s is an alias of the collection %s: in_place needs the name for a collection; choose another one, or drop the alias",
					a.GetAliasName(), a.GetCollectionName())
			}
		}
		return s.config.Collection, nil
	}
	if live, err = s.livePhysical(ctx); err != nil {
		return "", err
	}
	if live != "" {
		if _, ok := s.config.Generation(live); !ok {
			return "", remote.Foreign("the alias " + s.config.Collection + " of the collection " + live)
		}
		return live, nil
	}
	names, err := s.list(ctx)
	if err != nil || !slices.Contains(names, s.config.Collection) {
		return "", err
	}
	d, err := s.describe(ctx, s.config.Collection)
	if err == nil && d != nil && d.own {
		return "", connector.Errorf(connector.ClassConflict, "a collection has the name %s, so that no alias can: it was made with in_place: true; keep that, or choose another name", s.config.Collection)
	}
	if err == nil {
		err = remote.Foreign("a collection " + s.config.Collection)
	}
	return "", err
}

// make creates the collection with the description of itself. The answer may be lost, or another process may win: what is
// there afterwards decides.
func (s *Sink) make(ctx context.Context, physical string, schema connector.Schema) (*described, error) {
	req := &pb.CreateCollection{
		CollectionName: physical,
		VectorsConfig:  s.layout.vectors(schema.Dimensions, schema.Distance),
		Metadata:       map[string]*pb.Value{metaKey: pb.NewValueString(remote.NewMeta(schema).String())},
	}
	if s.layout.sparse {
		req.SparseVectorsConfig = pb.NewSparseVectorsConfig(map[string]*pb.SparseVectorParams{s.layout.sparseName: {Modifier: pb.Modifier_Idf.Enum()}})
	}
	if s.config.Index == "flat" {
		req.HnswConfig = &pb.HnswConfigDiff{M: pb.PtrOf(uint64(0))}
	}
	_, cerr := call(ctx, s, s.client.GetCollectionsClient().Create, req)
	d, err := s.describe(ctx, physical)
	switch {
	case err == nil && d != nil:
		return d, nil
	case cerr != nil:
		return nil, cerr
	case err != nil:
		return nil, err
	}
	return nil, connector.Errorf(connector.ClassTransient, "the collection was made and is not there")
}

// resume writes the description of an empty collection of the right shape that has none: a server without metadata, where a
// crash came between the two, or the first time.
func (s *Sink) resume(ctx context.Context, d *described, schema connector.Schema) (*described, error) {
	n, err := call(ctx, s, s.client.GetPointsClient().Count, &pb.CountPoints{CollectionName: d.name, Exact: pb.PtrOf(true)})
	if err != nil {
		return nil, err
	}
	if n.GetResult().GetCount() > 0 || s.checkShape(d, schema) != nil {
		return nil, remote.Foreign("a collection " + d.name)
	}
	d.meta, d.own, d.inPoint = remote.NewMeta(schema), true, true
	return d, s.putMeta(ctx, d)
}

// putMeta writes the point that describes its collection.
func (s *Sink) putMeta(ctx context.Context, d *described) error {
	r, err := call(ctx, s, s.client.GetPointsClient().Upsert, &pb.UpsertPoints{CollectionName: d.name, Wait: pb.PtrOf(true), Points: []*pb.PointStruct{{
		Id: pb.NewIDUUID(metaID), Vectors: pb.NewVectorsMap(nil),
		Payload: map[string]*pb.Value{metaKey: pb.NewValueString(d.meta.String()), stampKey: pb.NewValueString(d.stamp)},
	}}})
	if err == nil {
		err = applied(r.GetResult())
	}
	return err
}

// checkShape compares the collection itself with the schema, whatever its description says.
func (s *Sink) checkShape(d *described, schema connector.Schema) error {
	params := d.info.GetConfig().GetParams()
	dense := denseParams(params.GetVectorsConfig(), s.layout.denseName)
	var wrong []string
	switch {
	case dense == nil:
		wrong = append(wrong, "it has no dense vector \""+s.layout.denseName+"\"")
	case dense.GetSize() != uint64(schema.Dimensions) || dense.GetDistance() != distanceOf(schema.Distance):
		have := schema
		have.Dimensions, have.Distance = int(dense.GetSize()), distanceName(dense.GetDistance())
		return remote.Conflict("collection "+d.name, have, schema)
	}
	if s.layout.sparse && params.GetSparseVectorsConfig().GetMap()[s.layout.sparseName] == nil {
		wrong = append(wrong, "it has no sparse vector \""+s.layout.sparseName+"\"")
	}
	if len(wrong) > 0 {
		return connector.Errorf(connector.ClassConflict, "collection %s exists with another shape: %s", d.name, strings.Join(wrong, "; "))
	}
	return nil
}

// complete makes what a crash or a changed configuration left out: indexes of the payload, and whether there is a graph.
func (s *Sink) complete(ctx context.Context, d *described) error {
	for _, ix := range s.layout.indexes() {
		if _, ok := d.info.GetPayloadSchema()[ix.field]; ok {
			continue
		}
		r, err := call(ctx, s, s.client.GetPointsClient().CreateFieldIndex, &pb.CreateFieldIndexCollection{
			CollectionName: d.name, Wait: pb.PtrOf(true), FieldName: ix.field, FieldType: ix.kind.Enum(),
		})
		if err == nil {
			err = applied(r.GetResult())
		}
		if err != nil {
			return err
		}
	}
	want := uint64(16) // the server's default
	if s.config.Index == "flat" {
		want = 0
	}
	hnsw := d.info.GetConfig().GetHnswConfig()
	if hnsw.M == nil || (hnsw.GetM() == 0) == (want == 0) {
		return nil
	}
	_, err := call(ctx, s, s.client.GetCollectionsClient().Update, &pb.UpdateCollection{CollectionName: d.name, HnswConfig: &pb.HnswConfigDiff{M: &want}})
	return err
}

// point makes the alias point to physical, in one request.
func (s *Sink) point(ctx context.Context, from, physical string) error {
	var actions []*pb.AliasOperations
	if from != "" {
		if _, ok := s.config.Generation(from); !ok {
			return remote.Foreign("the alias " + s.config.Collection + " of the collection " + from)
		}
		actions = append(actions, pb.NewAliasDelete(s.config.Collection))
	}
	actions = append(actions, pb.NewAliasCreate(s.config.Collection, physical))
	r, err := call(ctx, s, s.client.GetCollectionsClient().UpdateAliases, &pb.ChangeAliases{Actions: actions})
	if err == nil && !r.GetResult() {
		err = connector.Errorf(connector.ClassTransient, "the server did not move the alias %s", s.config.Collection)
	}
	return err
}

func (s *Sink) collectionOf(physical string, d *described) *Collection {
	return &Collection{sink: s, name: physical, schema: d.meta.Schema, metaPoint: d.inPoint}
}
