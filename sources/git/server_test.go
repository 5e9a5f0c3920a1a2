package git

import (
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// server serves the repositories below a folder over git's own smart HTTP server, with faults.
type server struct {
	*httptest.Server
	login    string       // user:password that it asks for
	status   atomic.Int32 // what it answers instead
	cutAt    atomic.Int64 // bytes of a pack after which it hangs up; 0: never
	packs    atomic.Int32 // fetches
	sent     atomic.Int64 // bytes of packs
	redirect string
	hang     chan struct{}
}

func serveHTTP(tb testing.TB, root string) *server {
	tb.Helper()
	backend := filepath.Join(git(tb, "", "--exec-path"), "git-http-backend")
	s := &server{hang: make(chan struct{})}
	real := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1"}, Stderr: io.Discard}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case s.status.Load() == -1:
			select {
			case <-s.hang:
			case <-r.Context().Done():
			}
			return
		case s.status.Load() != 0:
			w.Header().Set("Retry-After", "7")
			http.Error(w, "no "+r.Header.Get("Authorization"), int(s.status.Load()))
			return
		case s.redirect != "":
			http.Redirect(w, r, s.redirect+r.URL.RequestURI(), http.StatusFound)
			return
		case s.login != "" && user+":"+password != s.login:
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodPost {
			s.packs.Add(1)
			w = &cutter{ResponseWriter: w, server: s}
		}
		real.ServeHTTP(w, r)
	}))
	tb.Cleanup(s.Close)
	return s
}

// cutter hangs up in the middle.
type cutter struct {
	http.ResponseWriter
	server *server
	n      int64
}

func (c *cutter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	c.server.sent.Add(int64(len(p)))
	if limit := c.server.cutAt.Load(); limit > 0 && c.n > limit {
		_, _ = c.ResponseWriter.Write(p[:max(0, int64(len(p))-(c.n-limit))])
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}
