package gcs

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/storage"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
	"github.com/kbsync/kbsync/internal/servers"
)

// TestFaults shares one server.
func TestFaults(t *testing.T) {
	server := servers.Start(t, "fake-gcs")
	for name, test := range map[string]func(*testing.T, *rig){
		"more than 1,000 keys":                    manyKeys,
		"folder markers":                          folderMarkers,
		"two buckets with one key":                func(t *testing.T, r *rig) { twoBuckets(t, r, newRig(t, server.Addr)) },
		"gzip content encoding":                   gzipEncoding,
		"overwritten between listing and reading": overwritten,
		"a cut body is read on":                   cutBody,
		"credentials expire during the listing":   expired,
		"a 503 is no empty bucket":                unavailable,
		"a portal's page is no empty bucket":      portal,
		"a cut page is no end":                    cutPage,
		"requester pays":                          requesterPays,
		"metadata and type":                       metadata,
		"no such bucket":                          noBucket,
		"gone and denied objects":                 lost,
		"prefix and globs":                        prefixes,
	} {
		t.Run(name, func(t *testing.T) { test(t, newRig(t, server.Addr)) })
	}
}

func manyKeys(t *testing.T, r *rig) {
	r.bucket.Fill(t, 2500, numbered)
	r.proxy.Reset()
	if docs := list(t, r.open(t)); len(docs) != 2500 {
		t.Errorf("%d documents are listed", len(docs))
	}
	if calls := r.proxy.Calls(); len(calls) != 3 {
		t.Errorf("2,500 objects cost %d calls, want 3 and no reading", len(calls))
	}
}

func folderMarkers(t *testing.T, r *rig) {
	for _, key := range []string{"folder/", "a/b/", "old_$folder$", "a/b/file.md", "empty.md"} {
		r.bucket.Put(t, key, nil)
	}
	r.bucket.Put(t, "odd/", []byte("a key that ends in a slash and has content"))
	if got := paths(list(t, r.open(t))); got != "a/b/file.md empty.md odd/" {
		t.Errorf("listed: %s", got)
	}
}

func twoBuckets(t *testing.T, r, other *rig) {
	r.bucket.Put(t, "same.md", []byte("one"))
	other.bucket.Put(t, "same.md", []byte("two"))
	a, b := list(t, r.open(t))[0], list(t, other.open(t))[0]
	if a.URI == b.URI || a.URI != "gs://"+r.bucket.Name+"/same.md" {
		t.Errorf("URIs %s and %s", a.URI, b.URI)
	}
	if got := read(t, a); string(got) != "one" {
		t.Errorf("read %q", got)
	}
}

func gzipEncoding(t *testing.T, r *rig) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, strings.Repeat("hello ", 1000))
	_ = z.Close()
	r.bucket.Put(t, "page.html", packed.Bytes(), func(w *storage.Writer) { w.ContentEncoding, w.ContentType = "gzip", "text/html" })
	d := list(t, r.open(t))[0]
	if d.Size != int64(packed.Len()) {
		t.Errorf("size %d, want %d as stored", d.Size, packed.Len())
	}
	facts, got := opened(t, d)
	if facts.Encoding != "gzip" || facts.MediaType != "text/html" || !bytes.Equal(got, packed.Bytes()) {
		t.Errorf("%+v, %d bytes; want gzip, and the %d bytes that are stored", facts, len(got), packed.Len())
	}
	rest := readOn(t, d, 7, facts.Version)
	if !bytes.Equal(rest, packed.Bytes()[7:]) {
		t.Error("read on from byte 7, the bytes are not those stored")
	}
}

func overwritten(t *testing.T, r *rig) {
	r.bucket.Put(t, "a.md", []byte("first"))
	s := r.open(t)
	d := list(t, s)[0]
	r.bucket.Put(t, "a.md", []byte("second, and longer"))
	facts, got := opened(t, d)
	now := list(t, s)[0]
	if string(got) != "second, and longer" || facts.Version != now.Version || facts.Version == d.Version {
		t.Errorf("read %q as version %q; listed were %q, then %q", got, facts.Version, d.Version, now.Version)
	}
}

func cutBody(t *testing.T, r *rig) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 40_000)
	r.bucket.Put(t, "large.txt", text)
	d := list(t, r.open(t))[0]
	r.proxy.Alter(func(a *http.Response) error { objectstest.CutAfter(a, 300_000); return nil })
	r.proxy.Reset()
	body, err := d.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	if connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("cut after %d bytes: %v", len(got), err)
	}
	if n := len(r.proxy.Calls()); n != 1 {
		t.Errorf("the library made %d requests for one reading", n)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	r.proxy.Alter(nil)
	if got = append(got, readOn(t, d, int64(len(got)), d.Version)...); !bytes.Equal(got, text) {
		t.Error("in two parts the content is another")
	}
}

func expired(t *testing.T, r *rig) {
	r.bucket.Fill(t, 25, numbered)
	s := r.open(t, pages(10))
	err := broken(t, s, 10, func() {
		r.set(objectstest.Answer(401, "application/json", `{"error":{"code":401,"message":"Invalid Credentials","errors":[{"reason":"authError"}]}}`))
	})
	if connector.ClassOf(err) != connector.ClassCredentials || !strings.Contains(err.Error(), "expired") {
		t.Errorf("class %s: %v", connector.ClassOf(err), err)
	}
	r.set(nil)
	resumed(t, s, 15)
}

func unavailable(t *testing.T, r *rig) {
	r.bucket.Put(t, "a.md", nil)
	s := r.open(t)
	r.set(objectstest.Answer(503, "text/plain", "try later", "Retry-After", "7"))
	r.proxy.Reset()
	err := broken(t, s, 0, nil)
	var classed *connector.Error
	if !errors.As(err, &classed) || classed.Class != connector.ClassThrottled || classed.RetryAfter != 7*time.Second {
		t.Errorf("%v", err)
	}
	if n := len(r.proxy.Calls()); n != 1 {
		t.Errorf("the library asked %d times", n)
	}
	r.set(objectstest.Answer(500, "text/plain", "oops"))
	if err := broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("500: %v", err)
	}
	r.set(objectstest.HangUp)
	if err := broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("no answer: %v", err)
	}
	r.set(objectstest.Answer(403, "application/json", `{"error":{"code":403,"message":"Quota","errors":[{"reason":"userRateLimitExceeded"}]}}`))
	if err := broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassThrottled {
		t.Errorf("rate limit: %v", err)
	}
}

func portal(t *testing.T, r *rig) {
	s := r.open(t)
	for _, page := range []string{"<html>sign in</html>", "{}", "[]", "", `{"error":"sign in"}`} {
		r.set(objectstest.Answer(200, "application/json", page))
		if err := broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassTransient {
			t.Errorf("%q: %v", page, err)
		}
	}
}

func cutPage(t *testing.T, r *rig) {
	r.bucket.Fill(t, 25, numbered)
	s := r.open(t, pages(10))
	err := broken(t, s, 10, func() {
		r.proxy.Alter(func(a *http.Response) error { objectstest.CutAfter(a, 200); return nil })
	})
	if connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("%v", err)
	}
	r.proxy.Alter(nil)
	resumed(t, s, 15)
}

func requesterPays(t *testing.T, r *rig) {
	r.bucket.Put(t, "a.md", []byte("content"))
	unpaid := func(body string) objectstest.Fault {
		return objectstest.When(func(q *http.Request) bool { return q.Header.Get("X-Goog-User-Project") == "" }, 0, objectstest.Answer(400, "application/json", body))
	}
	s := r.open(t)
	d := list(t, s)[0]
	r.set(unpaid(`{"error":{"code":400,"message":"Bucket is a requester pays bucket but no user project provided.","errors":[{"reason":"required"}]}}`))
	if err := broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassDenied || !strings.Contains(err.Error(), "user_project") {
		t.Errorf("listing: %v", err)
	}
	r.set(unpaid(`<?xml version='1.0'?><Error><Code>UserProjectMissing</Code><Message>Bucket is a requester pays bucket but no user project provided.</Message></Error>`))
	if _, err := d.Open(t.Context()); connector.ClassOf(err) != connector.ClassDenied || !strings.Contains(err.Error(), "user_project") {
		t.Errorf("reading: %v", err)
	}
	d = list(t, r.open(t, func(c *Config) { c.UserProject = "payer" }))[0]
	if got := read(t, d); string(got) != "content" {
		t.Errorf("read %q", got)
	}
}

func metadata(t *testing.T, r *rig) {
	r.bucket.Put(t, "a", []byte("x"), func(w *storage.Writer) {
		w.Metadata, w.ContentType = map[string]string{"Owner": "Zoë 王", "team-Name": "docs"}, "text/markdown"
	})
	r.bucket.Put(t, "b", []byte("x"), func(w *storage.Writer) { w.ContentType = "application/octet-stream" })
	docs := list(t, r.open(t))
	facts, _ := opened(t, docs[0])
	for _, m := range []map[string]any{docs[0].Metadata, facts.Metadata} {
		if len(m) != 2 || m["owner"] != "Zoë 王" || m["team-name"] != "docs" {
			t.Errorf("metadata %q", m)
		}
	}
	if docs[0].MediaType != "text/markdown" || facts.MediaType != "text/markdown" || docs[1].MediaType != "" {
		t.Errorf("types %q, %q, %q", docs[0].MediaType, facts.MediaType, docs[1].MediaType)
	}
}

func noBucket(t *testing.T, r *rig) {
	s := r.open(t, func(c *Config) { c.Bucket = "nosuchbucket" })
	if err := broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassNotFound || !strings.Contains(err.Error(), "nosuchbucket") {
		t.Errorf("%v", err)
	}
}

func lost(t *testing.T, r *rig) {
	r.bucket.Put(t, "a.md", []byte("x"))
	d := list(t, r.open(t))[0]
	r.bucket.Delete(t, "a.md")
	if _, err := d.Open(t.Context()); connector.ClassOf(err) != connector.ClassChanged {
		t.Errorf("deleted since it was listed: %v", err)
	}
	r.set(objectstest.Answer(403, "application/xml", "<Error><Code>AccessDenied</Code><Message>Access denied.</Message></Error>"))
	if _, err := d.Open(t.Context()); connector.ClassOf(err) != connector.ClassDenied || !strings.Contains(err.Error(), "Access denied") {
		t.Errorf("denied: %v", err)
	}
}

func prefixes(t *testing.T, r *rig) {
	for _, key := range []string{"a/../x/1.md", "a/../x/2.txt", "a/../x/skip/3.md", "a/../y.md", "a/__0x2f__/z.md"} {
		r.bucket.Put(t, key, []byte("x"))
	}
	s := r.open(t, func(c *Config) { c.Prefix, c.Include, c.Exclude = "a/../x/", []string{"**/*.md"}, []string{"skip"} })
	if got := paths(list(t, s)); got != "1.md" {
		t.Errorf("listed: %s", got)
	}
}
