package providers

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// Sender carries requests to a service. The one over HTTP that a [Spec] has without naming another knows one address and one key.
type Sender interface {
	// Send carries one body and returns the answer, of limit bytes at most, and the tokens that the service counted where it says so beside
	// the answer, else 0. Errors have classes, but for those of a context that has ended; [Faults] makes them.
	Send(ctx context.Context, body []byte, limit int64) (answer []byte, tokens int, err error)
	// Close ends idle connections.
	Close()
}

// client sends a provider's requests: one address, bounded in time and size, that follows no redirect, so that neither key nor texts
// reach a host that was not configured. Answers in gzip are taken (by net/http), and the proxy of the environment is used.
type client struct {
	spec   *Spec
	url    string
	faults *Faults
	http   http.Client
}

var _ Sender = (*client)(nil)

func newClient(s *Spec) (*client, error) {
	u, err := url.Parse(s.Config.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("%s: base_url is not an address", s.Provider)
	}
	u = u.JoinPath(s.Path) // a query, such as Azure's api-version, stays
	return &client{
		spec: s, url: u.String(), faults: NewFaults(s, u.Host),
		http: http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 15 * time.Second,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Close implements [Sender].
func (c *client) Close() { c.http.CloseIdleConnections() }

// Send implements [Sender].
func (c *client) Send(ctx context.Context, raw []byte, limit int64) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(raw))
	if err != nil {
		return nil, 0, c.faults.Errorf(connector.ClassUnsupported, "base_url is not an address")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "kbsync")
	c.spec.authorize(req.Header)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, 0, c.faults.Broken(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	body, err := c.faults.Read(resp, limit)
	return body, 0, err
}
