package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/credentials/impersonate"
	"cloud.google.com/go/auth/httptransport"
	"cloud.google.com/go/storage"
	"google.golang.org/api/option"

	"github.com/kbsync/kbsync/connector"
)

// The scopes of tokens: reading, and for the account that impersonates another, all that its rights allow.
const (
	readOnly = "https://www.googleapis.com/auth/devstorage.read_only"
	platform = "https://www.googleapis.com/auth/cloud-platform"
)

// emulatorVariable names the emulator to Google's own tools too.
const emulatorVariable = "STORAGE_EMULATOR_HOST"

// newClient makes the client, which never retries, and the transport whose idle connections are to be closed at the end.
func newClient(ctx context.Context, c *Config, dir string) (*storage.Client, *http.Transport, error) {
	wire, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		wire = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	wire = wire.Clone()
	wire.MaxIdleConnsPerHost = 32
	wire.ResponseHeaderTimeout = time.Minute // a server that takes a request and never answers
	client := &http.Client{Transport: wire}
	endpoint := c.endpoint()
	if !c.Anonymous && (endpoint == "" || c.hasCredentials()) {
		creds, err := newCredentials(c, dir)
		if err != nil {
			return nil, nil, err
		}
		// The client of the library wraps its context's; a token is fetched when it is first needed.
		client, err = httptransport.NewClient(&httptransport.Options{Credentials: creds, BaseRoundTripper: wire, DisableTelemetry: true})
		if err != nil {
			return nil, nil, connector.Errorf(connector.ClassCredentials, "gcs: credentials: %w", err)
		}
	}
	client.Transport = &transport{base: client.Transport, userProject: c.UserProject}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the token goes to nobody else
	opts := []option.ClientOption{option.WithHTTPClient(client)}
	if endpoint != "" {
		opts = append(opts, option.WithEndpoint(endpoint+"/storage/v1/"))
	}
	s, err := storage.NewClient(ctx, opts...)
	if err != nil {
		return nil, nil, fmt.Errorf("gcs: client: %w", err)
	}
	s.SetRetry(storage.WithPolicy(storage.RetryNever))
	return s, wire, nil
}

// endpoint is where the server is, without a slash at its end; empty means Google's own.
func (c *Config) endpoint() string {
	e := c.Endpoint
	if e == "" {
		if e = os.Getenv(emulatorVariable); e != "" && !strings.Contains(e, "://") {
			e = "http://" + e
		}
	}
	return strings.TrimRight(e, "/")
}

func checkEndpoint(e string) error {
	u, err := url.Parse(e)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil {
		return errors.New("expected a URL such as http://127.0.0.1:4443")
	}
	return nil
}

func (c *Config) hasCredentials() bool {
	return c.CredentialsFile != "" || c.CredentialsJSON != "" || c.ImpersonateServiceAccount != ""
}

// newCredentials fetches nothing, except that the machine is asked whether it is one of Google's where nothing else is given.
func newCredentials(c *Config, dir string) (*auth.Credentials, error) {
	scope := readOnly
	if c.ImpersonateServiceAccount != "" {
		scope = platform
	}
	creds, err := ownCredentials(c, dir, &credentials.DetectOptions{Scopes: []string{scope}, DisableAsyncRefresh: true})
	if err != nil {
		return nil, err
	}
	if c.ImpersonateServiceAccount == "" {
		return creds, nil
	}
	creds, err = impersonate.NewCredentials(&impersonate.CredentialsOptions{
		TargetPrincipal: c.ImpersonateServiceAccount, Scopes: []string{readOnly}, Credentials: creds,
	})
	if err != nil {
		return nil, connector.Errorf(connector.ClassCredentials, "gcs: impersonate %s: %w", c.ImpersonateServiceAccount, err)
	}
	return creds, nil
}

func ownCredentials(c *Config, dir string, opts *credentials.DetectOptions) (*auth.Credentials, error) {
	key, data := "credentials_json", []byte(c.CredentialsJSON.Reveal())
	if c.CredentialsFile != "" {
		key = "credentials_file"
		name := c.CredentialsFile
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		var err error
		if data, err = os.ReadFile(name); err != nil {
			return nil, connector.Errorf(connector.ClassCredentials, "gcs: credentials_file: %w", err)
		}
	}
	if len(data) == 0 {
		creds, err := credentials.DetectDefault(opts)
		if err != nil {
			return nil, connector.Errorf(connector.ClassCredentials,
				"gcs: no application default credentials: set credentials_file, or GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login; anonymous: true for a public bucket")
		}
		return creds, nil
	}
	var file struct {
		Type string `json:"type"`
	}
	// The errors of decoding quote what they decode, which is secret.
	if json.Unmarshal(data, &file) != nil || file.Type == "" {
		return nil, connector.Errorf(connector.ClassCredentials, "gcs: %s: not the JSON of a Google account (a service account's key, or what gcloud or workload identity federation writes)", key)
	}
	creds, err := credentials.NewCredentialsFromJSON(credentials.CredType(file.Type), data, opts)
	if err != nil {
		return nil, connector.Errorf(connector.ClassCredentials, "gcs: %s: credentials of type %.40q cannot be used", key, file.Type)
	}
	return creds, nil
}
