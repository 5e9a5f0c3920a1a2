package opensearch

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// maxRequest is below the server's own limit of 100 MB, at which it hangs up in the middle.
const maxRequest = 90 << 20

type client struct {
	http     *http.Client
	base     string
	username string
	password connector.Secret
	timeout  time.Duration
}

func newClient(c *Config) *client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute}
	return &client{http: &http.Client{Transport: transport}, base: c.Address, username: c.Username, password: c.Password, timeout: c.Timeout}
}

// call sends body as JSON ([]byte goes as it is: lines of a bulk request) and decodes the answer into out, if it is wanted.
func (c *client) call(ctx context.Context, method, path string, body, out any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	raw, lines := body.([]byte)
	if body != nil && !lines {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return connector.Errorf(connector.ClassInvalid, "%w", err)
		}
	}
	if len(raw) > maxRequest {
		return connector.Errorf(connector.ClassTooLarge, "a request of %d bytes: OpenSearch takes 100 MB", len(raw))
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
	if raw != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.username != "" {
		req.SetBasicAuth(c.username, c.password.Reveal())
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return &connector.Error{Class: remote.Network(err), Err: err}
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		if err != nil {
			return connector.Errorf(connector.ClassTransient, "HTTP %d: %w", resp.StatusCode, err)
		}
		var told struct{ Error json.RawMessage }
		if json.Unmarshal(body, &told) != nil || told.Error == nil {
			told.Error = body
		}
		return refusal(resp.StatusCode, resp.Header, string(told.Error))
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

// refusal classifies an answer, or one item's; text is the error as the server spells it.
func refusal(status int, header http.Header, text string) error {
	has := func(what string) bool { return strings.Contains(text, what) }
	err := remote.HTTP(status, header, text)
	switch {
	case has("resource_already_exists_exception"), has("invalid_alias_name_exception"), has("already exists as alias"):
		return connector.Errorf(connector.ClassConflict, "the name is taken by an index or alias that kbsync did not make, or in_place was changed: %w", err)
	case has("flood-stage"), has("read-only-allow-delete"), has("read_only_allow_delete"):
		return connector.Errorf(connector.ClassFull, "%w", err)
	case has("index_not_found_exception"):
		return connector.Errorf(connector.ClassNotFound, "%w", err)
	case has("cluster_block_exception"): // it is starting, or has no master
		return connector.Errorf(connector.ClassTransient, "%w", err)
	}
	return err
}
