package objectstest

import (
	"context"
	"io"
	"net/http"
	"testing"

	"cloud.google.com/go/storage"
	"google.golang.org/api/option"
)

// GCSBucket is a bucket of an emulator to fill, by the bare client: keys are the store's own.
type GCSBucket struct {
	Name   string
	Handle *storage.BucketHandle

	http *http.Client
}

// NewGCSBucket creates a bucket on the server at addr (host:port).
func NewGCSBucket(tb testing.TB, addr, name string) *GCSBucket {
	tb.Helper()
	b := &GCSBucket{Name: name, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	client, err := storage.NewClient(tb.Context(), option.WithEndpoint("http://"+addr+"/storage/v1/"), option.WithHTTPClient(b.http))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.http.CloseIdleConnections)
	b.Handle = client.Bucket(name)
	if err := b.Handle.Create(tb.Context(), "test", nil); err != nil {
		tb.Fatal(err)
	}
	b.http.CloseIdleConnections()
	return b
}

// Put stores an object; Google has no tags. No connection stays open.
func (b *GCSBucket) Put(tb testing.TB, key string, data []byte, as ...Attributes) {
	tb.Helper()
	if err := b.TryPut(tb.Context(), key, data, as...); err != nil {
		tb.Fatalf("put %q: %v", key, err)
	}
	b.http.CloseIdleConnections()
}

// TryPut is Put for keys that the server may refuse, and for many at once.
func (b *GCSBucket) TryPut(ctx context.Context, key string, data []byte, as ...Attributes) error {
	w := b.Handle.Object(key).NewWriter(ctx)
	w.ChunkSize = 0
	for _, a := range as {
		w.ContentType, w.ContentEncoding, w.Metadata = a.Type, a.Encoding, a.Metadata
	}
	if _, err := w.Write(data); err != nil {
		_ = w.Close() // the first error is the cause
		return err
	}
	return w.Close()
}

// Fill stores n objects, eight at a time.
func (b *GCSBucket) Fill(tb testing.TB, n int, object func(i int) (key string, data []byte)) {
	tb.Helper()
	Parallel(tb, 8, n, func(ctx context.Context, i int) error {
		key, data := object(i)
		return b.TryPut(ctx, key, data)
	})
	b.http.CloseIdleConnections()
}

// Delete removes an object.
func (b *GCSBucket) Delete(tb testing.TB, key string) {
	tb.Helper()
	if err := b.Handle.Object(key).Delete(tb.Context()); err != nil {
		tb.Fatalf("delete %q: %v", key, err)
	}
	b.http.CloseIdleConnections()
}

// Get reads an object.
func (b *GCSBucket) Get(tb testing.TB, key string) []byte {
	tb.Helper()
	r, err := b.Handle.Object(key).ReadCompressed(true).NewReader(tb.Context())
	if err != nil {
		tb.Fatalf("get %q: %v", key, err)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	if err != nil {
		tb.Fatalf("get %q: %v", key, err)
	}
	return data
}
