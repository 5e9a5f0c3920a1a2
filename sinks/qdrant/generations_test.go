package qdrant

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	pb "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kbsync/kbsync/connector"
)

func liveGeneration(t *testing.T, s *Sink) string {
	t.Helper()
	c, err := s.Live(t.Context())
	if errors.Is(err, connector.ErrNoCollection) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.Schema().Generation
}

// TestCreateCutAnywhere: wherever Create is cut, before a call or after it, the next one finishes the work.
func TestCreateCutAnywhere(t *testing.T) {
	for _, old := range []bool{false, true} {
		for _, done := range []bool{false, true} {
			for _, at := range []string{"Create 1", "Get 1", "Get 2", "List 1", "ListAliases 1", "ListAliases 2", "CreateFieldIndex 1", "CreateFieldIndex 7", "CreateFieldIndex 11", "UpdateAliases 1", "Upsert 1"} {
				server := fake(t)
				server.Old = old
				s := openAt(t, server.Addr(), "books", nil)
				cut := func(_ context.Context, method string, n int) error {
					if fmt.Sprint(method, " ", n) == at {
						return status.Error(codes.Unavailable, "cut")
					}
					return nil
				}
				if done {
					server.After = cut
				} else {
					server.Before = cut
				}
				_, err := s.Create(t.Context(), schemaOf(s, "g1"))
				if err != nil && connector.ClassOf(err) != connector.ClassTransient {
					t.Errorf("old %v, done %v, cut at %s: %v", old, done, at, err)
				}
				c := create(t, s, "g1")
				if live := liveGeneration(t, s); live != "g1" {
					t.Errorf("old %v, done %v, cut at %s: live is %q", old, done, at, live)
				}
				d, err := s.describe(t.Context(), c.name)
				if err != nil || len(d.info.GetPayloadSchema()) != len(s.layout.indexes()) {
					t.Errorf("old %v, done %v, cut at %s: %d indexes, %v", old, done, at, len(d.info.GetPayloadSchema()), err)
				}
				wantCount(t, c, 0)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestCreateAgain: opening what is complete writes nothing.
func TestCreateAgain(t *testing.T) {
	server, s, _ := rig(t, 3, nil)
	count := func() (n int) {
		for _, method := range []string{"Create", "Update", "UpdateAliases", "CreateFieldIndex", "Upsert", "Delete", "UpdateBatch"} {
			n += server.Calls(method)
		}
		return n
	}
	before := count()
	wantCount(t, create(t, s, "g1"), 3)
	if n := count() - before; n != 0 {
		t.Errorf("%d calls that write", n)
	}
}

// TestIndexChanged: the key index is followed by collections that exist.
func TestIndexChanged(t *testing.T) {
	server, s, c := rig(t, 1, nil)
	for _, want := range []string{"flat", "hnsw"} {
		other := openAt(t, server.Addr(), "books", func(c *Config) { c.Index = want })
		create(t, other, "g1")
		d, err := s.describe(t.Context(), c.name)
		if err != nil || (d.info.GetConfig().GetHnswConfig().GetM() == 0) != (want == "flat") {
			t.Errorf("%s: m is %d, %v", want, d.info.GetConfig().GetHnswConfig().GetM(), err)
		}
		_ = other.Close()
	}
}

// TestPromoteInOneStep: who reads through the alias during many switches never finds nothing.
func TestPromoteInOneStep(t *testing.T) {
	_, s, _ := rig(t, 1, nil)
	if err := create(t, s, "g2").Upsert(t.Context(), testPoints(2)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if n, err := s.client.Count(t.Context(), &pb.CountPoints{CollectionName: "books", Exact: pb.PtrOf(true)}); err != nil || n == 0 {
				t.Errorf("through the alias: %d, %v", n, err)
				return
			}
		}
	})
	for i := range 60 {
		if err := s.Promote(t.Context(), []string{"g2", "g1"}[i%2]); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}

// TestNameTaken: a collection of the configured name, and an alias of somebody else, are refused and left alone.
func TestNameTaken(t *testing.T) {
	server := fake(t)
	s := openAt(t, server.Addr(), "books", nil)
	defer func() { _ = s.Close() }()
	plain := &pb.CreateCollection{CollectionName: "books", VectorsConfig: pb.NewVectorsConfig(&pb.VectorParams{Size: 8, Distance: pb.Distance_Cosine})}
	if err := s.client.CreateCollection(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	_, err := s.Create(t.Context(), schemaOf(s, "g1"))
	wantClass(t, "a collection of that name", err, connector.ClassConflict)
	if err := s.client.DeleteCollection(t.Context(), "books"); err != nil {
		t.Fatal(err)
	}
	plain.CollectionName = "theirs"
	if err := errors.Join(s.client.CreateCollection(t.Context(), plain), s.client.CreateAlias(t.Context(), "books", "theirs")); err != nil {
		t.Fatal(err)
	}
	_, err = s.Create(t.Context(), schemaOf(s, "g1"))
	wantClass(t, "an alias of that name", err, connector.ClassConflict)
	if target, err := s.livePhysical(t.Context()); target != "theirs" || err != nil {
		t.Errorf("the alias points to %s, %v", target, err)
	}
	_, err = s.Live(t.Context())
	wantClass(t, "Live through somebody else's alias", err, connector.ClassConflict)
	inPlace := openAt(t, server.Addr(), "books", func(c *Config) { c.InPlace = true })
	_, err = inPlace.Create(t.Context(), schemaOf(inPlace, "g1"))
	wantClass(t, "in place under the name of an alias", err, connector.ClassConflict)
	_ = inPlace.Close()
}

// TestForeignCollection: a collection of a generation's name that kbsync did not make is refused, with or without metadata.
func TestForeignCollection(t *testing.T) {
	for _, old := range []bool{false, true} {
		server := fake(t)
		server.Old = old
		s := openAt(t, server.Addr(), "books", nil)
		theirs := &pb.CreateCollection{CollectionName: "books_g1", VectorsConfig: s.layout.vectors(8, "cosine"),
			SparseVectorsConfig: pb.NewSparseVectorsConfig(map[string]*pb.SparseVectorParams{"sparse": {}})}
		points := []*pb.PointStruct{{Id: pb.NewIDNum(1), Vectors: pb.NewVectorsMap(nil)}}
		_, err := s.client.Upsert(t.Context(), &pb.UpsertPoints{CollectionName: "books_g1", Wait: pb.PtrOf(true), Points: points})
		wantClass(t, "before it is made", err, connector.ClassUnknown)
		if err := s.client.CreateCollection(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
		if _, err := s.client.Upsert(t.Context(), &pb.UpsertPoints{CollectionName: "books_g1", Wait: pb.PtrOf(true), Points: points}); err != nil {
			t.Fatal(err)
		}
		_, err = s.Create(t.Context(), schemaOf(s, "g1"))
		wantClass(t, "Create", err, connector.ClassConflict)
		if err := s.Drop(t.Context(), "g1"); err != nil {
			t.Error(err)
		}
		if info, err := s.client.GetCollectionInfo(t.Context(), "books_g1"); err != nil || info.GetPointsCount() != 1 {
			t.Errorf("it was touched: %v, %v", info, err)
		}
		_ = s.Close()
	}
}

// TestShapeChanged: a collection made anew behind our back, with our description but another shape, is refused by name.
func TestShapeChanged(t *testing.T) {
	_, s, c := rig(t, 1, nil)
	d, err := s.describe(t.Context(), c.name)
	if err != nil {
		t.Fatal(err)
	}
	remake := func(size uint64, distance pb.Distance, sparse string) error {
		return errors.Join(s.client.DeleteCollection(t.Context(), c.name), s.client.CreateCollection(t.Context(), &pb.CreateCollection{
			CollectionName: c.name, Metadata: d.info.GetConfig().GetMetadata(),
			VectorsConfig:       pb.NewVectorsConfigMap(map[string]*pb.VectorParams{"dense": {Size: size, Distance: distance}}),
			SparseVectorsConfig: pb.NewSparseVectorsConfig(map[string]*pb.SparseVectorParams{sparse: {Modifier: pb.Modifier_Idf.Enum()}}),
		}))
	}
	for _, shape := range []struct {
		size     uint64
		distance pb.Distance
		sparse   string
		want     string
	}{{16, pb.Distance_Cosine, "sparse", "dimensions is 16, wanted 8"}, {8, pb.Distance_Euclid, "sparse", "distance is l2, wanted cosine"}, {8, pb.Distance_Cosine, "other", "no sparse vector"}} {
		if err := remake(shape.size, shape.distance, shape.sparse); err != nil {
			t.Fatal(err)
		}
		_, err := s.Create(t.Context(), schemaOf(s, "g1"))
		wantClass(t, shape.want, err, connector.ClassConflict)
		if err != nil && !strings.Contains(err.Error(), shape.want) {
			t.Errorf("%v does not say %q", err, shape.want)
		}
	}
}

// TestGoneBehindItsBack: every call on a collection that somebody dropped says so; nothing makes it again in silence.
func TestGoneBehindItsBack(t *testing.T) {
	_, s, c := rig(t, 3, nil)
	if err := s.client.DeleteCollection(t.Context(), c.name); err != nil {
		t.Fatal(err)
	}
	_, fetch := c.Fetch(t.Context(), []string{testID(1)}, false)
	_, count := c.Count(t.Context())
	_, marker := c.Marker(t.Context())
	_, stamp := c.Stamp(t.Context())
	_, search := c.Search(t.Context(), connector.Query{Mode: connector.ModeHybrid, Vector: testPoint(1).Vector, Text: "point", K: 3})
	var scan error
	for _, scan = range c.Scan(t.Context(), false) {
	}
	for what, err := range map[string]error{
		"Upsert": c.Upsert(t.Context(), testPoints(1)), "UpdatePayload": c.UpdatePayload(t.Context(), []connector.Record{testPoint(1).Record}),
		"Delete": c.Delete(t.Context(), []string{testID(1)}), "Fetch": fetch, "Count": count, "Marker": marker, "Search": search, "Scan": scan,
		"Stamp": stamp, "SetStamp": c.SetStamp(t.Context(), "x"),
		"Promote": s.Promote(t.Context(), "g1"),
	} {
		wantClass(t, what, err, connector.ClassNotFound)
	}
	if _, err := s.Live(t.Context()); !errors.Is(err, connector.ErrNoCollection) {
		t.Errorf("Live: %v", err) // the server drops the alias too: none is left dangling
	}
	if err := s.Drop(t.Context(), "g1"); err != nil {
		t.Errorf("Drop of what is gone: %v", err)
	}
	wantCount(t, create(t, s, "g1"), 0)
	if live := liveGeneration(t, s); live != "g1" {
		t.Errorf("live is %q", live)
	}
}

// TestDropLive: the live generation goes last.
func TestDropLive(t *testing.T) {
	_, s, c := rig(t, 3, nil)
	create(t, s, "g2")
	wantClass(t, "Drop of the live one", s.Drop(t.Context(), "g1"), connector.ClassConflict)
	wantCount(t, c, 3)
	for _, generation := range []string{"g2", "g1", "g1"} {
		if err := s.Drop(t.Context(), generation); err != nil {
			t.Error(err)
		}
	}
	if live := liveGeneration(t, s); live != "" {
		t.Errorf("%s is live", live)
	}
}

// TestDropLostAnswer: the collection is gone though the answer is lost, or somebody else was faster.
func TestDropLostAnswer(t *testing.T) {
	server, s, _ := rig(t, 3, nil)
	server.After = func(_ context.Context, method string, n int) error {
		if method == "Delete" && n == 1 {
			return status.Error(codes.Unavailable, "cut")
		}
		return nil
	}
	if err := s.Drop(t.Context(), "g1"); err != nil {
		t.Error(err)
	}
	if found, err := s.Generations(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// TestInPlace: one collection under its own name, no alias; another generation needs the old one dropped.
func TestInPlace(t *testing.T) {
	server, s, c := rig(t, 2, func(c *Config) { c.InPlace = true })
	if live := liveGeneration(t, s); live != "g1" || c.name != "books" {
		t.Errorf("live is %q, the name %q", live, c.name)
	}
	if found, err := s.Generations(t.Context()); err != nil || len(found) != 1 || found[0].Generation != "g1" {
		t.Errorf("%v, %v", found, err)
	}
	_, err := s.Create(t.Context(), schemaOf(s, "g2"))
	wantClass(t, "another generation", err, connector.ClassConflict)
	wantClass(t, "Promote", s.Promote(t.Context(), "g2"), connector.ClassNotFound)
	if err := s.Promote(t.Context(), "g1"); err != nil {
		t.Error(err)
	}
	aliased := openAt(t, server.Addr(), "books", nil)
	defer func() { _ = aliased.Close() }()
	_, err = aliased.Create(t.Context(), schemaOf(aliased, "g1"))
	wantClass(t, "an alias where a collection has the name", err, connector.ClassConflict)
	if err := s.Drop(t.Context(), "g2"); err != nil {
		t.Error(err)
	}
	wantCount(t, c, 2)
	if err := s.Drop(t.Context(), "g1"); err != nil {
		t.Error(err)
	}
	wantCount(t, create(t, s, "g2"), 0)
	if n := server.Calls("UpdateAliases"); n != 0 {
		t.Errorf("%d changes of aliases", n)
	}
}

// TestNeighbours: generations of a pipeline whose name begins with this one's are none of ours.
func TestNeighbours(t *testing.T) {
	server, s, _ := rig(t, 1, nil)
	for _, name := range []string{"books_old", "books_g1_x", "book"} {
		other := openAt(t, server.Addr(), name, nil)
		create(t, other, "g7")
		_ = other.Close()
	}
	if found, err := s.Generations(t.Context()); err != nil || len(found) != 1 || found[0].Generation != "g1" {
		t.Errorf("%v, %v", found, err)
	}
}
