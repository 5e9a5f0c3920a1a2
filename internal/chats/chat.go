package chats

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/providers"
)

// Spec is a provider: its wire shape and what it is configured with.
type Spec struct {
	// Provider is the plugin's kind.
	Provider string
	// Version and Options as in [connector.LLMModel].
	Version, Options string
	// Config is complete.
	Config Config
	Card   Card
	// Path of the call below Config.BaseURL.
	Path string
	// KeyHeader carries KeyScheme and the key; Headers are sent beside it, where Config.Headers do not have them.
	KeyHeader, KeyScheme string
	Headers              map[string]string
	// Encode makes the body of a request, Decode reads that of an answer. Decode's errors are those of encoding/json, errors with a class,
	// and [ErrNoAnswer].
	Encode func(connector.LLMRequest) any
	Decode func(body []byte) (connector.LLMAnswer, error)
}

// ErrNoAnswer is given by a Decode that finds none of what an answer is made of.
var ErrNoAnswer = errors.New("no answer")

// Usage is what a chat was used for so far.
type Usage struct {
	Requests            int64 // sent, those that failed included
	TokensIn, TokensOut int64 // as the service counted them
}

// Chat asks a language model. Safe for concurrent use.
type Chat struct {
	spec    Spec
	model   connector.LLMModel
	carrier *providers.Carrier
	usage   struct{ requests, in, out atomic.Int64 }
}

var _ connector.LLM = (*Chat)(nil)

// Open makes a chat. It sends nothing.
func Open(s Spec) (*Chat, error) {
	c := s.Config.carried()
	c.Headers = map[string]connector.Secret{}
	for name, value := range s.Headers {
		c.Headers[name] = connector.Secret(value)
	}
	maps.Copy(c.Headers, s.Config.Headers)
	carrier, err := providers.NewCarrier(&providers.Spec{
		Provider: s.Provider, Config: c, Path: s.Path, KeyHeader: s.KeyHeader, KeyScheme: s.KeyScheme,
		Slow: "raise timeout, or lower the strategy's max_tokens", Wrong: "check model, and the keys that say how it is asked",
	})
	if err != nil {
		return nil, err
	}
	return &Chat{spec: s, model: s.model(), carrier: carrier}, nil
}

// Model implements [connector.LLM].
func (c *Chat) Model() connector.LLMModel { return c.model }

// Usage is what was asked for so far.
func (c *Chat) Usage() Usage {
	return Usage{Requests: c.usage.requests.Load(), TokensIn: c.usage.in.Load(), TokensOut: c.usage.out.Load()}
}

// Complete implements [connector.LLM]: one request. Content that the service refuses to read is an answer that was refused.
func (c *Chat) Complete(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
	if err := ctx.Err(); err != nil {
		return connector.LLMAnswer{}, err
	}
	if r.MaxTokens < 1 {
		return connector.LLMAnswer{}, c.carrier.Errorf(connector.ClassInvalid, "the request allows an answer of %d tokens, want 1 or more", r.MaxTokens)
	}
	if most := c.model.MaxOutputTokens; most > 0 {
		r.MaxTokens = min(r.MaxTokens, most)
	}
	c.usage.requests.Add(1)
	body, _, err := c.carrier.Send(ctx, c.spec.Encode(r), answerLimit(r.MaxTokens))
	switch {
	case errors.Is(err, providers.ErrContent):
		return connector.LLMAnswer{Finish: connector.FinishRefused}, nil
	case err != nil:
		return connector.LLMAnswer{}, err
	}
	answer, err := c.spec.Decode(body)
	var classed *connector.Error
	switch {
	case errors.Is(err, ErrNoAnswer):
		return connector.LLMAnswer{}, c.carrier.Odd("answer of a model", body)
	case errors.As(err, &classed):
		return connector.LLMAnswer{}, c.carrier.Errorf(classed.Class, "%v", classed)
	case err != nil:
		return connector.LLMAnswer{}, c.carrier.Undecodable(body, err)
	}
	answer.TokensIn, answer.TokensOut = max(0, answer.TokensIn), max(0, answer.TokensOut)
	c.usage.in.Add(int64(answer.TokensIn))
	c.usage.out.Add(int64(answer.TokensOut))
	return answer, nil
}

// Close ends idle connections.
func (c *Chat) Close() error {
	c.carrier.Close()
	return nil
}

// answerLimit is how many bytes an answer may have. A token has some bytes, and up to six times as many where JSON escapes them; hidden
// reasoning and other matters that services add come on top.
func answerLimit(tokens int) int64 { return 4<<20 + 64*int64(min(tokens, 1<<20)) }
