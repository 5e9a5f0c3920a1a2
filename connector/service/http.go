package service

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kbsync/kbsync/connector/pipeline"
)

// What a client may take.
const (
	headerTimeout   = 5 * time.Second
	readTimeout     = 15 * time.Second
	writeTimeout    = 30 * time.Second
	idleTimeout     = time.Minute
	shutdownTimeout = 5 * time.Second
	maxHeader       = 16 << 10
)

// listen starts the HTTP server, if there is to be one. What it returns ends it and waits for it.
func (s *Service) listen(ctx context.Context) (stop func() error, err error) {
	if s.opts.Listen == "" {
		return func() error { return nil }, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.opts.Listen)
	if err != nil {
		return nil, pipeline.UsageErrorf("--listen %s: %w; name another address, or \"\" for none", s.opts.Listen, err)
	}
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	s.log.Info("listening", "address", l.Addr().String())
	if s.opts.Started != nil {
		s.opts.Started(l.Addr().String())
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		err := server.Shutdown(ctx)
		if err != nil { // a client that does not let go
			err = server.Close()
		}
		if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
		return err
	}, nil
}

// Handler answers GET /healthz, /readyz, /metrics and /status, POST /sync and /notify. Run serves it at Options.Listen.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /status", s.status)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("POST /sync", s.allowed(s.syncNow))
	mux.HandleFunc("POST /notify", s.allowed(s.notified))
	mux.HandleFunc("OPTIONS /notify", s.allowed(handshake))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}

// answer writes JSON. That a client is gone concerns nobody.
func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

// refuse answers a request that was not taken.
func refuse(w http.ResponseWriter, code int, format string, args ...any) {
	answer(w, code, map[string]any{"error": fmt.Sprintf(format, args...)})
}

func (s *Service) health(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	reason := s.state.unhealthy(wall(), s.opts.StuckAfter)
	s.mu.Unlock()
	verdict(w, "healthy", reason)
}

func (s *Service) ready(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	reason := s.state.unready()
	if drained(s.opts.Drain) {
		reason = "stopping"
	}
	s.mu.Unlock()
	verdict(w, "ready", reason)
}

func verdict(w http.ResponseWriter, what, reason string) {
	if reason != "" {
		answer(w, http.StatusServiceUnavailable, map[string]any{what: false, "reason": reason})
		return
	}
	answer(w, http.StatusOK, map[string]any{what: true})
}

func drained(drain <-chan struct{}) bool {
	select {
	case <-drain:
		return true
	default:
		return false
	}
}

// scheduled is what /status tells beside the pipeline's own status.
type scheduled struct {
	State    string     `json:"state"` // idle, running, stopping
	Started  time.Time  `json:"started"`
	Schedule string     `json:"schedule,omitempty"`
	Watch    bool       `json:"watch"`
	Next     time.Time  `json:"next_run,omitzero"`
	Runs     int64      `json:"runs"`
	Missed   int64      `json:"missed"`
	Failures int        `json:"failures_in_a_row"`
	Current  *current   `json:"current,omitempty"`
	Last     *ended     `json:"last,omitempty"`
	Unready  string     `json:"not_ready,omitempty"`
	StatusAt *time.Time `json:"status_at,omitempty"`
}

// current is the run under way.
type current struct {
	Started  time.Time `json:"started"`
	Reason   string    `json:"reason"`
	Listed   int64     `json:"listed"`
	Settled  int64     `json:"settled"`
	Failed   int64     `json:"failed"`
	Embedded int64     `json:"embedded"`
}

// status tells the pipeline's status as it was after the last run, and what the service does.
func (s *Service) status(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	st := &s.state
	_, due := st.next(s.file.Sync.Debounce, s.file.Sync.Poll, wall())
	out := struct {
		*pipeline.Status
		Service scheduled `json:"service"`
	}{st.status, scheduled{
		State: "idle", Started: st.started, Schedule: s.times.String(), Watch: s.opts.Watch, Next: due,
		Runs: st.runs, Missed: st.missed, Failures: st.failures, Last: st.last, Unready: st.unready(),
	}}
	if st.status != nil {
		at := st.statusAt
		out.Service.StatusAt = &at
	}
	if p := st.progress; p != nil {
		out.Service.State = "running"
		out.Service.Current = &current{st.running, st.reason, p.listed.Load(), p.settled.Load(), p.failed.Load(), p.embedded.Load()}
	}
	if st.stopping || drained(s.opts.Drain) {
		out.Service.State = "stopping"
	}
	s.mu.Unlock()
	answer(w, http.StatusOK, out)
}

func (s *Service) syncNow(w http.ResponseWriter, _ *http.Request) {
	if drained(s.opts.Drain) {
		refuse(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	s.Trigger()
	answer(w, http.StatusAccepted, map[string]any{"accepted": true})
}

// allowed lets a request through that may set off a run: with the token, or, where there is none, from this machine alone and from
// no page of a browser.
func (s *Service) allowed(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token := s.opts.Token.Reveal()
		switch {
		case token != "":
			given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if !ok && r.URL.Path == "/notify" { // some senders cannot set headers
				given, ok = r.URL.Query().Get("token"), true
			}
			if !ok || !same(given, token) {
				w.Header().Set("WWW-Authenticate", `Bearer realm="kbsync"`)
				refuse(w, http.StatusUnauthorized, "a bearer token is needed")
				return
			}
		case !loopback(s.opts.Listen):
			refuse(w, http.StatusForbidden, "this service listens beyond its machine and has no token: start it with --token-file or KBSYNC_TOKEN")
			return
		case !loopback(r.Host) || r.Header.Get("Origin") != "":
			refuse(w, http.StatusForbidden, "without a token, requests are taken from programs of this machine alone")
			return
		}
		next(w, r)
	}
}

// same compares without telling by its time where they differ.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// loopback says that an address, with or without a port, is this machine's own.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
