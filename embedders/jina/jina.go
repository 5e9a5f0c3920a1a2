// Package jina is the embedder of Jina AI's models. Passages and questions are told apart by its tasks.
//
// # Config
//
//	embedder: { jina: { model: jina-embeddings-v3, api_key: env:JINA_API_KEY } }
//
// # Limits
//
// Long texts are refused, not cut. The models' tokenizers are not known here: cl100k counts in their place.
//
// Late chunking gives a chunk a vector that knows its neighbours: the service joins the texts of a request, 8,192 tokens of them at most,
// so that a request holds consecutive chunks of one document.
package jina

import (
	"context"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/providers"
)

// The defaults.
const (
	DefaultModel   = "jina-embeddings-v3"
	DefaultBaseURL = "https://api.jina.ai/v1"
)

// maxItems keeps a request within a minute's tokens of a free key; the API takes more.
const maxItems = 128

// contextTokens is what late chunking joins.
const contextTokens = 8192

// Config is the embedder's part of the configuration.
type Config struct {
	providers.Config `yaml:",inline"`
	LateChunking     bool `yaml:"late_chunking" doc:"embed the chunks of a document together, so that each vector knows its neighbours. Part of the model's identity"`
}

// Validate checks the keys and fills those that are empty.
func (c *Config) Validate() error {
	if c.Model == "" {
		c.Model = DefaultModel
	}
	return c.Complete("jina", DefaultBaseURL, "JINA_API_KEY", c.card)
}

func (c *Config) card() providers.Card {
	card, _ := providers.Find(cards(), c.Model)
	card.MaxItems = maxItems
	card.Normalized = true // asked for
	if c.LateChunking {
		card.Contextual, card.MaxTokens = true, contextTokens
	}
	return card
}

// Plugin registers the embedder under "jina".
func Plugin() connector.EmbedderPlugin {
	return connector.Define("jina", "Jina AI's embedding models",
		Config{Config: providers.Config{Model: DefaultModel, BaseURL: DefaultBaseURL, Timeout: providers.DefaultTimeout}},
		func(ctx context.Context, c *Config, _ connector.Env) (connector.Embedder, error) {
			return Open(ctx, *c)
		})
}

// Open makes an embedder; see [providers.Open] for when it asks the service.
func Open(ctx context.Context, c Config) (*providers.Embedder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	card := c.card()
	var roles [2]string
	if !card.Plain {
		roles = [2]string{"retrieval.passage", "retrieval.query"}
	}
	return providers.Open(ctx, providers.Spec{
		Provider: "jina", Version: "1", Config: c.Config, Card: card, Path: "embeddings",
		KeyHeader: "Authorization", KeyScheme: "Bearer ", Roles: roles,
		Encode: func(r providers.Request) any {
			late := c.LateChunking && r.Role == providers.Document // a question is no document in parts
			return body{Model: r.Model, Input: r.Texts, Task: roles[r.Role], Dimensions: r.Dimensions, Normalized: true, Type: "float", LateChunking: late}
		},
		Decode: providers.DecodeData,
	})
}

// body is that of POST /v1/embeddings.
type body struct {
	Model        string   `json:"model"`
	Input        []string `json:"input"`
	Task         string   `json:"task,omitempty"`
	Dimensions   int      `json:"dimensions,omitempty"`
	Normalized   bool     `json:"normalized"`
	Type         string   `json:"embedding_type"`
	Truncate     bool     `json:"truncate"`      // always false: a text that is cut has the vector of another text
	LateChunking bool     `json:"late_chunking"` // only where it is configured: else a vector must not depend on the other texts of its request
}

// cards are Jina's own figures. The models of version 2 know no task.
func cards() []providers.Card {
	return []providers.Card{
		{Name: "jina-embeddings-v3", Dimensions: 1024, Any: true, MaxInputTokens: 8192},
		{Name: "jina-embeddings-v4", Dimensions: 2048, Any: true, MaxInputTokens: 32768},
		{Name: "jina-embeddings-v2-base-en", Dimensions: 768, MaxInputTokens: 8192, Plain: true},
		{Name: "jina-embeddings-v2-base-zh", Dimensions: 768, MaxInputTokens: 8192, Plain: true},
		{Name: "jina-embeddings-v2-base-de", Dimensions: 768, MaxInputTokens: 8192, Plain: true},
		{Name: "jina-embeddings-v2-base-es", Dimensions: 768, MaxInputTokens: 8192, Plain: true},
		{Name: "jina-embeddings-v2-base-code", Dimensions: 768, MaxInputTokens: 8192, Plain: true},
	}
}
