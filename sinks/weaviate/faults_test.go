package weaviate

import (
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weaviate/weaviate/entities/models"
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

func danglingAlias(t *testing.T, open opener) {
	s := open()
	c := create(t, s, "g1")
	deleteClass(t, s, c.class)
	if target, err := s.alias(t.Context()); err != nil || target != c.class {
		t.Fatalf("the alias points to %q, %v: Weaviate no longer leaves it behind", target, err)
	}
	if _, err := s.Live(t.Context()); !errors.Is(err, connector.ErrNoCollection) {
		t.Errorf("Live: %v", err)
	}
	two := create(t, s, "g2") // the only one: live at once
	if target, err := s.alias(t.Context()); err != nil || target != two.class {
		t.Errorf("the alias points to %q, %v; want %s", target, err, two.class)
	}
	deleteClass(t, s, two.class)
	if err := s.Drop(t.Context(), "g2"); err != nil {
		t.Error(err)
	}
	if target, err := s.alias(t.Context()); err != nil || target != "" {
		t.Errorf("Drop left the dangling alias to %q, %v", target, err)
	}
	// It points to nothing, and two generations are there: neither is live until one is promoted.
	one := create(t, s, "g1")
	create(t, s, "g2")
	create(t, s, "g3")
	deleteClass(t, s, one.class)
	if _, err := s.Live(t.Context()); !errors.Is(err, connector.ErrNoCollection) {
		t.Errorf("Live: %v", err)
	}
	if err := s.Promote(t.Context(), "g3"); err != nil {
		t.Fatal(err)
	}
	live, err := s.Live(t.Context())
	if err != nil || live.Schema().Generation != "g3" {
		t.Errorf("Live: %v, %v", live, err)
	}
	wantClass(t, s.Drop(t.Context(), "g3"), connector.ClassConflict)
}

// aliasLost: a crash between the making of the class and its alias, or somebody who deleted it.
func aliasLost(t *testing.T, open opener) {
	s := open()
	c := create(t, s, "g1")
	if err := s.rest.do(t.Context(), http.MethodDelete, "/aliases/"+s.config.Collection, nil, nil); err != nil {
		t.Fatal(err)
	}
	if live, err := s.Live(t.Context()); err != nil || live.Schema().Generation != "g1" {
		t.Errorf("Live: %v, %v", live, err)
	}
	create(t, s, "g1")
	if target, err := s.alias(t.Context()); err != nil || target != c.class {
		t.Errorf("the alias points to %q, %v", target, err)
	}
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

// textsStayTexts: auto-schema would make a UUID, a date or a number of them, and refuse the next text.
func textsStayTexts(t *testing.T, open opener) {
	s := open()
	c := create(t, s, "g1")
	before, err := s.find(t.Context(), c.class)
	if err != nil {
		t.Fatal(err)
	}
	all := points(0, 4)
	for i, v := range []string{"1.2.3", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "2026-01-02T03:04:05Z", "17"} {
		all[i].Metadata = map[string]any{"title": v, "section": v, "language": v, "version": v, "page": v, "chunk_index": int64(i), "list": []any{v}}
		all[i].Content, all[i].EmbedText = v, v
	}
	upsert(t, c, all...)
	got, err := c.Fetch(t.Context(), []string{pointID(0), pointID(1), pointID(2), pointID(3)}, true)
	if err != nil || !reflect.DeepEqual(got, all) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, all)
	}
	after, err := s.find(t.Context(), c.class)
	if err != nil || !reflect.DeepEqual(before.Properties, after.Properties) {
		t.Errorf("the properties changed (%v): %d, then %d", err, len(before.Properties), len(after.Properties))
	}
	for _, p := range all {
		hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: p.Vector, K: 9, Filter: connector.Filter{{Field: "version", Values: []any{p.Metadata["version"]}}}})
		if err != nil || len(hits) != 1 || hits[0].ChunkID != p.ChunkID {
			t.Errorf("version %v: %d hits, %v", p.Metadata["version"], len(hits), err)
		}
	}
}

// similarNames: Weaviate takes no two classes whose names differ in capitals alone.
func similarNames(t *testing.T, open opener) {
	create(t, open(func(c *Config) { c.Collection = "handBook" }), "g1")
	other := open(func(c *Config) { c.Collection = "handbook" })
	_, err := other.Create(t.Context(), schemaOf(other, "g1"))
	wantClass(t, err, connector.ClassConflict)
	same := open(func(c *Config) { c.Collection = "HandBook" })
	if a, b := same.Target(), open(func(c *Config) { c.Collection = "handBook" }).Target(); a != b {
		t.Errorf("%v and %v are the same place", a, b)
	}
	create(t, same, "g1")
}

func foreignClass(t *testing.T, open opener) {
	s := open()
	name := s.config.Collection
	makeClass(t, s, map[string]any{"class": name, "vectorizer": "none"})
	for _, change := range []func(*Config){func(*Config) {}, func(c *Config) { c.InPlace = true }} {
		s := open(change)
		_, err := s.Create(t.Context(), schemaOf(s, "g1"))
		wantClass(t, err, connector.ClassConflict)
		if list, err := s.Generations(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("generations %v, %v", list, err)
		}
		if err := s.Drop(t.Context(), "g1"); err != nil {
			t.Error(err)
		}
	}
	if have, err := s.find(t.Context(), name); err != nil || have == nil {
		t.Errorf("the other program's class is gone: %v", err)
	}
	// An alias of that name that belongs to somebody else.
	other := open(func(c *Config) { c.Collection = "Taken" })
	if err := s.rest.do(t.Context(), http.MethodPost, "/aliases", aliasBody{Alias: "Taken", Class: name}, nil); err != nil {
		t.Fatal(err)
	}
	create(t, other, "g1")
	wantClass(t, other.Promote(t.Context(), "g1"), connector.ClassConflict)
	if target, err := other.alias(t.Context()); err != nil || target != name {
		t.Errorf("the alias was taken away: %q, %v", target, err)
	}
}

func changedClass(t *testing.T, open opener) {
	s := open()
	c := create(t, s, "g1")
	// A property that somebody or auto-schema added is left alone.
	if err := s.rest.do(t.Context(), http.MethodPost, "/schema/"+c.class+"/properties", map[string]any{"name": "added", "dataType": []string{"text"}}, nil); err != nil {
		t.Fatal(err)
	}
	upsert(t, create(t, s, "g1"), point(1))

	schema := schemaOf(s, "g2")
	class := s.class(s.config.Physical("g2"), schema)
	class.Properties = slices.DeleteFunc(class.Properties, func(p *models.Property) bool { return p.Name == "path" })
	for _, p := range class.Properties {
		if p.Name == "section" {
			p.Tokenization = "word"
		}
	}
	if err := s.rest.do(t.Context(), http.MethodPost, "/schema", class, nil); err != nil {
		t.Fatal(err)
	}
	_, err := s.Create(t.Context(), schema)
	wantClass(t, err, connector.ClassConflict)
	for _, part := range []string{"path is missing", "section has the tokenization word"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %v", part, err)
		}
	}
	if err := s.Promote(t.Context(), "g2"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Live(t.Context())
	wantClass(t, err, connector.ClassConflict)
}

// exactFilters: a field that is analysed as text finds nothing by its whole value, or too much.
func exactFilters(t *testing.T, open opener) {
	c := create(t, open(), "g1")
	paths := []string{"a b/文件 1.md", "a b/文件 1.MD", " a b/文件 1.md", "a b/文件 1.md ", "a b", "文件", strings.Repeat("长/", 30_000) + "a", strings.Repeat("长/", 30_000) + "b", "the", "*", "?"}
	var all []connector.Point
	for i, path := range paths {
		p := point(i)
		p.Path, p.Metadata = path, map[string]any{"key": path, "path": "other"}
		all = append(all, p)
	}
	upsert(t, c, all...)
	for i, path := range paths {
		for _, field := range []string{"path", "key"} {
			hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: point(0).Vector, K: 20, Filter: connector.Filter{{Field: field, Values: []any{path}}}})
			if err != nil || len(hits) != 1 || hits[0].ChunkID != pointID(i) || hits[0].Path != path {
				t.Errorf("%s = %.40q: %d hits, %v", field, path, len(hits), err)
			}
		}
	}
}

// vectorsAsSent: the index of the cosine works on unit vectors, the object keeps what was sent.
func vectorsAsSent(t *testing.T, open opener) {
	c := create(t, open(), "g1")
	p := point(1)
	for i := range p.Vector {
		p.Vector[i] *= 17
	}
	empty := point(2)
	empty.EmbedText = "" // though there is content
	upsert(t, c, p, empty)
	got, err := c.Fetch(t.Context(), []string{p.ChunkID, empty.ChunkID}, true)
	if err != nil || len(got) != 2 || !slices.Equal(got[0].Vector, p.Vector) || got[1].EmbedText != "" || got[1].Content == "" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func lastOneWins(t *testing.T, open opener) {
	c := create(t, open(), "g1")
	first, bad, second := point(1), point(1), point(1)
	bad.Vector, second.Content, second.EmbedText = bad.Vector[1:], "second", "second"
	var batch *connector.BatchError
	if err := c.Upsert(t.Context(), []connector.Point{first, bad, second}); !errors.As(err, &batch) || !slices.Equal(batch.Indexes(), []int{1}) {
		t.Errorf("Upsert: %v", err)
	}
	got, err := c.Fetch(t.Context(), []string{pointID(1)}, false)
	if err != nil || len(got) != 1 || got[0].Content != "second" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func inPlace(t *testing.T, open opener) {
	s := open(func(c *Config) { c.InPlace = true })
	c := create(t, s, "g1")
	if c.class != s.config.Collection {
		t.Errorf("class %s", c.class)
	}
	upsert(t, c, points(0, 3)...)
	_, err := s.Create(t.Context(), schemaOf(s, "g2"))
	wantClass(t, err, connector.ClassConflict)
	if live, err := s.Live(t.Context()); err != nil || live.Schema().Generation != "g1" {
		t.Errorf("Live: %v, %v", live, err)
	}
	if err := s.Promote(t.Context(), "g1"); err != nil {
		t.Error(err)
	}
	wantClass(t, s.Promote(t.Context(), "g2"), connector.ClassNotFound)
	if err := s.Drop(t.Context(), "g2"); err != nil {
		t.Error(err)
	}
	wantCount(t, c, 3)
	alias := open()
	_, err = alias.Create(t.Context(), schemaOf(alias, "g1"))
	wantClass(t, err, connector.ClassConflict)
	if err := s.Drop(t.Context(), "g1"); err != nil {
		t.Error(err)
	}
	wantCount(t, create(t, s, "g2"), 0)
	if err := s.Drop(t.Context(), "g2"); err != nil {
		t.Error(err)
	}
	one := create(t, alias, "g1")
	_, err = s.Create(t.Context(), schemaOf(s, "g1"))
	wantClass(t, err, connector.ClassConflict)
	deleteClass(t, alias, one.class) // the alias dangles, and stands in nobody's way
	create(t, s, "g1")
}

func tenants(t *testing.T, open opener) {
	of := func(tenant string) *Sink { return open(func(c *Config) { c.Tenant = tenant }) }
	a, b := of("acme"), of("globex")
	ca, cb := create(t, a, "g1"), create(t, b, "g1")
	upsert(t, ca, points(0, 5)...)
	upsert(t, cb, points(3, 5)...)
	wantCount(t, ca, 5)
	wantCount(t, cb, 2)
	for p, err := range cb.Scan(t.Context(), true) {
		if err != nil || p.ChunkID == tenantNoteID {
			t.Errorf("%v, %v", p, err)
		}
	}
	if err := cb.Delete(t.Context(), []string{pointID(3)}); err != nil {
		t.Fatal(err)
	}
	wantCount(t, ca, 5)
	if a.Target() == b.Target() || ca.marker == cb.marker {
		t.Error("two tenants are the same place")
	}
	plain := open()
	_, err := plain.Create(t.Context(), schemaOf(plain, "g1"))
	wantClass(t, err, connector.ClassConflict)

	create(t, a, "g2")
	wantClass(t, a.Promote(t.Context(), "g2"), connector.ClassConflict) // globex would lose its data
	create(t, b, "g2")
	if err := b.Promote(t.Context(), "g2"); err != nil {
		t.Fatal(err)
	}
	if err := a.Promote(t.Context(), "g2"); err != nil {
		t.Fatal(err)
	}
	if err := a.Drop(t.Context(), "g1"); err != nil {
		t.Fatal(err)
	}
	wantCount(t, cb, 1) // still there
	err = ca.Upsert(t.Context(), points(0, 1))
	wantClass(t, err, connector.ClassNotFound)
	again := create(t, a, "g1")
	if again.marker == ca.marker {
		t.Error("the marker of a dropped tenant is back")
	}
	wantCount(t, again, 0)
	for _, s := range []*Sink{a, b} {
		if err := s.Drop(t.Context(), "g1"); err != nil {
			t.Fatal(err)
		}
	}
	if class, err := a.find(t.Context(), ca.class); err != nil || class != nil {
		t.Errorf("the class without tenants is left: %v", err)
	}
}

// imports: a class of another program, over a page and by its alias.
func imports(t *testing.T, open opener) {
	s := open()
	makeClass(t, s, map[string]any{"class": "Books", "vectorizer": "none"})
	if err := s.rest.do(t.Context(), http.MethodPost, "/aliases", aliasBody{Alias: "Library", Class: "Books"}, nil); err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	for n := range 230 {
		o := map[string]any{"class": "Books", "id": pointID(n), "properties": map[string]any{"title": fmt.Sprint("t", n), "year": n, "tags": []string{"a", "二"}}}
		if n > 0 {
			o["vector"] = point(n).Vector
		}
		objects = append(objects, o)
	}
	if err := s.rest.do(t.Context(), http.MethodPost, "/batch/objects", map[string]any{"objects": objects}, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Books", "books", "Library"} {
		got := map[string]connector.Foreign{}
		for f, err := range s.Foreign(t.Context(), name) {
			if err != nil {
				t.Fatal(err)
			}
			got[f.ID] = f
		}
		f := got[pointID(7)]
		if len(got) != 230 || got[pointID(0)].Vector != nil || !slices.Equal(f.Vector, point(7).Vector) || f.Fields["title"] != "t7" || fmt.Sprint(f.Fields["year"], f.Fields["tags"]) != "7 [a 二]" {
			t.Errorf("%s: %d objects, %+v", name, len(got), f)
		}
	}
	for _, name := range []string{"Nothing", "no such", ""} {
		for _, err := range s.Foreign(t.Context(), name) {
			wantClass(t, err, connector.ClassNotFound)
		}
	}
}

// throughAlias: what users do, over both protocols.
func throughAlias(t *testing.T, open opener) {
	s := open()
	upsert(t, create(t, s, "g1"), points(0, 5)...)
	two := create(t, s, "g2")
	upsert(t, two, points(0, 7)...)
	for generation, want := range map[string]int{"g1": 5, "g2": 7} {
		if err := s.Promote(t.Context(), generation); err != nil {
			t.Fatal(err)
		}
		reply, err := s.grpc.Search(t.Context(), &pb.SearchRequest{
			Collection: s.config.Collection, Limit: 20, NearVector: &pb.NearVector{VectorBytes: vectorBytes(point(1).Vector)}, Uses_127Api: true,
		})
		if err != nil || len(reply.GetResults()) != want {
			t.Errorf("gRPC: %d results, %v; want %d", len(reply.GetResults()), err, want)
		}
		var answer struct {
			Data struct{ Get map[string][]any }
		}
		query := map[string]string{"query": "{Get{" + s.config.Collection + "{path}}}"}
		if err := s.rest.do(t.Context(), http.MethodPost, "/graphql", query, &answer); err != nil || len(answer.Data.Get[s.config.Collection]) != want {
			t.Errorf("GraphQL: %v, %v; want %d", answer, err, want)
		}
	}
}

func manyDeletes(t *testing.T, open opener) {
	c := create(t, open(), "g1")
	var ids []string
	for from := 0; from < 3000; from += 500 {
		upsert(t, c, points(from, from+500)...)
		for n := from; n < from+500; n++ {
			ids = append(ids, pointID(n))
		}
	}
	if err := c.Delete(t.Context(), append(slices.Clone(ids[1:]), "no uuid", strings.ToUpper(ids[0]))); err != nil {
		t.Fatal(err)
	}
	wantCount(t, c, 1)
}

// recall of the default index, beside the exact answer.
func recall(t *testing.T, open opener) {
	c := create(t, open(), "g1")
	for from := 0; from < 3000; from += 500 {
		upsert(t, c, points(from, from+500)...)
	}
	found, all := 0, 0
	for n := range 100 {
		ask := func(exact bool) (ids []string) {
			hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: point(100_000 + n).Vector, K: 5, Exact: exact})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range hits {
				ids = append(ids, h.ChunkID)
			}
			return ids
		}
		exact, index := ask(true), ask(false)
		for _, id := range exact {
			all++
			if slices.Contains(index, id) {
				found++
			}
		}
	}
	if all != 500 || found < 495 {
		t.Errorf("the index finds %d of %d", found, all)
	}
}

func presetFields(t *testing.T, open opener) {
	for _, preset := range []string{"langchain", "llamaindex"} {
		s := open(func(c *Config) { c.Fields.Preset, c.Collection = preset, preset })
		c := create(t, s, "g1")
		upsert(t, c, point(1))
		var answer struct {
			Data struct {
				Get map[string][]struct{ Text, Source, Path string }
			}
		}
		// The readers search the words of the text itself.
		query := map[string]string{"query": "{Get{" + s.config.Collection + `(bm25:{query:"Passage"}){text source path}}}`}
		if err := s.rest.do(t.Context(), http.MethodPost, "/graphql", query, &answer); err != nil {
			t.Fatal(err)
		}
		if got := answer.Data.Get[s.config.Collection]; len(got) != 1 || got[0].Text != point(1).Content || got[0].Source != "docs" {
			t.Errorf("%s: %+v", preset, got)
		}
	}
}

// foreignObjectInside: somebody wrote an object of his own into the class.
func foreignObjectInside(t *testing.T, open opener) {
	s := open()
	c := create(t, s, "g1")
	body := map[string]any{"class": c.class, "id": pointID(1), "properties": map[string]any{"content": "by hand"}}
	if err := s.rest.do(t.Context(), http.MethodPost, "/objects", body, nil); err != nil {
		t.Fatal(err)
	}
	_, err := c.Fetch(t.Context(), []string{pointID(1)}, false)
	wantClass(t, err, connector.ClassConflict)
	upsert(t, c, point(1)) // kbsync's own again
	if got, err := c.Fetch(t.Context(), []string{pointID(1)}, false); err != nil || len(got) != 1 || got[0].Content != point(1).Content {
		t.Errorf("%v, %v", got, err)
	}
}

func TestDenied(t *testing.T) {
	const key = "s3cret-key-for-the-test"
	server := servers.Start(t, "weaviate", "WEAVIATE_ANONYMOUS=false", "WEAVIATE_APIKEY="+key)
	with := func(key connector.Secret) *Sink {
		c := configAt(server, "denied")
		c.APIKey = key
		s := openWith(t, c)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	right := with(key)
	good := create(t, right, "g1")
	upsert(t, good, points(0, 3)...)
	wantCount(t, good, 3)
	for _, wrong := range []connector.Secret{"", "wr0ng-key-of-the-test"} {
		s := with(wrong)
		c := *good
		c.sink = s
		var errs []error
		note := func(err error) { errs = append(errs, err) }
		_, err := s.Create(t.Context(), schemaOf(s, "g1"))
		note(err)
		_, err = s.Live(t.Context())
		note(err)
		note(s.Promote(t.Context(), "g1"))
		note(c.Upsert(t.Context(), points(0, 1)))
		note(c.Delete(t.Context(), []string{pointID(0)}))
		_, err = c.Fetch(t.Context(), []string{pointID(0)}, false)
		note(err)
		_, err = c.Count(t.Context())
		note(err)
		_, err = c.send(t.Context(), []*pb.BatchObject{must(c.encode(&[]connector.Point{point(1)}[0]))})
		note(err)
		for _, err := range errs {
			wantClass(t, err, connector.ClassDenied)
			if s := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(s, key) || strings.Contains(s, "wr0ng-key") {
				t.Errorf("the key is in the message: %s", s)
			}
		}
	}
	wantCount(t, good, 3)
}

// TestCrash: the server is killed and started again; what was acknowledged is there.
func TestCrash(t *testing.T) {
	server := servers.Start(t, "weaviate", "GRPC_MAX_MESSAGE_SIZE=1000000", "QUERY_MAXIMUM_RESULTS=600")
	c := configAt(server, "crash")
	c.Timeout = 3 * time.Second
	s := openWith(t, c)
	t.Cleanup(func() { _ = s.Close() })
	coll := create(t, s, "g1")
	t.Run("message limit", func(t *testing.T) { messageLimit(t, coll) })
	mark := coll.marker
	for from := 0; from < 1000; from += 100 {
		if err := coll.Upsert(t.Context(), points(from, from+100)); err != nil {
			t.Fatal(err)
		}
	}
	server.Kill()
	wantClass(t, coll.Upsert(t.Context(), points(0, 3)), connector.ClassTransient)
	_, err := s.Live(t.Context())
	wantClass(t, err, connector.ClassTransient)
	_, err = coll.Fetch(t.Context(), []string{pointID(0)}, false)
	wantClass(t, err, connector.ClassTransient)
	server.Restart()
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, err = coll.Fetch(t.Context(), []string{pointID(0)}, false)
		if err == nil || time.Now().After(deadline) {
			break
		}
		wantClass(t, err, connector.ClassTransient)
		time.Sleep(100 * time.Millisecond)
	}
	wantCount(t, coll, 1000)
	n := 0
	for p, err := range coll.Scan(t.Context(), true) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Vector != nil {
			n++
		}
	}
	if m, err := coll.Marker(t.Context()); n != 1000 || err != nil || m != mark {
		t.Errorf("%d of 1000 points with vectors; marker %s, %v, was %s", n, m, err, mark)
	}
	hits, err := coll.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: point(7).Vector, K: 1})
	if err != nil || len(hits) != 1 || hits[0].ChunkID != pointID(7) {
		t.Errorf("%v, %v", hits, err)
	}
	var ids []string
	for _, p := range points(1, 1000) {
		ids = append(ids, p.ChunkID)
	}
	if err := coll.Delete(t.Context(), ids); err != nil { // more than the server deletes in one call
		t.Error(err)
	}
	wantCount(t, coll, 1)
	server.Pause()
	err = coll.Upsert(t.Context(), points(0, 3))
	server.Continue()
	wantClass(t, err, connector.ClassTransient)
}

// messageLimit: requests over the server's limit are ClassTooLarge; answers over it are asked for in smaller pages.
func messageLimit(t *testing.T, c *Collection) {
	big := points(5000, 5300)
	var ids []string
	for i := range big {
		big[i].Content = strings.Repeat("x ", 2000)
		big[i].EmbedText = big[i].Content
		ids = append(ids, big[i].ChunkID)
	}
	wantClass(t, c.Upsert(t.Context(), big), connector.ClassTooLarge)
	wantCount(t, c, 0)
	for batch := range slices.Chunk(big, 50) {
		upsert(t, c, batch...)
	}
	if got, err := c.Fetch(t.Context(), ids, true); err != nil || len(got) != len(big) {
		t.Errorf("%d points, %v", len(got), err)
	}
	n := 0
	for _, err := range c.Scan(t.Context(), true) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(big) {
		t.Errorf("%d of %d points", n, len(big))
	}
	if err := c.Delete(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
}

// TestAsyncIndexing: on a server that indexes in the background, Flush waits for that.
func TestAsyncIndexing(t *testing.T) {
	server := servers.Start(t, "weaviate", "ASYNC_INDEXING=true", "AUTOSCHEMA_ENABLED=false")
	s := openWith(t, configAt(server, "async"))
	t.Cleanup(func() { _ = s.Close() })
	c := create(t, s, "g1")
	for from := 0; from < 2000; from += 500 {
		upsert(t, c, points(from, from+500)...)
		hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: point(from + 499).Vector, K: 1})
		if err != nil || len(hits) != 1 || hits[0].ChunkID != pointID(from+499) {
			t.Errorf("after %d points: %v, %v", from+500, hits, err)
		}
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

// TestCertificate: a server that cannot prove who it is gets no key.
func TestCertificate(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	address := server.Listener.Addr().String()
	c := Config{Address: address, GRPCAddress: address, TLS: true, APIKey: "key"}
	c.Collection = "tls"
	s := openWith(t, c)
	defer func() { _ = s.Close() }()
	_, err := s.Live(t.Context())
	wantClass(t, err, connector.ClassDenied)
	wantClass(t, s.setAlias(t.Context(), "X"), connector.ClassDenied)
	coll := &Collection{sink: s, class: "X", schema: schemaOf(s, "g1")}
	_, err = coll.Fetch(t.Context(), []string{pointID(1)}, false)
	wantClass(t, err, connector.ClassDenied)
	if asked.Load() != 0 {
		t.Error("a request was sent")
	}
}
