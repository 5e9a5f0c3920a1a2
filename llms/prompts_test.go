// Package llms_test leads each language model through what the engine does with it.
package llms_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/internal/chats"
	"github.com/kbsync/kbsync/internal/counters"
	"github.com/kbsync/kbsync/internal/llmcall"
	"github.com/kbsync/kbsync/internal/llmjson"
	"github.com/kbsync/kbsync/internal/prompts"
	"github.com/kbsync/kbsync/llms/anthropic"
	"github.com/kbsync/kbsync/llms/gemini"
	"github.com/kbsync/kbsync/llms/openai"
)

type kind struct {
	wire llmtest.Wire
	open func(c chats.Config) (*chats.Chat, error)
}

func kinds() []kind {
	return []kind{
		{llmtest.OpenAI(), func(c chats.Config) (*chats.Chat, error) { return openai.Open(openai.Config{Config: c}) }},
		{llmtest.OpenAI(), func(c chats.Config) (*chats.Chat, error) {
			return openai.Open(openai.Config{Config: c, Service: "vllm"})
		}},
		{llmtest.Anthropic(), func(c chats.Config) (*chats.Chat, error) { return anthropic.Open(anthropic.Config{Config: c}) }},
		{llmtest.Gemini(), func(c chats.Config) (*chats.Chat, error) { return gemini.Open(gemini.Config{Config: c}) }},
	}
}

// TestPromptsOverTheWire: a first answer that cannot be used, one that can, and then a second run that sends nothing, repairs included.
func TestPromptsOverTheWire(t *testing.T) {
	passage := prompts.Passage{Title: "手册", Text: "泵的压力为7巴。其温度不得超过60度。"}
	for name, c := range map[string]struct {
		first llmtest.Reply
		calls int
		fails bool
	}{
		"at once":        {llmtest.Reply{Text: `{"propositions":["泵的压力为7巴。","泵的温度不得超过60度。"]}`}, 1, false},
		"prose":          {llmtest.Reply{Text: "好的：\n```json\n{\"propositions\":[\"泵的压力为7巴。\",\"泵的温度不得超过60度。\"]}\n```"}, 1, false},
		"wrong types":    {llmtest.Reply{Text: `{"propositions":"泵"}`}, 2, false},
		"translated":     {llmtest.Reply{Text: `{"propositions":["The pump has 7 bar."]}`}, 2, false},
		"empty":          {llmtest.Reply{}, 2, false},
		"cut off":        {llmtest.Reply{Text: `{"propositions":["泵`, Finish: connector.FinishLength}, 2, false},
		"refused":        {llmtest.Reply{Text: "no", Finish: connector.FinishRefused}, 1, true},
		"blocked":        {llmtest.Reply{Blocked: true}, 1, true},
		"wrong for ever": {llmtest.Reply{Text: "?"}, 2, true},
	} {
		for _, k := range kinds() {
			var asked atomic.Int64
			server := llmtest.Start(t, k.wire, func(llmtest.Call) llmtest.Reply {
				if asked.Add(1) == 1 || name == "wrong for ever" {
					return c.first
				}
				return llmtest.Reply{Text: `{"propositions":["泵的压力为7巴。","泵的温度不得超过60度。"]}`, In: 5, Out: 5}
			})
			at := server.Target()
			store := &llmcall.Memory{}
			for range 2 {
				l, err := k.open(chats.Config{Model: at.Model, BaseURL: at.BaseURL, APIKey: at.Key, Timeout: at.Timeout, MaxCalls: 2})
				if err != nil {
					t.Fatal(err)
				}
				caller, err := llmcall.New(l, llmcall.Options{Store: store, Counter: counters.Chars{}})
				if err != nil {
					t.Fatal(err)
				}
				got, err := prompts.Propositions(t.Context(), caller, passage, 300)
				var u *llmjson.UnusableError
				if errors.As(err, &u) != c.fails || !c.fails && (err != nil || strings.Join(got, "") != "泵的压力为7巴。泵的温度不得超过60度。") {
					t.Errorf("%s, %s: %q, %v", name, k.wire.Name, got, err)
				}
				if n := len(server.Calls()); n != c.calls {
					t.Errorf("%s, %s: %d requests after a run, want %d", name, k.wire.Name, n, c.calls)
				}
				if err := caller.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestNothingWithoutBudget: the request that would go over the budget reaches no service.
func TestNothingWithoutBudget(t *testing.T) {
	for _, k := range kinds() {
		server := llmtest.Start(t, k.wire, nil)
		at := server.Target()
		l, err := k.open(chats.Config{Model: at.Model, BaseURL: at.BaseURL, APIKey: at.Key, Timeout: at.Timeout, MaxTokens: 100, Headers: map[string]connector.Secret{"X-Team": "docs"}})
		if err != nil {
			t.Fatal(err)
		}
		caller, err := llmcall.New(l, llmcall.Options{Counter: counters.Chars{}})
		if err != nil {
			t.Fatal(err)
		}
		var over *llmcall.BudgetError
		if _, err := prompts.Title(t.Context(), caller, prompts.Passage{Text: "A text."}, 300); !errors.As(err, &over) || len(server.Calls()) != 0 {
			t.Errorf("%s: %v after %d requests", k.wire.Name, err, len(server.Calls()))
		}
		if _, err := l.Complete(t.Context(), connector.LLMRequest{User: "direct", MaxTokens: 9}); err != nil || server.Calls()[0].Header.Get("x-team") != "docs" {
			t.Errorf("%s: %v", k.wire.Name, err)
		}
		if err := caller.Close(); err != nil {
			t.Error(err)
		}
	}
}
