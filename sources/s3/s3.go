// Package s3 lists the objects of a bucket of Amazon S3, or of a store that speaks its protocol: MinIO, Ceph, R2, OSS, COS, OBS, Backblaze.
//
// The version of an object is its ETag, which the listing holds; so an unchanged bucket costs the calls of the listing (1,000 objects
// each) and no reading. The path is the key below the prefix.
//
// # Config
//
// bucket is all that Amazon needs; credentials and region come from where the AWS tools look for them (environment, shared configuration,
// roles of containers and machines), or from access_key and secret_key, and then from role_arn. Other stores need endpoint, and some
// path_style. anonymous signs nothing. requester_pays agrees to be charged. The rest is shared by all object stores.
//
// # Limits
//
// An ETag is that of the content: new tags or user metadata of the same content are seen when the content changes. Keys that XML
// cannot hold (control characters) are listed where the store obeys encoding-type=url. Objects with a Content-Encoding other than gzip, and
// archived ones, fail one by one. Only the current versions of objects are listed.
package s3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob/s3blob"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/awsconf"
	"github.com/kbsync/kbsync/internal/objects"
)

// Config is the source's part of the configuration.
type Config struct {
	Bucket         string `yaml:"bucket" required:"true" doc:"the bucket's name"`
	Endpoint       string `yaml:"endpoint" doc:"URL of a store that is not Amazon's"`
	PathStyle      bool   `yaml:"path_style" doc:"whether the bucket stands in the path of URLs and not in the host; always so where endpoint is an IP address or localhost"`
	awsconf.Access `yaml:",inline"`
	Anonymous      bool `yaml:"anonymous" doc:"whether nothing is signed: for public buckets"`
	RequesterPays  bool `yaml:"requester_pays" doc:"whether your account pays for the calls and the traffic of a bucket that asks for it"`

	objects.Config `yaml:",inline"`
}

func defaults() Config { return Config{Config: objects.Defaults()} }

// Validate checks what needs no server.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Bucket == "" {
		fail("bucket: missing; expected the bucket's name")
	}
	if strings.Contains(c.Bucket, "/") {
		fail("bucket: expected the name alone, such as handbook; what follows a slash belongs into prefix, a URL into endpoint")
	}
	if c.Endpoint != "" {
		u, err := url.Parse(c.Endpoint)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			fail("endpoint: expected a URL such as https://s3.example.com")
		case u.User != nil || u.RawQuery != "" || u.Fragment != "":
			fail("endpoint: must hold no user, password or query; credentials belong into access_key and secret_key")
		}
	}
	if c.Anonymous && (c.Chosen() || c.RequesterPays) {
		fail("anonymous: goes with no access_key, profile, role_arn or requester_pays")
	}
	return errors.Join(append(errs, c.Access.Validate(), c.Config.Validate())...)
}

// Plugin is the registry entry of kind "s3".
func Plugin() connector.SourcePlugin {
	return connector.Define("s3", "Objects of a bucket of Amazon S3 or a compatible store.", defaults(),
		func(ctx context.Context, c *Config, _ connector.Env) (connector.Source, error) { return Open(ctx, *c) })
}

// Open makes the source; nothing is sent before the first listing.
func Open(ctx context.Context, c Config) (*objects.Source, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	client, release, err := newClient(ctx, &c)
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	bucket, err := s3blob.OpenBucket(ctx, client, c.Bucket, nil)
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	return objects.New(c.Config, objects.Options{
		Kind: "s3", Base: (&url.URL{Scheme: "s3", Host: c.Bucket, Path: "/"}).String(), Bucket: bucket,
		Provider: &provider{config: c, client: client}, Release: release,
	}), nil
}

// newClient makes the client, which never repeats a call: the engine does.
func newClient(ctx context.Context, c *Config) (client *s3.Client, release func() error, err error) {
	cfg, idle, err := c.Load(ctx, awsconf.Options{
		Anonymous: c.Anonymous, Hint: ", or anonymous for a public bucket", Redirect: redirects,
		Transport: func(t *http.Transport) { t.DisableCompression = true }, // bytes are wanted as they are stored
		Load: []func(*config.LoadOptions) error{
			// Stores other than Amazon's refuse checksums that nobody asked for, or send none.
			config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired),
			config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired),
		},
	})
	if err != nil {
		return nil, nil, err
	}
	release = func() error { idle(); return nil }
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		if c.Endpoint != "" {
			o.BaseEndpoint = aws.String(c.Endpoint)
		}
		o.UsePathStyle = c.PathStyle || numericHost(c.Endpoint)
		o.APIOptions = append(o.APIOptions, addListingCheck)
	}), release, nil
}

// redirects follows those that keep the request as it was signed; others are the store's answers about regions.
func redirects(r *http.Request, via []*http.Request) error {
	if r.Response != nil && len(via) < 5 && (r.Response.StatusCode == http.StatusTemporaryRedirect || r.Response.StatusCode == http.StatusPermanentRedirect) {
		return nil
	}
	return http.ErrUseLastResponse
}

// numericHost says that no bucket can stand before the endpoint's host.
func numericHost(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && u.Host != "" && (net.ParseIP(u.Hostname()) != nil || u.Hostname() == "localhost")
}
