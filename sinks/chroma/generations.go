package chroma

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"slices"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// Keys of a collection's metadata: the description, the mark of the one that a switch is under way to, and that of one which
// is not ready yet.
const (
	metaKey = "kbsync"
	nextKey = "kbsync_next"
	newKey  = "kbsync_new"

	stampKey = "kbsync_stamp"
)

// entry is a collection as the server lists it.
type entry struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Metadata map[string]any `json:"metadata"`

	meta remote.Meta
}

// parse reads the description; an entry of others is an error.
func (e *entry) parse() error {
	text, _ := e.Metadata[metaKey].(string)
	var ok bool
	if e.meta, ok = remote.ParseMeta(text); !ok {
		return remote.Foreign("collection " + e.Name)
	}
	return nil
}

// description is a collection's metadata with marks.
func description(m remote.Meta, marks ...string) map[string]any {
	out := map[string]any{metaKey: m.String()}
	for _, mark := range marks {
		out[mark] = true
	}
	return out
}

// ready makes the index of a new collection, by writing an item and taking it away: Chroma makes it at the first write, with
// the dimensions of that, and answers reads that come meanwhile with an error. The mark says that it is to be done, or done again.
func (s *Sink) ready(ctx context.Context, e *entry) error {
	if e.Metadata[newKey] != true {
		return nil
	}
	c := s.open(*e)
	const id = "kbsync"
	if err := c.write(ctx, "/upsert", []item{{id: id, embedding: encodeVector(standIn(id, c.schema.Dimensions))}}); err != nil {
		return err
	}
	if err := c.Delete(ctx, []string{id}); err != nil {
		return err
	}
	return s.rename(ctx, e, e.Name)
}

func (s *Sink) live(e entry) bool { return e.Name == s.config.Collection }

// list gives the collections of this target, the live one first. Where none has the name and one is marked, a switch was
// interrupted between its renames: it is completed here, so that readers by name wait for one call of kbsync at most.
func (s *Sink) list(ctx context.Context) ([]entry, error) {
	const page = 500
	var out []entry
	taken := false
	for offset := 0; ; offset += page {
		var got []entry
		if err := s.client.Call(ctx, "GET", fmt.Sprintf("?limit=%d&offset=%d", page, offset), nil, &got); err != nil {
			return nil, err
		}
		for _, e := range got {
			_, ours := s.config.Generation(e.Name)
			taken = taken || s.live(e)
			if (ours || s.live(e)) && e.parse() == nil {
				out = append(out, e)
			}
		}
		if len(got) < page {
			break
		}
	}
	for i := range out {
		if !taken && out[i].Metadata[nextKey] == true {
			if err := s.rename(ctx, &out[i], s.config.Collection); err != nil {
				return nil, err
			}
			taken = true
		}
	}
	slices.SortStableFunc(out, func(a, b entry) int {
		switch {
		case s.live(a) == s.live(b):
			return 0
		case s.live(a):
			return -1
		}
		return 1
	})
	return out, nil
}

// promote gives e the name: no mark but e's is left, then e is marked, the live one steps aside, and e takes its name.
func (s *Sink) promote(ctx context.Context, all []entry, e *entry) error {
	for i := range all {
		if all[i].Metadata[nextKey] == true && all[i].ID != e.ID {
			if err := s.rename(ctx, &all[i], all[i].Name); err != nil {
				return err
			}
		}
	}
	if err := s.rename(ctx, e, e.Name, nextKey); err != nil {
		return err
	}
	if old := all[0]; s.live(old) {
		if err := s.rename(ctx, &old, s.config.Collection+"_"+old.meta.Schema.Generation); err != nil {
			return err
		}
	}
	return s.rename(ctx, e, s.config.Collection)
}

// rename sets name and marks in one request.
func (s *Sink) rename(ctx context.Context, e *entry, name string, marks ...string) error {
	metadata := description(e.meta, marks...)
	if stamp, ok := e.Metadata[stampKey]; ok {
		metadata[stampKey] = stamp
	}
	body := map[string]any{"new_metadata": metadata} // replaces all of it
	if name != e.Name {
		body["new_name"] = name
	}
	if err := s.client.Call(ctx, "PUT", "/"+e.ID, body, nil); err != nil {
		return fmt.Errorf("rename %s to %s: %w", e.Name, name, err)
	}
	e.Name = name
	return nil
}

func (s *Sink) open(e entry) *Collection {
	return &Collection{sink: s, path: "/" + e.ID, schema: e.meta.Schema}
}

// Foreign implements [connector.Importer]: the metadata of each item, and its document under "document".
func (s *Sink) Foreign(ctx context.Context, collection string) iter.Seq2[connector.Foreign, error] {
	return func(yield func(connector.Foreign, error) bool) {
		fail := func(err error) { yield(connector.Foreign{}, fmt.Errorf("chroma: %s: %w", collection, err)) }
		var e entry
		if err := s.client.Call(ctx, "GET", "/"+url.PathEscape(collection), nil, &e); err != nil {
			fail(err)
			return
		}
		c := &Collection{sink: s, path: "/" + e.ID}
		ids, err := c.ids(ctx)
		if err != nil {
			fail(err)
			return
		}
		for page := range slices.Chunk(ids, pageSize) {
			got, err := c.get(ctx, page, true)
			if err != nil {
				fail(err)
				return
			}
			for _, id := range page {
				item, ok := got[id]
				if !ok {
					continue
				}
				if item.document != nil {
					item.metadata["document"] = *item.document
				}
				if !yield(connector.Foreign{ID: id, Vector: item.vector, Fields: item.metadata}, nil) {
					return
				}
			}
		}
	}
}
