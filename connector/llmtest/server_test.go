package llmtest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// ending is a test that ends when it is told to, and remembers what failed.
type ending struct {
	testing.TB
	rec      record
	cleanups []func()
}

func (e *ending) Helper()                           {}
func (e *ending) Cleanup(f func())                  { e.cleanups = append(e.cleanups, f) }
func (e *ending) Errorf(format string, args ...any) { e.rec.Errorf(format, args...) }

// TestOddRequests: what the service itself would refuse, or would answer otherwise than is wanted, fails the test.
func TestOddRequests(t *testing.T) {
	openAI := `{"model":"m","temperature":0,"max_tokens":5,"messages":[{"role":"user","content":"x"}]}`
	anthropic := `{"model":"m","temperature":0,"max_tokens":5,"messages":[{"role":"user","content":"x"}]}`
	gemini := `{"contents":[{"role":"user","parts":[{"text":"x"}]}],"generationConfig":{"temperature":0,"maxOutputTokens":5}}`
	swap := func(body, old, fresh string) string { return strings.Replace(body, old, fresh, 1) }
	for _, c := range []struct {
		name string
		wire Wire
		path string
		body string
		key  string
		want string // empty: nothing is odd
	}{
		{"OpenAI", OpenAI(), "/chat/completions", openAI, Key, ""},
		{"path", OpenAI(), "/completions", openAI, Key, "want POST"},
		{"key", OpenAI(), "/chat/completions", openAI, "other", "the key"},
		{"temperature", OpenAI(), "/chat/completions", swap(openAI, `"temperature":0`, `"temperature":1`), Key, "temperature"},
		{"no limit", OpenAI(), "/chat/completions", swap(openAI, `"max_tokens":5,`, ``), Key, "no limit"},
		{"blank", OpenAI(), "/chat/completions", swap(openAI, `"x"`, `" "`), Key, "no user text"},
		{"unknown key", OpenAI(), "/chat/completions", swap(openAI, `"model"`, `"temprature":1,"model"`), Key, "unknown field"},
		{"JSON without the word", OpenAI(), "/chat/completions", swap(openAI, `"model"`, `"response_format":{"type":"json_object"},"model"`), Key, "must contain the word"},
		{"Anthropic", Anthropic(), "/messages", anthropic, Key, ""},
		{"a tool by choice", Anthropic(), "/messages", swap(anthropic, `"model"`, `"tools":[{"name":"a","input_schema":{}}],"tool_choice":{"type":"auto"},"model"`), Key, "must be used"},
		{"two messages", Anthropic(), "/messages", swap(anthropic, `{"role"`, `{"role":"user","content":"y"},{"role"`), Key, "one of the user"},
		{"Gemini", Gemini(), "/models/test-model:generateContent", gemini, Key, ""},
		{"additionalProperties", Gemini(), "/models/test-model:generateContent", swap(gemini, `"temperature"`, `"responseSchema":{"additionalProperties":false},"temperature"`), Key, "Unknown name"},
	} {
		e := &ending{TB: t}
		s := Start(e, c.wire, nil)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + c.key, "X-Api-Key": c.key, "X-Goog-Api-Key": c.key, "Anthropic-Version": "2023-06-01"} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		for _, f := range e.cleanups {
			f()
		}
		if all := strings.Join(e.rec.failed, "\n"); (len(e.rec.failed) > 0) != (c.want != "") || !strings.Contains(all, c.want) {
			t.Errorf("%s: %q, want %q", c.name, all, c.want)
		}
	}
}
