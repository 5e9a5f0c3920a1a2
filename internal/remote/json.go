package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// JSONClient calls a server that takes and gives JSON over HTTP. Its errors have classes.
type JSONClient struct {
	// Base stands before every path.
	Base string
	// Timeout bounds a call.
	Timeout time.Duration
	// MaxRequest bounds a request in bytes: servers hang up in the middle of one that is larger, which looks like a broken network.
	MaxRequest int
	// Authorize adds the credentials; nil adds none.
	Authorize func(*http.Request)
	// Refused makes the error of an answer that is no success; nil means HTTP.
	Refused func(status int, header http.Header, body []byte) error

	// HTTP sends the requests; Open gives it a transport of its own.
	HTTP http.Client
}

// Open prepares the client; nothing is sent.
func (c *JSONClient) Open() *JSONClient {
	c.HTTP.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute}
	return c
}

// Close ends idle connections.
func (c *JSONClient) Close() { c.HTTP.CloseIdleConnections() }

// Call sends body as JSON, if there is one ([]byte goes as it is), and decodes the answer into out, if it is wanted.
func (c *JSONClient) Call(ctx context.Context, method, path string, body, out any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	raw, plain := body.([]byte)
	if body != nil && !plain {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return connector.Errorf(connector.ClassInvalid, "%w", err)
		}
	}
	if c.MaxRequest > 0 && len(raw) > c.MaxRequest {
		return connector.Errorf(connector.ClassTooLarge, "a request of %d bytes: the limit is %d", len(raw), c.MaxRequest)
	}
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	if err := c.send(limited, method, path, raw, out); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	return nil
}

func (c *JSONClient) send(ctx context.Context, method, path string, raw []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, bytes.NewReader(raw))
	if err != nil {
		return connector.Errorf(connector.ClassInvalid, "%w", err)
	}
	if raw != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Authorize != nil {
		c.Authorize(req)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return &connector.Error{Class: Network(err), Err: err}
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return c.refused(resp)
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

func (c *JSONClient) refused(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return connector.Errorf(connector.ClassTransient, "HTTP %d: %w", resp.StatusCode, err)
	}
	if c.Refused != nil {
		return c.Refused(resp.StatusCode, resp.Header, body)
	}
	return HTTP(resp.StatusCode, resp.Header, string(body))
}
