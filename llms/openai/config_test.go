package openai

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/internal/chats"
)

func TestValidate(t *testing.T) {
	for want, c := range map[string]Config{
		"OPENAI_API_KEY":                  {},
		"there is no service":             {Service: "nobody"},
		"base_url is not given":           {Service: "azure", Config: chats.Config{Model: "m"}},
		"model is not given":              {Service: "ollama"},
		"json":                            {JSON: "yaml"},
		"max_cost needs the model's":      {Service: "vllm", Config: chats.Config{Model: "m", MaxCost: 1}},
		"must not be negative":            {Service: "vllm", Config: chats.Config{Model: "m", MaxCalls: -1}},
		"price_in and price_out must not": {Service: "vllm", Config: chats.Config{Model: "m", PriceIn: ptr(-1)}},
		"user or password":                {Config: chats.Config{Model: "m", BaseURL: "https://a:topsecret@example.com"}},
	} {
		err := c.Validate()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func ptr(x float64) *float64 { return &x }

func TestServices(t *testing.T) {
	for base, want := range map[string]string{
		"": "openai", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1": "dashscope", "https://API.deepseek.com": "deepseek", "https://open.bigmodel.cn/api/paas/v4": "zhipu",
		"https://x.openai.azure.com/openai/v1": "azure", "https://api.siliconflow.cn/v1": "siliconflow", "http://gateway:80": "compatible", "https://api.openai.com.evil.example": "compatible",
	} {
		if got := find("", base).name; got != want {
			t.Errorf("%s is %s, want %s", base, got, want)
		}
	}
}

// TestModel: what is known of a model, what the configuration says, and what is part of the identity.
func TestModel(t *testing.T) {
	model := func(c Config) connector.LLMModel {
		t.Helper()
		l, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		return l.Model()
	}
	base := Config{Config: chats.Config{Model: "gpt-4o-mini-2024-07-18", APIKey: "k", MaxCalls: 3, MaxTokens: 9, MaxCost: 2}}
	m := model(base)
	if m.PriceIn != 0.15 || m.Currency != "USD" || m.ContextTokens != 128000 || m.Budget != (connector.LLMBudget{Calls: 3, Tokens: 9, Cost: 2}) {
		t.Errorf("%+v", m)
	}
	elsewhere := base
	elsewhere.BaseURL, elsewhere.MaxCost = "http://gateway:80", 0
	if m := model(elsewhere); m.PriceIn != 0 || m.Currency != "" {
		t.Errorf("the price of another seller: %+v", m)
	}
	same, effort, words := base, base, base
	same.Timeout, same.APIKey, same.MaxCalls = 7, "other", 0
	effort.Effort, words.JSON = "low", inWords
	if model(same).Identity() != m.Identity() || model(effort).Identity() == m.Identity() || model(words).Identity() == m.Identity() {
		t.Error("the identity is not made of what changes an answer")
	}
	if s := fmt.Sprintf("%+v %v", base, m); strings.Contains(s, "other") {
		t.Errorf("a secret prints: %s", s)
	}
}

// TestManners: each way to ask for JSON, and the keys that some models do not take.
func TestManners(t *testing.T) {
	request := connector.LLMRequest{System: "Do.", User: "text", Name: "n", Schema: llmtest.Schema(), MaxTokens: 9, Seed: 4}
	for _, c := range []struct {
		config Config
		has    []string
		hasNot []string
	}{
		{Config{Service: "openai"}, []string{`"strict":true`, `"temperature":0`, `"seed":4`, `"max_tokens":9`}, []string{"JSON Schema", "max_completion_tokens"}},
		{Config{Service: "deepseek"}, []string{`"json_object"`, "JSON Schema", "numbers"}, []string{"json_schema", "seed"}},
		{Config{Service: "vllm", JSON: inWords}, []string{"JSON Schema"}, []string{"response_format"}},
		{Config{Service: "openai", Effort: "low", Config: chats.Config{Model: "gpt-5-mini"}}, []string{`"max_completion_tokens":9`, `"reasoning_effort":"low"`}, []string{"temperature", `"max_tokens"`}},
	} {
		server := llmtest.Start(&quiet{T: t}, llmtest.OpenAI(), nil)
		at := server.Target()
		c.config.BaseURL, c.config.APIKey = at.BaseURL, at.Key
		if c.config.Model == "" {
			c.config.Model = at.Model
		}
		l, err := Open(c.config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Complete(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		body := string(server.Calls()[0].Body)
		for _, part := range c.has {
			if !strings.Contains(body, part) {
				t.Errorf("%s: no %s in %s", c.config.Service, part, body)
			}
		}
		for _, part := range c.hasNot {
			if strings.Contains(body, part) {
				t.Errorf("%s: %s in %s", c.config.Service, part, body)
			}
		}
		if u := l.Usage(); u.Requests != 1 || u.TokensIn == 0 || u.TokensOut == 0 {
			t.Errorf("usage: %+v", u)
		}
		_ = l.Close()
	}
}

// quiet takes no notice of a request without a temperature.
type quiet struct{ *testing.T }

func (*quiet) Errorf(string, ...any) {}

// TestShapes: answers as services write them.
func TestShapes(t *testing.T) {
	for body, want := range map[string]connector.LLMAnswer{
		`{"choices":[{"message":{"content":null,"refusal":"I can't"},"finish_reason":"stop"}]}`:                                       {Text: "I can't", Finish: connector.FinishRefused},
		`{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},"finish_reason":"stop"}]}`:        {Text: "ab"},
		`{"choices":[{"message":{"content":"部分","reasoning_content":"想"},"finish_reason":"length"}],"usage":{"completion_tokens":5}}`: {Text: "部分", Finish: connector.FinishLength, TokensOut: 5},
		`{"choices":[{"message":{"content":""},"finish_reason":"sensitive"}]}`:                                                        {Finish: connector.FinishRefused},
	} {
		if got, err := decode([]byte(body)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	if _, err := decode([]byte(`{"choices":[{"message":{"content":"x"},"finish_reason":"insufficient_system_resource"}]}`)); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("%v", err)
	}
}
