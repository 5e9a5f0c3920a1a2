// Package llmtest is the conformance suite of language models, and a server in the process that speaks the wire formats of the services
// (OpenAI's chat, Anthropic's messages, Gemini's generateContent) with their faults. It is proved by its own tests: for each rule there is
// a broken model that it must catch.
package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kbsync/kbsync/connector"
)

// Run checks the language model that open gives; Run closes it. It sends some forty requests: a model that costs money is better
// checked against a [Server] that answers as it does. What a request with a schema asks for is an object with a string "word" and a list of
// whole numbers "numbers".
func Run(t *testing.T, open func(t *testing.T) connector.LLM) {
	t.Helper()
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			check(t.Context(), t, r, open(t))
			goleak.VerifyNone(t, before)
		})
	}
}

// reporter is what a rule needs of testing.T; the suite's own tests record failures through it.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

type rule struct {
	name  string
	check func(*env)
}

type env struct {
	reporter
	ctx context.Context //nolint:containedctx // lives as long as the rule
	l   connector.LLM
}

func rules() []rule {
	return []rule{{"model", model}, {"text", text}, {"json", asJSON}, {"inputs", inputs}, {"deterministic", deterministic}, {"concurrency", concurrency},
		{"cancel", cancelled}, {"limit", limit}}
}

func check(ctx context.Context, t reporter, r rule, l connector.LLM) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	defer func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	r.check(&env{reporter: t, ctx: ctx, l: l})
}

// Schema is what the suite asks for.
func Schema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"},"numbers":{"type":"array","items":{"type":"integer"}}},` +
		`"required":["word","numbers"],"additionalProperties":false}`)
}

func free(user string) connector.LLMRequest {
	return connector.LLMRequest{Prompt: "llmtest/1", System: "Answer in one short sentence.", User: user, MaxTokens: 200}
}

func structured(user string) connector.LLMRequest {
	r := free(user)
	r.System, r.Name, r.Schema = "Give one word and two whole numbers that fit the text, as JSON.", "word_and_numbers", Schema()
	return r
}

func (v *env) complete(r connector.LLMRequest) connector.LLMAnswer {
	v.Helper()
	a, err := v.l.Complete(v.ctx, r)
	if err != nil {
		v.Fatalf("Complete: %v", err)
	}
	if a.TokensIn < 0 || a.TokensOut < 0 {
		v.Errorf("negative tokens: %+v", a)
	}
	return a
}

func model(v *env) {
	m := v.l.Model()
	if m.Provider == "" || m.Name == "" || m.Version == "" {
		v.Errorf("the model has no provider, name or version: %+v", m)
	}
	if m.ContextTokens < 0 || m.MaxOutputTokens < 0 || m.RequestsPerMinute < 0 || m.TokensPerMinute < 0 || m.Budget.Calls < 0 || m.Budget.Tokens < 0 {
		v.Errorf("a limit is negative: %+v", m)
	}
	if !(m.PriceIn >= 0) || !(m.PriceOut >= 0) || !(m.Budget.Cost >= 0) {
		v.Errorf("a price is negative or no number: %+v", m)
	}
	if (m.PriceIn > 0 || m.PriceOut > 0) && m.Currency == "" {
		v.Errorf("the prices have no currency")
	}
	v.complete(free("Say hello."))
	if after := v.l.Model(); after.Identity() != m.Identity() {
		v.Errorf("the identity changed when the model was used, from %s to %s", m.Identity(), after.Identity())
	}
}

func text(v *env) {
	for _, user := range []string{"Name a colour.", "说出一种颜色。", "色の名前を一つ。", "\"quoted\" \\ back\nslash \u2028 🦊 <tag> & {json: 1}"} {
		a := v.complete(free(user))
		if a.Finish != connector.FinishStop || strings.TrimSpace(a.Text) == "" {
			v.Errorf("%q: %v, %q", user, a.Finish, a.Text)
		}
	}
}

func asJSON(v *env) {
	for _, user := range []string{"Seven hills and three rivers.", "七座山，三条河。"} {
		a := v.complete(structured(user))
		var got struct {
			Word    *string `json:"word"`
			Numbers []int   `json:"numbers"`
		}
		start, end := strings.IndexByte(a.Text, '{'), strings.LastIndexByte(a.Text, '}')
		if a.Finish != connector.FinishStop || start < 0 || end < start {
			v.Fatalf("%q: %v, no JSON object in %.200q", user, a.Finish, a.Text)
		}
		if err := json.Unmarshal([]byte(a.Text[start:end+1]), &got); err != nil || got.Word == nil || got.Numbers == nil {
			v.Errorf("%q: %.200q is not what the schema asks for (%v)", user, a.Text, err)
		}
	}
}

// inputs: the caller's schema is its own.
func inputs(v *env) {
	r := structured("Two birds.")
	before := string(r.Schema)
	v.complete(r)
	if string(r.Schema) != before {
		v.Errorf("Complete changed the schema of its argument")
	}
}

func deterministic(v *env) {
	first := v.complete(structured("Five fish and one bird."))
	for range 3 {
		if again := v.complete(structured("Five fish and one bird.")); again.Text != first.Text || again.Finish != first.Finish {
			v.Errorf("the same request had other answers: %.200q, then %.200q", first.Text, again.Text)
		}
	}
}

func concurrency(v *env) {
	asked := []string{"One.", "Two.", "三。", "四。"}
	want := make([]string, len(asked))
	for i, user := range asked {
		want[i] = v.complete(structured(user)).Text
	}
	var group sync.WaitGroup
	got, failures := make([]string, 16), make([]error, 16)
	for i := range got {
		group.Go(func() {
			a, err := v.l.Complete(v.ctx, structured(asked[i%len(asked)]))
			got[i], failures[i] = a.Text, err
		})
	}
	group.Wait()
	for i := range got {
		if failures[i] != nil || got[i] != want[i%len(asked)] {
			v.Fatalf("asked concurrently, %q had the answer %.200q (%v), want %.200q", asked[i%len(asked)], got[i], failures[i], want[i%len(asked)])
		}
	}
}

func cancelled(v *env) {
	ctx, cancel := context.WithCancel(v.ctx)
	cancel()
	if _, err := v.l.Complete(ctx, free("Say hello.")); !errors.Is(err, context.Canceled) {
		v.Errorf("Complete with a cancelled context: %v, want context.Canceled", err)
	}
	v.complete(free("And it still works?"))
}

// limit: an answer of no tokens cannot be asked for.
func limit(v *env) {
	r := free("Say hello.")
	r.MaxTokens = 0
	if _, err := v.l.Complete(v.ctx, r); connector.ClassOf(err) != connector.ClassInvalid {
		v.Errorf("Complete with MaxTokens 0: %v, want an error of class invalid", err)
	}
}
