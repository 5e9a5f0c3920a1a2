package weaviate

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weaviate/weaviate/entities/models"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/kbsync/kbsync/connector"
)

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
