package openai

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
	server := llmtest.Start(t, llmtest.OpenAI(), nil)
	llmtest.Run(t, func(t *testing.T) connector.LLM { return open(t, server.Target()) })
}

func TestFaults(t *testing.T) { llmtest.RunFaults(t, llmtest.OpenAI(), open) }
