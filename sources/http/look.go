package httpsource

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// outcome is what looking at a URL brought.
type outcome struct {
	err   error
	skip  string // why it is no document
	facts facts
	dated string

	// Of a crawled page:
	final     *url.URL // where redirects led
	canonical *url.URL
	links     []*url.URL
	data      []byte // its content, where it is small
}

// confines are the hosts to which redirects of an item may lead; nil means all. What the user named may lead anywhere, what others
// name may not.
func (s *Source) confines(o origin) map[string]bool {
	switch o {
	case mapped:
		return s.scope.sitemapHosts
	case crawled:
		return s.scope.crawlHosts
	}
	return nil
}

// look finds out what an item is.
func (s *Source) look(ctx context.Context, it *item) outcome {
	ctx = confine(ctx, s.confines(it.origin))
	switch {
	case it.reason != "":
		return outcome{}
	case it.origin == crawled:
		return s.visit(ctx, it)
	}
	if s.config.TrustLastmod && it.lastmod != "" {
		return outcome{dated: "lastmod " + it.lastmod, facts: facts{length: -1, modified: lastmodTime(it.lastmod), unsettled: recent(it.lastmod)}}
	}
	a, err := s.head(ctx, it.url)
	if err != nil {
		return outcome{err: err}
	}
	defer func() { _ = a.body.Close() }()
	out := outcome{facts: factsOf(a)}
	if a.Request.Method == http.MethodHead && out.facts.length == 0 {
		out.facts.length = -1 // many servers say so of every HEAD
	}
	if it.origin == mapped && s.config.Robots && s.headerDirectives(a.Header).noindex {
		out.skip = "X-Robots-Tag: noindex"
	}
	s.tooLarge(&out)
	return out
}

// head asks for the headers; where HEAD does not succeed, GET decides.
func (s *Source) head(ctx context.Context, u *url.URL) (*answer, error) {
	for _, method := range []string{http.MethodHead, http.MethodGet} {
		a, err := s.fetch(ctx, method, u, nil, 0)
		if err != nil {
			return nil, err
		}
		fault := s.success(a)
		if fault == nil {
			return a, nil
		}
		_ = a.body.Close() // its content is not asked for
		if method == http.MethodGet || connector.ClassOf(fault) == connector.ClassThrottled {
			return nil, fault
		}
	}
	return nil, errors.New("http: unreachable")
}

func (s *Source) tooLarge(out *outcome) {
	if limit := s.config.MaxSize; limit > 0 && out.facts.length > limit && out.skip == "" {
		out.skip = fmt.Sprintf("%d bytes, over max_size (%d)", out.facts.length, limit)
	}
}

func (s *Source) headerDirectives(h http.Header) directives {
	var d directives
	for _, list := range h.Values("X-Robots-Tag") {
		d.read(list, s.robot)
	}
	return d
}

// visit fetches a page of a crawl: its facts, its links and, if it is small, its content.
func (s *Source) visit(ctx context.Context, it *item) outcome {
	a, err := s.fetch(ctx, http.MethodGet, it.url, nil, patience*s.config.Timeout)
	if redirect, ok := asRedirect(err); ok && redirect.outside && it.depth > 0 {
		return outcome{skip: redirect.reason}
	}
	if err != nil {
		return outcome{err: err}
	}
	defer func() { _ = a.body.Close() }()
	if err := s.success(a); err != nil {
		return outcome{err: err}
	}
	out := outcome{facts: factsOf(a)}
	if out.final, err = normalize(a.Request.URL); err != nil {
		return outcome{err: connector.Errorf(connector.ClassInvalid, "http: %s: %w", display(it.url), err)}
	}
	s.tooLarge(&out)
	d := s.headerDirectives(a.Header)
	r, err := a.content(0)
	if err != nil {
		return outcome{err: err}
	}
	if a.Header.Get("Content-Type") == "" {
		start := bufio.NewReader(r)
		first, _ := start.Peek(512) // a fault comes again at the next reading
		out.facts.media, _, _ = strings.Cut(http.DetectContentType(first), ";")
		r = start
	}
	keep := &head{limit: cachedBody}
	r = io.TeeReader(r, keep)
	if isPage(out.facts.media) {
		found, err := readPage(r, a.Header.Get("Content-Type"), s.robot)
		if err != nil {
			return outcome{err: err}
		}
		s.take(&out, found, &d)
	}
	if s.config.Robots && d.noindex && out.skip == "" {
		out.skip = "noindex"
	}
	if out.skip == "" && out.facts.length <= cachedBody && !it.quiet {
		if _, err := io.CopyN(io.Discard, r, cachedBody+1-keep.seen); err == nil {
			return out // more than is kept
		} else if !errors.Is(err, io.EOF) {
			return outcome{err: err}
		}
		out.facts.length = keep.seen
		if s.tooLarge(&out); out.skip == "" {
			out.data = append(make([]byte, 0, len(keep.data)), keep.data...) // no spare room, and never nil
		}
	}
	return out
}

// take resolves what a page names.
func (s *Source) take(out *outcome, found *found, d *directives) {
	base := out.final
	if found.base != "" {
		if u, err := base.Parse(strayPercents(found.base)); err == nil {
			base = u
		}
	}
	d.noindex = d.noindex || found.noindex
	d.nofollow = d.nofollow || found.nofollow
	if !s.config.Robots {
		*d = directives{}
	}
	if found.canonical != "" && s.config.Robots {
		out.canonical, _ = s.scope.link(base, found.canonical)
	}
	if d.nofollow {
		return
	}
	for _, l := range found.links {
		if l.nofollow && s.config.Robots {
			continue
		}
		if u, ok := s.scope.link(base, l.href); ok && s.scope.crawlHosts[u.Host] {
			out.links = append(out.links, u)
		}
	}
}

// head keeps the first limit bytes that are written, and counts all.
type head struct {
	data  []byte
	limit int
	seen  int64
}

func (h *head) Write(p []byte) (int, error) {
	h.seen += int64(len(p))
	if room := h.limit - len(h.data); room > 0 {
		h.data = append(h.data, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// lastmodLayouts are the forms of W3C Datetime that sitemaps use.
func lastmodLayouts() []string {
	return []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", time.DateOnly, "2006-01", "2006"}
}

func lastmodTime(text string) time.Time {
	for _, layout := range lastmodLayouts() {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// recent says whether a lastmod may be used again by a later change: a date, while that day lasts anywhere.
func recent(text string) bool {
	t := lastmodTime(text)
	if len(text) <= len(time.DateOnly) {
		return time.Since(t) < 48*time.Hour
	}
	return time.Since(t) < settling
}
