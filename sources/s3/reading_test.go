package s3

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
)

// testMultipart: the ETag of an object of several parts is no MD5 of it, and a version like any other.
func testMultipart(t *testing.T, w *world) {
	f := w.fixture(t)
	ctx := t.Context()
	name, key := aws.String(f.Name), aws.String("large.txt")
	up, err := f.Client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: name, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	var parts []types.CompletedPart
	text := append(bytes.Repeat([]byte("0123456789abcdef"), 5<<16), "the end"...)
	for i, part := range [][]byte{text[:5<<20], text[5<<20:]} {
		n := aws.Int32(int32(i + 1)) //nolint:gosec // two
		out, err := f.Client.UploadPart(ctx, &s3.UploadPartInput{Bucket: name, Key: key, UploadId: up.UploadId, PartNumber: n, Body: bytes.NewReader(part)})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, types.CompletedPart{ETag: out.ETag, PartNumber: n})
	}
	if _, err := f.Client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: name, Key: key, UploadId: up.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	}); err != nil {
		t.Fatal(err)
	}
	d := one(t, f.open(t))
	got, facts, err := read(t, d)
	if !strings.HasSuffix(d.Version, "-2") || strings.Contains(d.Version, `"`) || facts.Version != d.Version || got != string(text) || err != nil {
		t.Errorf("version %s, read %s, %d bytes, error %v", d.Version, facts.Version, len(got), err)
	}
}

// testGzip: the bytes come as they are stored, and the facts say what they are.
func testGzip(t *testing.T, w *world) {
	f := w.fixture(t)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(bytes.Repeat([]byte("plain text\n"), 1000))
	_ = z.Close()
	for _, label := range []string{"gzip", "aws-chunked,gzip", "GZIP"} {
		f.Put(t, "a.txt", packed.Bytes(), encoded(label))
		d := one(t, f.open(t))
		got, facts, err := read(t, d)
		if got != packed.String() || facts.Encoding != "gzip" || err != nil || d.Size != int64(packed.Len()) {
			t.Errorf("%s: %d bytes of %d, encoding %q, error %v", label, len(got), packed.Len(), facts.Encoding, err)
		}
		r, err := d.OpenAt(t.Context(), 10, d.Version)
		if err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(r); !bytes.Equal(rest, packed.Bytes()[10:]) || err != nil {
			t.Errorf("%s: from byte 10, %d bytes, error %v", label, len(rest), err)
		}
		_ = r.Close()
	}
	f.Put(t, "a.txt", []byte("x"), encoded("br"))
	_, _, err := read(t, one(t, f.open(t)))
	wantClass(t, err, connector.ClassInvalid, "br")
}

func testFacts(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("text"), func(in *s3.PutObjectInput) {
		in.ContentType = aws.String("text/markdown; charset=utf-8")
		in.Metadata = map[string]string{"author": "Li Lei", "title": "=?UTF-8?B?5omL5YaM?="}
	})
	d := one(t, f.open(t))
	_, facts, err := read(t, d)
	want := map[string]any{"author": "Li Lei", "title": "手册"}
	if err != nil || facts.MediaType != "text/markdown; charset=utf-8" || !maps.Equal(facts.Metadata, want) || facts.Encoding != "" || facts.Version != d.Version {
		t.Errorf("%+v, error %v", facts, err)
	}
	if facts.ModifiedAt.IsZero() || facts.ModifiedAt.Sub(d.ModifiedAt).Abs() > 2*time.Second {
		t.Errorf("modified at %v, listed %v", facts.ModifiedAt, d.ModifiedAt)
	}
	f.Put(t, "a.md", []byte("text"), func(in *s3.PutObjectInput) { in.ContentType = aws.String("application/octet-stream") })
	if _, facts, err := read(t, one(t, f.open(t))); facts.MediaType != "" || facts.Metadata != nil || err != nil {
		t.Errorf("%+v, error %v", facts, err)
	}
}

func testTags(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("text"), func(in *s3.PutObjectInput) {
		in.Tagging = aws.String("team=docs&class=a%2Bb")
		in.Metadata = map[string]string{"team": "user", "author": "x"}
	})
	s := f.open(t, func(c *Config) { c.Tags = true })
	d := one(t, s)
	_, facts, err := read(t, d)
	if want := (map[string]any{"team": "docs", "class": "a+b", "author": "x"}); err != nil || !maps.Equal(facts.Metadata, want) {
		t.Errorf("%v, error %v", facts.Metadata, err)
	}
	f.proxy.Set(objectstest.When(func(r *http.Request) bool { return r.URL.Query().Has("tagging") }, 0, denied("Access Denied")))
	_, _, err = read(t, d)
	wantClass(t, err, connector.ClassDenied, "tags: true", "s3:GetObjectTagging")
	f.proxy.Reset()
	_, _, _ = read(t, one(t, f.open(t)))
	if n := f.proxy.Count(func(c objectstest.Call) bool { return strings.Contains(c.Query, "tagging") }); n > 0 {
		t.Errorf("%d calls for tags that nobody wants", n)
	}
}

func testOverwritten(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("first"))
	s := f.open(t)
	d := one(t, s)
	f.Put(t, "a.md", []byte("second, longer"))
	got, facts, err := read(t, d)
	if again := one(t, s); got != "second, longer" || err != nil || facts.Version == d.Version || facts.Version != again.Version {
		t.Errorf("%q under %s, listed as %s, then as %s, error %v", got, facts.Version, d.Version, again.Version, err)
	}
	_, err = d.OpenAt(t.Context(), 2, d.Version)
	wantClass(t, err, connector.ClassChanged, "overwritten")
	_, err = d.OpenAt(t.Context(), 500, facts.Version)
	wantClass(t, err, connector.ClassChanged)
	f.Put(t, "a.md", nil)
	_, err = d.OpenAt(t.Context(), 5, d.Version)
	wantClass(t, err, connector.ClassChanged)
}

// testOverwrittenWhileRead: a reading that breaks does not go on in another version.
func testOverwrittenWhileRead(t *testing.T, w *world) {
	f := w.fixture(t)
	old := bytes.Repeat([]byte("old "), 500_000)
	f.Put(t, "a.txt", old)
	d := one(t, f.open(t))
	f.proxy.Alter(func(r *http.Response) error { objectstest.CutAfter(r, 300_000); return nil })
	got, facts, err := read(t, d)
	f.proxy.Alter(nil)
	wantClass(t, err, connector.ClassTransient)
	f.Put(t, "a.txt", bytes.Repeat([]byte("new "), 500_000))
	_, err = d.OpenAt(t.Context(), int64(len(got)), facts.Version)
	wantClass(t, err, connector.ClassChanged, "overwritten")
	if got != string(old[:len(got)]) || len(got) == 0 {
		t.Errorf("%d bytes that are not the beginning", len(got))
	}
}

func testGone(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("text"))
	s := f.open(t)
	d := one(t, s)
	f.Delete(t, "a.md")
	_, _, err := read(t, d)
	wantClass(t, err, connector.ClassChanged, "gone")
	_, err = d.OpenAt(t.Context(), 2, d.Version)
	wantClass(t, err, connector.ClassChanged, "gone")
	if l := list(t, s); len(l.paths) > 0 || l.err != nil {
		t.Errorf("still listed: %q, error %v", l.paths, l.err)
	}
}

// testStillAnswers: what a listing does not name is gone, whatever a cache in front of the store still gives.
func testStillAnswers(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("text"))
	f.Put(t, "b.md", []byte("text"))
	f.Delete(t, "a.md")
	f.proxy.Set(objectstest.When(isRead, 0, objectstest.Answer(http.StatusOK, "text/plain", "text", "ETag", `"stale"`)))
	if l := list(t, f.open(t)); len(l.paths) != 1 || l.paths[0] != "b.md" || l.err != nil {
		t.Errorf("listed %q, error %v", l.paths, l.err)
	}
}

// testCutBody: a body that ends early is never the end of the object, and the rest can be had.
func testCutBody(t *testing.T, w *world) {
	f := w.fixture(t)
	text := bytes.Repeat([]byte("0123456789abcdef"), 50_000)
	f.Put(t, "a.txt", text)
	d := one(t, f.open(t))
	for name, change := range map[string]objectstest.Change{
		"connection": func(r *http.Response) error { objectstest.CutAfter(r, 100_000); return nil },
		"no length": func(r *http.Response) error {
			objectstest.CutAfter(r, 100_000)
			r.ContentLength = -1
			r.Header.Del("Content-Length")
			return nil
		},
	} {
		f.proxy.Alter(change)
		r, err := d.Open(t.Context())
		var got []byte
		for err == nil && len(got) < len(text) {
			var part []byte
			part, err = io.ReadAll(r)
			got = append(got, part...)
			_ = r.Close()
			if err == nil {
				break
			}
			wantClass(t, err, connector.ClassTransient, "s3: read")
			if len(got) > 400_000 {
				f.proxy.Alter(nil)
			}
			r, err = d.OpenAt(t.Context(), int64(len(got)), d.Version)
		}
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes of %d, error %v", name, len(got), len(text), err)
		}
	}
	f.proxy.Alter(nil)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := d.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("a reading that is cancelled ends with %v", err)
	}
	_ = r.Close()
	r, err = d.OpenAt(t.Context(), int64(len(text)), d.Version)
	if err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("at the end: %d bytes, error %v", len(rest), err)
	}
	_ = r.Close()
}

// testRangeIgnored: a server that gives the whole object where a part was asked for does not spoil the text.
func testRangeIgnored(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.txt", []byte("0123456789"))
	d := one(t, f.open(t))
	f.proxy.Set(objectstest.When(isRead, 0, objectstest.Answer(http.StatusOK, "text/plain", "0123456789", "ETag", `"`+d.Version+`"`)))
	for offset, want := range map[int64]string{0: "0123456789", 1: "123456789", 7: "789", 10: ""} {
		r, err := d.OpenAt(t.Context(), offset, d.Version)
		if err != nil {
			t.Errorf("offset %d: %v", offset, err)
			continue
		}
		if got, err := io.ReadAll(r); string(got) != want || err != nil {
			t.Errorf("offset %d: %q, error %v", offset, got, err)
		}
		_ = r.Close()
	}
	_, err := d.OpenAt(t.Context(), 11, d.Version)
	wantClass(t, err, connector.ClassChanged, "shorter")
}

// refusal is an answer as S3 gives it.
func refusal(status int, code, message string, pairs ...string) objectstest.Fault {
	body := fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message><RequestId>1</RequestId></Error>`, code, message)
	return objectstest.Answer(status, "application/xml", body, pairs...)
}

func denied(message string) objectstest.Fault {
	return refusal(http.StatusForbidden, "AccessDenied", message)
}
