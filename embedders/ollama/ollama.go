// Package ollama is the embedder of models in an Ollama server, by its own API: unlike the one in OpenAI's form, it can be told not to cut long
// texts off.
//
// # Config
//
//	embedder: { ollama: { model: bge-m3 } }
//
// # Limits
//
// A text that is longer than the model's context is refused, not cut: keep chunks below it, or give the model more context with options.
// Ollama answers in the order of the texts and gives no index.
package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/providers"
)

// DefaultBaseURL is where Ollama listens.
const DefaultBaseURL = "http://localhost:11434"

// maxItems keeps a request short enough for a server that computes on a CPU; Ollama itself has no limit.
const maxItems = 64

// Config is the embedder's part of the configuration.
type Config struct {
	providers.Config `yaml:",inline"`
	KeepAlive        string `yaml:"keep_alive" doc:"how long the model stays loaded after a request, such as 10m, or -1 for always; default Ollama's own"`
	Context          int    `yaml:"context" doc:"tokens of a text that the model is loaded for (num_ctx); 0: Ollama's own choice"`
}

// Validate checks the keys and fills those that are empty.
func (c *Config) Validate() error {
	if err := c.Check(DefaultBaseURL, ""); err != nil {
		return fmt.Errorf("ollama: %w", err)
	}
	if c.Context < 0 {
		return fmt.Errorf("ollama: context must not be negative")
	}
	if _, err := time.ParseDuration(c.KeepAlive); err != nil && c.KeepAlive != "" && c.KeepAlive != "-1" {
		return fmt.Errorf("ollama: keep_alive %q: want a duration such as 10m, or -1", c.KeepAlive)
	}
	card := c.card()
	if err := card.Allows(c.Dimensions); err != nil {
		return fmt.Errorf("ollama: %w", err)
	}
	return nil
}

// card is that of the model, whatever its tag; the context that is asked for replaces the model's.
func (c *Config) card() providers.Card {
	name, _, _ := strings.Cut(c.Model, ":")
	card, ok := providers.Find(cards(), c.Model)
	if !ok {
		card, _ = providers.Find(cards(), name)
	}
	card.MaxItems = maxItems
	if c.Context > 0 {
		card.MaxInputTokens = c.Context
	}
	return card
}

// Plugin registers the embedder under "ollama".
func Plugin() connector.EmbedderPlugin {
	return connector.Define("ollama", "models in an Ollama server", Config{Config: providers.Config{BaseURL: DefaultBaseURL, Timeout: 5 * time.Minute}},
		func(ctx context.Context, c *Config, _ connector.Env) (connector.Embedder, error) {
			return Open(ctx, *c)
		})
}

// Open makes an embedder; see [providers.Open] for when it asks the service.
func Open(ctx context.Context, c Config) (*providers.Embedder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	var options map[string]any
	if c.Context > 0 {
		options = map[string]any{"num_ctx": c.Context}
	}
	return providers.Open(ctx, providers.Spec{
		Provider: "ollama", Version: "1", Config: c.Config, Card: c.card(), Path: "api/embed",
		KeyHeader: "Authorization", KeyScheme: "Bearer ",
		NotFound: "load the model with: ollama pull " + c.Model,
		Encode: func(r providers.Request) any {
			return body{Model: r.Model, Input: r.Texts, Dimensions: r.Dimensions, KeepAlive: keepAlive(c.KeepAlive), Options: options}
		},
		Decode: decode,
	})
}

// keepAlive is a number where it is one: Ollama takes "-1" for no duration.
func keepAlive(s string) any {
	switch s {
	case "":
		return nil
	case "-1":
		return -1
	}
	return s
}

// body is that of POST /api/embed.
type body struct {
	Model      string         `json:"model"`
	Input      []string       `json:"input"`
	Truncate   bool           `json:"truncate"` // always false: a text that is cut has the vector of another text
	Dimensions int            `json:"dimensions,omitempty"`
	KeepAlive  any            `json:"keep_alive,omitempty"`
	Options    map[string]any `json:"options,omitempty"`
}

func decode(body []byte) (providers.Answer, error) {
	var a struct {
		Embeddings []providers.Values `json:"embeddings"`
		Tokens     int                `json:"prompt_eval_count"`
	}
	err := json.Unmarshal(body, &a)
	return providers.Answer{Items: providers.InOrder(a.Embeddings), Tokens: a.Tokens}, err
}

// cards of models whose dimensions are the same in every tag, or are named with the tag. Ollama gives vectors of length 1.
// MaxInputTokens are the contexts that the library's own model files set.
func cards() []providers.Card {
	const qwenQuery = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
	return []providers.Card{
		{Name: "bge-m3", Dimensions: 1024, MaxInputTokens: 8192, Normalized: true},
		{Name: "bge-large", Dimensions: 1024, MaxInputTokens: 512, Normalized: true},
		{Name: "nomic-embed-text", Dimensions: 768, MaxInputTokens: 2048, Normalized: true, DocumentPrefix: "search_document: ", QueryPrefix: "search_query: "},
		{Name: "mxbai-embed-large", Dimensions: 1024, MaxInputTokens: 512, Normalized: true, QueryPrefix: "Represent this sentence for searching relevant passages: "},
		{Name: "all-minilm", Dimensions: 384, MaxInputTokens: 256, Normalized: true},
		{Name: "snowflake-arctic-embed2", Dimensions: 1024, MaxInputTokens: 8192, Normalized: true, QueryPrefix: "query: "},
		{Name: "embeddinggemma", Dimensions: 768, Sizes: []int{128, 256, 512}, MaxInputTokens: 2048, Normalized: true,
			DocumentPrefix: "title: none | text: ", QueryPrefix: "task: search result | query: "},
		{Name: "paraphrase-multilingual", Dimensions: 768, MaxInputTokens: 512, Normalized: true},
		{Name: "qwen3-embedding:0.6b", Dimensions: 1024, Any: true, MaxInputTokens: 32768, Normalized: true, QueryPrefix: qwenQuery},
		{Name: "qwen3-embedding:4b", Dimensions: 2560, Any: true, MaxInputTokens: 32768, Normalized: true, QueryPrefix: qwenQuery},
		{Name: "qwen3-embedding:8b", Dimensions: 4096, Any: true, MaxInputTokens: 32768, Normalized: true, QueryPrefix: qwenQuery},
	}
}
