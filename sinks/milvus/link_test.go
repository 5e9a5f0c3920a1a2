package milvus

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kbsync/kbsync/connector"
)

// TestClasses: the SDK passes on the text of a status alone, or takes one for success of which only the newer code is set.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		reply any
		err   error
		want  connector.Class
	}{
		{&milvuspb.MutationResult{Status: &commonpb.Status{Code: 1, Reason: "boom"}}, nil, connector.ClassUnknown},
		{&milvuspb.MutationResult{Status: &commonpb.Status{}, ErrIndex: []uint32{1}}, nil, connector.ClassUnknown},
		{&commonpb.Status{Code: 100, Reason: "collection not found"}, nil, connector.ClassNotFound},
		{&commonpb.Status{ErrorCode: commonpb.ErrorCode_CollectionNotExists, Reason: "x"}, nil, connector.ClassNotFound},
		{&commonpb.Status{ErrorCode: commonpb.ErrorCode_UnexpectedError, Reason: "load: Not an Arrow file"}, nil, connector.ClassTransient},
		{&commonpb.Status{Code: 8, Reason: "rate limit exceeded"}, nil, connector.ClassThrottled},
		{&commonpb.Status{Code: 9, Reason: "quota exceeded: disk quota"}, nil, connector.ClassFull},
		{&commonpb.Status{Code: 7, Reason: "disk limit exceeded"}, nil, connector.ClassFull},
		{&commonpb.Status{Code: 5, Reason: "write: no space left on device"}, nil, connector.ClassFull},
		{&commonpb.Status{Code: 1100, Reason: "invalid parameter"}, nil, connector.ClassInvalid},
		{&commonpb.Status{Code: 1401, Reason: "permission denied"}, nil, connector.ClassDenied},
		{&commonpb.Status{}, status.Error(codes.Unauthenticated, "auth check failure, please check username and password are correct"), connector.ClassDenied},
		{&commonpb.Status{}, status.Error(codes.Unavailable, "connection refused"), connector.ClassTransient},
		{&commonpb.Status{}, status.Error(codes.ResourceExhausted, "grpc: received message larger than max"), connector.ClassTooLarge},
	} {
		err := intercept(time.Second)(t.Context(), "m", nil, c.reply, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return c.err })
		if err == nil || connector.ClassOf(err) != c.want {
			t.Errorf("%v %v: class %v, want %v", c.reply, c.err, connector.ClassOf(err), c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{"handbook": "handbook", "a_1": "a_1"} {
		if got := collectionName(in); got != want {
			t.Errorf("%q becomes %q", in, got)
		}
	}
	seen := map[string]string{}
	for _, name := range []string{"手册", "手 册", "文档", "a.b", "a-b", "a b", "1a", "_", "a_b", strings.Repeat("x", 300), strings.Repeat("x", 301), "c1a"} {
		got := collectionName(name)
		if !identifier.MatchString(got) || len(got) > maxName-20 || got != collectionName(name) {
			t.Errorf("%q becomes %q", name, got)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%q and %q are both %q", name, other, got)
		}
		seen[got] = name
	}
}

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"index": func(c *Config) { c.Index = "ivf" }, "consistency": func(c *Config) { c.Consistency = "weak" }, "m": func(c *Config) { c.M = 1 },
		"both": func(c *Config) { c.Token, c.User = "t", "u" }, "password": func(c *Config) { c.Password = "p" },
		"field": func(c *Config) { c.Fields.Names = map[string]string{"content": "has space"} }, "taken": func(c *Config) { c.Fields.Names = map[string]string{"content": "kbsync_rest"} },
	} {
		c := defaults()
		c.Collection = "x"
		change(&c)
		if err := c.Validate(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	var zero Config
	if err := zero.Validate(); err != nil || zero.Address != "localhost:19530" || zero.Index != "hnsw" || zero.Distance != "cosine" {
		t.Errorf("%+v, %v", zero, err)
	}
}

// TestNobodyThere: no server is an error that may go away, and soon told.
func TestNobodyThere(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // the SDK leaves a connection open that it could not use
	s := opened(t, config("127.0.0.1:1", "x"))
	start := time.Now()
	if _, err := s.Generations(t.Context()); connector.ClassOf(err) != connector.ClassTransient || time.Since(start) > 10*time.Second {
		t.Errorf("class %v after %v: %v", connector.ClassOf(err), time.Since(start), err)
	}
}
