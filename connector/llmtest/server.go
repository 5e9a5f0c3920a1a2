package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// Key is the one that a [Server] takes.
const Key = "sk-llmtest-0123456789abcdef"

// Call is a request that a [Server] had, as far as every wire says the same.
type Call struct {
	Model     string
	System    string
	User      string
	Schema    json.RawMessage // nil where no schema, or none on the wire, was asked for
	JSON      bool            // JSON was asked for, by a schema or without
	MaxTokens int
	// Temperature is nil where none was sent.
	Temperature *float64
	Header      http.Header
	Body        []byte
}

// Reply is what a server answers, before its wire gives it a shape.
type Reply struct {
	Text   string
	Finish connector.Finish
	// Blocked refuses the request itself: the model was not asked.
	Blocked bool
	In, Out int
}

// Server speaks one wire format.
type Server struct {
	URL   string
	wire  Wire
	reply func(Call) Reply

	mu    sync.Mutex
	calls []Call
	odd   []string
	fault *Fault
	left  int
}

// Start runs a server until the test ends. reply answers; nil gives [Reflect]. A request that the service itself would refuse (a wrong
// path or key, keys that it does not know, no temperature of 0) fails the test.
func Start(t testing.TB, wire Wire, reply func(Call) Reply) *Server {
	t.Helper()
	s := &Server{wire: wire, reply: reply}
	if s.reply == nil {
		s.reply = Reflect
	}
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		for _, odd := range s.odd {
			t.Errorf("the server had an odd request: %s", odd)
		}
	})
	return s
}

// Reflect answers with what was asked: the text, or an object for [Schema] with its first word and its lengths.
func Reflect(c Call) Reply {
	r := Reply{Text: "You said: " + c.User, In: len(c.System+c.User)/4 + 1}
	if c.JSON {
		word, _, _ := strings.Cut(c.User, " ")
		raw, _ := json.Marshal(map[string]any{"word": word, "numbers": []int{len(c.User), len([]rune(c.User))}})
		r.Text = string(raw)
	}
	r.Out = len(r.Text)/4 + 1
	return r
}

// Target is what a model of the server is opened with.
type Target struct {
	BaseURL string
	Key     connector.Secret
	Model   string
	Timeout time.Duration
}

// Target is that of the server.
func (s *Server) Target() Target {
	return Target{BaseURL: s.URL, Key: Key, Model: "test-model", Timeout: 10 * time.Second}
}

// Calls are the requests so far.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Fail spoils the next n answers; nil ends that.
func (s *Server) Fail(f *Fault, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.left = f, n
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	call, err := s.wire.read(body)
	call.Header, call.Body = r.Header.Clone(), body
	if call.Model == "" {
		call.Model = s.Target().Model
	}
	fault := s.note(call, r, err)
	if fault != nil && fault.respond != nil {
		fault.respond(w, r)
		return
	}
	reply := s.reply(call)
	if fault != nil && fault.reply != nil {
		reply = fault.reply(reply)
	}
	status, raw := s.wire.write(reply)
	if fault != nil && fault.bytes != nil {
		raw = fault.bytes(w, raw)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(raw)
}

// note keeps the call and what is wrong with it, and gives the fault that is due.
func (s *Server) note(call Call, r *http.Request, err error) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	odd := func(format string, args ...any) { s.odd = append(s.odd, fmt.Sprintf(format, args...)) }
	if err != nil {
		odd("%v in %.300s", err, call.Body)
	}
	if want := s.wire.path(s.Target().Model); r.URL.Path != want || r.Method != http.MethodPost {
		odd("%s %s, want POST %s", r.Method, r.URL.Path, want)
	}
	if key := s.wire.key(r.Header); key != Key {
		odd("the key is not sent as the service wants it")
	}
	for name, want := range s.wire.headers {
		if r.Header.Get(name) != want {
			odd("header %s is %q, want %q", name, r.Header.Get(name), want)
		}
	}
	if call.Temperature == nil || *call.Temperature != 0 {
		odd("no temperature of 0 in %.300s", call.Body)
	}
	if call.MaxTokens < 1 || strings.TrimSpace(call.User) == "" {
		odd("no user text, or no limit of the answer, in %.300s", call.Body)
	}
	if s.left == 0 {
		return nil
	}
	s.left--
	return s.fault
}
