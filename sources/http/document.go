package httpsource

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// page is one URL that was listed: what its document needs to be opened.
type page struct {
	source *Source
	url    *url.URL
	path   string
	hosts  map[string]bool // where redirects may lead; nil: to any public host
	listed facts
	// dated is the version where it is a sitemap's lastmod: no answer confirms it.
	dated string
}

func (p *page) document() connector.Document {
	d := connector.Document{
		Path: p.path, URI: p.url.String(), Version: p.dated, Unsettled: p.listed.unsettled,
		MediaType: p.listed.media, Size: p.listed.length, ModifiedAt: p.listed.modified, Open: p.open,
	}
	if p.dated == "" {
		d.Version = p.listed.version()
	}
	if p.dated == "" && p.listed.ranges {
		d.OpenAt = p.openAt
	}
	return d
}

// open reads the page that a crawl just fetched, or fetches it.
func (p *page) open(ctx context.Context) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if kept, ok := p.source.bodies.take(p.path); ok {
		return &reader{Reader: bytes.NewReader(kept.data), facts: p.facts(&kept.facts)}, nil
	}
	a, err := p.source.fetch(confine(ctx, p.hosts), http.MethodGet, p.url, nil, 0)
	if err != nil {
		return nil, err
	}
	if err := p.source.success(a); err != nil {
		return nil, errors.Join(vanished(err), a.body.Close())
	}
	now := factsOf(a)
	r, err := a.content(p.source.config.MaxSize)
	if err != nil {
		return nil, errors.Join(err, a.body.Close())
	}
	return &reader{Reader: r, body: a.body, facts: p.facts(&now)}, nil
}

// facts are those of an answer, in the form of the listing.
func (p *page) facts(now *facts) connector.Facts {
	f := connector.Facts{Version: now.version(), MediaType: now.media, ModifiedAt: now.modified}
	switch {
	case p.dated != "":
		f.Version = ""
	case now.agrees(&p.listed):
		f.Version = p.listed.version()
	}
	return f
}

// vanished is the class of what was listed and is not there any more.
func vanished(err error) error {
	if connector.ClassOf(err) == connector.ClassNotFound {
		return connector.Errorf(connector.ClassChanged, "%w, though it was listed", err)
	}
	return err
}

// success is nil for an answer that holds the document.
func (s *Source) success(a *answer) error {
	if a.StatusCode >= 200 && a.StatusCode < 300 && a.StatusCode != http.StatusPartialContent {
		return nil
	}
	return s.statusError(a.Response)
}

// openAt asks for the rest of the version that a strong ETag names.
func (p *page) openAt(ctx context.Context, offset int64, version string) (io.ReadCloser, error) {
	changed := connector.Errorf(connector.ClassChanged, "http: %s: it changed while it was read", display(p.url))
	if !strings.HasPrefix(version, `"`) {
		return nil, changed
	}
	header := http.Header{"Range": {"bytes=" + strconv.FormatInt(offset, 10) + "-"}, "If-Range": {version}, "Accept-Encoding": {"identity"}}
	a, err := p.source.fetch(confine(ctx, p.hosts), http.MethodGet, p.url, header, 0)
	if err != nil {
		return nil, err
	}
	first, total := contentRange(a.Header.Get("Content-Range"))
	etag := a.Header.Get("Etag")
	limit, skip := p.source.config.MaxSize, int64(0)
	switch {
	case a.StatusCode == http.StatusOK && etag == version: // it knows no ranges, whatever it said
		skip = offset
	case a.StatusCode == http.StatusRequestedRangeNotSatisfiable && total == offset && (etag == "" || etag == version):
		return &reader{Reader: bytes.NewReader(nil), body: a.body, facts: connector.Facts{Version: version}}, nil
	case a.StatusCode == http.StatusPartialContent && first == offset && (etag == "" || etag == version) && encodingOf(a.Header) == "":
		limit = max(1, limit-offset)
	case a.StatusCode == http.StatusPartialContent, a.StatusCode == http.StatusOK, a.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return nil, errors.Join(changed, a.body.Close())
	default:
		return nil, errors.Join(vanished(p.source.statusError(a.Response)), a.body.Close())
	}
	if p.source.config.MaxSize == 0 {
		limit = 0
	}
	r, err := a.content(limit)
	if err != nil {
		return nil, errors.Join(err, a.body.Close())
	}
	if _, err := io.CopyN(io.Discard, r, skip); err != nil {
		return nil, errors.Join(err, a.body.Close())
	}
	return &reader{Reader: r, body: a.body, facts: connector.Facts{Version: version}}, nil
}

// contentRange reads "bytes 5-9/10" and "bytes */10"; -1 is what it does not say.
func contentRange(text string) (first, total int64) {
	span, size, _ := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	from, _, _ := strings.Cut(span, "-")
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	return number(from), number(size)
}

// reader is an opened page.
type reader struct {
	io.Reader
	body  *body // nil for a kept one
	facts connector.Facts
}

var _ connector.Opened = (*reader)(nil)

// Facts are those of the answer that is read.
func (r *reader) Facts() connector.Facts { return r.facts }

// Close gives the connection back, or drops it where bytes are left.
func (r *reader) Close() error {
	if r.body == nil {
		return nil
	}
	return r.body.Close()
}
