package sql

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/kbsync/kbsync/connector"
)

// document is a row as a listing gives it. It has no OpenAt: a row arrives whole before its first byte is read, so no
// reading breaks in the middle.
func (s *Source) document(p *plan, r *row) connector.Document {
	path, key, version := r.path, r.key, r.version
	size := r.size
	if !p.whole {
		size = -1 // that of the columns, not of the lines made of them
	}
	return connector.Document{
		Path: path, URI: r.uri, Version: version, Unsettled: r.unsettled, MediaType: r.mediaType, Size: size,
		ModifiedAt: r.modified, Metadata: r.metadata,
		Open: func(ctx context.Context) (io.ReadCloser, error) { return s.open(ctx, p, path, version, key) },
	}
}

// open reads one row, unless the listing has just read it.
func (s *Source) open(ctx context.Context, p *plan, path, version string, key []any) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r := s.recent.get(path, version); r != nil {
		return newReader(r), nil
	}
	var found *row
	var failed error
	err := s.run(ctx, "read "+path, p.lookup, key, p.looked, func(cells []cell) bool {
		// What the database takes for equal may be another key: A and a, with or without spaces at the end.
		r, err := s.row(p, cells, true)
		switch {
		case r.path != path:
		case err != nil:
			failed = err
		case found != nil:
			failed = fmt.Errorf("several rows have this key")
		default:
			found = r
		}
		return failed == nil
	})
	switch {
	case err != nil:
		return nil, err
	case failed != nil:
		return nil, connector.Errorf(connector.ClassInvalid, "sql: %s: %w", path, failed)
	case found == nil:
		return nil, connector.Errorf(connector.ClassChanged, "sql: %s: the row is gone since it was listed", path)
	case s.config.MaxSize > 0 && found.size > s.config.MaxSize:
		return nil, connector.Errorf(connector.ClassTooLarge, "sql: %s: %d bytes, over max_size", path, found.size)
	}
	return newReader(found), nil
}

// rowReader reads the content of a row that is in memory.
type rowReader struct {
	*strings.Reader
	facts connector.Facts
}

var _ connector.Opened = (*rowReader)(nil)

func newReader(r *row) *rowReader {
	return &rowReader{strings.NewReader(r.content), connector.Facts{
		Version: r.version, MediaType: r.mediaType, ModifiedAt: r.modified, Metadata: r.metadata,
	}}
}

// Facts say which state of the row was read.
func (r *rowReader) Facts() connector.Facts { return r.facts }

// Close has nothing to close.
func (r *rowReader) Close() error { return nil }

// Bounds of what is kept of a listing that reads whole rows.
const (
	recentBytes = 32 << 20
	recentRow   = 4 << 20
)

// recent keeps the rows that were listed last, so that a new one is not asked for again.
type recent struct {
	mu    sync.Mutex
	rows  map[string]*row
	order []string // oldest first
	bytes int
}

func (c *recent) put(r *row) {
	if r.cost() > recentRow {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil {
		c.rows = map[string]*row{}
	}
	if c.rows[r.path] != nil {
		return // it is listed twice at once: neither is worth more
	}
	c.rows[r.path] = r
	c.order = append(c.order, r.path)
	for c.bytes += r.cost(); c.bytes > recentBytes; {
		oldest := c.rows[c.order[0]]
		c.bytes -= oldest.cost()
		delete(c.rows, oldest.path)
		c.order = c.order[1:]
	}
}

func (c *recent) get(path, version string) *row {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.rows[path]; r != nil && r.version == version {
		return r
	}
	return nil
}

func (c *recent) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows, c.order, c.bytes = nil, nil, 0
}

// cost is about what a row takes in memory.
func (r *row) cost() int { return 512 + len(r.content) + 3*len(r.path) + len(r.uri) }
