// Package voyage is the embedder of Voyage AI's models. Passages and questions are told apart by its input types.
//
// # Config
//
//	embedder: { voyage: { model: voyage-3.5, api_key: env:VOYAGE_API_KEY } }
//
// Keys that begin with "al-" are MongoDB's, and lead to its address.
//
// # Limits
//
// 1,000 texts in a request, and 120,000 tokens to a million, by model. Long texts are refused, not cut.
//
// voyage-context-3 gives a chunk a vector that knows its neighbours: a request holds consecutive chunks of one document, 32,000 tokens of
// them at most. The service can cut documents into chunks itself; that is not asked for.
package voyage

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/providers"
)

// The defaults.
const (
	DefaultModel   = "voyage-3.5"
	DefaultBaseURL = "https://api.voyageai.com/v1"
	// MongoDBBaseURL is the default for keys that MongoDB gave out.
	MongoDBBaseURL = "https://ai.mongodb.com/v1"
)

// maxItems is the API's limit.
const maxItems = 1000

// contextTokens is what a contextual model takes of one document.
const contextTokens = 32000

// Config is the embedder's part of the configuration.
type Config struct {
	providers.Config `yaml:",inline"`
}

// Validate checks the keys and fills those that are empty.
func (c *Config) Validate() error {
	if c.Model == "" {
		c.Model = DefaultModel
	}
	base := DefaultBaseURL
	if strings.HasPrefix(c.APIKey.Reveal(), "al-") {
		base = MongoDBBaseURL
	}
	return c.Complete("voyage", base, "VOYAGE_API_KEY", c.card)
}

func (c *Config) card() providers.Card {
	card, ok := providers.Find(cards(), c.Model)
	switch {
	case ok:
	case strings.HasPrefix(c.Model, "voyage-context-"):
		card.Contextual, card.MaxTokens = true, contextTokens
	default:
		card.MaxTokens = 120000 // the smallest limit of all models
	}
	card.MaxItems = maxItems
	return card
}

// Plugin registers the embedder under "voyage".
func Plugin() connector.EmbedderPlugin {
	return connector.Define("voyage", "Voyage AI's embedding models", Config{Config: providers.Config{Model: DefaultModel, Timeout: providers.DefaultTimeout}},
		func(ctx context.Context, c *Config, _ connector.Env) (connector.Embedder, error) {
			return Open(ctx, *c)
		})
}

// Open makes an embedder; see [providers.Open] for when it asks the service.
func Open(ctx context.Context, c Config) (*providers.Embedder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	roles := [2]string{"document", "query"}
	spec := providers.Spec{
		Provider: "voyage", Version: "1", Config: c.Config, Card: c.card(), Path: "embeddings",
		KeyHeader: "Authorization", KeyScheme: "Bearer ", Roles: roles,
		Encode: func(r providers.Request) any {
			return body{Model: r.Model, Input: r.Texts, InputType: roles[r.Role], Dimensions: r.Dimensions, Format: "base64"}
		},
		Decode: providers.DecodeData,
	}
	if spec.Card.Contextual {
		spec.Path, spec.Decode = "contextualizedembeddings", decodeContext
		spec.Encode = func(r providers.Request) any {
			return contextBody{Model: r.Model, Inputs: [][]string{r.Texts}, InputType: roles[r.Role], Dimensions: r.Dimensions}
		}
	}
	return providers.Open(ctx, spec)
}

// body is that of POST /v1/embeddings.
type body struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	InputType  string   `json:"input_type"`
	Truncation bool     `json:"truncation"` // always false: a text that is cut has the vector of another text
	Dimensions int      `json:"output_dimension,omitempty"`
	Format     string   `json:"encoding_format"`
}

// contextBody is that of POST /v1/contextualizedembeddings: a list of the texts of each document, here of one. A question is a document of one text.
type contextBody struct {
	Model      string     `json:"model"`
	Inputs     [][]string `json:"inputs"`
	InputType  string     `json:"input_type"`
	Dimensions int        `json:"output_dimension,omitempty"`
}

// decodeContext reads the answer to it, which nests the vectors of each document. Those of a second document, which was not asked for, are
// too many.
func decodeContext(b []byte) (providers.Answer, error) {
	var a struct {
		Data  []json.RawMessage `json:"data"`
		Usage struct {
			TotalTokens int `json:"total_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return providers.Answer{}, err
	}
	out := providers.Answer{}
	for _, document := range a.Data {
		one, err := providers.DecodeData(document)
		if err != nil {
			return providers.Answer{}, err
		}
		out.Items = append(out.Items, one.Items...)
	}
	out.Tokens = a.Usage.TotalTokens
	return out, nil
}

// cards are Voyage's own figures; its vectors have length 1.
func cards() []providers.Card {
	sizes := []int{256, 512, 2048}
	return []providers.Card{
		{Name: "voyage-4-large", Dimensions: 1024, Sizes: sizes, MaxTokens: 120000, MaxInputTokens: 32000, Normalized: true},
		{Name: "voyage-4", Dimensions: 1024, Sizes: sizes, MaxTokens: 320000, MaxInputTokens: 32000, Normalized: true},
		{Name: "voyage-4-lite", Dimensions: 1024, Sizes: sizes, MaxTokens: 1000000, MaxInputTokens: 32000, Normalized: true},
		{Name: "voyage-3-large", Dimensions: 1024, Sizes: sizes, MaxTokens: 120000, MaxInputTokens: 32000, Normalized: true, Price: 0.18},
		{Name: "voyage-3.5", Dimensions: 1024, Sizes: sizes, MaxTokens: 320000, MaxInputTokens: 32000, Normalized: true, Price: 0.06},
		{Name: "voyage-3.5-lite", Dimensions: 1024, Sizes: sizes, MaxTokens: 1000000, MaxInputTokens: 32000, Normalized: true, Price: 0.02},
		{Name: "voyage-code-3", Dimensions: 1024, Sizes: sizes, MaxTokens: 120000, MaxInputTokens: 32000, Normalized: true, Price: 0.18},
		{Name: "voyage-context-3", Dimensions: 1024, Sizes: sizes, MaxTokens: contextTokens, MaxInputTokens: 32000, Normalized: true, Price: 0.18, Contextual: true},
		{Name: "voyage-finance-2", Dimensions: 1024, MaxTokens: 120000, MaxInputTokens: 32000, Normalized: true, Price: 0.12},
		{Name: "voyage-law-2", Dimensions: 1024, MaxTokens: 120000, MaxInputTokens: 16000, Normalized: true, Price: 0.12},
	}
}
