package objectstest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// The credentials of the S3 server that scripts/servers.sh starts.
const (
	S3AccessKey = "testkey"
	S3SecretKey = "testsecret"
	S3Region    = "us-east-1"
)

// S3Bucket is a bucket to fill, by the bare client: keys are the store's own.
type S3Bucket struct {
	Name   string
	Client *s3.Client

	http *http.Client
}

// NewS3Bucket creates a bucket on the server at addr (host:port).
func NewS3Bucket(tb testing.TB, addr, name string) *S3Bucket {
	tb.Helper()
	b := &S3Bucket{Name: name, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	b.Client = s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + addr), Region: S3Region, UsePathStyle: true, HTTPClient: b.http,
		Credentials:                credentials.NewStaticCredentialsProvider(S3AccessKey, S3SecretKey, ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
	})
	tb.Cleanup(b.http.CloseIdleConnections)
	if _, err := b.Client.CreateBucket(tb.Context(), &s3.CreateBucketInput{Bucket: aws.String(name)}); err != nil {
		tb.Fatal(err)
	}
	b.http.CloseIdleConnections()
	return b
}

// Put stores an object. No connection stays open.
func (b *S3Bucket) Put(tb testing.TB, key string, data []byte, as ...Attributes) {
	tb.Helper()
	if err := b.TryPut(tb.Context(), key, data, as...); err != nil {
		tb.Fatalf("put %q: %v", key, err)
	}
	b.http.CloseIdleConnections()
}

// TryPut is Put for keys that the server may refuse, and for many at once.
func (b *S3Bucket) TryPut(ctx context.Context, key string, data []byte, as ...Attributes) error {
	in := &s3.PutObjectInput{Bucket: aws.String(b.Name), Key: aws.String(key), Body: bytes.NewReader(data)}
	for _, a := range as {
		in.ContentType, in.ContentEncoding, in.Metadata, in.Tagging = text(a.Type), text(a.Encoding), a.Metadata, text(a.tagging())
	}
	_, err := b.Client.PutObject(ctx, in)
	return err
}

// text is nil where nothing is to be set.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return aws.String(s)
}

// Fill stores n objects, eight at a time.
func (b *S3Bucket) Fill(tb testing.TB, n int, object func(i int) (key string, data []byte)) {
	tb.Helper()
	Parallel(tb, 8, n, func(ctx context.Context, i int) error {
		key, data := object(i)
		return b.TryPut(ctx, key, data)
	})
	b.http.CloseIdleConnections()
}

// Delete removes an object.
func (b *S3Bucket) Delete(tb testing.TB, key string) {
	tb.Helper()
	if _, err := b.Client.DeleteObject(tb.Context(), &s3.DeleteObjectInput{Bucket: aws.String(b.Name), Key: aws.String(key)}); err != nil {
		tb.Fatalf("delete %q: %v", key, err)
	}
	b.http.CloseIdleConnections()
}

// Get reads an object.
func (b *S3Bucket) Get(tb testing.TB, key string) []byte {
	tb.Helper()
	out, err := b.Client.GetObject(tb.Context(), &s3.GetObjectInput{Bucket: aws.String(b.Name), Key: aws.String(key)})
	if err != nil {
		tb.Fatalf("get %q: %v", key, err)
	}
	defer func() { _ = out.Body.Close() }()
	data, err := io.ReadAll(out.Body)
	if err != nil {
		tb.Fatalf("get %q: %v", key, err)
	}
	return data
}
