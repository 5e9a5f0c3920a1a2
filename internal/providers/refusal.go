package providers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// longestMessage is how much of a service's words an error repeats.
const longestMessage = 300

// problem is what a refusal says.
type problem struct {
	message string
	codes   string // its codes, types and reasons in lower case, separated by blanks
	param   string
	wait    time.Duration
}

// refusal makes the error of an answer that is no success.
func (f *Faults) refusal(resp *http.Response, body []byte) error {
	p := parse(body)
	if kind, _, _ := strings.Cut(resp.Header.Get("X-Amzn-Errortype"), ":"); kind != "" {
		p.codes += " " + strings.ToLower(kind)
	}
	status := resp.StatusCode
	class := classify(status, p)
	if status == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "" {
		class = connector.ClassThrottled
	}
	wait := time.Duration(0)
	if class == connector.ClassThrottled {
		if wait = RetryAfter(resp.Header, time.Now()); wait == 0 {
			wait = min(longestWait, p.wait)
		}
	}
	text := fmt.Sprintf("%s: HTTP %d", f.spec.Provider, status)
	if status/100 == 3 {
		text += ": " + f.host + " sends on to " + f.redact(resp.Header.Get("Location")) + ", and redirects are not followed: set base_url to where the service is"
	} else if p.message != "" {
		text += ": " + shorten(f.redact(p.message))
	}
	if hint := f.hint(status, class); hint != "" {
		text += "; " + hint
	}
	var err error = contentError{text}
	if !p.content() {
		err = errors.New(text)
	}
	return &connector.Error{Class: class, RetryAfter: wait, Err: err}
}

func (f *Faults) hint(status int, class connector.Class) string {
	switch {
	case class == connector.ClassDenied && (status == http.StatusTooManyRequests || status == http.StatusPaymentRequired):
		return "the account has no credit or quota left: waiting does not help"
	case class == connector.ClassDenied && f.spec.Denied != "":
		return f.spec.Denied
	case class == connector.ClassDenied && f.spec.Config.APIKey == "":
		return "api_key is not given"
	case class == connector.ClassDenied:
		return "check api_key, and that it may use " + f.spec.Config.Model + " at " + f.host
	case class == connector.ClassNotFound && f.spec.NotFound != "":
		return f.spec.NotFound
	case class == connector.ClassNotFound:
		return "check model (" + f.spec.Config.Model + ") and base_url"
	case class == connector.ClassUnsupported && status/100 == 4:
		return f.spec.wrong()
	}
	return ""
}

// classify decides what can be done about a refusal. Length is looked for first, whatever the status: some servers answer 500 to a long text.
func classify(status int, p problem) connector.Class {
	if status == http.StatusBadRequest || status == http.StatusUnprocessableEntity || status == http.StatusRequestEntityTooLarge || status == http.StatusInternalServerError {
		if class := byLength(status, p); class != connector.ClassUnknown {
			return class
		}
	}
	switch {
	case p.says("insufficient_quota", "billing_not_active", "billing_hard_limit", "account_deactivated", "arrearage", "api_key_invalid", "invalid_api_key"),
		p.tells("api key not valid", "insufficient balance", "account balance", "credit balance", "余额不足", "/ month", "per month", "tokens per day"),
		p.says("expiredtoken", "expiredtokenexception", "unrecognizedclientexception", "invalidclienttokenid", "invalidsignatureexception", "incompletesignature",
			"incompletesignatureexception", "missingauthenticationtoken", "missingauthenticationtokenexception", "accessdeniedexception"):
		return connector.ClassDenied
	case p.says("modelnotreadyexception"): // a 429 that is no fault of the pace
		return connector.ClassTransient
	case p.says("throttlingexception", "throttling", "toomanyrequestsexception", "servicequotaexceededexception"):
		return connector.ClassThrottled
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return connector.ClassDenied
	case status == http.StatusTooManyRequests:
		return connector.ClassThrottled
	case status == http.StatusNotFound, status == http.StatusGone, p.says("model_not_found", "deploymentnotfound"):
		return connector.ClassNotFound
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusFailedDependency, status == http.StatusTooEarly, status == http.StatusLocked:
		return connector.ClassTransient
	case status == http.StatusNotImplemented, status == http.StatusMethodNotAllowed, status/100 == 3:
		return connector.ClassUnsupported
	case status >= 500, status == 499: // nginx: the client went away
		return connector.ClassTransient
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return p.rejected()
	}
	return connector.ClassUnknown
}

// byLength finds refusals for too much text. The engine halves the request after either class. An internal error must speak of tokens or of
// the context to be one: "took too long" passes by itself.
func byLength(status int, p problem) connector.Class {
	long := p.says("context_length_exceeded", "string_above_max_length") || p.tells("context length", "input length", "too many tokens", "too many input tokens", "input is too large", "n_ctx")
	switch {
	case status == http.StatusInternalServerError && !long:
		return connector.ClassUnknown
	case status == http.StatusRequestEntityTooLarge,
		p.says("max_tokens_per_request"),
		p.tells("expected maximum item count", "expected maxitems"),
		p.tells("tokens per request", "tokens per submitted batch", "batch size", "at most 100 requests", "in one batch", "too many inputs", "too many texts", "array too long",
			"payload too large", "request too large", "number of texts"):
		return connector.ClassTooLarge
	case long, p.tells("maximum length", "max length", "maxlength", "too long", "must have less than", "exceeds the maximum", "exceed max", "token limit", "prompt contains"):
		return connector.ClassInvalid
	}
	return connector.ClassUnknown
}

// rejected is the class of a request that the service finds wrong. What the configuration causes would fail for every text:
// to halve such requests would only ask once for each text.
func (p problem) rejected() connector.Class {
	if p.content() {
		return connector.ClassInvalid
	}
	switch p.param {
	case "dimensions", "output_dimension", "outputDimensionality", "model", "encoding_format", "embedding_type", "input_type", "task", "taskType", "truncate", "truncation",
		"response_format", "temperature", "max_tokens", "max_completion_tokens", "reasoning_effort", "seed", "tools", "tool_choice":
		return connector.ClassUnsupported
	}
	if p.tells("does not exist", "unknown model", "model not found", "not found for api version", "model identifier is invalid") {
		return connector.ClassNotFound
	}
	if p.tells("dimension", "matryoshka", "unsupported parameter", "unknown field", "unknown name", "unrecognized", "extra inputs are not permitted", "extra_forbidden",
		"unexpected keyword", "support embedding", "not an embedding model", "encoding_format", "input_type", "model is required", "invalid model", "extraneous key", "on-demand throughput") {
		return connector.ClassUnsupported
	}
	return connector.ClassInvalid
}

// content tells a refusal of what a text says, in the codes of OpenAI, Azure, DashScope and Zhipu.
func (p problem) content() bool {
	return p.says("content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed", "datainspectionfailed", "1301")
}

func (p problem) says(codes ...string) bool {
	for _, code := range strings.Fields(p.codes) {
		for _, c := range codes {
			if code == c {
				return true
			}
		}
	}
	return false
}

func (p problem) tells(phrases ...string) bool {
	message := strings.ToLower(p.message)
	for _, phrase := range phrases {
		if strings.Contains(message, phrase) {
			return true
		}
	}
	return false
}

// parse reads the refusals of all services: {"error": {"message", "code", "type", "param", "details"}}, {"error": "…"}, {"message": "…"}, and FastAPI's
// {"detail": "…" or [{"msg": "…"}]}. Anything else is taken as text.
func parse(body []byte) problem {
	var p problem
	var whole any
	if json.Unmarshal(body, &whole) != nil {
		p.message = plain(string(body))
		return p
	}
	p.collect(whole, 0)
	if p.message == "" {
		p.message = plain(string(body))
	}
	return p
}

func (p *problem) collect(v any, depth int) {
	if depth > 4 {
		return
	}
	if list, ok := v.([]any); ok {
		for _, x := range list {
			p.collect(x, depth+1)
		}
		return
	}
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, key := range []string{"message", "msg", "error", "detail", "errors"} {
		if s, ok := object[key].(string); ok && s != "" && !strings.Contains(p.message, s) {
			p.message = strings.TrimSpace(p.message + " " + s)
		}
	}
	for _, key := range []string{"code", "type", "__type", "status", "reason", "error_type"} {
		if s, ok := object[key].(string); ok {
			p.codes += " " + strings.ToLower(s[strings.LastIndexByte(s, '#')+1:]) // AWS puts a namespace before #
		}
	}
	if s, ok := object["param"].(string); ok {
		p.param = s
	}
	if s, ok := object["retryDelay"].(string); ok { // google.rpc.RetryInfo
		if d, err := time.ParseDuration(s); err == nil {
			p.wait = max(p.wait, d)
		}
	}
	if location, ok := object["loc"].([]any); ok && len(location) > 0 { // FastAPI
		if s, ok := location[len(location)-1].(string); ok {
			p.param = s
		}
	}
	for _, key := range []string{"error", "detail", "details", "errors"} {
		p.collect(object[key], depth+1)
	}
}

// plain makes one line of a text, and a word of a web page.
func plain(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "<") {
		return "a web page"
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
}

func shorten(s string) string {
	s = plain(s)
	if len(s) <= longestMessage {
		return s
	}
	end := longestMessage
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
