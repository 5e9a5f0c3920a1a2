package httpsource

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// longestRetryAfter bounds what a server may ask for.
const longestRetryAfter = time.Hour

// statusError is what an answer other than success means. It names the URL.
func (s *Source) statusError(resp *http.Response) error {
	u := resp.Request.URL
	fail := func(class connector.Class) error {
		return connector.Errorf(class, "http: %s: the server answers %d %s", display(u), resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized && s.secrets.any(u), code == http.StatusProxyAuthRequired:
		return connector.Errorf(connector.ClassCredentials, "http: %s: the credentials were refused (%d); check token, username, password and headers", display(u), code)
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusUnavailableForLegalReasons:
		return fail(connector.ClassDenied)
	case code == http.StatusNotFound, code == http.StatusGone:
		return fail(connector.ClassNotFound)
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		return &connector.Error{Class: connector.ClassThrottled, RetryAfter: retryAfter(resp), Err: fail(connector.ClassThrottled)}
	case code == http.StatusNotImplemented, code == http.StatusHTTPVersionNotSupported:
		return fail(connector.ClassInvalid)
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code >= 500 && code < 600:
		return fail(connector.ClassTransient)
	}
	return fail(connector.ClassInvalid)
}

// retryAfter reads seconds or a date; 0 where there is neither.
func retryAfter(resp *http.Response) time.Duration {
	text := resp.Header.Get("Retry-After")
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return min(max(0, time.Duration(n)*time.Second), longestRetryAfter)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(serverTime(resp))), longestRetryAfter)
}

// serverTime is the time by the server's clock, or by ours where it tells none.
func serverTime(resp *http.Response) time.Time {
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}

// transferError is what a request without an answer, or a body that breaks off, means.
func transferError(ctx context.Context, u *url.URL, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var classed *connector.Error
	if errors.As(err, &classed) {
		return err
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which display shows
	}
	class := connector.ClassTransient
	var certificate *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch _, redirect := asRedirect(err); {
	case redirect, strings.HasPrefix(err.Error(), "failed to parse Location header"): // net/http has no type for it
		class = connector.ClassInvalid
	case isRefused(err):
		class = connector.ClassDenied
	case err.Error() == http.StatusText(http.StatusProxyAuthRequired): // all that net/http tells of a tunnel that is refused
		class = connector.ClassCredentials
	case errors.As(err, &certificate), errors.As(err, &unknown):
		class = connector.ClassUnknown
	}
	return connector.Errorf(class, "http: %s: %w", display(u), err)
}

// display is a URL for messages; its query may be long or hold a key.
func display(u *url.URL) string {
	short := *u
	short.User = nil
	if short.RawQuery != "" {
		short.RawQuery = "…"
	}
	return short.Scheme + "://" + short.Host + short.EscapedPath() + map[bool]string{true: "?…"}[short.RawQuery != ""]
}

// spoils says whether an error concerns one document alone; others break the listing.
func spoils(err error) bool {
	switch connector.ClassOf(err) {
	case connector.ClassDenied, connector.ClassInvalid, connector.ClassNotFound, connector.ClassTooLarge, connector.ClassUnsupported:
		return true
	}
	return false
}
