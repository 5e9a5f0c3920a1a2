package gemini

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/internal/chats"
)

func open(t *testing.T, at llmtest.Target) connector.LLM {
	t.Helper()
	l, err := Open(Config{Config: chats.Config{Model: at.Model, BaseURL: at.BaseURL, APIKey: at.Key, Timeout: at.Timeout}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestConformance(t *testing.T) {
	server := llmtest.Start(t, llmtest.Gemini(), nil)
	llmtest.Run(t, func(t *testing.T) connector.LLM { return open(t, server.Target()) })
}

func TestFaults(t *testing.T) { llmtest.RunFaults(t, llmtest.Gemini(), open) }

// TestShapes: answers as the service writes them.
func TestShapes(t *testing.T) {
	for body, want := range map[string]connector.LLMAnswer{
		`{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"thoughtsTokenCount":4}}`: {Text: "ab", TokensIn: 1, TokensOut: 6},
		`{"candidates":[{"finishReason":"MAX_TOKENS"}],"usageMetadata":{"promptTokenCount":1,"thoughtsTokenCount":9}}`:                                                                    {Finish: connector.FinishLength, TokensIn: 1, TokensOut: 9},
		`{"candidates":[{"finishReason":"RECITATION"}]}`:          {Finish: connector.FinishRefused},
		`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`: {Finish: connector.FinishRefused},
	} {
		if got, err := decode([]byte(body)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

// TestThinking: the budget of hidden reasoning is sent, and part of the identity.
func TestThinking(t *testing.T) {
	server := llmtest.Start(t, llmtest.Gemini(), nil)
	at := server.Target()
	none := 0
	c := Config{Config: chats.Config{Model: "models/" + at.Model, BaseURL: at.BaseURL, APIKey: at.Key}}
	plain, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	c.ThinkingBudget = &none
	l, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Complete(t.Context(), connector.LLMRequest{User: "x", MaxTokens: 5}); err != nil || !strings.Contains(string(server.Calls()[0].Body), `"thinkingBudget":0`) {
		t.Errorf("%v", err)
	}
	if l.Model().Identity() == plain.Model().Identity() {
		t.Error("it changes answers, and the identity is the same")
	}
	none = -2
	if err := c.Validate(); err == nil {
		t.Error("a budget of -2 passes")
	}
	_ = l.Close()
}
