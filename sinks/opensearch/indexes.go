package opensearch

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
	"github.com/kbsync/kbsync/internal/remote"
)

// Keys of a mapping's _meta.
const (
	metaKey  = "kbsync"
	stampKey = "kbsync_stamp"
)

// entry is an index of this target.
type entry struct {
	name string
	meta remote.Meta
	live bool
}

// alias is a name that this index alone ever had: through it, an index that was deleted, or deleted and made anew, is missed. By
// its own name a bulk request would make it again, without its mapping.
func (e entry) alias() string { return "kbsync-" + strings.ToLower(e.meta.Marker) }

// described is an index as the server describes it.
type described struct {
	Aliases  map[string]any `json:"aliases"`
	Mappings struct {
		Meta       map[string]any `json:"_meta"`
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	} `json:"mappings"`
}

func (d *described) parse() (remote.Meta, bool) {
	text, _ := d.Mappings.Meta[metaKey].(string)
	return remote.ParseMeta(text)
}

// list gives the indexes of this target, the live one first. One of others under the name is an error.
func (s *Sink) list(ctx context.Context) ([]entry, error) {
	var got map[string]described
	if err := s.client.Call(ctx, http.MethodGet, "/"+url.PathEscape(s.config.Collection)+"*?expand_wildcards=all", nil, &got); err != nil {
		return nil, err
	}
	var live, rest []entry
	for name, d := range got {
		_, ours := s.config.Generation(name)
		_, aliased := d.Aliases[s.config.Collection]
		e := entry{name: name, live: aliased || name == s.config.Collection}
		var ok bool
		if e.meta, ok = d.parse(); !ok && e.live {
			return nil, remote.Foreign("index " + name)
		}
		switch {
		case !ok || !ours && !e.live:
		case e.live:
			live = append(live, e)
		default:
			rest = append(rest, e)
		}
	}
	return append(live, rest...), nil
}

// point moves the alias to e.
func (s *Sink) point(ctx context.Context, all []entry, e entry) error {
	var actions []any
	for _, other := range all {
		if other.live {
			actions = append(actions, map[string]any{"remove": map[string]any{"index": other.name, "alias": s.config.Collection}})
		}
	}
	actions = append(actions, map[string]any{"add": map[string]any{"index": e.name, "alias": s.config.Collection}})
	return s.client.Call(ctx, http.MethodPost, "/_aliases", map[string]any{"actions": actions}, nil)
}

func (s *Sink) open(e entry) *Collection {
	return &Collection{sink: s, path: "/" + e.alias(), schema: e.meta.Schema}
}

// Foreign implements [connector.Importer]: every document of an index or alias, with its first vector.
func (s *Sink) Foreign(ctx context.Context, collection string) iter.Seq2[connector.Foreign, error] {
	return func(yield func(connector.Foreign, error) bool) {
		if err := s.scroll(ctx, collection, func(f connector.Foreign) bool { return yield(f, nil) }); err != nil {
			yield(connector.Foreign{}, fmt.Errorf("opensearch: %s: %w", collection, err))
		}
	}
}

func (s *Sink) scroll(ctx context.Context, index string, yield func(connector.Foreign) bool) error {
	var all map[string]described
	if err := s.client.Call(ctx, http.MethodGet, "/"+url.PathEscape(index), nil, &all); err != nil {
		return err
	}
	vector := ""
	for _, d := range all {
		for field, p := range d.Mappings.Properties {
			if p.Type == "knn_vector" && (vector == "" || field < vector) {
				vector = field
			}
		}
	}
	var page struct {
		found
		ID string `json:"_scroll_id"`
	}
	err := s.client.Call(ctx, http.MethodPost, "/"+url.PathEscape(index)+"/_search?scroll=5m", map[string]any{"size": pageSize, "sort": []string{"_doc"}}, &page)
	for err == nil && len(page.Hits.Hits) > 0 {
		for _, h := range page.Hits.Hits {
			v, err := payload.DecodeJSON(h.Source)
			fields, ok := v.(map[string]any)
			if err != nil || !ok {
				return connector.Errorf(connector.ClassInvalid, "document %s: its source is no object: %w", h.ID, err)
			}
			f := connector.Foreign{ID: h.ID, Fields: fields, Vector: floats(fields[vector])}
			delete(fields, vector)
			if !yield(f) {
				return s.client.Call(ctx, http.MethodDelete, "/_search/scroll", map[string]any{"scroll_id": page.ID}, nil)
			}
		}
		page.Hits.Hits = nil
		err = s.client.Call(ctx, http.MethodPost, "/_search/scroll", map[string]any{"scroll": "5m", "scroll_id": page.ID}, &page)
	}
	if page.ID != "" && err == nil {
		err = s.client.Call(ctx, http.MethodDelete, "/_search/scroll", map[string]any{"scroll_id": page.ID}, nil)
	}
	return err
}

func floats(v any) []float32 {
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	out := make([]float32, len(list))
	for i, x := range list {
		switch x := x.(type) {
		case int64:
			out[i] = float32(x)
		case float64:
			out[i] = float32(x)
		}
	}
	return out
}
