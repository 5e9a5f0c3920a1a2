package embedserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// failure is a refusal in OpenAI's words: {"error": {"message", "type", "param", "code"}}.
type failure struct {
	status  int
	kind    string
	param   string // empty: null
	code    string // empty: null
	message string
	wait    time.Duration // for Retry-After; 0: none is sent
}

// The types of OpenAI's errors.
const (
	kindInvalid   = "invalid_request_error"
	kindServer    = "server_error"
	kindRequests  = "requests"
	kindQuota     = "insufficient_quota"
	kindForbidden = "permission_error"
)

// statusGone stands in the metrics for a client that did not wait; nginx made the number up.
const statusGone = 499

// invalid is a refusal of what the client sent.
func invalid(param, format string, args ...any) *failure { return coded(param, "", format, args...) }

// coded is invalid with a code.
func coded(param, code, format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, kind: kindInvalid, param: param, code: code, message: fmt.Sprintf(format, args...)}
}

// unavailable asks to come back later.
func unavailable(message string) *failure {
	return &failure{status: http.StatusServiceUnavailable, kind: kindServer, code: "unavailable", message: message, wait: time.Second}
}

// errTimeout ends a request that takes longer than Options.Timeout.
var errTimeout = errors.New("the request took too much time")

// failed is what the client is told of an error of the embedder.
func failed(err error) *failure {
	var refusal *failure
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.Is(err, errTimeout):
		return &failure{status: http.StatusServiceUnavailable, kind: kindServer, code: "timeout", message: errTimeout.Error() + ": send fewer texts at a time"}
	}
	f := &failure{status: http.StatusInternalServerError, kind: kindServer, message: err.Error()}
	var classed *connector.Error
	switch connector.ClassOf(err) {
	case connector.ClassThrottled:
		f.status, f.kind, f.code, f.wait = http.StatusTooManyRequests, kindRequests, "rate_limit_exceeded", time.Second
		if errors.As(err, &classed) {
			f.wait = max(f.wait, classed.RetryAfter)
		}
	case connector.ClassTransient:
		f.status, f.code = http.StatusServiceUnavailable, "unavailable"
	case connector.ClassDenied, connector.ClassCredentials, connector.ClassNotFound:
		// Not the client's: its own key and model were accepted.
		f.status, f.code = http.StatusBadGateway, "embedder_refused"
	case connector.ClassInvalid, connector.ClassTooLarge:
		f.status, f.kind = http.StatusBadRequest, kindInvalid
	}
	return f
}

// Error makes a failure the error of a call, where the server itself is what refuses.
func (f *failure) Error() string { return f.message }

// refuse answers a request that was not taken.
func refuse(w http.ResponseWriter, f *failure) {
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	if f.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.wait.Seconds()))))
	}
	type detail struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Param   any    `json:"param"`
		Code    any    `json:"code"`
	}
	answer(w, f.status, map[string]detail{"error": {f.message, f.kind, null(f.param), null(f.code)}})
}

// answer writes JSON. That a client is gone concerns nobody.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}
