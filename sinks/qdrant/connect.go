package qdrant

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	pb "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// connect makes a client; the connection itself is made by its first call.
func connect(host string, port int, c *Config) (*pb.Client, error) {
	if strings.Contains(host, ":") { // the client joins host and port as they are
		host = "[" + host + "]"
	}
	return pb.NewClient(&pb.Config{
		Host: host, Port: port, UseTLS: c.TLS, PoolSize: 1,
		TLSConfig:              &tls.Config{MinVersion: tls.VersionTLS12},
		SkipCompatibilityCheck: true, // it would ask the server before anything is needed of it, and write to the standard log
		GrpcOptions: []grpc.DialOption{
			// The default of 4 MiB is less than a page of a scan with vectors.
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
			// The client's own pings, every 10 s with 2 s to answer, give up on a server that is busy with its index.
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}),
			// The default waits up to two minutes before it looks for a restarted server again.
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
				MinConnectTimeout: 10 * time.Second,
			}),
			grpc.WithChainUnaryInterceptor(sendKey(c.APIKey)),
		},
	})
}

// sendKey adds the key to each call. The client would do so too, but writes a warning to the standard log without TLS.
func sendKey(key connector.Secret) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if key != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "api-key", string(key))
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}
}

// call makes one call under the configured timeout and classifies its error.
func call[Q, R any](ctx context.Context, s *Sink, method func(context.Context, Q, ...grpc.CallOption) (R, error), req Q) (R, error) {
	limited, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	r, err := method(limited, req)
	return r, classify(ctx, err)
}

// classify gives errors their class. The client turns an answer of the rate limiter into an error without code.
func classify(ctx context.Context, err error) error {
	var throttled *pb.QdrantResourceExhaustedError
	if ctx.Err() == nil && errors.As(err, &throttled) {
		return &connector.Error{Class: connector.ClassThrottled, RetryAfter: time.Duration(throttled.RetryAfterS) * time.Second, Err: err}
	}
	return remote.GRPC(ctx, err)
}

// applied checks what became of a write that the server was told to wait for. Anything but "completed" may be lost: the
// caller sends it again, which changes nothing if it was applied after all.
func applied(r *pb.UpdateResult) error {
	if st := r.GetStatus(); st != pb.UpdateStatus_Completed {
		return connector.Errorf(connector.ClassTransient, "the server answers that the write is %q, not completed", st)
	}
	return nil
}

const defaultPort = 6334

// splitAddress reads host:port, or a host alone.
func splitAddress(address string) (host string, port int, err error) {
	if address == "" {
		return "localhost", defaultPort, nil
	}
	if strings.Contains(address, "://") || strings.Contains(address, "/") {
		return "", 0, fmt.Errorf("qdrant: address %q: want host:port of gRPC, such as localhost:6334, without a scheme; tls: true encrypts", address)
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		if host = strings.Trim(address, "[]"); strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return "", 0, fmt.Errorf("qdrant: address %q: want host:port, such as localhost:6334", address)
		}
		return strings.ToLower(host), defaultPort, nil
	}
	if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65_535 || host == "" {
		return "", 0, fmt.Errorf("qdrant: address %q: want host:port, such as localhost:6334", address)
	}
	return strings.ToLower(host), port, nil
}

func joinAddress(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// forbidden are the characters that the server refuses in the name of a collection.
const forbidden = "<>:\"/\\|?*\x00\x1f"

// safeName makes a collection's name of a pipeline's.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(forbidden, r) {
			return '_'
		}
		return r
	}, name)
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "")
}
