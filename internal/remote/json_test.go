package remote

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
)

func TestJSONClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-Key") != "k":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"a":`))
		case r.URL.Path == "/busy":
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
		case r.URL.Path == "/slow":
			<-r.Context().Done()
		default:
			_, _ = w.Write([]byte(`{"a":1}`))
		}
	}))
	defer server.Close()
	c := (&JSONClient{Base: server.URL, Timeout: 200 * time.Millisecond, MaxRequest: 20, Authorize: func(r *http.Request) { r.Header.Set("X-Key", "k") }}).Open()
	defer c.Close()
	var out struct{ A int }
	if err := c.Call(t.Context(), "POST", "/ok", map[string]int{"b": 2}, &out); err != nil || out.A != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	for path, want := range map[string]connector.Class{"/cut": connector.ClassTransient, "/busy": connector.ClassThrottled, "/slow": connector.ClassTransient} {
		if err := c.Call(t.Context(), "GET", path, nil, &out); connector.ClassOf(err) != want {
			t.Errorf("%s: %v, class %v", path, err, connector.ClassOf(err))
		}
	}
	if err := c.Call(t.Context(), "POST", "/ok", strings.Repeat("x", 30), nil); connector.ClassOf(err) != connector.ClassTooLarge {
		t.Errorf("a large request: %v", err)
	}
	c.Authorize = nil
	if err := c.Call(t.Context(), "GET", "/ok", nil, nil); connector.ClassOf(err) != connector.ClassDenied {
		t.Errorf("without a key: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Call(ctx, "GET", "/ok", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
