package s3

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
)

// testPlanted: what the benchmark and others plant is what a client stores.
func testPlanted(t *testing.T, w *world) {
	f, g := w.fixture(t), w.fixture(t)
	f.Plant(t, w.server, 10, objectstest.Numbered)
	g.Fill(t, 10, objectstest.Numbered)
	planted, stored := list(t, f.open(t)), list(t, g.open(t))
	if !slices.Equal(planted.paths, stored.paths) || len(planted.paths) != 10 {
		t.Fatalf("planted %q, stored %q", planted.paths, stored.paths)
	}
	for p, d := range planted.docs {
		facts, a := objectstest.Opened(t, d)
		b := objectstest.Read(t, stored.docs[p])
		if d.Version != stored.docs[p].Version || facts.Version != d.Version || !bytes.Equal(a, b) {
			t.Errorf("%s: version %s, %s, text %q, %q", p, d.Version, stored.docs[p].Version, a, b)
		}
	}
}

// testNames: each key lists, reads and keeps its identity. This server keeps objects in files: it refuses keys that lead above the bucket,
// stores a//b, a/../b, ./a and /a under the path that the file system makes of them, and cannot list control characters other than
// tab and line ends; for these see testEncodedKeys.
func testNames(t *testing.T, w *world) {
	f := w.fixture(t)
	keys := append([]string{"plain.md", "手册/第一章 总则.md", "caf\u00e9.md", "cafe\u0301.md"}, extra...)
	for _, key := range keys {
		f.Put(t, key, []byte("content of "+key))
	}
	s := f.open(t, pages(4))
	first, second := list(t, s), list(t, s)
	for _, key := range keys {
		d, ok := first.docs[key]
		if !ok {
			t.Errorf("%q is not listed", key)
			continue
		}
		if text := string(objectstest.Read(t, d)); text != "content of "+key {
			t.Errorf("%q reads as %q", key, text)
		}
		if again := second.docs[key]; again.Version != d.Version || again.URI != d.URI {
			t.Errorf("%q is not the same in two listings", key)
		}
		u, err := url.Parse(d.URI)
		if err != nil || u.Host != f.Name || u.Path != "/"+key || u.RawQuery != "" || u.Fragment != "" {
			t.Errorf("%q has the URI %s, error %v", key, d.URI, err)
		}
	}
	if len(first.paths) != len(keys) || first.err != nil {
		t.Errorf("%d listed, %d stored, error %v", len(first.paths), len(keys), first.err)
	}
}

// testEncodedKeys plants a listing as Amazon gives it where keys are asked for in URL form, with keys that XML or UTF-8 cannot hold, and
// follows the readings to the path that is asked for.
func testEncodedKeys(t *testing.T, w *world) {
	f := w.fixture(t)
	keys := map[string]string{ // by path
		"ctl\x01.md": "ctl\x01.md", "a//b.md": "a//b.md", ".//lead.md": "/lead.md", "../up.md": "../up.md", "././dot.md": "./dot.md",
		"a/../b.md": "a/../b.md", "plus+ and space.md": "plus+ and space.md", "100%25.md": "100%25.md", "del\x7f.md": "del\x7f.md",
	}
	var body strings.Builder
	body.WriteString(`<?xml version="1.0"?><ListBucketResult><Name>b</Name><Prefix></Prefix><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>`)
	for _, key := range append([]string{"bad\xff.md"}, mapValues(keys)...) {
		fmt.Fprintf(&body, `<Contents><Key>%s</Key><LastModified>2024-01-02T03:04:05.000Z</LastModified><ETag>&quot;v1&quot;</ETag><Size>4</Size></Contents>`,
			strings.ReplaceAll(url.QueryEscape(key), "%2F", "/"))
	}
	body.WriteString(`</ListBucketResult>`)
	f.proxy.Set(func(rw http.ResponseWriter, r *http.Request) bool {
		if isList(r) {
			if r.URL.Query().Get("encoding-type") != "url" {
				t.Error("keys are not asked for in URL form")
			}
			return objectstest.Answer(http.StatusOK, "application/xml", body.String())(rw, r)
		}
		rw.Header().Set("ETag", `"v1"`)
		_, _ = io.WriteString(rw, strings.TrimPrefix(r.URL.Path, "/"+f.Name+"/"))
		return true
	})
	l := list(t, f.open(t))
	for path, key := range keys {
		d, ok := l.docs[path]
		if !ok {
			t.Errorf("%q is not listed", path)
			continue
		}
		if got := string(objectstest.Read(t, d)); got != key {
			t.Errorf("%q reads the key %q", path, got)
		}
	}
	if len(l.paths) != len(keys) || l.err != nil || len(l.notes) != 1 || !strings.Contains(l.notes[0], `bad\xff.md`) {
		t.Errorf("listed %q, %q, error %v", l.paths, l.notes, l.err)
	}
}

func mapValues(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// testCutListing: a page whose bytes end early is an error, and what was listed before is not listed again.
func testCutListing(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Fill(t, 30, objectstest.Numbered)
	cut := regexp.MustCompile(`(?s)</Contents>.*`)
	for name, change := range map[string]objectstest.Change{
		"connection cut": func(r *http.Response) error { objectstest.CutAfter(r, 700); return nil },
		"document cut": func(r *http.Response) error {
			return rewrite(r, func(s string) string { return cut.ReplaceAllString(s, "</Contents>") })
		},
		"no end is told": func(r *http.Response) error {
			return rewrite(r, func(s string) string {
				return regexp.MustCompile(`<IsTruncated>\w*</IsTruncated>`).ReplaceAllString(s, "")
			})
		},
		"token lost": func(r *http.Response) error {
			return rewrite(r, func(s string) string {
				return regexp.MustCompile(`<NextContinuationToken>.*</NextContinuationToken>`).ReplaceAllString(s, "")
			})
		},
		"empty body": func(r *http.Response) error { return rewrite(r, func(string) string { return "" }) },
	} {
		t.Run(name, func(t *testing.T) {
			s := f.open(t, pages(10))
			page := 0
			f.proxy.Alter(func(r *http.Response) error {
				if page++; page == 2 {
					return change(r)
				}
				return nil
			})
			l := list(t, s)
			f.proxy.Alter(nil)
			objectstest.WantClass(t, l.err, connector.ClassTransient, "s3: list")
			if len(l.paths) != 10 {
				t.Errorf("%d documents before the cut", len(l.paths))
			}
			l.resume(t, s)
			if len(l.paths) != 30 || len(l.docs) != 30 || l.err != nil {
				t.Errorf("%d items, %d documents, error %v", len(l.paths), len(l.docs), l.err)
			}
		})
	}
	// A server that repeats its token must not be followed for ever.
	f.proxy.Alter(func(r *http.Response) error {
		return rewrite(r, func(s string) string {
			s = regexp.MustCompile(`<NextContinuationToken>.*</NextContinuationToken>`).ReplaceAllString(s, "")
			return regexp.MustCompile(`<IsTruncated>\w*</IsTruncated>`).ReplaceAllString(s, "<IsTruncated>true</IsTruncated><NextContinuationToken>same</NextContinuationToken>")
		})
	})
	objectstest.WantClass(t, list(t, f.open(t, pages(10))).err, connector.ClassInvalid, "again and again")
	// Nor one that ignores the prefix.
	f.proxy.Alter(nil)
	f.proxy.Alter(func(r *http.Response) error {
		return rewrite(r, func(s string) string { return strings.ReplaceAll(s, "<Key>docs/", "<Key>other/") })
	})
	objectstest.WantClass(t, list(t, f.open(t, func(c *Config) { c.Prefix = "docs/" })).err, connector.ClassUnsupported, "prefix")
}

// rewrite changes the body of an answer.
func rewrite(r *http.Response, f func(string) string) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	changed := f(string(data))
	r.Body = io.NopCloser(strings.NewReader(changed))
	r.ContentLength = int64(len(changed))
	r.Header.Set("Content-Length", fmt.Sprint(len(changed)))
	return nil
}
