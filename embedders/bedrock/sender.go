package bedrock

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/smithy-go/auth/bearer"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/awsconf"
	"github.com/kbsync/kbsync/internal/providers"
)

// sender carries requests by the SDK, which signs them.
type sender struct {
	client  *bedrockruntime.Client
	http    aws.HTTPClient
	model   string
	headers map[string]connector.Secret
	faults  *providers.Faults
	release func()
}

var _ providers.Sender = (*sender)(nil)

// dial puts a sender into the spec, and what errors say of the service.
func dial(ctx context.Context, c *Config, spec *providers.Spec) error {
	cfg, release, err := c.Load(ctx, awsconf.Options{
		Hint: ", or api_key",
		Transport: func(t *http.Transport) {
			t.ResponseHeaderTimeout = 0 // timeout bounds the whole request
			t.MaxIdleConnsPerHost = 64
		},
		// No redirect is followed, so that neither credentials nor texts reach a host that was not configured.
		Redirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Load:     []func(*config.LoadOptions) error{config.WithAppID("kbsync")},
	})
	if err != nil {
		return err
	}
	spec.Host = "Bedrock in " + cfg.Region
	if u, err := url.Parse(c.BaseURL); err == nil && u.Host != "" {
		spec.Host = u.Host
	}
	spec.NotFound = "check model (" + c.Model + ") and region (" + cfg.Region + "), and that the account has access to the model"
	spec.Denied = "check api_key, or access_key and secret_key or where the AWS tools take them from, and that they allow bedrock:InvokeModel on " + c.Model + " in " + cfg.Region
	spec.Sender = &sender{client: newClient(c, cfg), http: cfg.HTTPClient, model: c.Model, headers: c.Headers, faults: providers.NewFaults(spec, spec.Host), release: release}
	return nil
}

// newClient heeds the keys before the environment, whose AWS_BEARER_TOKEN_BEDROCK the SDK would prefer to keys of another kind.
func newClient(c *Config, cfg aws.Config) *bedrockruntime.Client {
	return bedrockruntime.NewFromConfig(cfg, func(o *bedrockruntime.Options) {
		if c.BaseURL != "" {
			o.BaseEndpoint = aws.String(c.BaseURL)
		}
		switch {
		case c.APIKey != "":
			o.BearerAuthTokenProvider = bearer.StaticTokenProvider{Token: bearer.Token{Value: c.APIKey.Reveal()}}
			o.AuthSchemePreference = []string{"httpBearerAuth"}
		case c.Chosen():
			o.BearerAuthTokenProvider = nil
			o.AuthSchemePreference = []string{"sigv4"}
		}
	})
}

// Send implements [providers.Sender].
func (s *sender) Send(ctx context.Context, body []byte, limit int64) ([]byte, int, error) {
	x := exchange{sender: s, limit: limit}
	_, err := s.client.InvokeModel(ctx, &bedrockruntime.InvokeModelInput{
		ModelId: aws.String(s.model), ContentType: aws.String("application/json"), Accept: aws.String("application/json"), Body: body,
	}, func(o *bedrockruntime.Options) { o.HTTPClient = &x })
	var classed *connector.Error
	switch {
	case x.err != nil:
		return nil, 0, x.err
	case x.read:
		return x.body, x.tokens, nil
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case errors.As(err, &classed) && classed.Class == connector.ClassCredentials:
		return nil, 0, s.faults.Errorf(connector.ClassDenied, "%v", classed) // a service that refuses credentials has one class, wherever it was noticed
	case classed != nil:
		return nil, 0, s.faults.Errorf(classed.Class, "%v", classed)
	case err == nil:
		err = errors.New("the SDK sent nothing")
	}
	return nil, 0, s.faults.Errorf(connector.ClassUnsupported, "%v", err)
}

// Close implements [providers.Sender].
func (s *sender) Close() { s.release() }

// exchange is one request's way from the SDK to the network and back. It reads answers as those of every other service are read, so that the SDK,
// which would read one of any length and forgets what a refusal says if it is not in Amazon's form, gets only what is good.
type exchange struct {
	*sender
	limit  int64
	read   bool
	body   []byte
	tokens int
	err    error
}

// Do implements the SDK's client over HTTP.
func (x *exchange) Do(r *http.Request) (*http.Response, error) {
	for name, value := range x.headers {
		r.Header.Set(name, value.Reveal())
	}
	resp, err := x.http.Do(r)
	if err != nil {
		x.err = x.faults.Broken(err)
		return nil, x.err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if x.body, x.err = x.faults.Read(resp, x.limit); x.err != nil {
		return nil, x.err
	}
	x.read = true
	x.tokens, _ = strconv.Atoi(resp.Header.Get("X-Amzn-Bedrock-Input-Token-Count")) // 0 where it is not said
	resp.Body = io.NopCloser(bytes.NewReader(x.body))
	return resp, nil
}
