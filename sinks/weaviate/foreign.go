package weaviate

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

// foreignPage is how many objects of another program's class are read at a time.
const foreignPage = 100

// Foreign implements [connector.Importer]. Of several named vectors it gives the one that fields.vector names, or else the
// first by name.
func (s *Sink) Foreign(ctx context.Context, collection string) iter.Seq2[connector.Foreign, error] {
	return func(yield func(connector.Foreign, error) bool) {
		fail := func(err error) { yield(connector.Foreign{}, fmt.Errorf("weaviate: read %s: %w", collection, err)) }
		class, err := s.resolve(ctx, collection)
		if err != nil {
			fail(err)
			return
		}
		query := url.Values{"class": {class}, "include": {"vector"}, "limit": {strconv.Itoa(foreignPage)}}
		if s.config.Tenant != "" {
			query.Set("tenant", s.config.Tenant)
		}
		for {
			var page struct{ Objects []foreignObject }
			if err := s.rest.do(ctx, http.MethodGet, "/objects?"+query.Encode(), nil, &page); err != nil {
				fail(err)
				return
			}
			for _, o := range page.Objects {
				f, err := o.decode(s.names[fieldVector])
				if err != nil {
					fail(fmt.Errorf("object %s: %w", o.ID, err))
					return
				}
				if !yield(f, nil) {
					return
				}
				query.Set("after", o.ID)
			}
			if len(page.Objects) < foreignPage {
				return
			}
		}
	}
}

// resolve gives the class of a name or alias, which may be spelt with a small first letter.
func (s *Sink) resolve(ctx context.Context, name string) (string, error) {
	class := className(name)
	if name == "" || class[1:] != name[1:] {
		return "", connector.Errorf(connector.ClassNotFound, "no class can have that name")
	}
	var alias aliasBody
	err := s.rest.do(ctx, http.MethodGet, "/aliases/"+url.PathEscape(class), nil, &alias)
	switch {
	case err == nil:
		class = alias.Class
	case connector.ClassOf(err) != connector.ClassNotFound:
		return "", err
	}
	there, err := s.find(ctx, class)
	if err == nil && there == nil {
		err = connector.Errorf(connector.ClassNotFound, "there is no class %s", class)
	}
	return class, err
}

type foreignObject struct {
	ID         string
	Vector     []float32
	Vectors    map[string]json.RawMessage
	Properties json.RawMessage
}

func (o *foreignObject) decode(named string) (connector.Foreign, error) {
	f := connector.Foreign{ID: o.ID, Vector: o.Vector, Fields: map[string]any{}}
	if len(f.Vector) == 0 {
		f.Vector = nil
		names := slices.Sorted(maps.Keys(o.Vectors))
		if _, ok := o.Vectors[named]; ok {
			names = []string{named}
		}
		for _, name := range names { // a vector of several rows is passed over
			if json.Unmarshal(o.Vectors[name], &f.Vector) == nil {
				break
			}
			f.Vector = nil
		}
	}
	if len(o.Properties) == 0 || string(o.Properties) == "null" {
		return f, nil
	}
	v, err := payload.DecodeJSON(o.Properties)
	if m, ok := v.(map[string]any); ok {
		f.Fields = m
	}
	return f, err
}
