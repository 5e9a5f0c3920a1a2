// Package embedserver answers OpenAI's embeddings API with any embedder, so that every tool which speaks that protocol can use it.
//
// A request is refused whole or answered whole, and no text is ever cut: one that the model cannot take is named by its index. Texts are
// passed on in calls within the model's limits, no more of them at a time than Options.Concurrency, whichever requests they belong to. As
// many requests again as Options.Queue may wait; further ones are told to come back.
//
// # Limits
//
// Token arrays are refused: what their numbers mean, only the model of their tokenizer knows. The protocol has no partial answer, so
// that vectors of a request in which one text is refused are lost. Nothing is tried again here: the client is told what may pass.
package embedserver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/counters"
)

// What a server does where its options say nothing.
const (
	DefaultQueue     = 32
	DefaultTimeout   = 5 * time.Minute
	DefaultMaxBody   = 8 << 20
	DefaultMaxInputs = 2048   // as OpenAI
	DefaultMaxTokens = 300000 // as OpenAI
)

// Role says what texts are for.
type Role int

// The roles.
const (
	Document Role = iota // passages that are stored
	Query                // questions
)

// String is "document" or "query".
func (r Role) String() string {
	if r == Query {
		return "query"
	}
	return "document"
}

// ParseRole reads document, passage and search_document, query and search_query.
func ParseRole(s string) (Role, error) {
	switch s {
	case "document", "passage", "search_document":
		return Document, nil
	case "query", "search_query":
		return Query, nil
	}
	return 0, fmt.Errorf("unknown input type %q: choose document (or passage, search_document) or query (or search_query)", s)
}

// Options of a [Server]. Zero values are the defaults.
type Options struct {
	// Role of the texts where neither the request's input_type nor the end of the model's name says it.
	Role Role
	// Aliases are further names of the model, for tools that know a fixed list.
	Aliases []string
	// Key, if set, is what /v1 asks for, as a bearer token or in the header api-key. Without one, /v1 answers programs of this machine alone.
	Key connector.Secret
	// WithoutKey takes requests from other machines though there is no key.
	WithoutKey bool
	// Concurrency is how many calls of the embedder there are at a time; default one a core, at least two.
	Concurrency int
	// Queue is how many requests may wait beside those that are worked on; negative: none.
	Queue int
	// Timeout bounds a request from the end of its body to the last vector.
	Timeout time.Duration
	// MaxBody bounds a body in bytes, MaxInputs its texts, MaxTokens the tokens of all of them, by the model's counter.
	MaxBody   int64
	MaxInputs int
	MaxTokens int
	// Drain, when closed, ends Serve once the requests under way are answered.
	Drain <-chan struct{}
	// Log is told of faults, and of every request at the level of debugging; never of texts.
	Log *slog.Logger
	// Version is told by the metric kbsync_build_info.
	Version string
}

// Server is an http.Handler over an embedder, which it does not close. Safe for concurrent use.
type Server struct {
	embedder connector.Embedder
	model    connector.Model
	opts     Options
	log      *slog.Logger
	counter  connector.Counter
	key      [sha256.Size]byte
	names    []string
	started  int64
	mux      *http.ServeMux
	metrics  *metrics
	pace     *pace
	// bodyTimeout is how long a body may take to arrive.
	bodyTimeout time.Duration

	tickets chan struct{} // requests that were let in
	slots   chan struct{} // calls of the embedder

	gate   sync.RWMutex // held for reading by every request
	closed bool
}

var _ http.Handler = (*Server)(nil)

// New makes a server.
func New(e connector.Embedder, opts Options) (*Server, error) {
	opts.complete()
	s := &Server{embedder: e, model: e.Model(), opts: opts, log: opts.Log, key: sha256.Sum256([]byte(opts.Key.Reveal())), started: time.Now().Unix(), bodyTimeout: bodyTimeout}
	if s.model.Dimensions < 1 || s.model.Name == "" {
		return nil, fmt.Errorf("embedserver: the embedder %s has a model without name or dimensions", s.model.Provider)
	}
	if s.counter = s.model.Counter; s.counter == nil {
		var err error
		if s.counter, err = counters.Named("cl100k"); err != nil {
			return nil, fmt.Errorf("embedserver: %w", err)
		}
	}
	s.names = []string{s.model.Name, s.model.Provider + "/" + s.model.Name}
	for _, alias := range opts.Aliases {
		if err := checkAlias(alias); err != nil {
			return nil, err
		}
		if !slices.Contains(s.names, alias) {
			s.names = append(s.names, alias)
		}
	}
	s.slots = make(chan struct{}, opts.Concurrency)
	s.tickets = make(chan struct{}, opts.Concurrency+opts.Queue)
	s.pace = newPace(s.model)
	s.metrics = newMetrics(s)
	s.mux = s.routes()
	return s, nil
}

func (o *Options) complete() {
	if o.Concurrency <= 0 {
		o.Concurrency = max(2, runtime.GOMAXPROCS(0))
	}
	switch {
	case o.Queue == 0:
		o.Queue = DefaultQueue
	case o.Queue < 0:
		o.Queue = 0
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.MaxInputs <= 0 {
		o.MaxInputs = DefaultMaxInputs
	}
	if o.MaxTokens <= 0 {
		o.MaxTokens = DefaultMaxTokens
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

func checkAlias(alias string) error {
	switch {
	case strings.TrimSpace(alias) == "" || strings.ContainsFunc(alias, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("embedserver: the alias %q is empty or holds a blank", alias)
	case hasRole(alias):
		return fmt.Errorf("embedserver: the alias %q: every name may be given %s or %s at its end, leave that out", alias, suffix(Query), suffix(Document))
	}
	return nil
}

func suffix(r Role) string { return ":" + r.String() }

func hasRole(name string) bool {
	return strings.HasSuffix(name, suffix(Query)) || strings.HasSuffix(name, suffix(Document))
}

// resolve finds the role that a model's name asks for; ok is false for the name of another model.
func (s *Server) resolve(name string) (role Role, ok bool) {
	if slices.Contains(s.names, name) {
		return s.opts.Role, true
	}
	for _, role := range []Role{Document, Query} {
		if base, found := strings.CutSuffix(name, suffix(role)); found && slices.Contains(s.names, base) {
			return role, true
		}
	}
	return 0, false
}

// ServeHTTP implements [http.Handler]. A panic of the embedder or its counter is the fault of that request alone.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if s.closed {
		refuse(w, unavailable("this server is stopping"))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Stop waits until no request is under way; those that come later are refused. After it the embedder may be closed.
func (s *Server) Stop() {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.closed = true
}

// draining says that the server takes no new connections.
func (s *Server) draining() bool {
	select {
	case <-s.opts.Drain:
		return true
	default:
		return false
	}
}

// cause is why a context ended.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return context.Cause(ctx)
	}
	return err
}
