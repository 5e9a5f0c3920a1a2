package chroma

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// client calls the server; paths are below `…/collections`.
type client struct {
	http    *http.Client
	base    string
	token   connector.Secret
	timeout time.Duration
}

func newClient(c *Config) *client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute}
	base := fmt.Sprintf("%s/api/v2/tenants/%s/databases/%s/collections", c.Address, url.PathEscape(c.Tenant), url.PathEscape(c.Database))
	return &client{http: &http.Client{Transport: transport}, base: base, token: c.APIKey, timeout: c.Timeout}
}

// call sends body as JSON, if there is one, and decodes the answer into out, if it is wanted.
func (c *client) call(ctx context.Context, method, path string, body, out any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return connector.Errorf(connector.ClassInvalid, "%w", err)
		}
		// The server hangs up in the middle of a request that is too large, which looks like a broken network.
		if len(raw) > maxRequest {
			return connector.Errorf(connector.ClassTooLarge, "a request of %d bytes: Chroma takes %d", len(raw), maxRequest)
		}
	}
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := c.send(limited, method, path, raw, out); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	return nil
}

func (c *client) send(ctx context.Context, method, path string, raw []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(raw))
	if err != nil {
		return connector.Errorf(connector.ClassInvalid, "%w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token := c.token.Reveal(); token != "" {
		req.Header.Set("X-Chroma-Token", token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return &connector.Error{Class: remote.Network(err), Err: err}
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		return refused(resp)
	}
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	} else {
		err = json.NewDecoder(resp.Body).Decode(out)
	}
	if err != nil { // a body that ends early or is no JSON: the connection was cut or spoilt
		return connector.Errorf(connector.ClassTransient, "%s %s: the answer: %w", method, path, err)
	}
	return nil
}

// refused is the error of an answer; the server says `{"error": kind, "message": text}`.
func refused(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return connector.Errorf(connector.ClassTransient, "HTTP %d: %w", resp.StatusCode, err)
	}
	text := string(body)
	var told struct{ Error, Message string }
	if json.Unmarshal(body, &told) == nil && told.Message != "" {
		text = told.Error + ": " + told.Message
	}
	if strings.Contains(text, "UNIQUE constraint failed: collections.name") {
		return connector.Errorf(connector.ClassConflict, "the name is taken: %s", text)
	}
	return remote.HTTP(resp.StatusCode, resp.Header, text)
}
