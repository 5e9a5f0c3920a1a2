package httpsource

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// maxRedirects is how many redirects one request follows.
const maxRedirects = 5

// redirectError says that a redirect is not followed.
type redirectError struct {
	reason  string
	outside bool // it leads to a host that the listing may not go to
}

func (e *redirectError) Error() string { return e.reason }

// hostsKey carries, in a request's context, the hosts that its redirects may lead to.
type hostsKey struct{}

// confine bounds the redirects of requests to hosts; nil lets them lead to any public one.
func confine(ctx context.Context, hosts map[string]bool) context.Context {
	if hosts == nil {
		return ctx
	}
	return context.WithValue(ctx, hostsKey{}, hosts)
}

func (s *Source) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return &redirectError{reason: fmt.Sprintf("more than %d redirects", maxRedirects)}
	}
	u, err := normalize(req.URL)
	if err != nil {
		return &redirectError{reason: "it redirects to a place that cannot be fetched: " + err.Error()}
	}
	if hosts, ok := req.Context().Value(hostsKey{}).(map[string]bool); ok && !hosts[u.Host] {
		return &redirectError{reason: "it redirects to another host, " + u.Host, outside: true}
	}
	req.Header.Del("Referer") // the URL may be nobody's business
	return nil
}

// transport is where every request passes, redirected ones too: it checks, waits for its turn and adds what the host may know.
type transport struct {
	source *Source
	next   http.RoundTripper
}

// RoundTrip sends one request.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	s := t.source
	u, err := normalize(req.URL)
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "%w", err)
	}
	if s.base.Proxy != nil && !s.config.AllowPrivate {
		if err := checkLiteral(strings.Trim(req.URL.Hostname(), "[]")); err != nil {
			return nil, err
		}
	}
	if err := s.limits.wait(req.Context(), u.Host); err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.Header.Set("User-Agent", s.config.userAgent())
	if out.Header.Get("Accept-Encoding") == "" {
		out.Header.Set("Accept-Encoding", "gzip")
	}
	s.secrets.add(out)
	resp, err := t.next.RoundTrip(out)
	if resp != nil {
		resp.Request = req // without the credentials
	}
	return resp, err
}

// secrets are sent to the origins that the configuration names, and to nobody else.
type secrets struct {
	config  *Config
	origins map[string]bool
}

func newSecrets(c *Config, sc *scope) *secrets { return &secrets{config: c, origins: sc.origins} }

// any says whether requests to u carry credentials.
func (s *secrets) any(u *url.URL) bool {
	return (s.config.Token != "" || s.config.Username != "" || len(s.config.Headers) > 0) && s.origins[originOf(u)]
}

// add puts credentials on a request to an origin that the configuration names, unless another host had a hand in it.
func (s *secrets) add(req *http.Request) {
	own := originOf(req.URL)
	if !s.origins[own] {
		return
	}
	for from := req.Response; from != nil && from.Request != nil; from = from.Request.Response {
		if originOf(from.Request.URL) != own {
			return
		}
	}
	for name, value := range s.config.Headers {
		req.Header.Set(name, value.Reveal())
	}
	switch {
	case s.config.Token != "":
		req.Header.Set("Authorization", "Bearer "+s.config.Token.Reveal())
	case s.config.Username != "":
		req.SetBasicAuth(s.config.Username, s.config.Password.Reveal())
	}
}

func originOf(u *url.URL) string {
	n, err := normalize(u)
	if err != nil {
		return ""
	}
	return n.Scheme + "://" + n.Host
}

// asRedirect finds a redirect that was not followed.
func asRedirect(err error) (*redirectError, bool) {
	var r *redirectError
	ok := errors.As(err, &r)
	return r, ok
}
