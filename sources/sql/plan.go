package sql

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// table is what the query is called in the statements around it.
const table = "kbsync_rows"

// none is the place of a column that is not configured.
const none = -1

// plan is how the configuration and the columns of the query come together: the statements, and where each column stands in
// their rows.
type plan struct {
	list, lookup   string
	listed, looked []column // of these statements

	key, metadata, content                  []int
	version, path, title, mediaType, modify int
	size                                    int // in listed
	// whole says that a listing reads the content too.
	whole bool
	// shape changes with what is read and how it is put together: part of a version that does not depend on the content itself.
	shape string
}

// plan asks for the columns of the query, before each listing: a table may have got new ones.
func (s *Source) plan(ctx context.Context) (*plan, error) {
	const what = "look at the query"
	var all []column
	err := s.limited(ctx, what, func(ctx context.Context, _ context.CancelCauseFunc, _ *time.Timer) (err error) {
		all, err = s.db.columns(ctx, s.query)
		return err
	})
	if err != nil {
		return nil, err
	}
	p, err := s.arrange(all)
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "sql: %s: %w", s.db.address(), err)
	}
	return p, nil
}

func (s *Source) arrange(all []column) (*plan, error) {
	for i, c := range all {
		if slices.ContainsFunc(all[:i], func(o column) bool { return o.name == c.name }) {
			return nil, fmt.Errorf("query: it gives two columns named %q; name one of them with AS", c.name)
		}
	}
	p := &plan{size: none}
	used := map[string]bool{}
	var failed error
	add := func(key, name string) int {
		if name == "" {
			return none
		}
		c, err := find(all, key, name)
		if err != nil {
			failed = err
			return none
		}
		used[c.name] = true
		p.looked = append(p.looked, c)
		return len(p.looked) - 1
	}
	for _, name := range s.config.Key {
		p.key = append(p.key, add("key", name))
	}
	p.version = add("version", s.config.Version)
	p.path = add("path", s.config.Path)
	p.title = add("title", s.config.Title)
	p.mediaType = add("media_type_column", s.config.MediaTypeColumn)
	p.modify = add("modified", s.config.Modified)
	for _, name := range s.config.Metadata {
		p.metadata = append(p.metadata, add("metadata", name))
	}
	head := len(p.looked)
	content := s.config.Content
	if len(content) == 0 {
		for _, c := range all {
			if !used[c.name] {
				content = append(content, c.name)
			}
		}
	}
	for _, name := range content {
		p.content = append(p.content, add("content", name))
	}
	switch {
	case failed != nil:
		return nil, failed
	case len(content) == 0:
		return nil, fmt.Errorf("content: no column of the query is left for the text; it gives %s", names(all))
	}
	p.whole = p.version == none
	s.write(p, head)
	return p, nil
}

// find looks a configured name up among the query's columns: as it is written, or else in upper or lower case if that is one alone.
func find(all []column, key, name string) (column, error) {
	var near []column
	for _, c := range all {
		if c.name == name {
			return c, nil
		}
		if strings.EqualFold(c.name, name) {
			near = append(near, c)
		}
	}
	if len(near) == 1 {
		return near[0], nil
	}
	return column{}, fmt.Errorf("%s: the query gives no column %q; it gives %s", key, name, names(all))
}

func names(all []column) string {
	const shown = 30
	out := make([]string, 0, min(len(all), shown+1))
	for i, c := range all {
		if i == shown {
			out = append(out, "…")
			break
		}
		out = append(out, c.name)
	}
	return strings.Join(out, ", ")
}

// write makes the statements; head is how many columns a listing without content reads.
func (s *Source) write(p *plan, head int) {
	d := s.db.dialect()
	name := func(i int) string { return table + "." + d.quote(p.looked[i].name) }
	selected := make([]string, len(p.looked))
	for i := range selected {
		selected[i] = d.value(name(i))
	}
	from := " FROM (\n" + s.query + "\n) AS " + table
	p.listed = p.looked
	list := slices.Clone(selected)
	if !p.whole {
		p.listed, list = p.looked[:head:head], list[:head]
		if s.config.MaxSize > 0 {
			p.size = head
			var sizes []string
			for _, i := range p.content {
				sizes = append(sizes, "COALESCE("+d.size(name(i), p.looked[i])+", 0)")
			}
			list = append(list, strings.Join(sizes, " + "))
			p.listed = append(p.listed, column{name: "size", typ: "INT8"})
		}
	}
	// What identifies a document orders the rows, so that documents of one name come side by side.
	order := p.key
	if p.path != none {
		order = append([]int{p.path}, p.key...)
	}
	var by, where []string
	for _, i := range order {
		by = append(by, d.sorted(name(i), p.looked[i]))
	}
	for n, i := range p.key {
		where = append(where, name(i)+" = "+d.parameter(n+1))
	}
	p.list = "SELECT " + strings.Join(list, ", ") + from + " ORDER BY " + strings.Join(by, ", ")
	p.lookup = "SELECT " + strings.Join(selected, ", ") + from + " WHERE " + strings.Join(where, " AND ")
	p.shape = s.shape(p)
}

// shape is a digest of what makes the same row another document: another query, other columns.
func (s *Source) shape(p *plan) string {
	h := sha256.New()
	if !p.whole {
		_, _ = fmt.Fprintf(h, "%q\n", s.query) // a hash does not fail
	}
	for _, list := range [][]int{p.content, p.metadata} {
		for _, i := range list {
			_, _ = fmt.Fprintf(h, "%q ", p.looked[i].name)
		}
		_, _ = fmt.Fprintln(h)
	}
	return string(h.Sum(nil))
}
