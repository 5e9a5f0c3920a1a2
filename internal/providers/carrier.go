package providers

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/kbsync/kbsync/connector"
)

// ErrContent is in the chain of a refusal for what a text says: no other request would help, and neither would another key.
var ErrContent = errors.New("the service refuses this content")

// Carrier carries what a provider asks of its service, whatever that is: one body as JSON, one answer, bounded in time and size. Safe
// for concurrent use. It never retries.
type Carrier struct {
	spec   *Spec
	sender Sender
	faults *Faults
}

// NewCarrier makes one from what a [Spec] says of the address, the key, the time and what errors advise; its Encode and Decode are not used.
func NewCarrier(s *Spec) (*Carrier, error) {
	if s.Sender != nil {
		return &Carrier{spec: s, sender: s.Sender, faults: NewFaults(s, s.Host)}, nil
	}
	c, err := newClient(s)
	if err != nil {
		return nil, err
	}
	return &Carrier{spec: s, sender: c, faults: c.faults}, nil
}

// Send sends body as JSON and gives the answer, of limit bytes at most, and the tokens that the service counted where it says so beside
// the answer. Its errors have classes, but for the context's own.
func (c *Carrier) Send(ctx context.Context, body any, limit int64) (answer []byte, tokens int, err error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, 0, c.Errorf(connector.ClassInvalid, "%v", err)
	}
	timeout := c.spec.Config.Timeout
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, tokens, err = c.sender.Send(limited, raw, limit)
	switch {
	case err == nil:
		return answer, tokens, nil
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case limited.Err() != nil:
		return nil, 0, c.Errorf(connector.ClassTransient, "%s gave no answer within %s: %s", c.faults.host, timeout, c.spec.slow())
	}
	return nil, 0, err
}

// Errorf makes an error of a class that names the provider and hides its secrets.
func (c *Carrier) Errorf(class connector.Class, format string, args ...any) error {
	return c.faults.Errorf(class, format, args...)
}

// Undecodable is the error for an answer that is no JSON of the right shape; err is that of encoding/json.
func (c *Carrier) Undecodable(body []byte, err error) error { return c.faults.undecodable(body, err) }

// Odd is the error for an answer without what was asked for: ClassTransient, with the words that stand in place of it.
func (c *Carrier) Odd(what string, body []byte) error {
	return c.Errorf(connector.ClassTransient, "the answer holds no %s but: %s", what, parse(body).message)
}

// Close ends idle connections.
func (c *Carrier) Close() { c.sender.Close() }

func (s *Spec) slow() string {
	if s.Slow != "" {
		return s.Slow
	}
	return "raise timeout, or lower batch"
}

func (s *Spec) wrong() string {
	if s.Wrong != "" {
		return s.Wrong
	}
	return "check model and dimensions"
}

// contentError is a refusal that is [ErrContent] and says it in the service's words.
type contentError struct{ text string }

func (e contentError) Error() string        { return e.text }
func (e contentError) Is(target error) bool { return target == ErrContent }
