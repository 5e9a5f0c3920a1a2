package weaviate

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

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
