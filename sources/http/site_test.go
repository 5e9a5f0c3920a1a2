package httpsource

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sourcetest"
)

// site is a web server: documents by path and query, and pages that behave in some way.
type site struct {
	*httptest.Server

	mu    sync.Mutex
	docs  map[string][]byte // keys as in identities without host: a.md, a?x=1
	pages map[string]http.HandlerFunc
	down  int // the status of every answer; 0: none
	log   []string
}

func newSite(tb testing.TB) *site {
	s := &site{docs: map[string][]byte{}, pages: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	tb.Cleanup(s.Close)
	return s
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if r.URL.RawQuery != "" {
		query, _ := url.PathUnescape(r.URL.RawQuery)
		name += "?" + query
	}
	s.mu.Lock()
	s.log = append(s.log, r.Method+" "+name)
	down, page := s.down, s.pages[name]
	data, known := s.docs[name]
	s.mu.Unlock()
	switch {
	case down != 0:
		w.WriteHeader(down)
	case page != nil:
		page(w, r)
	case known:
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(data)))
		http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(data))
	default:
		http.NotFound(w, r)
	}
}

// at is the URL of a document.
func (s *site) at(name string) string {
	p, query, _ := strings.Cut(name, "?")
	u := url.URL{Path: "/" + p, RawQuery: query}
	return s.URL + u.String()
}

func (s *site) put(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.docs[name] = []byte(text)
}

func (s *site) page(name string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[name] = h
}

// html is a page of the given body, without a validator.
func (s *site) html(name, body string) {
	s.page(name, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(body))
	})
}

func (s *site) status(name string, code int) {
	s.page(name, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
}

func (s *site) redirect(name, to string) {
	s.page(name, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
}

// requests since the last call, robots.txt aside.
func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.DeleteFunc(s.log, func(l string) bool { return strings.HasSuffix(l, " robots.txt") })
	s.log = nil
	return out
}

func (s *site) host() string { return strings.TrimPrefix(s.URL, "http://") }

// config is one for tests against this machine.
func (s *site) config() Config {
	c := defaults()
	c.AllowPrivate, c.Rate, c.Base = true, 0, s.URL
	return c
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func mustOpen(tb testing.TB, c Config) *Source {
	tb.Helper()
	s, err := Open(c)
	must(tb, err)
	tb.Cleanup(func() { must(tb, s.Close()) })
	return s
}

// listing is one line an item, sorted as it came: path, "path: reason" for what is skipped, "! error" for errors.
func items(tb testing.TB, s *Source) []string {
	tb.Helper()
	out := []string{}
	for c, err := range s.Changes(tb.Context()) {
		switch {
		case err != nil:
			out = append(out, fmt.Sprintf("! %s: %v", connector.ClassOf(err), err))
		case c.Kind == connector.ChangeSkip:
			out = append(out, c.Document.Path+": "+c.Reason)
		default:
			out = append(out, c.Document.Path)
		}
	}
	return out
}

func listed(tb testing.TB, s *Source) []connector.Document {
	tb.Helper()
	var out []connector.Document
	for c, err := range s.Changes(tb.Context()) {
		must(tb, err)
		if c.Kind == connector.ChangeUpsert {
			out = append(out, c.Document)
		}
	}
	return out
}

func expect(tb testing.TB, got []string, want ...string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("got:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// expectLike compares the beginnings of lines.
func expectLike(tb testing.TB, got []string, want ...string) {
	tb.Helper()
	ok := len(got) == len(want)
	for i := range want {
		ok = ok && strings.Contains(got[i], want[i])
	}
	if !ok {
		tb.Errorf("got:\n\t%s\nwant, in part:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// versioned promises versions, which the test server always gives: the suite then checks them.
type versioned struct{ *Source }

func (v versioned) Capabilities() connector.SourceCapabilities {
	c := v.Source.Capabilities()
	c.Versions = true
	return c
}

func (s *site) fixture(configure func(c *Config)) sourcetest.Fixture {
	return sourcetest.Fixture{
		Open: func(tb testing.TB) connector.Source {
			c := s.config()
			configure(&c)
			src, err := Open(c)
			must(tb, err)
			return versioned{src}
		},
		Put: func(_ testing.TB, p string, data []byte) { s.put(p, string(data)) },
		Delete: func(_ testing.TB, p string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.docs, p)
		},
		Spoil: func(_ testing.TB, p string) { s.status(p, http.StatusForbidden) },
		Outage: func(testing.TB) func() {
			set := func(code int) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.down = code
			}
			set(http.StatusServiceUnavailable)
			return func() { set(0) }
		},
		Extra: []string{"a+b.md", "a?x=1&y=手", "..a.md", "a;b=1,c.md", "[x].md", "sp/", "sp/?q", "l'été \"1\".md"},
	}
}

func (s *site) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.docs))
}
