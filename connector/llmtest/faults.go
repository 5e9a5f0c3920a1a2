package llmtest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kbsync/kbsync/connector"
)

// Fault is one way in which an answer goes wrong, and what must come of it.
type Fault struct {
	Name string
	// Class of the error; ClassUnknown means that an answer is given, with Finish and, where it is not nil, exactly Text.
	Class connector.Class
	// Wait that the error carries.
	Wait   time.Duration
	Finish connector.Finish
	Text   *string

	respond func(w http.ResponseWriter, r *http.Request)
	reply   func(Reply) Reply
	bytes   func(w http.ResponseWriter, body []byte) []byte
}

// Faults are all of them.
func Faults() []Fault { return slices.Concat(refusals(), broken(), spoilt()) }

func refuse(status int, body string, headers ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func refusals() []Fault {
	return []Fault{
		{Name: "429", Class: connector.ClassThrottled, respond: refuse(429, `{"error":{"message":"slow down"}}`)},
		{Name: "429 with Retry-After", Class: connector.ClassThrottled, Wait: 2 * time.Second, respond: refuse(429, `{}`, "Retry-After", "2")},
		{Name: "429 without quota", Class: connector.ClassDenied, respond: refuse(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`)},
		{Name: "no credit", Class: connector.ClassDenied, respond: refuse(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`)},
		{Name: "a wrong key, echoed", Class: connector.ClassDenied, respond: refuse(401, `{"error":{"message":"Incorrect API key provided: `+Key+`."}}`)},
		{Name: "a wrong key, its ends", Class: connector.ClassDenied, respond: refuse(403, `{"error":{"message":"key `+Key[:8]+`****`+Key[len(Key)-4:]+` may not"}}`)},
		{Name: "no such model", Class: connector.ClassNotFound, respond: refuse(404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`)},
		{Name: "too long", Class: connector.ClassInvalid, respond: refuse(400, `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`)},
		{Name: "too long, Anthropic", Class: connector.ClassInvalid, respond: refuse(400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`)},
		{Name: "no such key of a request", Class: connector.ClassUnsupported, respond: refuse(400, `{"error":{"message":"'response_format.type' : value must be 'text'","param":"response_format"}}`)},
		{Name: "500", Class: connector.ClassTransient, respond: refuse(500, `{"error":{"message":"internal"}}`)},
		{Name: "502 with a web page", Class: connector.ClassTransient, respond: refuse(502, `<html>Bad Gateway `+Key+`</html>`)},
		{Name: "overloaded", Class: connector.ClassTransient, respond: refuse(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)},
		{Name: "redirect", Class: connector.ClassUnsupported, respond: refuse(307, ``, "Location", "http://127.0.0.1:1/elsewhere")},
	}
}

func broken() []Fault {
	return []Fault{
		{Name: "slow", Class: connector.ClassTransient, respond: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{Name: "slow in the middle", Class: connector.ClassTransient, respond: func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"`))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}},
		{Name: "cut before the answer", Class: connector.ClassTransient, respond: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{Name: "cut in the middle", Class: connector.ClassTransient, bytes: func(w http.ResponseWriter, body []byte) []byte {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			return body[:len(body)/2]
		}},
		{Name: "truncated JSON", Class: connector.ClassTransient, bytes: func(_ http.ResponseWriter, body []byte) []byte { return body[:len(body)/2] }},
		{Name: "nothing", Class: connector.ClassTransient, bytes: func(http.ResponseWriter, []byte) []byte { return nil }},
		{Name: "an error with status 200", Class: connector.ClassTransient, respond: refuse(200, `{"error":{"message":"overloaded"}}`)},
		{Name: "a web page", Class: connector.ClassUnsupported, respond: refuse(200, "<!doctype html><p>Sign in</p>")},
		{Name: "another shape", Class: connector.ClassUnsupported, respond: refuse(200, `["no","object"]`)},
		{Name: "endless", Class: connector.ClassUnsupported, respond: func(w http.ResponseWriter, _ *http.Request) {
			blank := []byte(strings.Repeat(" ", 1<<16))
			for err := error(nil); err == nil; {
				_, err = w.Write(blank)
			}
		}},
	}
}

// spoilt are answers that arrive, and of which the model, not the service, made something else than what was asked for: they must be given
// as they are, for whoever reads the JSON.
func spoilt() []Fault {
	says := func(name, text string, finish connector.Finish) Fault {
		return Fault{Name: name, Finish: finish, Text: &text, reply: func(r Reply) Reply { r.Text, r.Finish = text, finish; return r }}
	}
	return []Fault{
		says("prose around the JSON", "Sure! Here it is:\n{\"word\":\"a\",\"numbers\":[1]}\nLet me know {if} it helps.", connector.FinishStop),
		says("a fence around the JSON", "```json\n{\"word\":\"a\",\"numbers\":[1]}\n```", connector.FinishStop),
		says("wrong types", `{"word":7,"numbers":"1"}`, connector.FinishStop),
		says("numbers out of range", `{"word":"a","numbers":[-1,99999999999999999999]}`, connector.FinishStop),
		says("cut off", `{"word":"a","numbers":[1,2`, connector.FinishLength),
		says("empty", "", connector.FinishStop),
		says("empty and cut off", "", connector.FinishLength),
		says("a refusal", "I cannot help with that.", connector.FinishRefused),
		{Name: "a request that is refused for its content", Finish: connector.FinishRefused, reply: func(r Reply) Reply { r.Blocked = true; return r }},
	}
}

// RunFaults checks a model against every fault of a service: each call is one request, errors have their class and show no key, and the
// model works again afterwards. RunFaults closes what open gives.
func RunFaults(t *testing.T, wire Wire, open func(t *testing.T, at Target) connector.LLM) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Run("server", func(t *testing.T) {
		server := Start(t, wire, nil)
		t.Run("cancel in the middle", func(t *testing.T) { interrupted(t, server, open(t, server.Target())) })
		for _, f := range Faults() {
			t.Run(f.Name, func(t *testing.T) {
				at := server.Target()
				if strings.HasPrefix(f.Name, "slow") {
					at.Timeout = time.Second / 4
				}
				l := open(t, at)
				meet(t, t.Context(), server, f, l)
				if err := l.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
		}
	})
	goleak.VerifyNone(t, before)
}

// meet spoils one answer.
func meet(t reporter, ctx context.Context, server *Server, f Fault, l connector.LLM) { //nolint:revive // as testing's own
	t.Helper()
	asked := len(server.Calls())
	server.Fail(&f, 1)
	got, err := l.Complete(ctx, structured("One fault."))
	server.Fail(nil, 0)
	if n := len(server.Calls()) - asked; n != 1 {
		t.Fatalf("%s: %d requests, want one", f.Name, n)
	}
	switch {
	case f.Class == connector.ClassUnknown && err != nil:
		t.Errorf("%s: %v, want an answer", f.Name, err)
	case f.Class == connector.ClassUnknown:
		if got.Finish != f.Finish || f.Text != nil && !sameText(got.Text, *f.Text) {
			t.Errorf("%s: %v, %q, want %v and the text as it was", f.Name, got.Finish, got.Text, f.Finish)
		}
	case connector.ClassOf(err) != f.Class:
		t.Errorf("%s: %v (%v), want class %v", f.Name, connector.ClassOf(err), err, f.Class)
	default:
		var classed *connector.Error
		if errors.As(err, &classed) && classed.RetryAfter != f.Wait {
			t.Errorf("%s: the error says to wait %s, want %s", f.Name, classed.RetryAfter, f.Wait)
		}
		if message := err.Error(); strings.Contains(message, Key) || strings.Contains(message, Key[:8]) || strings.Contains(message, Key[len(Key)-4:]) {
			t.Errorf("%s: the key shows: %v", f.Name, err)
		}
	}
	if strings.HasPrefix(f.Name, "slow") {
		return
	}
	if a, err := l.Complete(ctx, free("And now?")); err != nil || a.Text != "You said: And now?" {
		t.Errorf("%s: after the fault: %q, %v", f.Name, a.Text, err)
	}
}

// sameText: a wire that carries JSON as JSON may space it in its own way.
func sameText(got, want string) bool {
	plain := func(s string) string { return strings.Join(strings.Fields(s), "") }
	return got == want || strings.HasPrefix(want, "{") && plain(got) == plain(want)
}

// interrupted cancels a request that the server has.
func interrupted(t *testing.T, server *Server, l connector.LLM) {
	t.Helper()
	had := make(chan struct{})
	server.Fail(&Fault{respond: func(_ http.ResponseWriter, r *http.Request) { close(had); <-r.Context().Done() }}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() {
		select {
		case <-had:
			cancel()
		case <-ctx.Done():
		}
	})
	_, err := l.Complete(ctx, free("Wait."))
	cancel()
	group.Wait()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
