package qdrantfake

import (
	"context"
	"maps"
	"slices"
	"strings"

	pb "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

type collection struct {
	config *pb.CollectionConfig
	schema map[string]*pb.PayloadSchemaInfo
	points map[pointID]*point
}

// dense finds a dense vector's parameters; nil if there is none of that name.
func (c *collection) dense(name string) *pb.VectorParams {
	v := c.config.GetParams().GetVectorsConfig()
	if name == "" && v.GetParams() != nil {
		return v.GetParams()
	}
	return v.GetParamsMap().GetMap()[name]
}

func (c *collection) sparse(name string) *pb.SparseVectorParams {
	return c.config.GetParams().GetSparseVectorsConfig().GetMap()[name]
}

func done(result bool) *pb.CollectionOperationResponse {
	return &pb.CollectionOperationResponse{Result: result}
}

// Create makes a collection.
func (s *Server) Create(_ context.Context, r *pb.CreateCollection) (*pb.CollectionOperationResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.GetCollectionName()
	switch {
	case name == "" || len(name) > 255 || strings.ContainsAny(name, "<>:\"/\\|?*\x00\x1f"):
		return nil, invalid("collection name %q is not allowed", name)
	case s.collections[name] != nil:
		return nil, status.Errorf(codes.AlreadyExists, "Wrong input: Collection `%s` already exists!", name)
	case s.aliases[name] != "":
		return nil, invalid("Can't create collection with name %s. Alias with the same name already exists", name)
	}
	hnsw := &pb.HnswConfigDiff{M: pb.PtrOf(uint64(16)), EfConstruct: pb.PtrOf(uint64(100)), FullScanThreshold: pb.PtrOf(uint64(10_000))}
	if m := r.GetHnswConfig(); m != nil && m.M != nil {
		hnsw.M = m.M
	}
	config := &pb.CollectionConfig{
		HnswConfig: hnsw, Metadata: r.GetMetadata(),
		Params: &pb.CollectionParams{
			VectorsConfig: r.GetVectorsConfig(), SparseVectorsConfig: r.GetSparseVectorsConfig(), ShardNumber: 1, ReplicationFactor: pb.PtrOf(uint32(1)),
		},
		// The Python client does not read an answer without these.
		OptimizerConfig: &pb.OptimizersConfigDiff{DeletedThreshold: pb.PtrOf(0.2), VacuumMinVectorNumber: pb.PtrOf(uint64(1000)), DefaultSegmentNumber: pb.PtrOf(uint64(0)), FlushIntervalSec: pb.PtrOf(uint64(5))},
		WalConfig:       &pb.WalConfigDiff{WalCapacityMb: pb.PtrOf(uint64(32)), WalSegmentsAhead: pb.PtrOf(uint64(0))},
	}
	if s.Old {
		config.Metadata = nil
	}
	s.collections[name] = &collection{config: config, schema: map[string]*pb.PayloadSchemaInfo{}, points: map[pointID]*point{}}
	return done(true), nil
}

// Update changes the parameters of the graph, and adds to the metadata.
func (s *Server) Update(_ context.Context, r *pb.UpdateCollection) (*pb.CollectionOperationResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	next, ok := proto.Clone(c.config).(*pb.CollectionConfig) // the old one may be on its way in an answer
	if !ok {
		return nil, status.Error(codes.Internal, "a clone of another type")
	}
	if m := r.GetHnswConfig(); m != nil && m.M != nil {
		next.HnswConfig.M = m.M
	}
	if len(r.GetMetadata()) > 0 && !s.Old {
		if next.Metadata == nil {
			next.Metadata = map[string]*pb.Value{}
		}
		maps.Copy(next.Metadata, r.GetMetadata())
	}
	c.config = next
	return done(true), nil
}

// Get describes a collection, by an alias too.
func (s *Server) Get(_ context.Context, r *pb.GetCollectionInfoRequest) (*pb.GetCollectionInfoResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c, err := s.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	return &pb.GetCollectionInfoResponse{Result: &pb.CollectionInfo{
		Status: pb.CollectionStatus_Green, OptimizerStatus: &pb.OptimizerStatus{Ok: true}, SegmentsCount: 1, Config: c.config, PayloadSchema: maps.Clone(c.schema), PointsCount: pb.PtrOf(uint64(len(c.points))),
	}}, nil
}

// List names the collections.
func (s *Server) List(context.Context, *pb.ListCollectionsRequest) (*pb.ListCollectionsResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := &pb.ListCollectionsResponse{}
	for name := range s.collections {
		out.Collections = append(out.Collections, &pb.CollectionDescription{Name: name})
	}
	return out, nil
}

// CollectionExists is true for an alias too.
func (s *Server) CollectionExists(_ context.Context, r *pb.CollectionExistsRequest) (*pb.CollectionExistsResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, err := s.find(r.GetCollectionName())
	return &pb.CollectionExistsResponse{Result: &pb.CollectionExists{Exists: err == nil}}, nil
}

// Delete drops a collection with its aliases. A missing one, and one named by an alias, is a result of false without an error.
func (s *Server) Delete(_ context.Context, r *pb.DeleteCollection) (*pb.CollectionOperationResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.collections[r.GetCollectionName()] == nil {
		return done(false), nil
	}
	delete(s.collections, r.GetCollectionName())
	maps.DeleteFunc(s.aliases, func(_, target string) bool { return target == r.GetCollectionName() })
	return done(true), nil
}

// UpdateAliases carries out all actions or none.
func (s *Server) UpdateAliases(_ context.Context, r *pb.ChangeAliases) (*pb.CollectionOperationResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	aliases := maps.Clone(s.aliases)
	for _, action := range r.GetActions() {
		switch a := action.GetAction().(type) {
		case *pb.AliasOperations_CreateAlias:
			name, target := a.CreateAlias.GetAliasName(), a.CreateAlias.GetCollectionName()
			if s.collections[name] != nil {
				return nil, invalid("Collection with name %s already exists", name)
			}
			if s.collections[target] == nil {
				return nil, notFound(target)
			}
			aliases[name] = target // an existing one is repointed
		case *pb.AliasOperations_DeleteAlias:
			if aliases[a.DeleteAlias.GetAliasName()] == "" {
				return nil, status.Errorf(codes.NotFound, "Not found: Alias %s does not exists!", a.DeleteAlias.GetAliasName())
			}
			delete(aliases, a.DeleteAlias.GetAliasName())
		default:
			return nil, status.Error(codes.Unimplemented, "renaming an alias")
		}
	}
	s.aliases = aliases
	return done(true), nil
}

// ListAliases lists all aliases.
func (s *Server) ListAliases(context.Context, *pb.ListAliasesRequest) (*pb.ListAliasesResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := &pb.ListAliasesResponse{}
	for _, name := range slices.Sorted(maps.Keys(s.aliases)) {
		out.Aliases = append(out.Aliases, &pb.AliasDescription{AliasName: name, CollectionName: s.aliases[name]})
	}
	return out, nil
}
