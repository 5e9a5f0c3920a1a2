package sql

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// row is one row as a document.
type row struct {
	// identity tells rows apart: the key, or what the path column holds.
	identity string
	path     string
	uri      string
	key      []any // parameters that find it

	version   string
	unsettled bool
	mediaType string
	modified  time.Time
	metadata  map[string]any
	content   string // if it was read
	size      int64  // of the content, or -1
}

// row makes a document of a row's cells, of plan.listed or plan.looked. On an error the path at least is set.
func (s *Source) row(p *plan, cells []cell, withContent bool) (*row, error) {
	r := &row{mediaType: s.config.MediaType, size: -1}
	key := make([]cell, len(p.key))
	for n, i := range p.key {
		key[n] = cells[i]
		r.key = append(r.key, cells[i].param)
	}
	if p.mediaType != none && cells[p.mediaType].kind != kindNull {
		r.mediaType = cells[p.mediaType].text
	}
	r.identity = identity(key)
	r.path = r.identity + extension(r.mediaType)
	r.uri = locate(s.db.uri(), p.looked, key) // the key stands first
	if err := s.checkKey(p, key); err != nil {
		return r, err
	}
	if p.path != none {
		if err := checkPath(cells[p.path].text); err != nil {
			r.path = invalidPart + r.identity
			return r, fmt.Errorf("the column %q: %w", p.looked[p.path].name, err)
		}
		r.identity, r.path = cells[p.path].text, cells[p.path].text
	}
	if p.modify != none {
		r.modified = cells[p.modify].moment()
	}
	if err := r.describe(p, cells); err != nil {
		return r, err
	}
	if withContent {
		content := make([]cell, len(p.content))
		columns := make([]column, len(p.content))
		for n, i := range p.content {
			content[n], columns[n] = cells[i], p.looked[i]
		}
		var err error
		if r.content, err = render(columns, content); err != nil {
			return r, err
		}
		r.size = int64(len(r.content))
	} else if p.size != none {
		r.size, _ = strconv.ParseInt(cells[p.size].text, 10, 64) // a number of bytes
	}
	r.setVersion(p, cells)
	return r, nil
}

func (s *Source) checkKey(p *plan, key []cell) error {
	for n, c := range key {
		name := p.looked[p.key[n]].name
		switch c.kind {
		case kindNull:
			return fmt.Errorf("the key column %q is NULL", name)
		case kindFloat:
			return fmt.Errorf("the key column %q is a floating-point number, which cannot identify a row", name)
		}
	}
	return nil
}

// describe fills the metadata.
func (r *row) describe(p *plan, cells []cell) error {
	put := func(name string, c cell) error {
		value, err := c.plain()
		if err != nil {
			return fmt.Errorf("the column %q: %w", name, err)
		}
		if value == nil {
			return nil
		}
		if r.metadata == nil {
			r.metadata = make(map[string]any, len(p.metadata)+1)
		}
		r.metadata[name] = value
		return nil
	}
	for _, i := range p.metadata {
		if err := put(p.looked[i].name, cells[i]); err != nil {
			return err
		}
	}
	if p.title == none {
		return nil
	}
	title := cells[p.title]
	if title.kind != kindNull && title.kind != kindBytes {
		title.kind = kindText // a number is a title too
	}
	return put("title", title)
}

// setVersion sets what changes with the document: the version column, or the content itself, with the metadata.
func (r *row) setVersion(p *plan, cells []cell) {
	h := sha256.New()
	part(h, p.shape)
	part(h, r.mediaType)
	for _, i := range append(p.metadata[:len(p.metadata):len(p.metadata)], p.title) {
		if i != none {
			part(h, string(rune('0'+cells[i].kind)))
			part(h, cells[i].text)
		}
	}
	if p.whole {
		part(h, r.content)
		r.version = base64.RawURLEncoding.EncodeToString(h.Sum(nil))
		return
	}
	v := cells[p.version]
	text := v.text
	if len(text) > 64 || v.kind == kindBytes {
		sum := sha256.Sum256([]byte(text))
		text = base64.RawURLEncoding.EncodeToString(sum[:16])
	}
	if v.kind == kindNull {
		text, r.unsettled = "null", true // unknown: nothing says whether the content changed
	}
	if t := v.moment(); v.kind == kindTime && !t.IsZero() && time.Since(t) < settling {
		r.unsettled = true
	}
	r.version = text + "~" + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:9])
}

// part hashes a string so that no two lists of strings look alike.
func part(h hash.Hash, s string) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
	_, _ = h.Write(n[:]) // a hash does not fail
	_, _ = io.WriteString(h, s)
}

// listing turns the rows of one statement into changes. It holds one row back, because the next one may bear the same name.
type listing struct {
	source *Source
	plan   *plan
	yield  func(connector.Change, error) bool

	pending *row
	twice   bool
	bad     string // the path of the last error
	kinds   []kind // of the key's columns
	stopped bool
}

// row takes the next row; false ends the listing.
func (l *listing) row(cells []cell) bool {
	r, err := l.source.row(l.plan, cells, l.plan.whole)
	if err == nil {
		err = l.sameKinds(cells)
	}
	switch {
	case err != nil:
		return l.fail(r.path, err)
	case l.pending != nil && l.pending.identity == r.identity:
		l.twice = true
		return r.path == l.pending.path || l.fail(r.path, l.duplicate())
	}
	more := l.flush()
	l.pending = r
	return more
}

// sameKinds refuses a key column of SQLite that holds 1 and '1': they are two rows with one name.
func (l *listing) sameKinds(cells []cell) error {
	first := l.kinds == nil
	for n, i := range l.plan.key {
		if first {
			l.kinds = append(l.kinds, cells[i].kind)
		} else if l.kinds[n] != cells[i].kind {
			return fmt.Errorf("the key column %q holds values of several types; cast it in the query", l.plan.looked[i].name)
		}
	}
	return nil
}

func (l *listing) duplicate() error {
	if l.plan.path != none {
		return fmt.Errorf("several rows have this path; what the column %q holds must be unique", l.plan.looked[l.plan.path].name)
	}
	return errors.New("several rows have this key; name the columns under key that identify a row")
}

// fail reports what spoils one document, once for those of one path that follow each other.
func (l *listing) fail(path string, err error) bool {
	if path == l.bad {
		return true
	}
	l.bad = path
	return l.put(connector.Change{}, &connector.DocError{Path: path, Err: connector.Errorf(connector.ClassInvalid, "sql: %w", err)})
}

// flush hands the row over that was held back.
func (l *listing) flush() bool {
	r := l.pending
	l.pending = nil
	if r == nil || l.stopped {
		return !l.stopped
	}
	if l.twice {
		l.twice = false
		return l.fail(r.path, l.duplicate())
	}
	s := l.source
	if limit := s.config.MaxSize; limit > 0 && r.size > limit {
		return l.put(connector.Change{
			Kind: connector.ChangeSkip, Document: connector.Document{Path: r.path, URI: r.uri},
			Reason: fmt.Sprintf("%d bytes, over max_size", r.size),
		}, nil)
	}
	if l.plan.whole {
		s.recent.put(r)
	}
	return l.put(connector.Change{Document: s.document(l.plan, r)}, nil)
}

func (l *listing) put(c connector.Change, err error) bool {
	if !l.yield(c, err) {
		l.stopped = true
	}
	return !l.stopped
}
