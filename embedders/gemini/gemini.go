// Package gemini is the embedder of Google's Gemini API. Passages and questions are told apart by its task types.
//
// # Config
//
//	embedder: { gemini: { model: gemini-embedding-001, dimensions: 768, api_key: env:GEMINI_API_KEY } }
//
// # Limits
//
// 100 texts in a request, 2,048 tokens in a text. Vectors of fewer than 3,072 dimensions do not have length 1 as they arrive and are
// brought to it. Gemini answers in the order of the texts, gives no index and does not say how many tokens it counted. It has no
// switch against cutting long texts: keep chunks below the limit.
package gemini

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/providers"
)

// The defaults.
const (
	DefaultModel   = "gemini-embedding-001"
	DefaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"
)

// maxItems is the API's limit ("at most 100 requests can be in one batch").
const maxItems = 100

// Config is the embedder's part of the configuration.
type Config struct {
	providers.Config `yaml:",inline"`
}

// Validate checks the keys and fills those that are empty.
func (c *Config) Validate() error {
	if c.Model == "" {
		c.Model = DefaultModel
	}
	c.Model = strings.TrimPrefix(c.Model, "models/")
	return c.Complete("gemini", DefaultBaseURL, "GEMINI_API_KEY", c.card)
}

func (c *Config) card() providers.Card {
	card, _ := providers.Find(cards(), c.Model)
	card.MaxItems = maxItems
	card.Normalized = true // by us, where the model does not
	return card
}

// Plugin registers the embedder under "gemini".
func Plugin() connector.EmbedderPlugin {
	return connector.Define("gemini", "Google's Gemini embedding models",
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
	roles := [2]string{"RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"}
	return providers.Open(ctx, providers.Spec{
		Provider: "gemini", Version: "1", Config: c.Config, Card: c.card(), Path: "models/" + url.PathEscape(c.Model) + ":batchEmbedContents",
		KeyHeader: "x-goog-api-key", Roles: roles,
		Encode: func(r providers.Request) any { return encode(r, roles[r.Role]) },
		Decode: decode,
	})
}

// body is that of POST models/…:batchEmbedContents.
type body struct {
	Requests []one `json:"requests"`
}

type one struct {
	Model      string  `json:"model"`
	Content    content `json:"content"`
	TaskType   string  `json:"taskType"`
	Dimensions int     `json:"outputDimensionality,omitempty"`
}

type content struct {
	Parts []part `json:"parts"`
}

type part struct {
	Text string `json:"text"`
}

func encode(r providers.Request, task string) body {
	b := body{Requests: make([]one, len(r.Texts))}
	for i, text := range r.Texts {
		b.Requests[i] = one{Model: "models/" + r.Model, Content: content{Parts: []part{{Text: text}}}, TaskType: task, Dimensions: r.Dimensions}
	}
	return b
}

func decode(body []byte) (providers.Answer, error) {
	var a struct {
		Embeddings []struct {
			Values providers.Values `json:"values"`
		} `json:"embeddings"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return providers.Answer{}, err
	}
	items := make([]providers.Item, len(a.Embeddings))
	for i, e := range a.Embeddings {
		items[i].Values = e.Values
	}
	return providers.Answer{Items: items}, nil
}

// cards are Google's own figures.
func cards() []providers.Card {
	return []providers.Card{
		{Name: "gemini-embedding-001", Dimensions: 3072, Any: true, MaxInputTokens: 2048, Price: 0.15},
		{Name: "text-embedding-004", Dimensions: 768, Any: true, MaxInputTokens: 2048},
	}
}
