// Package anthropic is the language models of Anthropic, by its Messages API.
//
// # Config
//
//	llm: { anthropic: { model: claude-haiku-4-5, api_key: env:ANTHROPIC_API_KEY } }
//
// # Limits
//
// JSON is asked for as the input of a tool that the model must use. There is no seed. Prices are those of the list, without the rebate for
// repeated beginnings of requests.
package anthropic

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/chats"
)

// The defaults.
const (
	DefaultModel   = "claude-haiku-4-5"
	DefaultBaseURL = "https://api.anthropic.com/v1"
	// apiVersion is the version of the API whose shapes are below.
	apiVersion = "2023-06-01"
)

// Config is the model's part of the configuration.
type Config struct {
	chats.Config `yaml:",inline"`
}

// Validate checks the keys and fills those that are empty.
func (c *Config) Validate() error {
	if c.Model == "" {
		c.Model = DefaultModel
	}
	return c.Complete("anthropic", DefaultBaseURL, "ANTHROPIC_API_KEY", chats.Find(cards(), c.Model))
}

// Plugin registers the language model under "anthropic".
func Plugin() connector.LLMPlugin {
	return connector.Define("anthropic", "Anthropic's models",
		Config{Config: chats.Config{Model: DefaultModel, BaseURL: DefaultBaseURL, Timeout: chats.DefaultTimeout}},
		func(_ context.Context, c *Config, _ connector.Env) (connector.LLM, error) { return Open(*c) })
}

// Open makes a language model. It sends nothing.
func Open(c Config) (*chats.Chat, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return chats.Open(chats.Spec{
		Provider: "anthropic", Version: "1", Config: c.Config, Card: chats.Find(cards(), c.Model), Path: "messages",
		KeyHeader: "x-api-key", Headers: map[string]string{"Anthropic-Version": apiVersion},
		Encode: func(r connector.LLMRequest) any { return encode(c.Model, r) }, Decode: decode,
	})
}

// body is that of POST /messages.
type body struct {
	Model       string    `json:"model"`
	MaxTokens   int       `json:"max_tokens"`
	Temperature int       `json:"temperature"`
	System      string    `json:"system,omitempty"`
	Messages    []message `json:"messages"`
	Tools       []tool    `json:"tools,omitempty"`
	Choice      *choice   `json:"tool_choice,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
}

type choice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

func encode(model string, r connector.LLMRequest) body {
	b := body{Model: model, MaxTokens: r.MaxTokens, System: r.System, Messages: []message{{Role: "user", Content: r.User}}}
	if len(r.Schema) > 0 {
		b.Tools = []tool{{Name: r.Name, Description: "Takes the answer.", Schema: r.Schema}}
		b.Choice = &choice{Type: "tool", Name: r.Name}
	}
	return b
}

func decode(body []byte) (connector.LLMAnswer, error) {
	var a struct {
		Type    string `json:"type"`
		Content []struct {
			Type  string          `json:"type"`
			Text  string          `json:"text"`
			Input json.RawMessage `json:"input"`
		} `json:"content"`
		Stop  string `json:"stop_reason"`
		Usage struct {
			In      int `json:"input_tokens"`
			Written int `json:"cache_creation_input_tokens"`
			Read    int `json:"cache_read_input_tokens"`
			Out     int `json:"output_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return connector.LLMAnswer{}, err
	}
	if a.Type != "message" && a.Content == nil {
		return connector.LLMAnswer{}, chats.ErrNoAnswer
	}
	answer := connector.LLMAnswer{TokensIn: a.Usage.In + a.Usage.Written + a.Usage.Read, TokensOut: a.Usage.Out}
	var text strings.Builder
	used := ""
	for _, part := range a.Content {
		switch part.Type {
		case "text":
			text.WriteString(part.Text)
		case "tool_use":
			used = string(part.Input)
		}
	}
	if answer.Text = text.String(); used != "" {
		answer.Text = used // what stands beside it is talk
	}
	switch a.Stop {
	case "max_tokens", "model_context_window_exceeded":
		answer.Finish = connector.FinishLength
	case "refusal":
		answer.Finish = connector.FinishRefused
	}
	return answer, nil
}

// cards are Anthropic's own figures.
func cards() []chats.Card {
	return []chats.Card{
		{Name: "claude-3-haiku", ContextTokens: 200000, MaxOutputTokens: 4096, PriceIn: 0.25, PriceOut: 1.25},
		{Name: "claude-3-5-haiku", ContextTokens: 200000, MaxOutputTokens: 8192, PriceIn: 0.80, PriceOut: 4},
		{Name: "claude-haiku-4-5", ContextTokens: 200000, MaxOutputTokens: 64000, PriceIn: 1, PriceOut: 5},
		{Name: "claude-sonnet-4", ContextTokens: 200000, MaxOutputTokens: 64000, PriceIn: 3, PriceOut: 15},
		{Name: "claude-sonnet-4-5", ContextTokens: 200000, MaxOutputTokens: 64000, PriceIn: 3, PriceOut: 15},
	}
}
