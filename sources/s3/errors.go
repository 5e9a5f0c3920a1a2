package s3

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// Classify gives the errors of the store their class, and a hint where there is one.
func (p *provider) Classify(err error) error {
	var classed *connector.Error
	var broken *smithy.DeserializationError
	var api smithy.APIError
	var answer *awshttp.ResponseError
	status, header := 0, http.Header{}
	if errors.As(err, &answer) && answer.Response != nil && answer.Response.Response != nil {
		status, header = answer.HTTPStatusCode(), answer.Response.Header
	}
	switch {
	case errors.As(err, &classed): // no credentials
		return err
	case errors.Is(err, errSameToken):
		return connector.Errorf(connector.ClassInvalid, "%w", errSameToken)
	case errors.Is(err, errNoListing), errors.Is(err, errNoToken), errors.Is(err, errNoKey):
		return connector.Errorf(connector.ClassTransient, "%w", bare(err))
	case errors.As(err, &api):
		return p.answered(status, header, api.ErrorCode(), api.ErrorMessage())
	case errors.As(err, &broken) && status < 300:
		return connector.Errorf(connector.ClassTransient, "the answer is cut or spoilt: %w", broken.Err)
	case status >= 300:
		return p.answered(status, header, "", "")
	}
	return nil
}

// bare is the error of this package without what the SDK put around it.
func bare(err error) error {
	for _, own := range []error{errNoListing, errNoToken, errNoKey} {
		if errors.Is(err, own) {
			return own
		}
	}
	return err
}

// answered classifies an answer by its code, or by its status where the code is missing or unknown.
func (p *provider) answered(status int, header http.Header, code, message string) error {
	class, hint := p.judge(status, header, code, message)
	text := fmt.Sprintf("HTTP %d", status)
	for _, part := range []string{code, message} {
		if part != "" && !strings.HasSuffix(text, part) {
			text += ": " + part
		}
	}
	e := &connector.Error{Class: class, Err: errors.New(text + hint)}
	if class == connector.ClassThrottled {
		e.RetryAfter = remote.RetryAfter(header)
	}
	return e
}

func (p *provider) judge(status int, header http.Header, code, message string) (class connector.Class, hint string) {
	switch code {
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired", "SecurityTokenExpired":
		return connector.ClassCredentials, "; the credentials ran out: renew them and run again"
	case "RequestTimeTooSkewed":
		return connector.ClassCredentials, "; set this machine's clock"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "InvalidClientTokenId", "UnrecognizedClientException", "InvalidSecurity", "XAdminUserNotFound":
		return connector.ClassCredentials, "; check access_key and secret_key, or where the AWS tools take them from"
	case "NoSuchBucket":
		return connector.ClassNotFound, fmt.Sprintf("; is there a bucket %q at this endpoint, for this account?", p.config.Bucket)
	case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return connector.ClassInvalid, p.regionHint(header)
	case "InvalidObjectState":
		return connector.ClassInvalid, "; the object is archived: restore it, or leave it out by exclude"
	case "InvalidRange":
		return connector.ClassChanged, ""
	case "SlowDown", "ServiceUnavailable", "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests", "TooManyRequestsException":
		return connector.ClassThrottled, ""
	case "RequestTimeout", "InternalError", "OperationAborted", "IncompleteBody":
		return connector.ClassTransient, ""
	case "NoSuchKey", "NotFound":
		return connector.ClassNotFound, ""
	}
	switch {
	case status == http.StatusForbidden, status == http.StatusUnauthorized, code == "AccessDenied":
		return connector.ClassDenied, p.deniedHint(header, message)
	case status == http.StatusNotFound:
		return connector.ClassNotFound, ""
	case status == http.StatusRequestedRangeNotSatisfiable, status == http.StatusPreconditionFailed:
		return connector.ClassChanged, ""
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return connector.ClassThrottled, ""
	case status == http.StatusNotImplemented, status == http.StatusMethodNotAllowed:
		return connector.ClassUnsupported, ""
	case status == http.StatusRequestTimeout, status >= 500:
		return connector.ClassTransient, ""
	case status >= 300 && status < 400:
		return connector.ClassInvalid, p.regionHint(header)
	case status >= 400:
		return connector.ClassInvalid, ""
	}
	return connector.ClassUnknown, ""
}

func (p *provider) regionHint(header http.Header) string {
	if region := header.Get("X-Amz-Bucket-Region"); region != "" {
		return fmt.Sprintf("; the bucket is in another region: set region to %s", region)
	}
	return "; the bucket is in another region or behind another endpoint: set region or endpoint"
}

// deniedHint says what may be missing.
func (p *provider) deniedHint(header http.Header, message string) string {
	said := strings.ToLower(message)
	pays := strings.Contains(said, "requester pays") || strings.Contains(said, "requester-pays") || strings.Contains(said, "requestpayer") || strings.Contains(said, "request-payer") ||
		header.Get("X-Amz-Request-Charged") != ""
	switch {
	case pays && !p.config.RequesterPays:
		return "; the bucket charges those who read it: set requester_pays if your account shall pay"
	case p.config.Anonymous:
		return "; the bucket is not public: take out anonymous and give credentials"
	}
	return "; the credentials need s3:ListBucket for the bucket and s3:GetObject for its objects (s3:GetObjectTagging for tags)"
}
