// Package qdrantfake is a Qdrant server for tests, inside the process, on the client library's server interfaces.
//
// It behaves as version 1.18.3 was measured to behave, where that hurts: a batch that fails is stored in parts, a write that is
// not waited for loses its errors, NaN is stored and ranks first, an empty filter selects everything, an upsert replaces the
// whole point, cosine vectors are normalised, an alias is repointed in silence, a missing collection is deleted without a
// gRPC code, and payloads go through JSON whose reader may round floats. It does not imitate indexes, consistency, or speed.
package qdrantfake

import (
	"context"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Server is a running fake. Set the exported fields before the first call, or between calls that are not concurrent.
type Server struct {
	// Before is called before each call with its name, such as "Upsert", and its number among those of that name, from 1. An
	// error is the answer, and nothing is done. A [ThrottledError] becomes what the server's rate limiter sends.
	Before func(ctx context.Context, method string, n int) error
	// After is called after each call that succeeded; an error is the answer though the work was done.
	After func(ctx context.Context, method string, n int) error
	// Status, if not 0, is the status that writes answer though they were done.
	Status pb.UpdateStatus
	// APIKey is demanded of each call unless it is empty.
	APIKey string
	// Strict refuses filters by fields without an index, and more than MaxBatch points in an upsert.
	Strict   bool
	MaxBatch int
	// Old leaves out what servers before 1.16 and the Python double lack: collection metadata, QueryBatch, UpdateBatch.
	Old bool

	pb.UnimplementedCollectionsServer
	pb.UnimplementedPointsServer
	pb.UnimplementedQdrantServer

	addr string
	grpc *grpc.Server
	done chan struct{}

	mu          sync.RWMutex
	collections map[string]*collection
	aliases     map[string]string
	calls       map[string]int
}

// Start runs a fake on a free port of loopback.
func Start() (*Server, error) {
	s := &Server{collections: map[string]*collection{}, aliases: map[string]string{}, calls: map[string]int{}, addr: "127.0.0.1:0"}
	return s, s.Restart()
}

// Addr is host:port.
func (s *Server) Addr() string { return s.addr }

// Restart serves again, with all data, at the same address.
func (s *Server) Restart() error {
	var listen net.ListenConfig
	l, err := listen.Listen(context.Background(), "tcp", s.addr)
	if err != nil {
		return err
	}
	s.addr = l.Addr().String()
	s.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxSendMsgSize(math.MaxInt32), grpc.UnaryInterceptor(s.intercept),
		// The client pings every 10 s; without this, its calls over 30 s die.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	)
	pb.RegisterCollectionsServer(s.grpc, s)
	pb.RegisterPointsServer(s.grpc, points{s})
	pb.RegisterQdrantServer(s.grpc, health{s})
	done := make(chan struct{})
	s.done = done
	server := s.grpc
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	return nil
}

// Stop cuts all connections at once, as a crash does. What is stored stays for Restart.
func (s *Server) Stop() {
	s.grpc.Stop()
	<-s.done
}

// Calls is how often the method of that name was called.
func (s *Server) Calls(method string) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.calls[method]
}

// ThrottledError is the answer of the rate limiter, for Before.
type ThrottledError struct{ Seconds int }

// Error names the wait.
func (t ThrottledError) Error() string {
	return fmt.Sprintf("rate limit: retry after %d seconds", t.Seconds)
}

func (s *Server) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	method := info.FullMethod[strings.LastIndexByte(info.FullMethod, '/')+1:]
	if md, _ := metadata.FromIncomingContext(ctx); s.APIKey != "" && (len(md.Get("api-key")) != 1 || md.Get("api-key")[0] != s.APIKey) {
		return nil, status.Error(codes.Unauthenticated, "Must provide an API key or an Authorization bearer token")
	}
	s.mu.Lock()
	s.calls[method]++
	n := s.calls[method]
	s.mu.Unlock()
	if s.Before != nil {
		if err := s.Before(ctx, method, n); err != nil {
			return nil, answer(ctx, err)
		}
	}
	resp, err := handle(ctx, req)
	if err == nil && s.After != nil {
		if err := s.After(ctx, method, n); err != nil {
			return nil, answer(ctx, err)
		}
	}
	return resp, err
}

func answer(ctx context.Context, err error) error {
	t, ok := err.(ThrottledError) //nolint:errorlint // the documented form
	if !ok {
		return err
	}
	_ = grpc.SetTrailer(ctx, metadata.Pairs("retry-after", strconv.Itoa(t.Seconds)))
	return status.Error(codes.ResourceExhausted, "Rate limiting exceeded: Write rate limit exceeded, retry later")
}

type health struct{ *Server }

// HealthCheck says the version that is imitated.
func (health) HealthCheck(context.Context, *pb.HealthCheckRequest) (*pb.HealthCheckReply, error) {
	return &pb.HealthCheckReply{Title: "qdrant - vector search engine", Version: "1.18.3"}, nil
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, "Wrong input: "+format, args...)
}

func notFound(name string) error {
	return status.Errorf(codes.NotFound, "Not found: Collection `%s` doesn't exist!", name)
}

// find resolves an alias too. The caller holds the lock.
func (s *Server) find(name string) (*collection, error) {
	if target, ok := s.aliases[name]; ok {
		name = target
	}
	if c := s.collections[name]; c != nil {
		return c, nil
	}
	return nil, notFound(name)
}
