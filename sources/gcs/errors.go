package gcs

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// classify gives an error its class, and says what to try; nil for what is no affair of Google's.
func (c *Config) classify(err error) error {
	var token *auth.Error
	var api *googleapi.Error
	var classed *connector.Error
	var request *url.Error
	switch {
	case errors.As(err, &classed):
		return classed
	case errors.Is(err, storage.ErrBucketNotExist):
		return connector.Errorf(connector.ClassNotFound, "there is no bucket %q; bucket is its name alone, without gs://", c.Bucket)
	case errors.Is(err, storage.ErrObjectNotExist):
		return connector.Errorf(connector.ClassNotFound, "there is no such object, or no such bucket any more")
	case errors.Is(err, errBroke):
		return connector.Errorf(connector.ClassTransient, "%w", errBroke)
	case errors.As(err, &token):
		return tokenError(token)
	case errors.As(err, &api):
		return c.apiError(api)
	case strings.Contains(err.Error(), "storage: bad CRC"), strings.Contains(err.Error(), "storage: partial request"):
		return connector.Errorf(connector.ClassTransient, "%w", err)
	case errors.As(err, &request): // without its URL, which is a line of parameters
		return connector.Errorf(connector.ClassTransient, "%w", request.Err)
	}
	return nil
}

func (c *Config) apiError(api *googleapi.Error) error {
	text := said(api)
	switch code := api.Code; {
	case payer(api, text):
		return connector.Errorf(connector.ClassDenied, "the bucket's requester pays: set user_project to a project that the account may bill: %w", text)
	case code == http.StatusUnauthorized && c.Anonymous:
		return connector.Errorf(connector.ClassCredentials, "the bucket is not public, and the source is anonymous: %w", text)
	case code == http.StatusUnauthorized:
		return connector.Errorf(connector.ClassCredentials, "the credentials were refused or have expired: %w", text)
	case limited(api):
		return &connector.Error{Class: connector.ClassThrottled, RetryAfter: remote.RetryAfter(api.Header), Err: text}
	case code == http.StatusForbidden:
		return connector.Errorf(connector.ClassDenied, "%w; the account needs storage.objects.list and storage.objects.get (roles/storage.objectViewer) on the bucket", text)
	case code == http.StatusNotFound:
		return connector.Errorf(connector.ClassNotFound, "%w", text)
	case code == http.StatusPreconditionFailed, code == http.StatusRequestedRangeNotSatisfiable:
		return connector.Errorf(connector.ClassChanged, "the object changed: %w", text)
	case code >= http.StatusInternalServerError, code == http.StatusRequestTimeout, code < http.StatusBadRequest:
		return connector.Errorf(connector.ClassTransient, "%w", text)
	}
	return connector.Errorf(connector.ClassInvalid, "%w", text)
}

// payer recognises the refusal of a bucket whose requester pays.
func payer(api *googleapi.Error, text error) bool {
	if api.Code != http.StatusBadRequest && api.Code != http.StatusForbidden {
		return false
	}
	return strings.Contains(text.Error(), "UserProject") || strings.Contains(text.Error(), "requester pays")
}

// tokenError is about fetching a token, before any request to the bucket.
func tokenError(err *auth.Error) error {
	if r := err.Response; r != nil && (r.StatusCode >= http.StatusInternalServerError || r.StatusCode == http.StatusTooManyRequests) {
		return connector.Errorf(connector.ClassTransient, "fetch a token: status %d", r.StatusCode)
	}
	var body struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}
	if json.Unmarshal(err.Body, &body) != nil || body.Code == "" {
		body.Code = "refused"
	}
	return connector.Errorf(connector.ClassCredentials, "the credentials give no token: %s", strings.TrimSpace(body.Code+" "+body.Description))
}

// limited says whether the server asks for fewer requests, which Google says with a 403 too.
func limited(api *googleapi.Error) bool {
	switch api.Code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	case http.StatusForbidden:
		for _, e := range api.Errors {
			if strings.HasSuffix(strings.ToLower(e.Reason), "ratelimitexceeded") || e.Reason == "quotaExceeded" {
				return true
			}
		}
	}
	return false
}

// said is what the server said, in one short line: its body may be a page of anything.
func said(api *googleapi.Error) error {
	text := api.Message
	var body struct {
		Code    string `xml:"Code"`
		Message string `xml:"Message"`
		Details string `xml:"Details"`
	}
	if text == "" && xml.Unmarshal([]byte(api.Body), &body) == nil {
		text = strings.TrimSpace(body.Code + ": " + body.Message + " " + body.Details)
	}
	if line, _, cut := strings.Cut(text, "\n"); cut {
		text = line
	}
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	if text == "" {
		text = http.StatusText(api.Code)
	}
	return fmt.Errorf("status %d: %s", api.Code, text)
}
