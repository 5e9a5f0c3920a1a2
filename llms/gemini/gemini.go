// Package gemini is the language models of Google's Gemini API.
//
// # Config
//
//	llm: { gemini: { model: gemini-2.5-flash-lite, api_key: env:GEMINI_API_KEY } }
//	llm: { gemini: { model: gemini-2.5-flash, thinking_budget: 0, api_key: env:GEMINI_API_KEY } }
//
// # Limits
//
// Hidden reasoning is billed and counts towards the length of the answer: models that reason unasked need thinking_budget: 0, or answers
// may be cut off.
package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/chats"
)

// The defaults.
const (
	DefaultModel   = "gemini-2.5-flash-lite"
	DefaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"
)

// Config is the model's part of the configuration.
type Config struct {
	chats.Config   `yaml:",inline"`
	ThinkingBudget *int `yaml:"thinking_budget" doc:"tokens of hidden reasoning; 0: none, -1: as many as the model likes; default the model's own"`
}

// Validate checks the keys and fills those that are empty.
func (c *Config) Validate() error {
	if c.Model == "" {
		c.Model = DefaultModel
	}
	c.Model = strings.TrimPrefix(c.Model, "models/")
	if c.ThinkingBudget != nil && *c.ThinkingBudget < -1 {
		return errors.New("gemini: thinking_budget: want -1, 0 or a number of tokens")
	}
	return c.Complete("gemini", DefaultBaseURL, "GEMINI_API_KEY", chats.Find(cards(), c.Model))
}

// Plugin registers the language model under "gemini".
func Plugin() connector.LLMPlugin {
	return connector.Define("gemini", "Google's Gemini models",
		Config{Config: chats.Config{Model: DefaultModel, BaseURL: DefaultBaseURL, Timeout: chats.DefaultTimeout}},
		func(_ context.Context, c *Config, _ connector.Env) (connector.LLM, error) { return Open(*c) })
}

// Open makes a language model. It sends nothing.
func Open(c Config) (*chats.Chat, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	options := ""
	if c.ThinkingBudget != nil {
		options = fmt.Sprintf("thinking_budget=%d", *c.ThinkingBudget)
	}
	return chats.Open(chats.Spec{
		Provider: "gemini", Version: "1", Options: options, Config: c.Config, Card: chats.Find(cards(), c.Model),
		Path: "models/" + url.PathEscape(c.Model) + ":generateContent", KeyHeader: "x-goog-api-key",
		Encode: func(r connector.LLMRequest) any { return encode(r, c.ThinkingBudget) }, Decode: decode,
	})
}

// body is that of POST models/…:generateContent.
type body struct {
	System   *content  `json:"systemInstruction,omitempty"`
	Contents []content `json:"contents"`
	Config   settings  `json:"generationConfig"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	Text string `json:"text"`
	// Thought parts are hidden reasoning.
	Thought bool `json:"thought,omitempty"`
}

type settings struct {
	Temperature int       `json:"temperature"`
	MaxTokens   int       `json:"maxOutputTokens"`
	Seed        int       `json:"seed"`
	MimeType    string    `json:"responseMimeType,omitempty"`
	Schema      any       `json:"responseSchema,omitempty"`
	Thinking    *thinking `json:"thinkingConfig,omitempty"`
}

type thinking struct {
	Budget int `json:"thinkingBudget"`
}

func encode(r connector.LLMRequest, budget *int) body {
	b := body{Contents: []content{{Role: "user", Parts: []part{{Text: r.User}}}}, Config: settings{MaxTokens: r.MaxTokens, Seed: r.Seed}}
	if r.System != "" {
		b.System = &content{Parts: []part{{Text: r.System}}}
	}
	if len(r.Schema) > 0 {
		b.Config.MimeType = "application/json"
		var schema any
		if json.Unmarshal(r.Schema, &schema) == nil {
			b.Config.Schema = known(schema)
		}
	}
	if budget != nil {
		b.Config.Thinking = &thinking{Budget: *budget}
	}
	return b
}

// known leaves out of a JSON Schema what responseSchema, a part of OpenAPI 3.0, does not have.
func known(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			for name, p := range properties { // names of properties are no keywords
				properties[name] = known(p)
			}
		}
		if items, ok := v["items"]; ok {
			v["items"] = known(items)
		}
		delete(v, "additionalProperties")
		delete(v, "$schema")
	}
	return v
}

func decode(body []byte) (connector.LLMAnswer, error) {
	var a struct {
		Candidates []struct {
			Content content `json:"content"`
			Finish  string  `json:"finishReason"`
		} `json:"candidates"`
		Feedback struct {
			Block string `json:"blockReason"`
		} `json:"promptFeedback"`
		Usage *struct {
			In       int `json:"promptTokenCount"`
			Out      int `json:"candidatesTokenCount"`
			Thoughts int `json:"thoughtsTokenCount"`
		} `json:"usageMetadata"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return connector.LLMAnswer{}, err
	}
	var answer connector.LLMAnswer
	if a.Usage != nil {
		answer.TokensIn, answer.TokensOut = a.Usage.In, a.Usage.Out+a.Usage.Thoughts
	}
	if len(a.Candidates) == 0 {
		if a.Feedback.Block == "" {
			return answer, chats.ErrNoAnswer
		}
		answer.Finish = connector.FinishRefused
		return answer, nil
	}
	var text strings.Builder
	for _, p := range a.Candidates[0].Content.Parts {
		if !p.Thought {
			text.WriteString(p.Text)
		}
	}
	answer.Text = text.String()
	switch a.Candidates[0].Finish {
	case "MAX_TOKENS":
		answer.Finish = connector.FinishLength
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY":
		answer.Finish = connector.FinishRefused
	}
	return answer, nil
}

// cards are Google's own figures; those of pro hold for requests of up to 200,000 tokens.
func cards() []chats.Card {
	return []chats.Card{
		{Name: "gemini-2.0-flash", ContextTokens: 1048576, MaxOutputTokens: 8192, PriceIn: 0.10, PriceOut: 0.40},
		{Name: "gemini-2.5-flash-lite", ContextTokens: 1048576, MaxOutputTokens: 65536, PriceIn: 0.10, PriceOut: 0.40},
		{Name: "gemini-2.5-flash", ContextTokens: 1048576, MaxOutputTokens: 65536, PriceIn: 0.30, PriceOut: 2.50},
		{Name: "gemini-2.5-pro", ContextTokens: 1048576, MaxOutputTokens: 65536, PriceIn: 1.25, PriceOut: 10},
	}
}
