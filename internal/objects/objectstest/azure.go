package objectstest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// The credentials of every Azurite, which its documentation names.
const (
	AzureAccount = "devstoreaccount1"
	AzureKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// AzureContainer is a container of an emulator to fill, by the bare client: names are the store's own.
type AzureContainer struct {
	Name   string
	Client *container.Client

	http *http.Client
}

// NewAzureContainer creates a container on the server at addr (host:port).
func NewAzureContainer(tb testing.TB, addr, name string) *AzureContainer {
	tb.Helper()
	c := &AzureContainer{Name: name, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	key, err := container.NewSharedKeyCredential(AzureAccount, AzureKey)
	if err != nil {
		tb.Fatal(err)
	}
	c.Client, err = container.NewClientWithSharedKeyCredential("http://"+addr+"/"+AzureAccount+"/"+name, key,
		&container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: c.http}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.http.CloseIdleConnections)
	if _, err := c.Client.Create(tb.Context(), nil); err != nil {
		tb.Fatal(err)
	}
	c.http.CloseIdleConnections()
	return c
}

// Put stores a blob. No connection stays open.
func (c *AzureContainer) Put(tb testing.TB, key string, data []byte, as ...Attributes) {
	tb.Helper()
	if err := c.TryPut(tb.Context(), key, data, as...); err != nil {
		tb.Fatalf("put %q: %v", key, err)
	}
	c.http.CloseIdleConnections()
}

// TryPut is Put for names that the server may refuse, and for many at once.
func (c *AzureContainer) TryPut(ctx context.Context, key string, data []byte, as ...Attributes) error {
	options := &blockblob.UploadOptions{}
	for _, a := range as {
		options.HTTPHeaders = &blob.HTTPHeaders{BlobContentType: text(a.Type), BlobContentEncoding: text(a.Encoding)}
		options.Metadata, options.Tags = map[string]*string{}, a.Tags
		for k, v := range a.Metadata {
			options.Metadata[k] = to.Ptr(v)
		}
	}
	_, err := c.Client.NewBlockBlobClient(key).Upload(ctx, streaming.NopCloser(bytes.NewReader(data)), options)
	return err
}

// Fill stores n blobs, eight at a time.
func (c *AzureContainer) Fill(tb testing.TB, n int, object func(i int) (key string, data []byte)) {
	tb.Helper()
	Parallel(tb, 8, n, func(ctx context.Context, i int) error {
		key, data := object(i)
		return c.TryPut(ctx, key, data)
	})
	c.http.CloseIdleConnections()
}

// Delete removes a blob.
func (c *AzureContainer) Delete(tb testing.TB, key string) {
	tb.Helper()
	if _, err := c.Client.NewBlobClient(key).Delete(tb.Context(), nil); err != nil {
		tb.Fatalf("delete %q: %v", key, err)
	}
	c.http.CloseIdleConnections()
}

// Get reads a blob.
func (c *AzureContainer) Get(tb testing.TB, key string) []byte {
	tb.Helper()
	a, err := c.Client.NewBlobClient(key).DownloadStream(tb.Context(), nil)
	if err != nil {
		tb.Fatalf("get %q: %v", key, err)
	}
	defer func() { _ = a.Body.Close() }()
	data, err := io.ReadAll(a.Body)
	if err != nil {
		tb.Fatalf("get %q: %v", key, err)
	}
	return data
}
