package weaviate

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"

	"github.com/weaviate/weaviate-go-client/v4/weaviate/connection"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/fault"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/schema"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// maxReceive bounds an answer. Pages are kept far smaller; a page of large texts may still be.
const maxReceive = 512 << 20

// dial makes the gRPC connection. It is the sink's own and not the official client's: that one accepts any certificate, cannot
// be closed, and receives at most 4 MiB.
func dial(c *Config) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if c.TLS {
		creds = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	key, timeout := c.APIKey, c.Timeout
	return grpc.NewClient(c.GRPCAddress,
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceive)),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if key != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key.Reveal())
			}
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			return invoke(ctx, method, req, reply, cc, opts...)
		}))
}

// newSchemaAPI is the official client's schema API over the sink's own HTTP client. The client as a whole is not used: its
// connection has a finalizer that sends to a channel without a receiver, and so stops all finalizers of the program for ever.
func newSchemaAPI(c *Config, http *http.Client) *schema.API {
	conn := connection.NewConnection(c.scheme(), c.Address, http, c.Timeout, nil)
	runtime.SetFinalizer(conn, nil)
	return schema.New(conn)
}

// rest is the part of the REST API that the official client lacks, or has less well.
type rest struct {
	base string
	http *http.Client
}

func newREST(c *Config) *rest {
	base := http.DefaultTransport
	if t, ok := base.(*http.Transport); ok {
		base = t.Clone()
	}
	return &rest{
		base: c.scheme() + "://" + c.Address + "/v1",
		http: &http.Client{
			Transport: &transport{base: base, key: c.APIKey}, Timeout: c.Timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// do sends body, if any, and decodes the answer into out, if any. The error is classed.
func (r *rest) do(ctx context.Context, method, path string, body, out any) error {
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, payload)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.http.Do(req)
	if err != nil {
		return network(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		message, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
		return remote.HTTP(resp.StatusCode, resp.Header, serverMessage(message))
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return network(ctx, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%s %s: the answer is not as expected: %w", method, path, err)
	}
	return nil
}

// network classes an error below HTTP. The context's own error stays what it is.
func network(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return &connector.Error{Class: connector.ClassDenied, Err: err}
	}
	return &connector.Error{Class: remote.Network(err), Err: err}
}

// serverMessage takes the messages out of {"error":[{"message":…}]}.
func serverMessage(body []byte) string {
	var parsed struct {
		Error   []struct{ Message string }
		Message string
	}
	if json.Unmarshal(body, &parsed) != nil {
		return string(body)
	}
	messages := []string{parsed.Message}
	for _, e := range parsed.Error {
		messages = append(messages, e.Message)
	}
	if text := strings.Trim(strings.Join(messages, "; "), "; "); text != "" {
		return text
	}
	return string(body)
}

// schemaError classes an error of the official client's schema calls.
func schemaError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var f *fault.WeaviateClientError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &f):
		return network(ctx, err)
	case f.StatusCode > 0:
		return remote.HTTP(f.StatusCode, nil, serverMessage([]byte(f.Msg)))
	case f.DerivedFromError != nil:
		return network(ctx, fmt.Errorf("%s: %w", f.Msg, f.DerivedFromError))
	}
	return err
}

// callError classes an error of a gRPC call: the server reports most of its own with the code Unknown.
func callError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	switch {
	case !ok || ctx.Err() != nil:
	case s.Code() == codes.Unknown:
		return messageError(s.Message())
	case s.Code() == codes.Unavailable && strings.Contains(s.Message(), "verify certificate"):
		return &connector.Error{Class: connector.ClassDenied, Err: err}
	}
	return remote.GRPC(ctx, err)
}

// messageError classes what the server says in words alone, as in the results of single objects.
func messageError(message string) error {
	lower := strings.ToLower(message)
	class := connector.ClassUnknown
	for _, rule := range []struct {
		class connector.Class
		words []string
	}{
		{connector.ClassFull, []string{"no space left", "disk full", "read-only", "readonly"}},
		{connector.ClassNotFound, []string{"could not find class", "class not found", "not found in schema", "tenant not found", "no such class", "does not exist"}},
		{connector.ClassDenied, []string{"forbidden", "unauthorized", "unauthenticated", "permission"}},
		{connector.ClassThrottled, []string{"too many requests", "429", "rate limit"}},
		{connector.ClassTransient, []string{"deadline", "connection", "unavailable", "leader", "timeout", "shutting down", "shutdown", "not ready", "context canceled"}},
		{connector.ClassInvalid, []string{
			"dimension", "vector length", "vector with length", "uuid", "invalid", "data type", "property", "not valid", "too long", "max key length",
		}},
	} {
		for _, word := range rule.words {
			if strings.Contains(lower, word) {
				return connector.Errorf(rule.class, "%s", message)
			}
		}
	}
	return connector.Errorf(class, "%s", message)
}
