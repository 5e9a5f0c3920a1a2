package providers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/kbsync/kbsync/connector"
)

// Role says what a text is for.
type Role int

// The roles.
const (
	Document Role = iota // a passage that is stored
	Query                // a question
)

// Request is what a provider's Encode makes a body of.
type Request struct {
	Model string
	Texts []string // with their prefix
	Role  Role
	// Dimensions to ask for; 0: none.
	Dimensions int
}

// Answer is what a provider's Decode finds in a body.
type Answer struct {
	Items []Item
	// Tokens that the service says it counted, and bills; 0 if it does not say.
	Tokens int
}

// Spec is a provider: its wire shape and what it is configured with.
type Spec struct {
	// Provider is the plugin's kind.
	Provider string
	// Name of the model in its identity, where Config.Model is only one of several ways to ask for it; empty: Config.Model.
	Name string
	// Version changes whenever the same text may get another vector for a reason that neither the model's name, its dimensions nor
	// its prefixes tell. The service's address is no such reason: the same model elsewhere gives the same vectors.
	Version string
	// Config is checked.
	Config Config
	// Card of the model, with the limits of the service; the zero card where nothing is known.
	Card Card
	// Path of the call below Config.BaseURL.
	Path string
	// KeyHeader carries KeyScheme and the key.
	KeyHeader, KeyScheme string
	// Roles name the input types of passages and questions; equal where the service does not tell them apart. They
	// stand, in angle brackets, before the prefixes in the model that the engine sees, since they change vectors as prefixes do; they are
	// not sent as text.
	Roles [2]string
	// NotFound says what to try where the service does not know the model, Denied where it refuses the credentials.
	NotFound, Denied string
	// Slow says what to try where no answer comes in time, Wrong where the service cannot do what is asked; empty: what helps an embedder.
	Slow, Wrong string
	// Secrets beside those of Config that no error may show.
	Secrets []connector.Secret
	// Sender carries the requests, in place of a client over HTTP that knows Config.BaseURL, Path, KeyHeader and Config.Headers. The
	// embedder closes it. Host is then what messages call the service.
	Sender Sender
	Host   string
	// Encode makes the body of a request, Decode reads that of an answer. Decode's errors are those of encoding/json.
	Encode func(Request) any
	Decode func(body []byte) (Answer, error)
}

// Usage is what an embedder was used for so far.
type Usage struct {
	Requests int64 // sent, those that failed included
	Tokens   int64 // as the service counted them; 0 if it does not say
}

// Embedder asks a service for vectors. Safe for concurrent use.
type Embedder struct {
	spec     Spec
	model    connector.Model
	prefixes [2]string // by role
	ask      int       // dimensions to ask for
	carrier  *Carrier
	requests atomic.Int64
	tokens   atomic.Int64
}

var _ connector.Embedder = (*Embedder)(nil)

// Open makes an embedder. It sends nothing if the model's dimensions are known or configured; else it asks for one
// embedding, of the word "dimensions", to learn them.
func Open(ctx context.Context, s Spec) (*Embedder, error) {
	if err := s.Card.Allows(s.Config.Dimensions); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Provider, err)
	}
	model, err := s.model()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Provider, err)
	}
	e := &Embedder{spec: s, model: model, prefixes: [2]string{model.DocumentPrefix, model.QueryPrefix}}
	if s.Config.Dimensions != s.Card.Dimensions {
		e.ask = s.Config.Dimensions
	}
	if s.Roles[Document] != s.Roles[Query] {
		e.model.DocumentPrefix = "<" + s.Roles[Document] + ">" + model.DocumentPrefix
		e.model.QueryPrefix = "<" + s.Roles[Query] + ">" + model.QueryPrefix
	}
	if e.carrier, err = NewCarrier(&e.spec); err != nil {
		return nil, err
	}
	if e.model.Dimensions > 0 {
		return e, nil
	}
	v, err := e.call(ctx, []string{"dimensions"}, Document)
	if err != nil {
		e.carrier.Close()
		return nil, fmt.Errorf("%s: the dimensions of %s are not known, and asking for one embedding to learn them failed (set dimensions to open without the network): %w",
			s.Provider, s.Config.Model, err)
	}
	e.model.Dimensions = len(v[0])
	return e, nil
}

// Model implements [connector.Embedder].
func (e *Embedder) Model() connector.Model { return e.model }

// Usage is what was asked for so far.
func (e *Embedder) Usage() Usage { return Usage{Requests: e.requests.Load(), Tokens: e.tokens.Load()} }

// Embed implements [connector.Embedder]: one request, whatever the number of texts. A text whose vector is not finite or all zero is
// refused alone; any other fault of an answer spoils the whole of it.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, ctx.Err()
	}
	return e.call(ctx, texts, Document)
}

// EmbedQuery implements [connector.Embedder], with the prefix and the input type of questions.
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := e.call(ctx, []string{text}, Query)
	var be *connector.BatchError
	if errors.As(err, &be) {
		return nil, be.Items[0]
	}
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

// Close ends idle connections.
func (e *Embedder) Close() error {
	e.carrier.Close()
	return nil
}

func (e *Embedder) call(ctx context.Context, texts []string, role Role) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if most := e.model.MaxItems; most > 0 && len(texts) > most { // a service of one text might give it the vector of another
		return nil, e.carrier.Errorf(connector.ClassTooLarge, "%d texts in a request of %d at most", len(texts), most)
	}
	request := Request{Model: e.spec.Config.Model, Texts: texts, Role: role, Dimensions: e.ask}
	if p := e.prefixes[role]; p != "" {
		request.Texts = make([]string, len(texts))
		for i, text := range texts {
			request.Texts[i] = p + text
		}
	}
	e.requests.Add(1)
	body, tokens, err := e.carrier.Send(ctx, e.spec.Encode(request), answerLimit(len(texts), e.model.Dimensions))
	if err != nil {
		return nil, err
	}
	answer, err := decode(body, e.spec.Decode)
	if err != nil {
		return nil, e.carrier.Undecodable(body, err)
	}
	if len(answer.Items) == 0 { // LM Studio and gateways answer so
		return nil, e.carrier.Odd("vectors", body)
	}
	e.tokens.Add(int64(max(0, answer.Tokens, tokens)))
	return e.check(answer.Items, len(texts))
}

// answerLimit is how many bytes an answer may have: more than any way of writing its numbers takes, also those of another model
// than the one that was asked for, so that its size is what the error names.
func answerLimit(texts, dimensions int) int64 {
	return 1<<20 + int64(texts)*(1024+32*max(4096, int64(dimensions)))
}

// authorize puts the key and the configured headers on a request.
func (s *Spec) authorize(h http.Header) {
	if key := s.Config.APIKey.Reveal(); key != "" {
		h.Set(s.KeyHeader, s.KeyScheme+key)
	}
	for name, value := range s.Config.Headers {
		h.Set(name, value.Reveal())
	}
}
