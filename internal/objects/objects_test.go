package objects

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/kbsync/kbsync/connector"
)

// store is a bucket in memory as a Provider: MD5 sums are its versions.
type store struct {
	bucket *blob.Bucket
	hangs  bool // whether bodies fall silent after their first byte
	change func(*Reading)
}

func (s *store) BeforeList(_ func(any) bool, _ string) error { return nil }

func (s *store) Entry(o *blob.ListObject) (Entry, error) {
	return Entry{Key: o.Key, Version: hex.EncodeToString(o.MD5)}, nil
}

func (s *store) Read(ctx context.Context, key string, from int64) (Reading, error) {
	a, err := s.bucket.Attributes(ctx, key)
	if err != nil {
		return Reading{}, err
	}
	if from > 0 && from >= a.Size {
		return Reading{}, connector.Errorf(connector.ClassChanged, "range")
	}
	body, err := s.bucket.NewRangeReader(ctx, key, from, -1, nil)
	if err != nil {
		return Reading{}, err
	}
	r := Reading{
		Body: body, Start: from, Size: a.Size, Version: hex.EncodeToString(a.MD5), ModTime: a.ModTime,
		ContentType: a.ContentType, ContentEncoding: a.ContentEncoding, Metadata: a.Metadata,
	}
	if s.hangs {
		_ = body.Close()
		r.Body = &silent{ctx: ctx.Done(), first: strings.NewReader("x")}
	}
	if s.change != nil {
		s.change(&r)
	}
	return r, nil
}

func (s *store) Tags(context.Context, string) (map[string]string, error) {
	return map[string]string{"team": "docs"}, nil
}

func (s *store) Classify(error) error { return nil }

// silent gives its first bytes and then nothing until its request ends.
type silent struct {
	ctx   <-chan struct{}
	first io.Reader
}

func (s *silent) Read(p []byte) (int, error) {
	if n, err := s.first.Read(p); err == nil {
		return n, nil
	}
	<-s.ctx
	return 0, context.Canceled
}

func (s *silent) Close() error { return nil }

func open(tb testing.TB, change ...func(*Config)) (*Source, *store) {
	tb.Helper()
	st := &store{bucket: memblob.OpenBucket(nil)}
	c := Defaults()
	for _, ch := range change {
		ch(&c)
	}
	if err := c.Validate(); err != nil {
		tb.Fatal(err)
	}
	return New(c, Options{Kind: "mem", Base: "mem://bucket/", Bucket: st.bucket, Provider: st}), st
}

func (s *store) put(tb testing.TB, key string, data []byte) {
	tb.Helper()
	if err := s.bucket.WriteAll(tb.Context(), key, data, &blob.WriterOptions{ContentType: "text/plain", Metadata: map[string]string{"team": "user"}}); err != nil {
		tb.Fatal(err)
	}
}

// TestPathsAreInjective: whatever keys there are, each has its own path, and none starts with a slash or is empty.
func TestPathsAreInjective(t *testing.T) {
	for _, prefix := range []string{"", "a/", "a/b", "/", "./"} {
		s := &Source{strip: strings.LastIndexByte(prefix, '/') + 1}
		seen := map[string]string{}
		for _, rest := range words("./a", 6) {
			key := prefix[:s.strip] + rest
			path := s.path(key)
			if path == "" || path[0] == '/' {
				t.Fatalf("%q has the path %q", key, path)
			}
			if other, taken := seen[path]; taken {
				t.Fatalf("%q and %q have the path %q", key, other, path)
			}
			seen[path] = key
		}
	}
}

// words are all strings over an alphabet up to a length.
func words(alphabet string, length int) []string {
	out := []string{""}
	for at := 0; at < len(out); at++ {
		if len(out[at]) < length {
			for _, c := range alphabet {
				out = append(out, out[at]+string(c))
			}
		}
	}
	return out
}

// TestResumeInsideAPage: what was not wanted of a page comes next, wherever the listing stopped.
func TestResumeInsideAPage(t *testing.T) {
	s, st := open(t, func(c *Config) { c.PageSize = 10 })
	var want []string
	for i := range 25 {
		want = append(want, fmt.Sprintf("%02d.md", i))
		st.put(t, want[i], []byte("x"))
	}
	for stop := 1; stop <= len(want); stop++ {
		var got []string
		for c, err := range s.Changes(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, c.Document.Path); len(got) == stop {
				break
			}
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range s.Resume(cancelled) {
			if !errors.Is(err, context.Canceled) && stop < len(want) {
				t.Fatalf("cancelled, it gives %v", err)
			}
		}
		for c, err := range s.Resume(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, c.Document.Path)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("stopped after %d: %q", stop, got)
		}
	}
	fresh, _ := open(t)
	for range fresh.Resume(t.Context()) {
		t.Error("an empty bucket lists something")
	}
}

func document(tb testing.TB, s *Source) connector.Document {
	tb.Helper()
	for c, err := range s.Changes(tb.Context()) {
		if err == nil {
			return c.Document
		}
		tb.Fatal(err)
	}
	tb.Fatal("nothing is listed")
	return connector.Document{}
}

// TestStalledReading: a server that falls silent is like a network that is down; a reader that takes its time is not.
func TestStalledReading(t *testing.T) {
	s, st := open(t)
	st.put(t, "a.txt", []byte("xyz"))
	d := document(t, s)
	synctest.Test(t, func(t *testing.T) {
		st.hangs = true
		r, err := d.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := r.Read(make([]byte, 10)); n != 1 || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
		time.Sleep(time.Hour)
		_, err = r.Read(make([]byte, 10))
		if connector.ClassOf(err) != connector.ClassTransient || !strings.Contains(err.Error(), "sends nothing") {
			t.Errorf("class %q: %v", connector.ClassOf(err), err)
		}
		_ = r.Close()
	})
}

// TestBodies: what an answer says about its body is held against it.
func TestBodies(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), 100)
	for name, c := range map[string]struct {
		offset int64
		change func(*Reading)
		class  connector.Class
	}{
		"shorter than it says": {0, func(r *Reading) { r.Size = 2000 }, connector.ClassTransient},
		"of unknown size":      {0, func(r *Reading) { r.Size = -1 }, connector.ClassUnknown},
		"begins too late":      {500, func(r *Reading) { r.Start = 501 }, connector.ClassTransient},
		"other version":        {500, func(r *Reading) { r.Version = "other" }, connector.ClassChanged},
		"no version":           {0, func(r *Reading) { r.Version = "" }, connector.ClassUnsupported},
		"packed by br":         {0, func(r *Reading) { r.ContentEncoding = "br" }, connector.ClassInvalid},
		"packed twice":         {0, func(r *Reading) { r.ContentEncoding = "gzip, gzip" }, connector.ClassInvalid},
		"negative offset":      {-1, nil, connector.ClassInvalid},
		"behind the end":       {1001, nil, connector.ClassChanged},
	} {
		s, st := open(t)
		st.put(t, "a.txt", text)
		d := document(t, s)
		st.change = c.change
		r, err := d.Open(t.Context())
		if c.offset != 0 {
			if err == nil {
				_ = r.Close()
			}
			r, err = d.OpenAt(t.Context(), c.offset, d.Version)
		}
		var got []byte
		if err == nil {
			got, err = io.ReadAll(r)
			_ = r.Close()
		}
		if connector.ClassOf(err) != c.class || (err == nil) != (c.class == connector.ClassUnknown) || err == nil && !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, class %q: %v", name, len(got), connector.ClassOf(err), err)
		}
	}
}

func TestFacts(t *testing.T) {
	s, st := open(t, func(c *Config) { c.Tags = true })
	st.put(t, "a.txt", []byte("x"))
	r, err := document(t, s).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	opened, ok := r.(connector.Opened)
	if !ok || opened.Facts().MediaType != "text/plain" || opened.Facts().Metadata["team"] != "docs" {
		t.Errorf("%+v", opened)
	}
	_ = r.Close()
	for given, want := range map[string]string{"": "", "binary/octet-stream": "", "Application/Octet-Stream; x=y": "", "text/html; charset=gbk": "text/html; charset=gbk"} {
		if got := mediaType(given); got != want {
			t.Errorf("%q becomes %q", given, got)
		}
	}
	for given, want := range map[string]string{`"a-2"`: "a-2", `W/"a"`: "a", "0x8D": "0x8D", "": ""} {
		if got := ETag(given); got != want {
			t.Errorf("%q becomes %q", given, got)
		}
	}
}

func TestValidate(t *testing.T) {
	for words, change := range map[string]func(*Config){
		"include[0]": func(c *Config) { c.Include = []string{"/x"} },
		"include:":   func(c *Config) { c.Include = nil },
		"prefix":     func(c *Config) { c.Prefix = "\xff" },
		"max_size":   func(c *Config) { c.MaxTreeSize = -1 },
	} {
		c := Defaults()
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q: %v", words, err)
		}
	}
}
