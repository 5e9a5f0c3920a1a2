package embedserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// routes are the paths of OpenAI, with and without its version, those of Azure, and the server's own.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	v1 := func(method, path string, h http.HandlerFunc) {
		mux.HandleFunc(method+" "+path, s.allowed(h))
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", method)
			refuse(w, &failure{status: http.StatusMethodNotAllowed, kind: kindInvalid, code: "method_not_supported",
				message: fmt.Sprintf("Not allowed to %s on %s: it takes %s", r.Method, shorten(r.URL.Path), method)})
		})
	}
	for _, prefix := range []string{"/v1", "", "/openai/v1", "/openai/deployments/{deployment}"} {
		v1(http.MethodPost, prefix+"/embeddings", s.embeddings)
	}
	for _, prefix := range []string{"/v1", "", "/openai/v1"} {
		v1(http.MethodGet, prefix+"/models", s.listModels)
		v1(http.MethodGet, prefix+"/models/{id...}", s.getModel)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"healthy": true})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.draining() {
			answer(w, http.StatusServiceUnavailable, map[string]any{"ready": false, "reason": "stopping"})
			return
		}
		answer(w, http.StatusOK, map[string]any{"ready": true})
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, &failure{status: http.StatusNotFound, kind: kindInvalid, code: "unknown_url", message: fmt.Sprintf("Unknown request URL: %s %s", shorten(r.Method), shorten(r.URL.Path))})
	})
	return mux
}

// allowed lets a request through that has the key, or, where there is none, comes from this machine and from no page of a browser.
func (s *Server) allowed(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.opts.Key != "":
			sum := sha256.Sum256([]byte(given(r.Header)))
			if subtle.ConstantTimeCompare(sum[:], s.key[:]) != 1 {
				w.Header().Set("WWW-Authenticate", `Bearer realm="kbsync"`)
				refuse(w, &failure{status: http.StatusUnauthorized, kind: kindInvalid, code: "invalid_api_key", message: "Incorrect API key provided, or none"})
				return
			}
		case r.Header.Get("Origin") != "" || !s.opts.WithoutKey && !loopback(r.Host):
			refuse(w, &failure{status: http.StatusForbidden, kind: kindForbidden, code: "no_key_configured",
				message: "without a key, requests are taken from programs of this machine alone, and from no page of a browser: start the server with --api-key"})
			return
		}
		next(w, r)
	}
}

// given is the key of a request: a bearer token or, as Azure has it, the header api-key.
func given(h http.Header) string {
	if scheme, token, ok := strings.Cut(h.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return h.Get("api-key")
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

// embeddings answers one request and counts it.
func (s *Server) embeddings(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	res, err := s.respond(w, r)
	status := http.StatusOK
	if err != nil {
		f := failed(err)
		if status = f.status; r.Context().Err() != nil {
			status = statusGone // or the server stops at once; nobody reads the answer
		}
		if status == http.StatusInternalServerError || status == http.StatusBadGateway {
			s.log.Error("a request failed", "status", status, "error", err)
		}
		refuse(w, f)
	}
	s.metrics.ended(status, time.Since(start), res)
	s.log.Debug("request", "status", status, "texts", len(res.tokens), "tokens", sum(res.tokens), "role", res.role.String(), "took", time.Since(start))
}

// result is what a request was about.
type result struct {
	role   Role
	tokens []int // of each text
}

// respond writes the answer, unless there is an error.
func (s *Server) respond(w http.ResponseWriter, r *http.Request) (res result, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a request panicked", "panic", p, "stack", string(debug.Stack()))
			err = errors.New("the server failed within; its log tells where")
		}
	}()
	select {
	case s.tickets <- struct{}{}:
		defer func() { <-s.tickets }()
	default:
		return res, &failure{status: http.StatusTooManyRequests, kind: kindRequests, code: "rate_limit_exceeded", wait: time.Second,
			message: fmt.Sprintf("the server works on %d requests already and takes no more: come back later", cap(s.tickets))}
	}
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(s.bodyTimeout + s.opts.Timeout + writeTimeout)) // a recorder of tests has none
	body, err := s.read(w, r, control)
	if err != nil {
		return res, err
	}
	req, f := decode(body, s.opts.MaxInputs)
	if f != nil {
		return res, f
	}
	if deployment := r.PathValue("deployment"); deployment != "" {
		req.model = deployment
	}
	if res.role, f = s.check(req); f != nil {
		return res, f
	}
	if res.tokens, f = s.measure(req.inputs); f != nil {
		return res, f
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.opts.Timeout, errTimeout)
	defer cancel()
	vectors, err := s.embed(ctx, res.role, req.inputs, res.tokens)
	if err != nil {
		return res, err
	}
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	write(w, req, vectors, sum(res.tokens))
	return res, nil
}

// read reads the body, in bounded time.
func (s *Server) read(w http.ResponseWriter, r *http.Request, control *http.ResponseController) ([]byte, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, &failure{status: http.StatusUnsupportedMediaType, kind: kindInvalid, message: "send the body without Content-Encoding"}
	}
	_ = control.SetReadDeadline(time.Now().Add(s.bodyTimeout)) // net/http lifts it at the end of the body
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &failure{status: http.StatusRequestEntityTooLarge, kind: kindInvalid, code: "request_too_large",
			message: fmt.Sprintf("the body is over %d bytes: send fewer texts at a time", s.opts.MaxBody)}
	case err != nil:
		return nil, &failure{status: http.StatusRequestTimeout, kind: kindInvalid, message: "the body did not arrive whole, or in time"}
	}
	return body, nil
}

// check compares what is asked for with the model.
func (s *Server) check(req *request) (Role, *failure) {
	if req.model == "" {
		return 0, invalid("model", "you must provide a model parameter: this server has %q", s.model.Name)
	}
	role, ok := s.resolve(req.model)
	if !ok {
		return 0, s.unknown(req.model)
	}
	if req.typed {
		role = req.role
	}
	if req.dimensions != 0 && req.dimensions != s.model.Dimensions {
		return 0, coded("dimensions", "invalid_value", "Invalid 'dimensions': %s gives %d and no other number", s.model.Name, s.model.Dimensions)
	}
	return role, nil
}

func (s *Server) unknown(model string) *failure {
	return &failure{status: http.StatusNotFound, kind: kindInvalid, param: "model", code: "model_not_found",
		message: fmt.Sprintf("The model %q does not exist here: this server has %s", shorten(model), strings.Join(s.names, ", "))}
}

// measure counts the tokens of each text and refuses what is over the model's or the server's limits.
func (s *Server) measure(texts []string) ([]int, *failure) {
	tokens := make([]int, len(texts))
	total := 0
	for i, text := range texts {
		n := s.counter.Count(text)
		if limit := s.model.MaxInputTokens; limit > 0 && n > limit {
			return nil, coded(place(i), "context_length_exceeded", "Invalid 'input[%d]': %d tokens are over the maximum input length of %s, which is %d tokens; nothing is cut off here", i, n, s.model.Name, limit)
		}
		if limit := s.model.MaxBytes; limit > 0 && len(text) > limit {
			return nil, coded(place(i), "context_length_exceeded", "Invalid 'input[%d]': %d bytes are over the maximum input length of %s, which is %d bytes; nothing is cut off here", i, len(text), s.model.Name, limit)
		}
		tokens[i] = n
		total += n
	}
	if total > s.opts.MaxTokens {
		return nil, coded("input", "max_tokens_per_request", "Requested %d tokens, max %d tokens per request", total, s.opts.MaxTokens)
	}
	return tokens, nil
}
