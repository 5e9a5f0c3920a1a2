// Package providerstest is a server that answers as embedding services do, and as they do when something is wrong. Its vectors follow from
// the texts, so that one which is given to another text is seen. It reads and writes the wire shapes by code of its own.
package providerstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// Key is what the server takes; it is long enough to be recognised in parts.
const Key = "sk-test-8c1f4be27a90d35e"

// Call is one request as the server understood it.
type Call struct {
	Model      string
	Texts      []string
	Kind       string // input type, task …; empty if none
	Dimensions int    // asked for; 0 if none
	Base64     bool
}

// Vec is one vector of an answer.
type Vec struct {
	Index  int
	Values []float32
}

// Wire is the shape of a service's requests and answers.
type Wire struct {
	// Path of the call; the server's base address ends before Below of it.
	Base, Below string
	// Key is the key that a request carries.
	Key func(http.Header) string
	// Read fails on anything that the service does not know, and where long texts would be cut.
	Read func(body []byte) (Call, error)
	// Write gives what is marshalled as the answer.
	Write func(c Call, vectors []Vec, tokens int) any
	// Indexed answers say which text a vector belongs to.
	Indexed bool
	// Dimensions of a vector if none are asked for.
	Dimensions int
	// Mixed gives the texts of a passage's request a part of their neighbours' vectors: a contextual model.
	Mixed bool
	// Agent is a word of the User-Agent; default kbsync.
	Agent string
}

// Server answers in the shape of a wire.
type Server struct {
	URL string // base address to configure
	// Other counts what reached the host that a redirect points at.
	Other *httptest.Server

	wire   Wire
	http   *httptest.Server
	mu     sync.Mutex
	calls  []Call
	other  int
	fault  *Fault
	faulty int
	storm  []Fault
	every  int
	served map[string]int
}

// Start runs a server until the test ends.
func Start(t *testing.T, wire Wire) *Server {
	t.Helper()
	s := &Server{wire: wire, served: map[string]int{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.Other = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.other++
	}))
	s.URL = s.http.URL + wire.Base
	t.Cleanup(func() {
		s.http.Close()
		s.Other.Close()
	})
	return s
}

// Fail spoils the next answers, or mends them all where f is nil.
func (s *Server) Fail(f *Fault, answers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.faulty = f, answers
}

// Storm spoils every n-th answer from now on, by each of the faults in turn.
func (s *Server) Storm(n int, faults []Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storm, s.every = faults, n
}

// Served is how often each text was given its vector in an answer that was not spoilt for it: what a service bills.
func (s *Server) Served() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.served)
}

// take notes a request and gives the fault that its answer has.
func (s *Server) take(c Call) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	fault := s.fault
	if s.faulty--; s.faulty <= 0 {
		s.fault = nil
	}
	if n := len(s.calls); fault == nil && s.every > 0 && n%s.every == 0 {
		fault = &s.storm[n/s.every%len(s.storm)]
	}
	if fault != nil && fault.spoil != nil && len(c.Texts) <= Spoilt {
		fault = nil // there is no such text
	}
	if fault == nil || fault.Class == connector.ClassUnknown || fault.Item {
		for i, text := range c.Texts {
			if fault == nil || !fault.Item || i != Spoilt {
				s.served[text]++
			}
		}
	}
	return fault
}

// Calls are the requests so far, refused ones included.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Strays is how many requests reached another host.
func (s *Server) Strays() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.other
}

// Vector is the unit vector of a text of a kind.
func Vector(kind, text string, dimensions int) []float32 {
	v := make([]float32, dimensions)
	square := 0.0
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%q %q", kind, text)
	x := h.Sum64() | 1
	for i := range v {
		x ^= x << 13 // xorshift64 (Marsaglia 2003)
		x ^= x >> 7
		x ^= x << 17
		v[i] = float32(x>>40)/(1<<23) - 1
		square += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(square))
	}
	return v
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	call, err := s.wire.Read(raw)
	fault := s.take(call)
	switch {
	case r.Method != http.MethodPost || r.URL.Path != s.wire.Base+s.wire.Below:
		http.Error(w, "no such path: "+r.URL.Path, http.StatusTeapot)
		return
	case !slices.Contains(strings.Fields(r.Header.Get("User-Agent")), s.agent()) || r.Header.Get("Content-Type") != "application/json":
		http.Error(w, "odd headers", http.StatusTeapot)
		return
	case s.wire.Key(r.Header) != Key:
		reply(w, http.StatusUnauthorized, map[string]any{"error": map[string]any{"message": "Incorrect API key provided: " + s.wire.Key(r.Header)}})
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	case slices.ContainsFunc(call.Texts, func(t string) bool { return t == "" }) || len(call.Texts) == 0:
		reply(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": "input cannot be an empty string"}})
		return
	}
	vectors, tokens := s.vectors(call)
	if fault != nil && fault.answer != nil {
		fault.answer(s, w, r)
		return
	}
	if fault != nil && fault.spoil != nil {
		vectors = fault.spoil(vectors)
	}
	body, err := json.Marshal(s.wire.Write(call, vectors, tokens))
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if fault != nil && fault.bytes != nil {
		body = fault.bytes(w, body)
	}
	_, _ = w.Write(body)
}

func (s *Server) agent() string { return cmp.Or(s.wire.Agent, "kbsync") }

func (s *Server) vectors(c Call) (vectors []Vec, tokens int) {
	dims := s.wire.Dimensions
	if c.Dimensions > 0 {
		dims = c.Dimensions
	}
	vectors = make([]Vec, len(c.Texts))
	for i, text := range c.Texts {
		vectors[i] = Vec{Index: i, Values: Vector(c.Kind, text, dims)}
		tokens += len(text)
	}
	if s.wire.Mixed {
		mix(vectors)
	}
	return vectors, tokens
}

// mix adds to each vector a tenth of the one before.
func mix(vectors []Vec) {
	for i := len(vectors) - 1; i > 0; i-- {
		square := 0.0
		for k, x := range vectors[i-1].Values {
			vectors[i].Values[k] += x / 10
			square += float64(vectors[i].Values[k]) * float64(vectors[i].Values[k])
		}
		for k := range vectors[i].Values {
			vectors[i].Values[k] /= float32(math.Sqrt(square))
		}
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
