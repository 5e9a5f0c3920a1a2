package convert

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// longestMessage is how much of a service's words an error repeats.
const longestMessage = 300

// unreachable is the error of a request that got no answer.
func (c *client) unreachable(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // without the address
	}
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		return connector.Errorf(connector.ClassUnsupported, "the certificate of %s is not trusted: %w", c.host, err)
	}
	class := remote.Network(err)
	if class == connector.ClassUnknown {
		class = connector.ClassTransient
	}
	return connector.Errorf(class, "%s cannot be reached, or broke off: %w; check url, and that the service runs", c.host, err)
}

// refused is the error of an answer that is no success.
func (c *client) refused(resp *http.Response, said []byte) error {
	status := resp.StatusCode
	text := fmt.Sprintf("HTTP %d", status)
	if status/100 == 3 {
		text += ": " + c.host + " sends on to " + shorten(c.redact(resp.Header.Get("Location"))) + ", and redirects are not followed"
	} else if s := shorten(c.redact(message(said))); s != "" {
		text += ": " + s
	}
	class, hint := c.classify(status)
	if status == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "" {
		class = connector.ClassThrottled
	}
	e := &connector.Error{Class: class}
	if class == connector.ClassThrottled {
		e.RetryAfter = remote.RetryAfter(resp.Header)
	}
	if hint != "" {
		text += "; " + hint
	}
	e.Err = errors.New(text)
	return e
}

// classify decides what can be done about a status.
func (c *client) classify(status int) (connector.Class, string) {
	switch status {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		if c.cfg.APIKey == "" {
			return connector.ClassCredentials, "api_key is not given"
		}
		return connector.ClassCredentials, "check api_key"
	case http.StatusPaymentRequired, http.StatusForbidden:
		return connector.ClassDenied, "check api_key, and what it may do at " + c.host
	case http.StatusNotFound, http.StatusGone:
		return connector.ClassNotFound, "check url: there is no " + c.api.path + " at " + c.host
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return connector.ClassUnsupported, "check url and the version of the service"
	case http.StatusTooManyRequests:
		return connector.ClassThrottled, ""
	case http.StatusRequestEntityTooLarge:
		return connector.ClassTooLarge, "the service takes no document as large as this"
	case http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return connector.ClassInvalid, "the service cannot read this document: damaged, encrypted, or of a format that it does not know"
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return connector.ClassTransient, ""
	}
	switch {
	case status == http.StatusInternalServerError && c.api.spoiled:
		return connector.ClassUnknown, "the service failed at this document, or is itself at fault: see its log"
	case status >= 500:
		return connector.ClassTransient, ""
	case status >= 400:
		return connector.ClassInvalid, ""
	}
	return connector.ClassUnsupported, "set url to where the service is"
}

// message is what a refusal says: {"detail": "…"}, {"error": "…"}, {"message": "…"}, FastAPI's {"detail": [{"msg": "…"}]}, or the text itself.
func message(said []byte) string {
	var object map[string]any
	if json.Unmarshal(said, &object) != nil {
		s := strings.TrimSpace(string(said))
		if strings.HasPrefix(s, "<") {
			return "a web page"
		}
		return s
	}
	var words []string
	for _, key := range []string{"message", "error", "detail"} {
		switch v := object[key].(type) {
		case string:
			words = append(words, v)
		case []any:
			for _, x := range v {
				if m, ok := x.(map[string]any); ok {
					words = append(words, fmt.Sprint(m["msg"]))
				}
			}
		}
	}
	if len(words) == 0 {
		return string(said)
	}
	return strings.Join(words, "; ")
}

// shorten makes one line of at most longestMessage bytes.
func shorten(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) <= longestMessage {
		return s
	}
	end := longestMessage
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
