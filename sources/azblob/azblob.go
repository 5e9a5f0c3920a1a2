// Package azblob lists the blobs of a container of Azure Blob Storage.
//
// A blob's version is its ETag, which Azure gives out anew whenever the blob or its metadata is written. The listing carries it, the type
// and the metadata: an unchanged container costs one call for each 1,000 blobs and no reading. A blob is read without conditions;
// the ETag of the answer says what was read. Blobs that are stored with Content-Encoding gzip are unpacked by the engine.
//
// # Config
//
// account and container name what to list. account_key, sas_token or connection_string are its keys; without any, the identity of the
// environment, of the machine or of the Azure CLI is used (azidentity's DefaultAzureCredential); anonymous reads a public container. endpoint
// is another address than https://ACCOUNT.blob.core.windows.net: a sovereign cloud, a private endpoint, or an emulator, whose address
// ends in the account's name. The other keys are those of every object store ([objects.Config]); names of metadata are in lower case.
//
// # Limits
//
// Base blobs alone are listed: no snapshots, versions, soft-deleted or uncommitted blobs. Folders of hierarchical namespaces are no
// documents. tags: true needs the right to read tags. Blobs of the archive tier cannot be read and fail one by one.
package azblob

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	cdk "gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects"
)

// Config of the source.
type Config struct {
	Account          string           `yaml:"account" doc:"the storage account's name; a connection string names it too"`
	Container        string           `yaml:"container" required:"true" doc:"the container's name"`
	Endpoint         string           `yaml:"endpoint" doc:"the account's address, if not https://ACCOUNT.blob.core.windows.net"`
	AccountKey       connector.Secret `yaml:"account_key" doc:"a key of the account"`
	SASToken         connector.Secret `yaml:"sas_token" doc:"a shared access signature with the rights to read and list"`
	ConnectionString connector.Secret `yaml:"connection_string" doc:"address and key in one, as the portal shows them"`
	Anonymous        bool             `yaml:"anonymous" doc:"whether to read a public container without credentials"`
	objects.Config   `yaml:",inline"`
}

func defaults() Config { return Config{Config: objects.Defaults()} }

// Validate checks the keys.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case c.Container == "":
		fail("container: missing; expected a container's name")
	case strings.ContainsAny(c.Container, "/: \\?#%"):
		fail("container: %q: expected the name alone, without a path (that is prefix)", c.Container)
	}
	switch {
	case c.ConnectionString != "" && (c.Account != "" || c.Endpoint != ""):
		fail("connection_string names the account and its address: leave out account and endpoint")
	case c.ConnectionString == "" && c.Account == "":
		fail("account: missing; expected a storage account's name (or a connection_string)")
	case strings.ContainsAny(c.Account, "/:. \\?#%"):
		fail("account: %q: expected the name alone; its address is endpoint", c.Account)
	}
	if given := c.credentials(); len(given) > 1 {
		fail("%s: one of them", strings.Join(given, ", "))
	}
	if c.ConnectionString != "" {
		if _, err := parseConnectionString(c.ConnectionString.Reveal()); err != nil {
			fail("connection_string: %w", err)
		}
	}
	if c.Endpoint != "" {
		if err := checkEndpoint(c.Endpoint); err != nil {
			fail("endpoint: %w", err)
		} else if strings.HasPrefix(c.Endpoint, "http:") && len(c.credentials()) == 0 {
			fail("endpoint: an identity's token is not sent over http; set account_key, sas_token or anonymous, or use https")
		}
	}
	return errors.Join(append(errs, c.Config.Validate())...)
}

// credentials are the keys that say how to sign in.
func (c *Config) credentials() []string {
	var given []string
	for _, k := range []struct {
		key string
		set bool
	}{
		{"account_key", c.AccountKey != ""}, {"sas_token", c.SASToken != ""},
		{"connection_string", c.ConnectionString != ""}, {"anonymous", c.Anonymous},
	} {
		if k.set {
			given = append(given, k.key)
		}
	}
	return given
}

// Source lists one container.
type Source struct {
	*objects.Source
}

var (
	_ connector.Source  = (*Source)(nil)
	_ connector.Resumer = (*Source)(nil)
)

// Plugin is the registry entry of kind "azblob".
func Plugin() connector.SourcePlugin {
	return connector.Define("azblob", "Blobs of an Azure Blob Storage container.", defaults(),
		func(ctx context.Context, c *Config, _ connector.Env) (connector.Source, error) {
			return Open(ctx, *c)
		})
}

// Open makes the source. The container is asked for nothing before the first listing.
func Open(ctx context.Context, c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("azblob: %w", err)
	}
	client, wire, err := newClient(&c)
	if err != nil {
		return nil, err
	}
	bucket, err := azureblob.OpenBucket(ctx, client, nil)
	if err != nil {
		return nil, fmt.Errorf("azblob: %w", err)
	}
	return &Source{objects.New(c.Config, objects.Options{
		Kind: "azblob", Base: client.URL() + "/", Bucket: bucket,
		Provider: &provider{config: &c, container: client},
		Release: func() error {
			wire.CloseIdleConnections()
			return nil
		},
	})}, nil
}

// provider is an objects.Provider.
type provider struct {
	config    *Config
	container *container.Client
}

// BeforeList asks for metadata, by which folders are known.
func (p *provider) BeforeList(as func(any) bool, prefix string) error {
	var o *container.ListBlobsHierarchyOptions
	if !as(&o) {
		return errors.New("azblob: no ListBlobsHierarchyOptions to list with")
	}
	o.Prefix, o.Include = &prefix, container.ListBlobsInclude{Metadata: true}
	return nil
}

// Entry is complete but for tags and content. What is no live base blob is marked as a folder is in the listing of one level.
func (p *provider) Entry(o *cdk.ListObject) (objects.Entry, error) {
	var item container.BlobItem
	if !o.As(&item) || item.Name == nil || item.Properties == nil {
		return objects.Entry{}, errors.New("azblob: no BlobItem in the listing")
	}
	e := objects.Entry{Key: *item.Name, MediaType: value(item.Properties.ContentType), Metadata: lower(item.Metadata)}
	if item.Properties.ETag != nil {
		e.Version = objects.ETag(string(*item.Properties.ETag))
	}
	isFolder := strings.EqualFold(e.Metadata["hdi_isfolder"], "true") || strings.EqualFold(value(item.Properties.ResourceType), "directory")
	replaced := item.IsCurrentVersion != nil && !*item.IsCurrentVersion
	if isFolder || replaced || value(item.Snapshot) != "" || value(item.Deleted) || value(item.HasVersionsOnly) {
		o.IsDir = true
	}
	return e, nil
}

// Read has no conditions: gocloud.dev's reader and some servers do not bear their answers. The body is that of the answer, which the
// SDK does not open again.
func (p *provider) Read(ctx context.Context, key string, from int64) (objects.Reading, error) {
	a, err := p.blob(key).DownloadStream(ctx, &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: from}})
	if err != nil {
		return objects.Reading{}, err
	}
	out := objects.Reading{
		Body: a.Body, Size: -1, ContentType: value(a.ContentType), ContentEncoding: value(a.ContentEncoding),
		ModTime: value(a.LastModified), Metadata: lower(a.Metadata),
	}
	if a.ETag != nil {
		out.Version = objects.ETag(string(*a.ETag))
	}
	switch {
	case a.ContentRange != nil:
		if out.Start, out.Size, err = objects.Start(*a.ContentRange); err != nil {
			return objects.Reading{}, errors.Join(err, a.Body.Close())
		}
	case a.ContentLength != nil:
		out.Size = *a.ContentLength
	}
	return out, nil
}

// Tags are the blob index tags.
func (p *provider) Tags(ctx context.Context, key string) (map[string]string, error) {
	a, err := p.blob(key).GetTags(ctx, nil)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(a.BlobTagSet))
	for _, t := range a.BlobTagSet {
		if t != nil && t.Key != nil {
			out[*t.Key] = value(t.Value)
		}
	}
	return out, nil
}

// Classify is in errors.go.
func (p *provider) Classify(err error) error { return p.config.classify(err) }

func (p *provider) blob(key string) *blob.Client { return p.container.NewBlobClient(key) }

// lower writes names as the headers of an answer do, which do not tell upper from lower case.
func lower(m map[string]*string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[strings.ToLower(k)] = value(v)
	}
	return out
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func checkEndpoint(e string) error {
	u, err := url.Parse(e)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("expected a URL such as https://ACCOUNT.blob.core.windows.net")
	case u.RawQuery != "" || u.User != nil:
		return errors.New("expected an address without a query: the signature is sas_token")
	}
	return nil
}
