package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

const (
	maxRedirects  = 5
	maxAdvertised = 256 << 20 // bytes of the list of refs
	maxErrorBody  = 64 << 10
	dialTimeout   = 30 * time.Second
)

// dial connects to the server. alive is called whenever something comes from it.
func (s *Source) dial(ctx context.Context, alive func()) (session, error) {
	if s.address.scheme == schemeSSH {
		return s.dialSSH(ctx, alive)
	}
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
	}
	client := githttp.NewClient(&http.Client{Transport: &watched{to: t, alive: alive}, CheckRedirect: checkRedirect})
	var auth transport.AuthMethod
	if s.address.hasLogin() {
		auth = &githttp.BasicAuth{Username: s.address.user, Password: s.address.password.Reveal()}
	}
	conn, err := client.NewUploadPackSession(s.address.endpoint(), auth)
	if err != nil {
		return nil, err
	}
	return &httpSession{session: conn, transport: t}, nil
}

// httpSession leaves no connection open behind it.
type httpSession struct {
	session
	transport *http.Transport
}

func (h *httpSession) Close() error {
	err := h.session.Close()
	h.transport.CloseIdleConnections()
	return err
}

// redirectError says where a repository has moved to.
type redirectError struct{ to string }

func (e *redirectError) Error() string {
	return fmt.Sprintf("the server sends elsewhere, to %s; if that is right, set url to it", e.to)
}

// checkRedirect stays on the host, because go-git sends the credentials along.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > maxRedirects {
		return &redirectError{to: req.URL.Host + ", more than 5 times"}
	}
	upgraded := first.Scheme == schemeHTTP && req.URL.Scheme == schemeHTTPS && first.Hostname() == req.URL.Hostname() && first.Port() == "" && req.URL.Port() == ""
	if !upgraded && (req.URL.Host != first.Host || req.URL.Scheme != first.Scheme) {
		return &redirectError{to: req.URL.Scheme + "://" + req.URL.Host}
	}
	return nil
}

// statusError is an answer that is no success. go-git would read all of it into the error.
type statusError struct {
	code  int
	after string // Retry-After
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the server answers %d %s", e.code, http.StatusText(e.code))
}

// watched notes every sign of life, and bounds what is read of lists and errors.
type watched struct {
	to    *http.Transport
	alive func()
}

func (w *watched) RoundTrip(req *http.Request) (*http.Response, error) {
	w.alive()
	resp, err := w.to.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	w.alive()
	if resp.StatusCode >= http.StatusBadRequest {
		_, drained := io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody))
		return nil, errors.Join(&statusError{code: resp.StatusCode, after: resp.Header.Get("Retry-After")}, drained, resp.Body.Close())
	}
	body := &aliveReader{from: resp.Body, alive: w.alive, left: -1}
	if req.Method == http.MethodGet {
		body.left = maxAdvertised
	}
	resp.Body = body
	return resp, nil
}

// aliveReader calls alive at each read, and ends with an error after left bytes unless that is negative.
type aliveReader struct {
	from  io.ReadCloser
	alive func()
	left  int64
}

func (r *aliveReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if n > 0 {
		r.alive()
	}
	if r.left >= 0 {
		if r.left -= int64(n); r.left < 0 {
			return n, errors.New("the list of refs has no end")
		}
	}
	return n, err
}

func (r *aliveReader) Close() error { return r.from.Close() }
