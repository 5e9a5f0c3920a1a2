package providers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// refusalLimit is how much of a refusal is read.
const refusalLimit = 64 << 10

// client sends a provider's requests: one address, bounded in time and size, that follows no redirect, so that neither key nor texts
// reach a host that was not configured. Answers in gzip are taken (by net/http), and the proxy of the environment is used.
type client struct {
	spec   *Spec
	url    string
	host   string
	redact func(string) string
	http   http.Client
}

func newClient(s *Spec) (*client, error) {
	u, err := url.Parse(s.Config.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("%s: base_url is not an address", s.Provider)
	}
	u = u.JoinPath(s.Path) // a query, such as Azure's api-version, stays
	return &client{
		spec: s, url: u.String(), host: u.Host, redact: redactor(&s.Config),
		http: http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 15 * time.Second,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }

// errorf makes an error of a class that names the provider and hides the key.
func (c *client) errorf(class connector.Class, format string, args ...any) error {
	return connector.Errorf(class, "%s: %s", c.spec.Provider, shorten(c.redact(fmt.Sprintf(format, args...))))
}

// post sends body as JSON and gives the answer, of limit bytes at most. Its errors have classes, but for the context's own.
func (c *client) post(ctx context.Context, body any, limit int64) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, c.errorf(connector.ClassInvalid, "%v", err)
	}
	limited, cancel := context.WithTimeout(ctx, c.spec.Config.Timeout)
	defer cancel()
	answer, err := c.send(limited, raw, limit)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, c.errorf(connector.ClassTransient, "%s gave no answer within %s: raise timeout, or lower batch", c.host, c.spec.Config.Timeout)
	}
	return nil, err
}

func (c *client) send(ctx context.Context, raw []byte, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(raw))
	if err != nil {
		return nil, c.errorf(connector.ClassUnsupported, "base_url is not an address")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "kbsync")
	c.spec.authorize(req.Header)
	resp, err := c.http.Do(req)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // the address may hold a secret in its query
		}
		return nil, c.errorf(connector.ClassTransient, "%s: %v", c.host, err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, refusalLimit)) // the status says enough
		return nil, c.refusal(resp, body)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, c.errorf(connector.ClassTransient, "%s: the answer broke off after %d bytes: %v", c.host, len(body), err)
	}
	if int64(len(body)) > limit {
		return nil, c.errorf(connector.ClassUnsupported, "%s answered with more than %d bytes, more than these embeddings can take: check base_url", c.host, limit)
	}
	return body, nil
}

// undecodable is the error for an answer that is no JSON of the right shape.
func (c *client) undecodable(body []byte, err error) error {
	start := bytes.TrimSpace(body)
	var wrong *json.UnmarshalTypeError
	switch {
	case len(start) > 0 && start[0] == '<':
		return c.errorf(connector.ClassUnsupported, "%s answered with a web page: check base_url", c.host)
	case errors.As(err, &wrong):
		return c.errorf(connector.ClassUnsupported, "%s answered in another shape (%v): check base_url", c.host, err)
	}
	return c.errorf(connector.ClassTransient, "%s: the answer is broken: %v", c.host, err)
}
