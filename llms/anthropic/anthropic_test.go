package anthropic

import (
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
	server := llmtest.Start(t, llmtest.Anthropic(), nil)
	llmtest.Run(t, func(t *testing.T) connector.LLM { return open(t, server.Target()) })
}

func TestFaults(t *testing.T) { llmtest.RunFaults(t, llmtest.Anthropic(), open) }

// TestShapes: answers as the service writes them.
func TestShapes(t *testing.T) {
	for body, want := range map[string]connector.LLMAnswer{
		`{"type":"message","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":8}}`: {Text: "ab", TokensIn: 7, TokensOut: 8},
		`{"type":"message","content":[],"stop_reason":"refusal"}`:                                                                                     {Finish: connector.FinishRefused},
		`{"type":"message","content":[{"type":"tool_use","input":{"a":1}}],"stop_reason":"max_tokens"}`:                                               {Text: `{"a":1}`, Finish: connector.FinishLength},
		`{"type":"message","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}],"stop_reason":"model_context_window_exceeded"}`: {Text: "a", Finish: connector.FinishLength},
	} {
		if got, err := decode([]byte(body)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}
