package httpsource

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// TestVersions: what each kind of server gives, by HEAD and by GET alike.
func TestVersions(t *testing.T) {
	old := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		header    map[string]string
		want      string
		unsettled bool
	}{
		"strong":          {map[string]string{"Etag": `"abc"`, "Last-Modified": old.Format(http.TimeFormat)}, `"abc"`, false},
		"weak":            {map[string]string{"Etag": `W/"abc"`}, `W/"abc" 5`, false},
		"modified":        {map[string]string{"Last-Modified": old.Format(http.TimeFormat)}, "2024-05-01T12:00:00Z 5", false},
		"modified lately": {map[string]string{"Last-Modified": old.Format(http.TimeFormat), "Date": old.Add(time.Second).Format(http.TimeFormat)}, "2024-05-01T12:00:00Z 5", true},
		"none":            {nil, "", false},
		"broken etag":     {map[string]string{"Etag": `abc`}, "", false},
		"empty etag":      {map[string]string{"Etag": `""`}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.page("a.txt", func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				w.Header().Set("Content-Type", "Text/Plain; charset=GBK")
				w.Header().Set("Content-Length", "5")
				_, _ = io.WriteString(w, "hello")
			})
			conf := s.config()
			conf.URLs = []string{s.at("a.txt")}
			docs := listed(t, mustOpen(t, conf))
			if len(docs) != 1 || docs[0].Version != c.want || docs[0].Unsettled != c.unsettled || docs[0].MediaType != "text/plain" || docs[0].Size != 5 {
				t.Fatalf("%+v", docs)
			}
			r, err := docs[0].Open(t.Context())
			must(t, err)
			f := r.(connector.Opened).Facts()
			if f.Version != c.want || f.MediaType != "text/plain" || f.Encoding != "" || !f.ModifiedAt.Equal(docs[0].ModifiedAt) {
				t.Errorf("%+v", f)
			}
			must(t, r.Close())
			expect(t, s.requests(), "HEAD a.txt", "GET a.txt")
		})
	}
}

// TestUnlikeHead: a GET that tells no length, or is packed, is of the version that HEAD told.
func TestUnlikeHead(t *testing.T) {
	s := newSite(t)
	s.page("a.txt", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", "Wed, 01 May 2024 12:00:00 GMT")
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Length", "5")
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		zw := gzip.NewWriter(w)
		_, _ = io.WriteString(zw, "hello")
		_ = zw.Close()
	})
	c := s.config()
	c.URLs = []string{s.at("a.txt")}
	d := listed(t, mustOpen(t, c))[0]
	if text, version := read(t, d); text != "hello" || version != d.Version || version == "" {
		t.Errorf("%q, %q", text, version)
	}
}

func read(tb testing.TB, d connector.Document) (text, version string) {
	tb.Helper()
	r, err := d.Open(tb.Context())
	must(tb, err)
	data, err := io.ReadAll(r)
	must(tb, errors.Join(err, r.Close()))
	return string(data), r.(connector.Opened).Facts().Version
}

func TestHeadRefused(t *testing.T) {
	for _, code := range []int{403, 404, 405, 500, 501} {
		s := newSite(t)
		s.page("a.md", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.WriteHeader(code)
				return
			}
			w.Header().Set("Etag", `"1"`)
			_, _ = io.WriteString(w, "text")
		})
		c := s.config()
		c.URLs = []string{s.at("a.md")}
		src := mustOpen(t, c)
		if docs := listed(t, src); len(docs) != 1 || docs[0].Version != `"1"` {
			t.Errorf("%d: %+v", code, docs)
		}
		expect(t, s.requests(), "HEAD a.md", "GET a.md")
	}
}

// TestStatus: what concerns one document, what breaks the listing, and that every error names its URL.
func TestStatus(t *testing.T) {
	for code, want := range map[int][]string{
		404: {"a.md", "z.md"},
		410: {"a.md", "z.md"},
		401: {"a.md", "! denied: m.md: http: URL/m.md: the server answers 401 Unauthorized", "z.md"},
		403: {"a.md", "! denied: m.md: ", "z.md"},
		451: {"a.md", "! denied: m.md: ", "z.md"},
		400: {"a.md", "! invalid: m.md: ", "z.md"},
		304: {"a.md", "! invalid: m.md: ", "z.md"},
		408: {"a.md", "! transient: http: URL/m.md: "},
		429: {"a.md", "! throttled: http: URL/m.md: "},
		500: {"a.md", "! transient: http: URL/m.md: "},
		502: {"a.md", "! transient: "},
		503: {"a.md", "! throttled: "},
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			s := newSite(t)
			s.put("a.md", "a")
			s.put("z.md", "z")
			s.status("m.md", code)
			c := s.config()
			c.URLs = []string{s.at("a.md"), s.at("m.md"), s.at("z.md")}
			got := items(t, mustOpen(t, c))
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], s.URL, "URL")
			}
			expectLike(t, got, want...)
		})
	}
}

// TestCredentialsRefused: a token that a host does not take ends the listing.
func TestCredentialsRefused(t *testing.T) {
	s := newSite(t)
	s.status("m.md", 401)
	s.put("z.md", "z")
	c := s.config()
	c.URLs, c.Token = []string{s.at("m.md"), s.at("z.md")}, "hunter2"
	expectLike(t, items(t, mustOpen(t, c)), "! credentials: http: "+s.URL+"/m.md: the credentials were refused")
}

func TestRetryAfter(t *testing.T) {
	s := newSite(t)
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"7": 7 * time.Second, "": 0, "soon": 0, "-5": 0, "999999": time.Hour, now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
	} {
		s.page("a.md", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", now.Format(http.TimeFormat))
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		c := s.config()
		c.URLs = []string{s.at("a.md")}
		for _, err := range mustOpen(t, c).Changes(t.Context()) {
			var ce *connector.Error
			if !errors.As(err, &ce) || ce.Class != connector.ClassThrottled || ce.RetryAfter != want {
				t.Errorf("%q: %v, %+v, want %v", value, err, ce, want)
			}
		}
	}
}

// TestResumeAtTheVeryURL: a listing that broke at one URL asks for it again, and for none before it.
func TestResumeAtTheVeryURL(t *testing.T) {
	s := newSite(t)
	c := s.config()
	c.Concurrency = 2
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.put(name, name)
		c.URLs = append(c.URLs, s.at(name))
	}
	s.status("d", 500)
	src := mustOpen(t, c)
	expectLike(t, items(t, src), "a", "b", "c", "! transient")
	s.requests()
	s.mu.Lock()
	delete(s.pages, "d")
	s.mu.Unlock()
	var got []string
	for ch, err := range src.Resume(t.Context()) {
		must(t, err)
		got = append(got, ch.Document.Path)
	}
	expect(t, got, "d", "e")
	if asked := s.requests(); slices.Contains(asked, "HEAD c") || !slices.Contains(asked, "HEAD d") {
		t.Errorf("asked for %q", asked)
	}
	for ch, err := range src.Resume(t.Context()) {
		t.Errorf("a complete listing goes on with %s, %v", ch.Document.Path, err)
	}
}

// TestVanished: what was listed and is gone when it is opened has changed.
func TestVanished(t *testing.T) {
	s := newSite(t)
	s.put("a.md", "a")
	c := s.config()
	c.URLs = []string{s.at("a.md")}
	d := listed(t, mustOpen(t, c))[0]
	s.status("a.md", 404)
	_, err := d.Open(t.Context())
	if connector.ClassOf(err) != connector.ClassChanged {
		t.Errorf("Open: %v", err)
	}
	_, err = d.OpenAt(t.Context(), 1, d.Version)
	if connector.ClassOf(err) != connector.ClassChanged {
		t.Errorf("OpenAt: %v", err)
	}
}

// TestCertificates: a server that cannot prove who it is ends the listing.
func TestCertificates(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	c := defaults()
	c.AllowPrivate, c.URLs = true, []string{srv.URL + "/a"}
	expectLike(t, items(t, mustOpen(t, c)), "! unknown: http: "+srv.URL+"/a: ")
}

// TestSecureHosts: what the configuration names by https is never asked in the clear because a link says so.
func TestSecureHosts(t *testing.T) {
	c := defaults()
	c.Crawl, c.Hosts = []string{"https://h.example/", "http://plain.example/"}, []string{"other.example"}
	sc, err := newScope(&c)
	must(t, err)
	for ref, want := range map[string]string{
		"http://H.example/a": "https://h.example/a", "//plain.example/a": "https://plain.example/a", "http://plain.example/a": "http://plain.example/a",
		"http://other.example/a": "http://other.example/a", "http://h.example:8080/a": "http://h.example:8080/a",
	} {
		if u, ok := sc.link(sc.crawls[0], ref); !ok || u.String() != want {
			t.Errorf("%s is %v, want %s", ref, u, want)
		}
	}
}
