package providers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/kbsync/kbsync/connector"
)

// refusalLimit is how much of a refusal is read.
const refusalLimit = 64 << 10

// Faults makes the errors of one service: each has a class, names the provider and hides its secrets.
type Faults struct {
	spec   *Spec
	host   string
	redact func(string) string
}

// NewFaults makes them for a provider; host is what messages call the service.
func NewFaults(s *Spec, host string) *Faults {
	return &Faults{spec: s, host: host, redact: redactor(&s.Config, s.Secrets...)}
}

// Errorf makes an error of a class.
func (f *Faults) Errorf(class connector.Class, format string, args ...any) error {
	return connector.Errorf(class, "%s: %s", f.spec.Provider, shorten(f.redact(fmt.Sprintf(format, args...))))
}

// Broken is the error of a request that got no answer.
func (f *Faults) Broken(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // the address may hold a secret in its query
	}
	return f.Errorf(connector.ClassTransient, "%s: %v", f.host, err)
}

// Read reads an answer of limit bytes at most. A refusal, an answer that breaks off and one that is larger are errors.
func (f *Faults) Read(resp *http.Response, limit int64) ([]byte, error) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, refusalLimit)) // the status says enough
		return nil, f.refusal(resp, body)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, f.Errorf(connector.ClassTransient, "%s: the answer broke off after %d bytes: %v", f.host, len(body), err)
	}
	if int64(len(body)) > limit {
		return nil, f.Errorf(connector.ClassUnsupported, "%s answered with more than %d bytes, more than what was asked for can take: check base_url", f.host, limit)
	}
	return body, nil
}

// undecodable is the error for an answer that is no JSON of the right shape.
func (f *Faults) undecodable(body []byte, err error) error {
	start := bytes.TrimSpace(body)
	var wrong *json.UnmarshalTypeError
	switch {
	case len(start) > 0 && start[0] == '<':
		return f.Errorf(connector.ClassUnsupported, "%s answered with a web page: check base_url", f.host)
	case errors.As(err, &wrong):
		return f.Errorf(connector.ClassUnsupported, "%s answered in another shape (%v): check base_url", f.host, err)
	}
	return f.Errorf(connector.ClassTransient, "%s: the answer is broken: %v", f.host, err)
}
