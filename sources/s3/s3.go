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
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/blob/s3blob"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects"
)

// Config is the source's part of the configuration.
type Config struct {
	Bucket        string           `yaml:"bucket" required:"true" doc:"the bucket's name"`
	Region        string           `yaml:"region" doc:"the bucket's region; default what the AWS tools are configured with, else us-east-1"`
	Endpoint      string           `yaml:"endpoint" doc:"URL of a store that is not Amazon's"`
	PathStyle     bool             `yaml:"path_style" doc:"whether the bucket stands in the path of URLs and not in the host; always so where endpoint is an IP address or localhost"`
	AccessKey     string           `yaml:"access_key" doc:"access key id; default the credentials that the AWS tools would take"`
	SecretKey     connector.Secret `yaml:"secret_key" doc:"secret access key"`
	SessionToken  connector.Secret `yaml:"session_token" doc:"session token of temporary credentials"`
	Profile       string           `yaml:"profile" doc:"profile of the shared AWS configuration"`
	RoleARN       string           `yaml:"role_arn" doc:"role to assume with these credentials"`
	ExternalID    string           `yaml:"external_id" doc:"external id that the role asks for"`
	Anonymous     bool             `yaml:"anonymous" doc:"whether nothing is signed: for public buckets"`
	RequesterPays bool             `yaml:"requester_pays" doc:"whether your account pays for the calls and the traffic of a bucket that asks for it"`

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
	if (c.AccessKey == "") != (c.SecretKey == "") {
		fail("access_key and secret_key: expected both or none")
	}
	if c.SessionToken != "" && c.AccessKey == "" {
		fail("session_token: expected access_key and secret_key with it")
	}
	if c.Profile != "" && c.AccessKey != "" {
		fail("profile: the credentials stand in access_key already; leave out one of them")
	}
	if c.Anonymous && (c.AccessKey != "" || c.Profile != "" || c.RoleARN != "" || c.RequesterPays) {
		fail("anonymous: goes with no access_key, profile, role_arn or requester_pays")
	}
	if c.ExternalID != "" && c.RoleARN == "" {
		fail("external_id: expected role_arn with it")
	}
	return errors.Join(append(errs, c.Config.Validate())...)
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
	cfg, err := config.LoadDefaultConfig(ctx, options(c)...)
	if err != nil {
		return nil, nil, fmt.Errorf("AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		cfg.Region = "us-east-1"
	}
	release = func() error { return nil }
	if b, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok { // the SDK's own client cannot close its connections
		transport := b.GetTransport()
		cfg.HTTPClient = &http.Client{Transport: transport, CheckRedirect: redirects}
		release = func() error { transport.CloseIdleConnections(); return nil }
	}
	cfg.Credentials = credentialsOf(c, cfg)
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		if c.Endpoint != "" {
			o.BaseEndpoint = aws.String(c.Endpoint)
		}
		o.UsePathStyle = c.PathStyle || numericHost(c.Endpoint)
		o.APIOptions = append(o.APIOptions, addListingCheck)
	}), release, nil
}

func options(c *Config) []func(*config.LoadOptions) error {
	out := []func(*config.LoadOptions) error{
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }),
		config.WithLogger(logging.Nop{}),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.DisableCompression = true // bytes are wanted as they are stored
			t.ResponseHeaderTimeout = time.Minute
			t.MaxIdleConnsPerHost = 32
		})),
		// Stores other than Amazon's refuse checksums that nobody asked for, or send none.
		config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired),
		config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired),
	}
	if c.Region != "" {
		out = append(out, config.WithRegion(c.Region))
	}
	if c.Profile != "" {
		out = append(out, config.WithSharedConfigProfile(c.Profile))
	}
	if static := staticCredentials(c); static != nil {
		out = append(out, config.WithCredentialsProvider(static))
	}
	return out
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
