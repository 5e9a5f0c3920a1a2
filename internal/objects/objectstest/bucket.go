package objectstest

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
)

// Bucket is one of those that this package fills.
type Bucket interface {
	Put(tb testing.TB, key string, data []byte, as ...Attributes)
	Fill(tb testing.TB, n int, object func(i int) (key string, data []byte))
	Delete(tb testing.TB, key string)
	Get(tb testing.TB, key string) []byte
}

// Attributes are what an object has beside its content; what is empty is not set.
type Attributes struct {
	// Type and Encoding are Content-Type and Content-Encoding.
	Type, Encoding string
	Metadata, Tags map[string]string
}

// tagging is the form that S3 takes tags in.
func (a *Attributes) tagging() string {
	tags := url.Values{}
	for k, v := range a.Tags {
		tags.Set(k, v)
	}
	return tags.Encode()
}

// Rename is what stores have instead: the object is written under another key, and deleted.
func Rename(tb testing.TB, b Bucket, from, to string) {
	tb.Helper()
	b.Put(tb, to, b.Get(tb, from))
	b.Delete(tb, from)
}

// Numbered is the i-th of many small objects, for Fill; they lie in a hundred folders.
func Numbered(i int) (key string, data []byte) {
	return fmt.Sprintf("docs/%03d/%06d.md", i%100, i), fmt.Appendf(nil, "document %d\n", i)
}

// Parallel calls f for 0 … n-1 from so many goroutines; the first error fails the test.
func Parallel(tb testing.TB, workers, n int, f func(ctx context.Context, i int) error) {
	tb.Helper()
	ctx, cancel := context.WithCancelCause(tb.Context())
	defer cancel(nil)
	next := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range next {
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		tb.Fatal(err)
	}
}
