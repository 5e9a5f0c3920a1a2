// Package objectstest is what the tests of object stores share: a proxy that counts calls and plants faults between a client and a real
// server, buckets to fill, what a listing and a reading give, and the cases that are the same for all of them ([Run]).
package objectstest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
)

// Fault answers a request in the server's place, or says that it did not.
type Fault func(w http.ResponseWriter, r *http.Request) (answered bool)

// Change alters an answer of the server.
type Change func(r *http.Response) error

// Proxy passes HTTP calls on to a server as they are, with the host that the client asked for, so that signatures hold.
type Proxy struct {
	// Addr is host:port and URL the same with http:// before it.
	Addr, URL string

	mu     sync.Mutex
	host   string
	fault  Fault
	change Change
	calls  []Call
}

// Call is one request.
type Call struct {
	Method, Path, Query string
	Header              http.Header
}

// StartProxy listens on loopback until the test ends; target is host:port.
func StartProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	p := &Proxy{}
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true} // nothing is left running between calls
	pass := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", target },
		Transport:      transport,
		FlushInterval:  -1,
		ModifyResponse: p.modify,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.calls = append(p.calls, Call{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Clone()})
		fault := p.fault
		if p.host != "" {
			r.Host = p.host
		}
		p.mu.Unlock()
		if fault == nil || !fault(w, r) {
			pass.ServeHTTP(w, r)
		}
	}))
	server.Config.ErrorLog = nil
	server.Start()
	tb.Cleanup(server.Close)
	p.URL = server.URL
	p.Addr = strings.TrimPrefix(server.URL, "http://")
	return p
}

// As asks the server by that host's name, not by the one that the client asked for: there are servers that go by it.
func (p *Proxy) As(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.host = host
}

// Set plants a fault, or takes it out with nil.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// Alter changes the server's answers, or no more with nil.
func (p *Proxy) Alter(c Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change = c
}

// Outage makes every call fail as an overloaded server does, until end is called.
func (p *Proxy) Outage() (end func()) {
	p.Set(Answer(http.StatusServiceUnavailable, "text/plain", "overloaded"))
	return func() { p.Set(nil) }
}

// Calls are the requests since the last Reset.
func (p *Proxy) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Call(nil), p.calls...)
}

// Count is how many requests since the last Reset match.
func (p *Proxy) Count(match func(Call) bool) int {
	n := 0
	for _, c := range p.Calls() {
		if match(c) {
			n++
		}
	}
	return n
}

// Reset forgets the requests.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = nil
}

func (p *Proxy) modify(r *http.Response) error {
	p.mu.Lock()
	change := p.change
	p.mu.Unlock()
	if change == nil {
		return nil
	}
	return change(r)
}

// Answer is a fault that answers every request alike; pairs are headers.
func Answer(status int, contentType, body string, pairs ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", contentType)
		for i := 0; i+1 < len(pairs); i += 2 {
			w.Header().Set(pairs[i], pairs[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}
}

// When plants a fault for the requests that match alone, n times (0: always).
func When(match func(*http.Request) bool, n int, f Fault) Fault {
	var mu sync.Mutex
	done := 0
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !match(r) {
			return false
		}
		mu.Lock()
		over := n > 0 && done >= n
		done++
		mu.Unlock()
		return !over && f(w, r)
	}
}

// HangUp is a fault that closes the connection without an answer.
func HangUp(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }

// CutAfter ends a body after n bytes with the connection, where it is longer.
func CutAfter(r *http.Response, n int64) {
	head, err := io.ReadAll(io.LimitReader(r.Body, n+1))
	if err != nil || int64(len(head)) <= n {
		r.Body = joined{bytes.NewReader(head), r.Body}
		return
	}
	r.Body = joined{io.MultiReader(bytes.NewReader(head[:n]), broken{}), r.Body}
}

type joined struct {
	io.Reader
	io.Closer
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("cut by the test") }

// Dead is an address on which nobody listens.
func Dead(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's own port
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
