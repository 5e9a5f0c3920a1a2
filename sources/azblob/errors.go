package azblob

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// classify gives an error its class, and says what to try; nil for what is no affair of Azure's.
func (c *Config) classify(err error) error {
	var api *azcore.ResponseError
	var failed *azidentity.AuthenticationFailedError
	var syntax *xml.SyntaxError
	var classed *connector.Error
	var request *url.Error
	switch {
	case errors.As(err, &classed):
		return classed
	case errors.As(err, &failed):
		return tokenError(failed)
	case errors.As(err, &api):
		return c.apiError(api)
	case errors.As(err, &syntax):
		return connector.Errorf(connector.ClassTransient, "the answer cannot be read: %w", syntax)
	case strings.Contains(err.Error(), "DefaultAzureCredential"):
		return connector.Errorf(connector.ClassCredentials, "no identity gives a token: set account_key, sas_token or connection_string, run az login, or give the machine an identity: %s", line(strings.Join(strings.Fields(err.Error()), " ")))
	case errors.As(err, &request): // without its URL, which is a line of parameters
		return connector.Errorf(connector.ClassTransient, "%w", request.Err)
	}
	return nil
}

func (c *Config) apiError(api *azcore.ResponseError) error {
	text := said(api)
	code := bloberror.Code(api.ErrorCode)
	switch code {
	case bloberror.ContainerNotFound, bloberror.ContainerBeingDeleted, bloberror.ContainerDisabled:
		return connector.Errorf(connector.ClassNotFound, "there is no container %q in the account, or none that these credentials may see: %w", c.Container, text)
	case bloberror.BlobNotFound:
		return connector.Errorf(connector.ClassNotFound, "%w", text)
	case bloberror.AuthenticationFailed, bloberror.InvalidAuthenticationInfo, bloberror.AccountIsDisabled, bloberror.NoAuthenticationInformation, "AuthorizationFailure":
		return connector.Errorf(connector.ClassCredentials, "the credentials were refused or have expired%s: %w", c.hint(), text)
	case bloberror.ServerBusy:
		return throttled(api, text)
	case bloberror.InvalidRange, bloberror.ConditionNotMet:
		return connector.Errorf(connector.ClassChanged, "the blob changed: %w", text)
	case bloberror.BlobArchived, bloberror.BlobBeingRehydrated:
		return connector.Errorf(connector.ClassDenied, "the blob is archived: rehydrate it, or leave it out with exclude: %w", text)
	case bloberror.ResourceNotFound, "PublicAccessNotPermitted":
		return connector.Errorf(connector.ClassDenied, "%w; is the container public?", text)
	}
	switch s := api.StatusCode; {
	case s == http.StatusUnauthorized:
		return connector.Errorf(connector.ClassCredentials, "the credentials were refused or have expired%s: %w", c.hint(), text)
	case s == http.StatusForbidden:
		return connector.Errorf(connector.ClassDenied, "%w; reading and listing need the role Storage Blob Data Reader, or a signature with the permissions r and l (and t for tags)", text)
	case s == http.StatusNotFound:
		return connector.Errorf(connector.ClassNotFound, "%w", text)
	case s == http.StatusPreconditionFailed, s == http.StatusRequestedRangeNotSatisfiable:
		return connector.Errorf(connector.ClassChanged, "the blob changed: %w", text)
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable:
		return throttled(api, text)
	case s >= http.StatusInternalServerError, s == http.StatusRequestTimeout, s < http.StatusBadRequest:
		return connector.Errorf(connector.ClassTransient, "%w", text)
	}
	return connector.Errorf(connector.ClassInvalid, "%w", text)
}

// hint says what most often is wrong with the kind of credentials that is configured.
func (c *Config) hint() string {
	switch {
	case c.SASToken != "":
		return " (sas_token: look at its se, sp and sig)"
	case c.Anonymous:
		return " (the source is anonymous: is the container public?)"
	}
	return ""
}

func throttled(api *azcore.ResponseError, text error) error {
	e := &connector.Error{Class: connector.ClassThrottled, Err: text}
	if api.RawResponse != nil {
		e.RetryAfter = remote.RetryAfter(api.RawResponse.Header)
	}
	return e
}

// tokenError is about fetching a token, before any request to the container.
func tokenError(err *azidentity.AuthenticationFailedError) error {
	if r := err.RawResponse; r != nil && (r.StatusCode >= http.StatusInternalServerError || r.StatusCode == http.StatusTooManyRequests) {
		return connector.Errorf(connector.ClassTransient, "fetch a token: status %d", r.StatusCode)
	}
	text := err.Error()
	if at := strings.Index(text, "AADSTS"); at >= 0 { // Entra's own words, far down in a dump of the answer
		text = text[at:]
	}
	return connector.Errorf(connector.ClassCredentials, "the identity gives no token: %s", line(text))
}

// said is what the server said, in one short line: the SDK's error is a page of its request and its answer.
func said(api *azcore.ResponseError) error {
	text := api.ErrorCode
	if r := api.RawResponse; r != nil && r.Body != nil {
		var body struct{ Message, AuthenticationErrorDetail string }
		raw, err := io.ReadAll(io.LimitReader(r.Body, 16<<10)) // the SDK keeps the body in memory
		if err == nil && xml.Unmarshal(raw, &body) == nil && body.Message != "" {
			text += ": " + line(body.Message)
			if body.AuthenticationErrorDetail != "" {
				text += " " + line(body.AuthenticationErrorDetail)
			}
		}
	}
	if text == "" {
		text = http.StatusText(api.StatusCode)
	}
	return fmt.Errorf("status %d: %s", api.StatusCode, text)
}

// line is the first line of a text, short.
func line(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > 500 {
		s = strings.ToValidUTF8(s[:500], "") + "…"
	}
	return s
}
