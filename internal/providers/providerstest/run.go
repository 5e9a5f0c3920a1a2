package providerstest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/providers"
)

// Options tell what Run cannot know.
type Options struct {
	// Model to configure, which has the wire's dimensions unasked.
	Model string
	// Kinds are the input types of passages and questions; empty where the provider has none.
	Kinds [2]string
}

// Config is what an embedder of the server is opened with.
func (s *Server) Config(model string) providers.Config {
	return providers.Config{Model: model, BaseURL: s.URL, APIKey: Key, Timeout: 10 * time.Second}
}

// Run checks a provider against every fault, and that each call is one request with the right texts and input type. open closes nothing.
func Run(t *testing.T, wire Wire, opts Options, open func(t *testing.T, c providers.Config) connector.Embedder) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Run("server", func(t *testing.T) {
		server := Start(t, wire)
		t.Run("calls", func(t *testing.T) { calls(t, server, opts, open) })
		t.Run("cancel in the middle", func(t *testing.T) { interrupted(t, server, open(t, server.Config(opts.Model))) })
		for _, f := range Faults() {
			if f.Indexed && !wire.Indexed {
				continue
			}
			t.Run(f.Name, func(t *testing.T) {
				c := server.Config(opts.Model)
				after := open(t, c)
				defer closing(t, after)
				e := after
				if strings.HasPrefix(f.Name, "slow") {
					c.Timeout = time.Second / 2
					e = open(t, c)
					defer closing(t, e)
				}
				meet(t, server, f, e, opts)
				got, err := after.Embed(t.Context(), texts())
				if err != nil {
					t.Fatalf("after the fault: %v", err)
				}
				sound(t, got, texts(), opts.Kinds[0], e.Model(), -1)
			})
		}
		if server.Strays() > 0 {
			t.Errorf("%d requests followed a redirect to another host", server.Strays())
		}
	})
	goleak.VerifyNone(t, before)
}

func closing(t *testing.T, e connector.Embedder) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// interrupted cancels a request that the server has.
func interrupted(t *testing.T, server *Server, e connector.Embedder) {
	defer closing(t, e)
	asked := len(server.Calls())
	server.Fail(&Fault{answer: func(_ *Server, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() {
		for len(server.Calls()) == asked && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	})
	_, err := e.Embed(ctx, texts())
	cancel()
	group.Wait()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

func texts() []string { return []string{"one", "二", "three\n3", "four \"quoted\" NaN"} }

// meet spoils one answer.
func meet(t *testing.T, server *Server, f Fault, e connector.Embedder, opts Options) {
	t.Helper()
	texts := texts()
	asked := len(server.Calls())
	server.Fail(&f, 1)
	got, err := e.Embed(t.Context(), texts)
	server.Fail(nil, 0)
	if n := len(server.Calls()) - asked; n != 1 {
		t.Fatalf("%d requests, want one", n)
	}
	secret := fmt.Sprintf("%v %+v %#v %s", err, err, err, err)
	if strings.Contains(secret, Key) || strings.Contains(secret, Key[:8]) || strings.Contains(secret, Key[len(Key)-4:]) {
		t.Errorf("the error shows the key: %v", err)
	}
	skip := -1
	switch {
	case f.Item:
		skip = Spoilt
		var be *connector.BatchError
		if !errors.As(err, &be) || len(be.Items) != 1 || connector.ClassOf(be.Items[Spoilt]) != f.Class {
			t.Fatalf("%v, want a refusal of text %d alone", err, Spoilt)
		}
	case f.Class == connector.ClassUnknown:
		if err != nil {
			t.Fatal(err)
		}
	case connector.ClassOf(err) != f.Class:
		t.Fatalf("%v: class %v, want %v", err, connector.ClassOf(err), f.Class)
	}
	for _, part := range f.Message {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	var ce *connector.Error
	if errors.As(err, &ce); ce != nil && ce.RetryAfter != f.Wait || ce == nil && f.Wait > 0 {
		t.Errorf("%v: want to wait %v", err, f.Wait)
	}
	if f.Item || err == nil {
		sound(t, got, texts, opts.Kinds[0], e.Model(), skip)
	}
}

// sound compares vectors with those of the texts, but for the one at skip.
func sound(t *testing.T, got [][]float32, texts []string, kind string, m connector.Model, skip int) {
	t.Helper()
	if len(got) != len(texts) {
		t.Fatalf("%d vectors for %d texts", len(got), len(texts))
	}
	for i, text := range texts {
		if i == skip {
			continue
		}
		same(t, got[i], Vector(kind, text, m.Dimensions), text)
	}
}

func same(t *testing.T, got, want []float32, text string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%q: %d dimensions, want %d", text, len(got), len(want))
	}
	for i := range got {
		if d := got[i] - want[i]; d > 1e-6 || d < -1e-6 {
			t.Fatalf("%q has the vector of another text", text)
		}
	}
}

// calls looks at what is sent.
func calls(t *testing.T, server *Server, opts Options, open func(t *testing.T, c providers.Config) connector.Embedder) {
	document, query := "passage – ", "问题: "
	c := server.Config(opts.Model)
	c.DocumentPrefix, c.QueryPrefix = &document, &query
	asked := len(server.Calls())
	e := open(t, c)
	defer closing(t, e)
	if n := len(server.Calls()) - asked; n != 0 {
		t.Errorf("opening a known model sent %d requests", n)
	}
	m := e.Model()
	if m.DocumentPrefix == m.QueryPrefix || !strings.HasSuffix(m.DocumentPrefix, document) || !strings.HasSuffix(m.QueryPrefix, query) {
		t.Errorf("prefixes %q and %q", m.DocumentPrefix, m.QueryPrefix)
	}
	got, err := e.Embed(t.Context(), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, got, []string{document + "a", document + "b"}, opts.Kinds[0], m, -1)
	v, err := e.EmbedQuery(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	same(t, v, Vector(opts.Kinds[1], query+"a", m.Dimensions), "a question")
	all := server.Calls()[asked:]
	if len(all) != 2 || all[0].Kind != opts.Kinds[0] || all[1].Kind != opts.Kinds[1] || all[0].Model != opts.Model || all[0].Dimensions != 0 {
		t.Errorf("sent %+v", all)
	}
}
