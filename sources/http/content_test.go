package httpsource

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
)

func TestMaxSize(t *testing.T) {
	s := newSite(t)
	s.put("large.md", strings.Repeat("x", 101))
	s.put("small.md", strings.Repeat("x", 100))
	drip := func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return
		}
		w.(http.Flusher).Flush() // no length
		_, _ = io.WriteString(w, strings.Repeat("x", 101))
	}
	s.page("nolength.md", drip)
	s.page("bomb.md", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		zw := gzip.NewWriter(w)
		_, _ = zw.Write(make([]byte, 1<<20))
		_ = zw.Close()
	})
	c := s.config()
	c.MaxSize = 100
	for _, name := range []string{"large.md", "small.md", "nolength.md", "bomb.md"} {
		c.URLs = append(c.URLs, s.at(name))
	}
	src := mustOpen(t, c)
	expect(t, items(t, src), "large.md: 101 bytes, over max_size (100)", "small.md", "nolength.md", "bomb.md")
	for _, d := range listed(t, src)[1:] {
		r, err := d.Open(t.Context())
		must(t, err)
		n, err := io.Copy(io.Discard, r)
		if n > 100 || connector.ClassOf(err) != connector.ClassInvalid {
			t.Errorf("%s: %d bytes, %v", d.Path, n, err)
		}
		must(t, r.Close())
	}
}

// TestGzipEncoding: packed content is unpacked, and what is only labelled so is read as it is.
func TestGzipEncoding(t *testing.T) {
	s := newSite(t)
	packed := func(cut int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				t.Errorf("%s without Accept-Encoding: gzip: HEAD and GET would speak of two versions", r.Method)
			}
			var b strings.Builder
			zw := gzip.NewWriter(&b)
			_, _ = io.WriteString(zw, strings.Repeat("packed ", 100))
			_ = zw.Close()
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Accept-Ranges", "bytes")
			w.Header().Set("Etag", `"1"`)
			_, _ = io.WriteString(w, b.String()[:b.Len()-cut])
		}
	}
	s.page("packed.md", packed(0))
	s.page("cut.md", packed(10))
	s.page("labelled.md", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "plain")
	})
	s.page("brotli.md", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "?")
	})
	c := s.config()
	for _, name := range []string{"packed.md", "labelled.md", "cut.md", "brotli.md"} {
		c.URLs = append(c.URLs, s.at(name))
	}
	docs := listed(t, mustOpen(t, c))
	if docs[0].Size != -1 || docs[0].OpenAt != nil || docs[0].Version != `"1"` {
		t.Errorf("%+v", docs[0])
	}
	if text, version := read(t, docs[0]); text != strings.Repeat("packed ", 100) || version != `"1"` {
		t.Errorf("%.20q under %s", text, version)
	}
	if text, _ := read(t, docs[1]); text != "plain" {
		t.Errorf("%q", text)
	}
	r, err := docs[2].Open(t.Context())
	must(t, err)
	if _, err := io.ReadAll(r); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("cut: %v", err)
	}
	must(t, r.Close())
	if _, err := docs[3].Open(t.Context()); connector.ClassOf(err) != connector.ClassUnsupported {
		t.Errorf("brotli: %v", err)
	}
}

// TestCutBody: a body that ends before its length is a passing fault, never a shorter document.
func TestCutBody(t *testing.T) {
	s := newSite(t)
	s.page("a.md", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "short")
	})
	c := s.config()
	c.URLs = []string{s.at("a.md")}
	d := listed(t, mustOpen(t, c))[0]
	r, err := d.Open(t.Context())
	must(t, err)
	if _, err := io.ReadAll(r); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("%v", err)
	}
	must(t, r.Close())
}

// TestSilence: a server that sends nothing more is left.
func TestSilence(t *testing.T) {
	s := newSite(t)
	release := make(chan struct{})
	defer close(release)
	s.page("headers", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	s.page("body", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		if r.Method == http.MethodGet {
			<-r.Context().Done()
		}
	})
	c := s.config()
	c.Timeout = 50 * time.Millisecond
	c.URLs = []string{s.at("headers")}
	expectLike(t, items(t, mustOpen(t, c)), "! transient: ")
	c.URLs = []string{s.at("body")}
	r, err := listed(t, mustOpen(t, c))[0].Open(t.Context())
	must(t, err)
	if _, err := io.ReadAll(r); connector.ClassOf(err) != connector.ClassTransient || !errors.Is(err, errStalled) {
		t.Errorf("%v", err)
	}
	must(t, r.Close())
}

func TestCancelledReading(t *testing.T) {
	s := newSite(t)
	s.page("body", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		if r.Method == http.MethodGet {
			<-r.Context().Done()
		}
	})
	c := s.config()
	c.URLs = []string{s.at("body")}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := listed(t, mustOpen(t, c))[0].Open(ctx)
	must(t, err)
	cancel()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	must(t, r.Close())
}

// TestRangesIgnored: a server that promises ranges and sends the whole is read from the right byte on.
func TestRangesIgnored(t *testing.T) {
	s := newSite(t)
	s.page("a.md", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Etag", `"1"`)
		w.Header().Set("Accept-Ranges", "bytes")
		_, _ = io.WriteString(w, "0123456789")
	})
	c := s.config()
	c.URLs = []string{s.at("a.md")}
	d := listed(t, mustOpen(t, c))[0]
	r, err := d.OpenAt(t.Context(), 4, d.Version)
	must(t, err)
	if data, err := io.ReadAll(r); string(data) != "456789" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	must(t, r.Close())
	if _, err := d.OpenAt(t.Context(), 4, `"2"`); connector.ClassOf(err) != connector.ClassChanged {
		t.Errorf("of another version: %v", err)
	}
}

// TestBadLocation: a redirect to nowhere is the fault of one document.
func TestBadLocation(t *testing.T) {
	s := newSite(t)
	for name, to := range map[string]string{"a": "http://[::", "b": ""} {
		s.page(name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
	}
	s.put("c", "c")
	c := s.config()
	c.URLs = []string{s.at("a"), s.at("b"), s.at("c")}
	expectLike(t, items(t, mustOpen(t, c)), "! invalid: a: ", "! invalid: b: ", "c")
}

// TestWithoutContentType: what a page is shows in its first bytes; a HEAD that says 0 bytes says nothing.
func TestWithoutContentType(t *testing.T) {
	s := newSite(t)
	s.page("", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Length", "0")
			return
		}
		_, _ = io.WriteString(w, `<!doctype html><a href="/a.md">a</a>`)
	})
	s.put("a.md", "a")
	expect(t, items(t, mustOpen(t, s.crawl())), "./", "a.md")
	c := s.config()
	c.URLs = []string{s.URL}
	if d := listed(t, mustOpen(t, c))[0]; d.Size != -1 {
		t.Errorf("size %d", d.Size)
	}
}
