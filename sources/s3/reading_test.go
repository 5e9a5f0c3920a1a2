package s3

import (
	"bytes"
	"fmt"
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
	d := objectstest.One(t, f.open(t))
	facts, got := objectstest.Opened(t, d)
	if !strings.HasSuffix(d.Version, "-2") || strings.Contains(d.Version, `"`) || facts.Version != d.Version || !bytes.Equal(got, text) {
		t.Errorf("version %s, read %s, %d bytes", d.Version, facts.Version, len(got))
	}
}

func testFacts(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("text"), objectstest.Attributes{
		Type: "text/markdown; charset=utf-8", Metadata: map[string]string{"author": "Li Lei", "title": "=?UTF-8?B?5omL5YaM?="},
	})
	d := objectstest.One(t, f.open(t))
	facts, _ := objectstest.Opened(t, d)
	want := map[string]any{"author": "Li Lei", "title": "手册"}
	if facts.MediaType != "text/markdown; charset=utf-8" || !maps.Equal(facts.Metadata, want) || facts.Encoding != "" || facts.Version != d.Version {
		t.Errorf("%+v", facts)
	}
	if facts.ModifiedAt.IsZero() || facts.ModifiedAt.Sub(d.ModifiedAt).Abs() > 2*time.Second {
		t.Errorf("modified at %v, listed %v", facts.ModifiedAt, d.ModifiedAt)
	}
	f.Put(t, "a.md", []byte("text"), objectstest.Attributes{Type: "application/octet-stream"})
	if facts, _ := objectstest.Opened(t, objectstest.One(t, f.open(t))); facts.MediaType != "" || facts.Metadata != nil {
		t.Errorf("%+v", facts)
	}
}

func testTags(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.md", []byte("text"), objectstest.Attributes{
		Tags: map[string]string{"team": "docs", "class": "a+b"}, Metadata: map[string]string{"team": "user", "author": "x"},
	})
	s := f.open(t, func(c *Config) { c.Tags = true })
	d := objectstest.One(t, s)
	facts, _ := objectstest.Opened(t, d)
	if want := (map[string]any{"team": "docs", "class": "a+b", "author": "x"}); !maps.Equal(facts.Metadata, want) {
		t.Errorf("%v", facts.Metadata)
	}
	f.proxy.Set(objectstest.When(func(r *http.Request) bool { return r.URL.Query().Has("tagging") }, 0, denied("Access Denied")))
	objectstest.WantClass(t, objectstest.OpenFails(t, d), connector.ClassDenied, "tags: true", "s3:GetObjectTagging")
	f.proxy.Reset()
	_ = objectstest.Read(t, objectstest.One(t, f.open(t)))
	if n := f.proxy.Count(func(c objectstest.Call) bool { return strings.Contains(c.Query, "tagging") }); n > 0 {
		t.Errorf("%d calls for tags that nobody wants", n)
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

// testRangeIgnored: a server that gives the whole object where a part was asked for does not spoil the text.
func testRangeIgnored(t *testing.T, w *world) {
	f := w.fixture(t)
	f.Put(t, "a.txt", []byte("0123456789"))
	d := objectstest.One(t, f.open(t))
	f.proxy.Set(objectstest.When(isRead, 0, objectstest.Answer(http.StatusOK, "text/plain", "0123456789", "ETag", `"`+d.Version+`"`)))
	for offset, want := range map[int64]string{0: "0123456789", 1: "123456789", 7: "789", 10: ""} {
		if got := objectstest.ReadOn(t, d, offset, d.Version); string(got) != want {
			t.Errorf("offset %d: %q", offset, got)
		}
	}
	objectstest.WantClass(t, objectstest.ReadOnFails(t, d, 11, d.Version), connector.ClassChanged, "shorter")
}

// refusal is an answer as S3 gives it.
func refusal(status int, code, message string, pairs ...string) objectstest.Fault {
	body := fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message><RequestId>1</RequestId></Error>`, code, message)
	return objectstest.Answer(status, "application/xml", body, pairs...)
}

func denied(message string) objectstest.Fault {
	return refusal(http.StatusForbidden, "AccessDenied", message)
}
