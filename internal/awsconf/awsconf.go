// Package awsconf opens the AWS SDK's configuration for the plugins that speak to Amazon: credentials and region as the AWS tools find them or as the
// plugin's own keys say, with no retries (the engine alone retries), no log, and connections that can be closed.
package awsconf

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"

	"github.com/kbsync/kbsync/connector"
)

// DefaultRegion is that of services where nothing is configured anywhere.
const DefaultRegion = "us-east-1"

// Access are the keys about credentials and region; it is embedded with `yaml:",inline"`.
type Access struct {
	Region       string           `yaml:"region" doc:"the region; default what the AWS tools are configured with, else us-east-1"`
	AccessKey    string           `yaml:"access_key" doc:"access key id; default the credentials that the AWS tools would take"`
	SecretKey    connector.Secret `yaml:"secret_key" doc:"secret access key"`
	SessionToken connector.Secret `yaml:"session_token" doc:"session token of temporary credentials"`
	Profile      string           `yaml:"profile" doc:"profile of the shared AWS configuration"`
	RoleARN      string           `yaml:"role_arn" doc:"role to assume with these credentials"`
	ExternalID   string           `yaml:"external_id" doc:"external id that the role asks for"`
}

// Validate checks what needs no server.
func (a *Access) Validate() error {
	var errs []error
	if (a.AccessKey == "") != (a.SecretKey == "") {
		errs = append(errs, errors.New("access_key and secret_key: expected both or none"))
	}
	if a.SessionToken != "" && a.AccessKey == "" {
		errs = append(errs, errors.New("session_token: expected access_key and secret_key with it"))
	}
	if a.Profile != "" && a.AccessKey != "" {
		errs = append(errs, errors.New("profile: the credentials stand in access_key already; leave out one of them"))
	}
	if a.ExternalID != "" && a.RoleARN == "" {
		errs = append(errs, errors.New("external_id: expected role_arn with it"))
	}
	return errors.Join(errs...)
}

// Chosen says whether credentials are configured by these keys.
func (a *Access) Chosen() bool { return a.AccessKey != "" || a.Profile != "" || a.RoleARN != "" }

// Options are what one service needs of its configuration.
type Options struct {
	// Anonymous signs nothing; the keys about credentials are not looked at.
	Anonymous bool
	// Hint ends the error for missing credentials: what to try.
	Hint string
	// Transport changes the connections before they are used; may be nil.
	Transport func(*http.Transport)
	// Redirect is that of [http.Client].
	Redirect func(r *http.Request, via []*http.Request) error
	// Load is given to the SDK after what the keys say.
	Load []func(*config.LoadOptions) error
}

// Load opens the configuration. Nothing is sent but, where credentials or the region come from a machine's role, to its own metadata service. Errors of
// credentials, which arise when the first request is signed, are ClassCredentials, or ClassTransient where a token service is overloaded. release closes
// idle connections.
func (a *Access) Load(ctx context.Context, o Options) (cfg aws.Config, release func(), err error) {
	cfg, err = config.LoadDefaultConfig(ctx, a.options(o)...)
	if err != nil {
		return cfg, nil, fmt.Errorf("AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		cfg.Region = DefaultRegion
	}
	release = func() {}
	if b, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok { // the SDK's own client cannot close its connections
		transport := b.GetTransport()
		cfg.HTTPClient = &http.Client{Transport: transport, CheckRedirect: o.Redirect}
		release = transport.CloseIdleConnections
	}
	if !o.Anonymous {
		cfg.Credentials = a.credentials(cfg, o.Hint)
	}
	return cfg, release, nil
}

func (a *Access) options(o Options) []func(*config.LoadOptions) error {
	out := []func(*config.LoadOptions) error{
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }),
		config.WithLogger(logging.Nop{}),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.ResponseHeaderTimeout = time.Minute
			t.MaxIdleConnsPerHost = 32
			if o.Transport != nil {
				o.Transport(t)
			}
		})),
	}
	if a.Region != "" {
		out = append(out, config.WithRegion(a.Region))
	}
	if a.Profile != "" {
		out = append(out, config.WithSharedConfigProfile(a.Profile))
	}
	switch {
	case o.Anonymous:
		out = append(out, config.WithCredentialsProvider(aws.AnonymousCredentials{}))
	case a.AccessKey != "":
		out = append(out, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(a.AccessKey, a.SecretKey.Reveal(), a.SessionToken.Reveal())))
	}
	return append(out, o.Load...)
}

// credentials assumes the role, if there is one, and tells failures to get credentials from those of the service.
func (a *Access) credentials(cfg aws.Config, hint string) aws.CredentialsProvider {
	from := cfg.Credentials
	if a.RoleARN != "" {
		from = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), a.RoleARN, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = "kbsync"
			if a.ExternalID != "" {
				o.ExternalID = aws.String(a.ExternalID)
			}
		}))
	}
	return aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		got, err := from.Retrieve(ctx)
		if err != nil {
			return got, missing(err, hint)
		}
		return got, nil
	})
}

// missing: a token service that is overloaded may answer later; without credentials for any other reason nothing will work.
func missing(err error, hint string) error {
	class := connector.ClassCredentials
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) && (answer.HTTPStatusCode() == http.StatusTooManyRequests || answer.HTTPStatusCode() >= 500) {
		class = connector.ClassTransient
	}
	return connector.Errorf(class, "no credentials: %w; set access_key and secret_key, profile or the AWS_* variables%s", err, hint)
}
