package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"gopkg.in/yaml.v3"

	"github.com/kbsync/kbsync/connector"
)

func TestClasses(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		err  error
		want connector.Class
	}{
		{GRPC(ctx, status.Error(codes.Unavailable, "down")), connector.ClassTransient},
		{GRPC(ctx, status.Error(codes.ResourceExhausted, "slow down")), connector.ClassThrottled},
		{GRPC(ctx, status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5 vs. 4)")), connector.ClassTooLarge},
		{GRPC(ctx, status.Error(codes.Internal, "write: no space left on device")), connector.ClassFull},
		{GRPC(ctx, status.Error(codes.Unauthenticated, "key")), connector.ClassDenied},
		{GRPC(ctx, fmt.Errorf("dial: %w", &net.OpError{Err: syscall.ECONNREFUSED})), connector.ClassTransient},
		{GRPC(ctx, connector.Errorf(connector.ClassConflict, "x")), connector.ClassConflict},
		{GRPC(ctx, errors.New("odd")), connector.ClassUnknown},
		{HTTP(429, http.Header{"Retry-After": {"3"}}, ""), connector.ClassThrottled},
		{HTTP(503, nil, ""), connector.ClassTransient},
		{HTTP(422, nil, "bad"), connector.ClassInvalid},
		{HTTP(413, nil, ""), connector.ClassTooLarge},
		{HTTP(401, nil, ""), connector.ClassDenied},
	} {
		if got := connector.ClassOf(c.err); got != c.want {
			t.Errorf("%v: class %v, want %v", c.err, got, c.want)
		}
	}
	if HTTP(204, nil, "") != nil || GRPC(ctx, nil) != nil {
		t.Error("success is an error")
	}
	var e *connector.Error
	if !errors.As(HTTP(429, http.Header{"Retry-After": {"3"}}, ""), &e) || e.RetryAfter != 3*time.Second {
		t.Error("Retry-After is lost")
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := GRPC(gone, status.Error(codes.Canceled, "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestNames(t *testing.T) {
	c := Common{Collection: "handbook"}
	if g, ok := c.Generation(c.Physical("g0123456789ab")); !ok || g != "g0123456789ab" {
		t.Errorf("generation %q, %v", g, ok)
	}
	for _, other := range []string{"handbook", "handbook2_g0123456789ab", "handbook_x", "handbook_old_g0123456789ab"} {
		if _, ok := c.Generation(other); ok {
			t.Errorf("%s passes for a generation", other)
		}
	}
}

func TestMeta(t *testing.T) {
	m := NewMeta(connector.Schema{Generation: "g1", Model: "m", Dimensions: 3, Layout: "l"})
	if got, ok := ParseMeta(m.String()); !ok || got != m {
		t.Errorf("got %+v, %v", got, ok)
	}
	for _, s := range []string{"", "x", "{}", `{"a":1}`, "null"} {
		if _, ok := ParseMeta(s); ok {
			t.Errorf("%q passes for a description", s)
		}
	}
}

func TestFields(t *testing.T) {
	defaults := map[string]string{"content": "content", "vector": "", "doc_id": "doc_id"}
	presets := map[string]map[string]string{"langchain": {"content": "text"}}
	for src, want := range map[string]string{"{ content: body }": "body", "langchain": "text", "{}": "content"} {
		var f Fields
		if err := yaml.Unmarshal([]byte(src), &f); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Resolve(defaults, presets); err != nil || got["content"] != want {
			t.Errorf("%s: %v, %v", src, got, err)
		}
	}
	for _, f := range []Fields{{Names: map[string]string{"nope": "x"}}, {Preset: "llamaindex"}, {Names: map[string]string{"content": "doc_id"}}, {Names: map[string]string{"content": " "}}} {
		if _, err := f.Resolve(defaults, presets); err == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
}
