// Package cohere is the embedder of Cohere's models, by version 2 of its API. Passages and questions are told apart by its input types.
//
// # Config
//
//	embedder: { cohere: { model: embed-v4.0, api_key: env:COHERE_API_KEY } }
//
// # Limits
//
// 96 texts in a request. Long texts are refused, not cut. Cohere answers in the order of the texts and gives no index. Its tokenizers are
// not known here: cl100k counts in their place.
package cohere

import (
	"context"
	"encoding/json"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/providers"
)

// The defaults.
const (
	DefaultModel   = "embed-v4.0"
	DefaultBaseURL = "https://api.cohere.com/v2"
)

// maxItems is the API's limit.
const maxItems = 96

// Config is the embedder's part of the configuration.
type Config struct {
	providers.Config `yaml:",inline"`
}

// Validate checks the keys and fills those that are empty.
func (c *Config) Validate() error {
	if c.Model == "" {
		c.Model = DefaultModel
	}
	return c.Complete("cohere", DefaultBaseURL, "COHERE_API_KEY", c.card)
}

func (c *Config) card() providers.Card {
	card, _ := providers.Find(cards(), c.Model)
	card.MaxItems = maxItems
	return card
}

// Plugin registers the embedder under "cohere".
func Plugin() connector.EmbedderPlugin {
	return connector.Define("cohere", "Cohere's embedding models",
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
	roles := [2]string{"search_document", "search_query"}
	return providers.Open(ctx, providers.Spec{
		Provider: "cohere", Version: "1", Config: c.Config, Card: c.card(), Path: "embed",
		KeyHeader: "Authorization", KeyScheme: "Bearer ", Roles: roles,
		Encode: func(r providers.Request) any {
			return body{Model: r.Model, Texts: r.Texts, InputType: roles[r.Role], Types: []string{"float"}, Dimensions: r.Dimensions, Truncate: "NONE"}
		},
		Decode: decode,
	})
}

// body is that of POST /v2/embed.
type body struct {
	Model      string   `json:"model"`
	Texts      []string `json:"texts"`
	InputType  string   `json:"input_type"`
	Types      []string `json:"embedding_types"`
	Dimensions int      `json:"output_dimension,omitempty"`
	Truncate   string   `json:"truncate"`
}

func decode(body []byte) (providers.Answer, error) {
	var a struct {
		Embeddings struct {
			Float []providers.Values `json:"float"`
		} `json:"embeddings"`
		Meta struct {
			Billed struct {
				Tokens float64 `json:"input_tokens"`
			} `json:"billed_units"`
		} `json:"meta"`
	}
	err := json.Unmarshal(body, &a)
	return providers.Answer{Items: providers.InOrder(a.Embeddings.Float), Tokens: int(a.Meta.Billed.Tokens)}, err
}

// cards are Cohere's own figures. They do not promise vectors of length 1.
func cards() []providers.Card {
	return []providers.Card{
		{Name: "embed-v4.0", Dimensions: 1536, Sizes: []int{256, 512, 1024}, MaxTokens: 128000, MaxInputTokens: 128000, Price: 0.12},
		{Name: "embed-multilingual-v3.0", Dimensions: 1024, MaxInputTokens: 512, Price: 0.10},
		{Name: "embed-multilingual-light-v3.0", Dimensions: 384, MaxInputTokens: 512, Price: 0.10},
		{Name: "embed-english-v3.0", Dimensions: 1024, MaxInputTokens: 512, Price: 0.10},
		{Name: "embed-english-light-v3.0", Dimensions: 384, MaxInputTokens: 512, Price: 0.10},
	}
}
