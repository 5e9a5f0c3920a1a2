package llmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// sound is a model that keeps every rule.
func sound() *Double {
	return &Double{Says: func(_ context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
		reply := Reflect(Call{User: r.User, System: r.System, JSON: r.Schema != nil})
		return connector.LLMAnswer{Text: reply.Text, TokensIn: reply.In, TokensOut: reply.Out}, nil
	}}
}

func TestSoundDouble(t *testing.T) { Run(t, func(*testing.T) connector.LLM { return sound() }) }

// broken models, each by the rule that must catch it.
type breaks struct {
	*Double
	complete func(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error)
	model    func() connector.LLMModel
	close    func() error
}

func (b *breaks) Complete(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
	if b.complete != nil {
		return b.complete(ctx, r)
	}
	return b.Double.Complete(ctx, r)
}

func (b *breaks) Model() connector.LLMModel {
	if b.model != nil {
		return b.model()
	}
	return b.Double.Model()
}

func (b *breaks) Close() error {
	if b.close != nil {
		return b.close()
	}
	return nil
}

type plant struct {
	rule  string
	plant func(b *breaks)
}

func plants() map[string]plant {
	after := func(change func(n int64, a *connector.LLMAnswer)) func(b *breaks) {
		return func(b *breaks) {
			var n atomic.Int64
			b.complete = func(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
				a, err := b.Double.Complete(ctx, r)
				change(n.Add(1), &a)
				return a, err
			}
		}
	}
	return map[string]plant{
		"no name": {"model", func(b *breaks) {
			b.model = func() connector.LLMModel { return connector.LLMModel{Provider: "p", Version: "1"} }
		}},
		"a negative limit":  {"model", func(b *breaks) { b.Is = connector.LLMModel{Provider: "p", Name: "n", Version: "1", ContextTokens: -1} }},
		"a price, no money": {"model", func(b *breaks) { b.Is = connector.LLMModel{Provider: "p", Name: "n", Version: "1", PriceIn: 1} }},
		"identity that moves": {"model", func(b *breaks) {
			n := 0
			b.model = func() connector.LLMModel {
				n++
				return connector.LLMModel{Provider: "p", Name: "n", Version: fmt.Sprint(n)}
			}
		}},
		"nothing said":    {"text", after(func(_ int64, a *connector.LLMAnswer) { a.Text = " " })},
		"always cut off":  {"text", after(func(_ int64, a *connector.LLMAnswer) { a.Finish = connector.FinishLength })},
		"negative tokens": {"text", after(func(_ int64, a *connector.LLMAnswer) { a.TokensOut = -1 })},
		"no JSON":         {"json", after(func(_ int64, a *connector.LLMAnswer) { a.Text = "no" })},
		"another shape":   {"json", after(func(_ int64, a *connector.LLMAnswer) { a.Text = `{"word":1}` })},
		"writes the schema": {"inputs", func(b *breaks) {
			b.complete = func(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
				copy(bytes.TrimSpace(r.Schema), "?")
				return b.Double.Complete(ctx, r)
			}
		}},
		"chance": {"deterministic", after(func(n int64, a *connector.LLMAnswer) { a.Text += fmt.Sprint(n) })},
		"answers of others": {"concurrency", func(b *breaks) {
			var last atomic.Value
			last.Store("")
			b.complete = func(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
				last.Store(r.User)
				time.Sleep(time.Millisecond)
				r.User = last.Load().(string) //nolint:forcetypeassert // it was stored above
				return b.Double.Complete(ctx, r)
			}
		}},
		"deaf to the context": {"cancel", func(b *breaks) {
			b.complete = func(_ context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
				return b.Double.Complete(context.Background(), r)
			}
		}},
		"no limit": {"limit", func(b *breaks) {
			b.complete = func(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
				r.MaxTokens = 1
				return b.Double.Complete(ctx, r)
			}
		}},
		"close fails": {"text", func(b *breaks) { b.close = func() error { return errors.New("no") } }},
	}
}

// record is a reporter that only remembers.
type record struct{ failed []string }

type stop struct{}

func (*record) Helper() {}
func (r *record) Errorf(format string, args ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}

func (r *record) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(stop{})
}

func (r *record) run(f func()) {
	defer func() {
		if e := recover(); e != nil && e != any(stop{}) {
			panic(e)
		}
	}()
	f()
}

func TestPlants(t *testing.T) {
	for name, p := range plants() {
		t.Run(name, func(t *testing.T) {
			for _, r := range rules() {
				if r.name != p.rule {
					continue
				}
				b := &breaks{Double: sound()}
				p.plant(b)
				var rec record
				rec.run(func() { check(t.Context(), &rec, r, b) })
				if len(rec.failed) == 0 {
					t.Errorf("rule %s lets it pass", p.rule)
				}
			}
		})
	}
	caught := map[string]bool{}
	for _, p := range plants() {
		caught[p.rule] = true
	}
	for _, r := range rules() {
		if !caught[r.name] {
			t.Errorf("no plant proves rule %s", r.name)
		}
	}
}

// TestFaultPlants: a client that takes every answer for a good one, or every fault for another, is caught by each fault.
func TestFaultPlants(t *testing.T) {
	server := Start(t, OpenAI(), nil)
	for _, f := range Faults() {
		for name, l := range map[string]connector.LLM{
			"careless":  &naive{at: server.Target(), err: func(error) error { return nil }},
			"desperate": &naive{at: server.Target(), err: func(error) error { return connector.Errorf(connector.ClassConflict, "no") }, always: true},
		} {
			var rec record
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			rec.run(func() { meet(&rec, ctx, server, f, l) })
			cancel()
			if len(rec.failed) == 0 && !(name == "careless" && f.Class == connector.ClassUnknown) {
				t.Errorf("%s: a %s client passes", f.Name, name)
			}
		}
	}
	leaky := &naive{at: server.Target(), err: func(error) error { return connector.Errorf(connector.ClassDenied, "refused: %s", Key) }, always: true}
	f := Faults()[4]
	var rec record
	rec.run(func() { meet(&rec, t.Context(), server, f, leaky) })
	if !strings.Contains(strings.Join(rec.failed, "\n"), "the key shows") {
		t.Errorf("%s: a key in an error passes: %v", f.Name, rec.failed)
	}
}

// naive is a client that does no more than it must.
type naive struct {
	at     Target
	err    func(error) error
	always bool
}

func (*naive) Model() connector.LLMModel {
	return connector.LLMModel{Provider: "n", Name: "n", Version: "1"}
}
func (*naive) Close() error { return nil }

func (n *naive) Complete(ctx context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
	body, err := json.Marshal(map[string]any{"model": n.at.Model, "temperature": 0, "max_tokens": r.MaxTokens, "messages": []any{map[string]string{"role": "user", "content": r.User}}})
	if err != nil {
		return connector.LLMAnswer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.at.BaseURL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return connector.LLMAnswer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+n.at.Key.Reveal())
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return connector.LLMAnswer{}, n.err(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || n.always {
		return connector.LLMAnswer{}, n.err(err)
	}
	var a struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if json.Unmarshal(raw, &a) != nil || len(a.Choices) == 0 {
		return connector.LLMAnswer{}, n.err(errors.New("odd"))
	}
	return connector.LLMAnswer{Text: a.Choices[0].Message.Content}, nil
}
