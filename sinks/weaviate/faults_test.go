package weaviate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/servers"
)

const dims = 8

func schemaOf(s *Sink, generation string) connector.Schema {
	return connector.Schema{Generation: generation, Model: "m", Dimensions: dims, Distance: s.config.Distance, Layout: s.Capabilities().Layout}
}

func create(t testing.TB, s *Sink, generation string) *Collection {
	t.Helper()
	c, err := s.Create(t.Context(), schemaOf(s, generation))
	if err != nil {
		t.Fatal(err)
	}
	return c.(*Collection) //nolint:forcetypeassert // this package's own
}

func pointID(n int) string {
	return connector.NewUUID5(connector.PipelineNamespace("weaviate"), fmt.Sprint(n)).String()
}

func point(n int) connector.Point {
	rng := rand.New(rand.NewPCG(uint64(n), 3)) //nolint:gosec // test data
	v := make([]float32, dims)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	text := fmt.Sprintf("passage %d 手册", n)
	return connector.Point{Vector: v, Record: connector.Record{
		ChunkID: pointID(n), DocID: pointID(1000 + n), Source: "docs", Path: fmt.Sprintf("文件 %d.md", n), Content: text, EmbedText: text,
		ContentHash: connector.ContentHash(text), Metadata: map[string]any{"n": int64(n)},
	}}
}

func points(from, to int) (out []connector.Point) {
	for n := from; n < to; n++ {
		out = append(out, point(n))
	}
	return out
}

func upsert(t testing.TB, c *Collection, points ...connector.Point) {
	t.Helper()
	if err := c.Upsert(t.Context(), points); err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wantCount(t testing.TB, c *Collection, want int) {
	t.Helper()
	if n, err := c.Count(t.Context()); err != nil || n != want {
		t.Errorf("count %d, %v; want %d", n, err, want)
	}
}

func wantClass(t testing.TB, err error, want connector.Class) {
	t.Helper()
	if err == nil || connector.ClassOf(err) != want {
		t.Errorf("got class %v, want %v: %v", connector.ClassOf(err), want, err)
	}
}

func deleteClass(t testing.TB, s *Sink, class string) {
	t.Helper()
	if err := s.rest.do(t.Context(), http.MethodDelete, "/schema/"+class, nil, nil); err != nil {
		t.Fatal(err)
	}
}

// makeClass makes a class as another program would.
func makeClass(t testing.TB, s *Sink, body map[string]any) {
	t.Helper()
	if err := s.rest.do(t.Context(), http.MethodPost, "/schema", body, nil); err != nil {
		t.Fatal(err)
	}
}

func TestFaults(t *testing.T) {
	server := servers.Start(t, "weaviate")
	for name, test := range map[string]func(*testing.T, func(...func(*Config)) *Sink){
		"class deleted behind its back": deletedBehind, "dangling alias": danglingAlias, "alias lost": aliasLost, "objects lost": objectsLost,
		"texts stay texts": textsStayTexts, "similar names": similarNames, "foreign class": foreignClass, "changed class": changedClass,
		"exact filters": exactFilters, "vectors as sent": vectorsAsSent, "last one wins": lastOneWins, "in place": inPlace, "tenants": tenants,
		"import": imports, "query through the alias": throughAlias, "many deletes": manyDeletes, "recall": recall, "presets": presetFields,
		"foreign object": foreignObjectInside, "read-only": readOnly,
	} {
		t.Run(name, func(t *testing.T) {
			collection := strings.ReplaceAll(strings.TrimPrefix(t.Name(), "TestFaults/"), "_", "")
			test(t, func(change ...func(*Config)) *Sink {
				c := configAt(server, collection)
				for _, f := range change {
					f(&c)
				}
				s := openWith(t, c)
				t.Cleanup(func() { _ = s.Close() })
				return s
			})
		})
	}
}

type opener = func(...func(*Config)) *Sink

// deletedBehind: Weaviate would make the class anew, with guessed types, when something is written to it.
func deletedBehind(t *testing.T, open opener) {
	s := open()
	c := create(t, s, "g1")
	upsert(t, c, points(0, 3)...)
	mark, err := c.Marker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	deleteClass(t, s, c.class)
	wantClass(t, c.Upsert(t.Context(), points(0, 3)), connector.ClassNotFound)
	_, err = c.Fetch(t.Context(), []string{pointID(0)}, false)
	wantClass(t, err, connector.ClassNotFound)
	_, err = c.Count(t.Context())
	wantClass(t, err, connector.ClassNotFound)
	_, err = c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: point(1).Vector, K: 1})
	wantClass(t, err, connector.ClassNotFound)
	wantClass(t, c.SetStamp(t.Context(), "x"), connector.ClassNotFound)
	for _, err := range c.Scan(t.Context(), false) {
		wantClass(t, err, connector.ClassNotFound)
	}
	if have, err := s.find(t.Context(), c.class); err != nil || have != nil {
		t.Errorf("the class is back: %v, %v", have, err)
	}
	again := create(t, s, "g1")
	if m, err := again.Marker(t.Context()); err != nil || m == mark {
		t.Errorf("marker %q, %v", m, err)
	}
	wantClass(t, c.Upsert(t.Context(), points(0, 1)), connector.ClassNotFound) // the old one stays gone

	// Something else wrote to it after it was deleted.
	deleteClass(t, s, c.class)
	if _, err := again.send(t.Context(), []*pb.BatchObject{must(again.encode(&[]connector.Point{point(1)}[0]))}); err != nil {
		t.Fatal(err)
	}
	wantClass(t, again.Upsert(t.Context(), points(0, 1)), connector.ClassNotFound)
	_, err = s.Create(t.Context(), schemaOf(s, "g1"))
	wantClass(t, err, connector.ClassConflict)
	if err == nil || !strings.Contains(err.Error(), "auto-schema") {
		t.Errorf("the message does not say how the class came to be: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// objectsLost: the server's call succeeds, and its answer names the objects that were not stored.
func objectsLost(t *testing.T, open opener) {
	c := create(t, open(), "g1")
	upsert(t, c, point(0))
	bad := point(2)
	object := must(c.encode(&bad))
	object.VectorBytes = object.VectorBytes[:4*(dims-1)]
	refused := map[int]error{}
	err := c.write(t.Context(), []*pb.BatchObject{must(c.encode(&[]connector.Point{point(1)}[0])), object, must(c.encode(&[]connector.Point{point(3)}[0]))},
		func(n int, err error) { refused[n] = err })
	if err != nil || len(refused) != 1 {
		t.Fatalf("refused %v, %v; want object 1", refused, err)
	}
	wantClass(t, refused[1], connector.ClassInvalid)
	got, err := c.Fetch(t.Context(), []string{pointID(0), pointID(1), pointID(2), pointID(3)}, true)
	if err != nil || len(got) != 3 {
		t.Errorf("%d points, %v; want 3", len(got), err)
	}
	other := *c
	other.schema.Dimensions = dims / 2 // as after a model of other dimensions under the same name
	short := point(5)
	short.Vector = short.Vector[:dims/2]
	var batch *connector.BatchError
	if err := other.Upsert(t.Context(), []connector.Point{short}); !errors.As(err, &batch) || !slices.Equal(batch.Indexes(), []int{0}) {
		t.Errorf("a vector of other dimensions: %v", err)
	}
}

// readOnly: a server whose disk is nearly full sets the shards read-only, as is done here by hand.
func readOnly(t *testing.T, open opener) {
	s := open()
	c := create(t, s, "g1")
	upsert(t, c, point(0))
	var shards []struct{ Name string }
	if err := s.rest.do(t.Context(), http.MethodGet, "/schema/"+c.class+"/shards", nil, &shards); err != nil || len(shards) != 1 {
		t.Fatal(shards, err)
	}
	path := "/schema/" + c.class + "/shards/" + shards[0].Name
	if err := s.rest.do(t.Context(), http.MethodPut, path, map[string]string{"status": "READONLY"}, nil); err != nil {
		t.Fatal(err)
	}
	wantClass(t, c.Upsert(t.Context(), points(0, 3)), connector.ClassFull)
	wantClass(t, c.Delete(t.Context(), []string{pointID(0)}), connector.ClassFull)
	wantCount(t, c, 1)
	if err := s.rest.do(t.Context(), http.MethodPut, path, map[string]string{"status": "READY"}, nil); err != nil {
		t.Fatal(err)
	}
	upsert(t, c, points(0, 3)...)
	wantCount(t, c, 3)
}
