// Package gcs lists the objects of a bucket of Google Cloud Storage.
//
// An object's version is its generation, which Google gives out anew whenever content is written. The listing carries it, the type and
// the user's metadata: an unchanged bucket costs one call for each 1,000 objects and no reading. Objects are read as they are stored;
// those that are stored with Content-Encoding gzip are unpacked by the engine.
//
// # Config
//
// bucket is the bucket's name. Without credentials_file or credentials_json, the application default credentials are used; anonymous reads a
// public bucket. impersonate_service_account names the account in whose place those credentials read. user_project is billed where
// a bucket's requester pays. endpoint is another server than Google's, such as an emulator, which is spoken to without credentials
// unless some are given; STORAGE_EMULATOR_HOST does the same. The other keys are those of every object store
// ([objects.Config]); names of metadata are in lower case.
//
// # Limits
//
// Live objects alone are listed: neither older generations nor soft-deleted ones. Google Cloud Storage has no object tags. Buckets
// with hierarchical namespaces list the same objects; their folders are none.
package gcs

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"strconv"
	"strings"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects"
)

// Config of the source.
type Config struct {
	Bucket                    string           `yaml:"bucket" required:"true" doc:"the bucket's name, without gs://"`
	Endpoint                  string           `yaml:"endpoint" doc:"another server than Google's, such as http://127.0.0.1:4443"`
	CredentialsFile           string           `yaml:"credentials_file" doc:"the JSON file of an account, relative to the configuration file"`
	CredentialsJSON           connector.Secret `yaml:"credentials_json" doc:"the content of such a file"`
	ImpersonateServiceAccount string           `yaml:"impersonate_service_account" doc:"the service account that is to read, by e-mail address"`
	Anonymous                 bool             `yaml:"anonymous" doc:"whether to read a public bucket without credentials"`
	UserProject               string           `yaml:"user_project" doc:"the project that is billed where the requester pays"`
	objects.Config            `yaml:",inline"`
}

func defaults() Config { return Config{Config: objects.Defaults()} }

// Validate checks the keys.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case c.Bucket == "":
		fail("bucket: missing; expected a bucket's name")
	case strings.ContainsAny(c.Bucket, "/: \\?#%"):
		fail("bucket: %q: expected the name alone, without gs:// and without a path (that is prefix)", c.Bucket)
	}
	if c.Endpoint != "" {
		if err := checkEndpoint(c.Endpoint); err != nil {
			fail("endpoint: %w", err)
		}
	}
	if c.CredentialsFile != "" && c.CredentialsJSON != "" {
		fail("credentials_file and credentials_json: one of them")
	}
	if c.Anonymous && c.hasCredentials() {
		fail("anonymous: true does not go with credentials")
	}
	if c.Tags {
		fail("tags: Google Cloud Storage has none; the metadata of objects is always read")
	}
	return errors.Join(append(errs, c.Config.Validate())...)
}

// Source lists one bucket.
type Source struct {
	*objects.Source
}

var (
	_ connector.Source  = (*Source)(nil)
	_ connector.Resumer = (*Source)(nil)
)

// Plugin is the registry entry of kind "gcs".
func Plugin() connector.SourcePlugin {
	return connector.Define("gcs", "Objects of a Google Cloud Storage bucket.", defaults(),
		func(ctx context.Context, c *Config, env connector.Env) (connector.Source, error) {
			return Open(ctx, *c, env.Dir)
		})
}

// Open makes the source; dir is what a relative credentials_file is relative to. The bucket is asked for nothing before the first
// listing.
func Open(ctx context.Context, c Config, dir string) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("gcs: %w", err)
	}
	client, wire, err := newClient(ctx, &c, dir)
	if err != nil {
		return nil, err
	}
	bucket, err := gcsblob.OpenBucket(ctx, nil, c.Bucket, &gcsblob.Options{Client: client})
	if err != nil {
		return nil, fmt.Errorf("gcs: %w", errors.Join(err, client.Close()))
	}
	return &Source{objects.New(c.Config, objects.Options{
		Kind: "gcs", Base: "gs://" + c.Bucket + "/", Bucket: bucket,
		Provider: &provider{config: &c, bucket: client.Bucket(c.Bucket)},
		Release: func() error {
			wire.CloseIdleConnections()
			return client.Close()
		},
	})}, nil
}

// provider is an objects.Provider.
type provider struct {
	config *Config
	bucket *storage.BucketHandle
}

// BeforeList asks for what Entry reads and no more.
func (p *provider) BeforeList(as func(any) bool, prefix string) error {
	var q *storage.Query
	if !as(&q) {
		return errors.New("gcs: no storage.Query to list with")
	}
	q.Prefix, q.Projection = prefix, storage.ProjectionNoACL
	return q.SetAttrSelection([]string{"Name", "Size", "Updated", "Generation", "ContentType", "Metadata"})
}

// Entry is complete but for the content.
func (p *provider) Entry(o *blob.ListObject) (objects.Entry, error) {
	var a storage.ObjectAttrs
	if !o.As(&a) {
		return objects.Entry{}, errors.New("gcs: no storage.ObjectAttrs in the listing")
	}
	e := objects.Entry{Key: a.Name, MediaType: a.ContentType, Metadata: lower(a.Metadata)}
	if a.Generation > 0 {
		e.Version = strconv.FormatInt(a.Generation, 10)
	}
	return e, nil
}

// Read gives the bytes as they are stored; the answer names the generation.
func (p *provider) Read(ctx context.Context, key string, from int64) (objects.Reading, error) {
	r, err := p.bucket.Object(key).ReadCompressed(true).NewRangeReader(withOpening(ctx), from, -1)
	if err != nil {
		return objects.Reading{}, err
	}
	out := objects.Reading{
		Body: r, Start: r.Attrs.StartOffset, Size: r.Attrs.Size, ModTime: r.Attrs.LastModified,
		ContentType: r.Attrs.ContentType, ContentEncoding: r.Attrs.ContentEncoding, Metadata: decoded(lower(r.Metadata())),
	}
	if r.Attrs.Generation > 0 {
		out.Version = strconv.FormatInt(r.Attrs.Generation, 10)
	}
	if r.Attrs.Decompressed {
		out.ContentEncoding, out.Size = "", -1
	}
	return out, nil
}

// Tags are none.
func (p *provider) Tags(context.Context, string) (map[string]string, error) { return nil, nil }

// Classify is in errors.go.
func (p *provider) Classify(err error) error { return p.config.classify(err) }

// lower writes names as the headers of an answer do, which do not tell upper from lower case.
func lower(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[strings.ToLower(k)] = v
	}
	return out
}

// decoded undoes what headers do to text that is not ASCII, which the listing has as it is.
func decoded(m map[string]string) map[string]string {
	for k, v := range m {
		if text, err := new(mime.WordDecoder).DecodeHeader(v); err == nil {
			m[k] = text
		}
	}
	return m
}
