package milvus

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	grpc_retry "github.com/grpc-ecosystem/go-grpc-middleware/retry"
	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// link is the connection, made by the first call that needs it, and what is known of the server.
type link struct {
	conf *Config

	mu     sync.Mutex
	opened *server
}

// server is an open connection.
type server struct {
	client.Client
	raw     milvuspb.MilvusServiceClient
	version string
	lite    bool
	sparse  bool // has sparse vectors

	writes sync.Mutex // taken for every write to Milvus Lite, which demands that they do not overlap
}

// connect gives the connection. The SDK's own retries are switched off: the engine is the one to retry.
func (l *link) connect(ctx context.Context) (*server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened != nil {
		return l.opened, nil
	}
	var caught catch
	c, err := client.NewClient(ctx, client.Config{
		Address: l.conf.Address, DBName: l.conf.Database, EnableTLSAuth: l.conf.TLS,
		APIKey: l.conf.Token.Reveal(), Username: l.conf.User, Password: l.conf.Password.Reveal(),
		RetryRateLimit: &client.RetryRateLimitOption{},
		DialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
			grpc.WithChainUnaryInterceptor(caught.intercept, intercept(l.conf.Timeout)),
		},
	})
	if err != nil {
		caught.close()
		return nil, fmt.Errorf("connect to %s: %w", l.conf.Address, remote.GRPC(ctx, err))
	}
	s, err := identify(ctx, c)
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("connect to %s: %w", l.conf.Address, err)
	}
	l.opened = s
	return s, nil
}

// catch keeps the connection of the first call: where the server does not answer it, the SDK gives an error and leaves the connection
// open, which tries to reach the server for ever.
type catch struct {
	once sync.Once
	conn *grpc.ClientConn
}

func (c *catch) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	c.once.Do(func() { c.conn = cc })
	return invoke(ctx, method, req, reply, cc, opts...)
}

// close is for when no call is under way.
func (c *catch) close() {
	if c.conn != nil {
		_ = c.conn.Close()
	}
}

func (l *link) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		return nil
	}
	err := l.opened.Close()
	l.opened = nil
	if err != nil {
		return fmt.Errorf("milvus: close: %w", err)
	}
	return nil
}

var versionNumber = regexp.MustCompile(`(\d+)\.(\d+)`)

// identify asks for the server's version: sparse vectors came with Milvus 2.4.
func identify(ctx context.Context, c client.Client) (*server, error) {
	grpcClient, ok := c.(*client.GrpcClient)
	if !ok {
		return nil, connector.Errorf(connector.ClassUnsupported, "the SDK gives a %T", c)
	}
	version, err := c.GetVersion(ctx)
	if err != nil {
		return nil, remote.GRPC(ctx, err)
	}
	s := &server{Client: c, raw: grpcClient.Service, version: version, lite: strings.Contains(version, "lite-")}
	if m := versionNumber.FindStringSubmatch(version); m != nil {
		major, _ := strconv.Atoi(m[1]) // digits
		minor, _ := strconv.Atoi(m[2])
		s.sparse = major > 2 || major == 2 && minor >= 4
	}
	return s, nil
}

// write runs a write; Milvus Lite gets one at a time.
func (s *server) write(run func() error) error {
	if s.lite {
		s.writes.Lock()
		defer s.writes.Unlock()
	}
	return run()
}

// intercept bounds every call in time, switches the SDK's retries off, and makes classed errors of the statuses in the
// answers, of which the SDK passes on the text alone, and none at all where only the newer of the two codes is set.
func intercept(timeout time.Duration) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		bounded, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		if err := invoke(bounded, method, req, reply, cc, append(opts, grpc_retry.Disable())...); err != nil {
			return remote.GRPC(ctx, err)
		}
		if s := statusOf(reply); s != nil && (s.GetCode() != 0 || s.GetErrorCode() != 0) { //nolint:staticcheck // old servers set the old code alone
			return statusError(ctx, s)
		}
		switch r := reply.(type) {
		case *milvuspb.MutationResult:
			if n := len(r.GetErrIndex()); n > 0 {
				return connector.Errorf(connector.ClassUnknown, "the server refused %d rows without a reason", n)
			}
		case *milvuspb.SearchResults:
			if !slices.ContainsFunc(r.GetResults().GetTopks(), func(n int64) bool { return n > 0 }) {
				return errNoRows
			}
		case *milvuspb.QueryResults:
			if len(r.GetFieldsData()) == 0 || empty(r.GetFieldsData()[0]) {
				return errNoRows
			}
		}
		return nil
	}
}

// errNoRows stands for an answer without rows, in which the SDK misses the fields that were asked for.
var errNoRows = errors.New("no rows")

func empty(f *schemapb.FieldData) bool {
	return f.GetScalars().GetData() == nil && f.GetVectors().GetData() == nil
}

func statusOf(reply any) *commonpb.Status {
	switch r := reply.(type) {
	case *commonpb.Status:
		return r
	case interface{ GetStatus() *commonpb.Status }:
		return r.GetStatus()
	}
	return nil
}

// Codes of Milvus that the sink acts upon (pkg/util/merr of the server).
const (
	codeNoCollection = 100
	codeNotLoaded    = 101
	codeHalfLoaded   = 103
	codeNoIndex      = 700
	codeNoDatabase   = 800
	codeNoAlias      = 1600
)

// statusError classes the status of an answer. Milvus Lite sets codes of both the old and the new kind.
func statusError(ctx context.Context, s *commonpb.Status) error {
	reason := s.GetReason()
	if detail := s.GetDetail(); detail != "" && !strings.Contains(detail, reason) {
		reason += ": " + detail
	}
	err := &serverError{code: s.GetCode(), old: s.GetErrorCode(), reason: reason} //nolint:staticcheck // see intercept
	lower := strings.ToLower(reason)
	class := codes.Unknown
	switch {
	case err.missing():
		class = codes.NotFound
	case strings.Contains(lower, "not an arrow file"): // Milvus Lite reads an index file that another of its threads is writing
		class = codes.Unavailable
	case err.code == codeNoDatabase || strings.Contains(lower, "database") && strings.Contains(lower, "not"):
		return &connector.Error{Class: connector.ClassNotFound, Err: fmt.Errorf("%w: create the database first, with client.create_database of pymilvus or in Attu, or take database: default", err)}
	case err.code == 7 || strings.Contains(lower, "quota") && strings.Contains(lower, "disk"):
		return &connector.Error{Class: connector.ClassFull, Err: err}
	case err.code == 3 || err.code == 4 || err.code == 8 || err.code == 9 || err.old == commonpb.ErrorCode_RateLimit || err.old == commonpb.ErrorCode_ForceDeny || err.old == commonpb.ErrorCode_MemoryQuotaExhausted:
		class = codes.ResourceExhausted
	case err.code == 1400 || err.code == 1401 || err.old == commonpb.ErrorCode_PermissionDenied || strings.Contains(lower, "auth check failure"):
		class = codes.PermissionDenied
	case err.code == 6 || err.code >= 1100 && err.code < 1200 || err.code >= 1700 && err.code < 1900 || err.old == commonpb.ErrorCode_IllegalArgument:
		class = codes.InvalidArgument
	case err.notLoaded() || err.code == 2 || err.code == 10 || err.code == 11 || err.code >= 200 && err.code < 700 || err.old == commonpb.ErrorCode_NotReadyServe:
		class = codes.Unavailable
	}
	classed := remote.GRPC(ctx, status.Error(class, reason))
	return &connector.Error{Class: connector.ClassOf(classed), Err: err}
}

// serverError is a failure that the server reports in its answer.
type serverError struct {
	code   int32
	old    commonpb.ErrorCode //nolint:staticcheck // see intercept
	reason string
}

func (e *serverError) Error() string { return e.reason }

// missing says that the collection or alias is not there.
func (e *serverError) missing() bool {
	return e.code == codeNoCollection || e.code == codeNoAlias || e.old == commonpb.ErrorCode_CollectionNotExists || e.old == commonpb.ErrorCode_CollectionNameNotFound
}

// notLoaded says that the collection is not in memory, as after a restart of Milvus Lite.
func (e *serverError) notLoaded() bool {
	return e.code == codeNotLoaded || e.code == codeHalfLoaded || strings.Contains(e.reason, "collection not loaded")
}
