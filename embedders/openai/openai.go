// Package openai is the embedder of OpenAI and of every service that speaks its protocol: Azure, DashScope, Zhipu, SiliconFlow, vLLM,
// LM Studio, LocalAI, Text Embeddings Inference and others.
//
// # Config
//
//	embedder: { openai: { model: text-embedding-3-small, api_key: env:OPENAI_API_KEY } }
//	embedder: { openai: { service: vllm, base_url: "http://localhost:8000/v1", model: BAAI/bge-m3 } }
//
// The service decides address, limits and how the key is sent. It is recognised by the host of base_url, or named.
//
// # Limits
//
// Passages and questions are told apart by prefixes alone. Of the services' limits only those in their documentation are known;
// batch and max_tokens_per_request replace them.
package openai

import (
	"context"
	"fmt"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/providers"
)

// DefaultModel is used where no model is configured and the service is OpenAI itself.
const DefaultModel = "text-embedding-3-small"

// Config is the embedder's part of the configuration.
type Config struct {
	providers.Config `yaml:",inline"`
	Service          string `yaml:"service" enum:"openai,azure,dashscope,zhipu,siliconflow,vllm,lmstudio,localai,tei,compatible" doc:"whose limits and manners apply; default: by the host of base_url"`
}

// service is what a server that speaks OpenAI's protocol does in its own way.
type service struct {
	name  string
	hosts []string // the host, or with a leading dot its end
	base  string
	// key names the environment variable of the key, if one is needed.
	key string
	// header that carries the bare key; empty: Authorization.
	header string
	// base64 answers, a third of the size, are understood.
	base64    bool
	maxItems  int
	maxTokens int
	maxInput  int
}

// services known; the last one is for all others.
func services() []service {
	return []service{
		{name: "openai", hosts: []string{"api.openai.com", ".api.openai.com"}, base: "https://api.openai.com/v1", key: "OPENAI_API_KEY", base64: true, maxItems: 2048, maxTokens: 300000},
		{name: "azure", hosts: []string{".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"}, header: "api-key", base64: true, maxItems: 2048, maxTokens: 300000},
		{name: "dashscope", hosts: []string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"}, base: "https://dashscope.aliyuncs.com/compatible-mode/v1",
			key: "DASHSCOPE_API_KEY", maxItems: 10, maxInput: 8192},
		{name: "zhipu", hosts: []string{"open.bigmodel.cn", ".bigmodel.cn", "api.z.ai"}, base: "https://open.bigmodel.cn/api/paas/v4", key: "ZHIPU_API_KEY", maxItems: 64, maxInput: 3072},
		{name: "siliconflow", hosts: []string{"api.siliconflow.cn", "api.siliconflow.com"}, base: "https://api.siliconflow.cn/v1", key: "SILICONFLOW_API_KEY", maxItems: 32},
		{name: "vllm", base: "http://localhost:8000/v1", base64: true, maxItems: 256},
		{name: "lmstudio", base: "http://localhost:1234/v1", maxItems: 64},
		{name: "localai", base: "http://localhost:8080/v1", maxItems: 64},
		{name: "tei", base: "http://localhost:8080/v1", maxItems: 32},
		{name: "compatible", maxItems: 64},
	}
}

// find gives the service that is named, or the one at the address.
func find(name, baseURL string) service {
	return providers.FindService(services(), func(s service) (string, []string) { return s.name, s.hosts }, name, baseURL)
}

// Validate checks the keys and fills those that are empty.
func (c *Config) Validate() error {
	s := find(c.Service, c.BaseURL)
	if c.Service != "" && s.name != c.Service {
		return fmt.Errorf("openai: there is no service %q", c.Service)
	}
	c.Service = s.name
	if c.Model == "" && s.name == "openai" {
		c.Model = DefaultModel
	}
	if c.BaseURL == "" && s.base == "" {
		return fmt.Errorf("openai: base_url is not given: service %s has no address of its own", s.name)
	}
	return c.Complete("openai", s.base, s.key, func() providers.Card { return c.card(s) })
}

// card is that of the model, within the limits of the service.
func (c *Config) card(s service) providers.Card {
	card, _ := providers.Find(cards(), c.Model)
	lower := func(a, b int) int {
		if a == 0 || b != 0 && b < a {
			return b
		}
		return a
	}
	card.MaxItems, card.MaxTokens, card.MaxInputTokens = lower(card.MaxItems, s.maxItems), lower(card.MaxTokens, s.maxTokens), lower(card.MaxInputTokens, s.maxInput)
	if s.name != "openai" && s.name != "azure" {
		card.Price = 0 // that of another seller
	}
	return card
}

// Plugin registers the embedder under "openai".
func Plugin() connector.EmbedderPlugin {
	return connector.Define("openai", "OpenAI, and every service that speaks its protocol", Config{Config: providers.Config{Timeout: providers.DefaultTimeout}},
		func(ctx context.Context, c *Config, _ connector.Env) (connector.Embedder, error) {
			return Open(ctx, *c)
		})
}

// Open makes an embedder; see [providers.Open] for when it asks the service.
func Open(ctx context.Context, c Config) (*providers.Embedder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := find(c.Service, c.BaseURL)
	spec := providers.Spec{
		Provider: "openai", Version: "1", Config: c.Config, Card: c.card(s), Path: "embeddings",
		KeyHeader: "Authorization", KeyScheme: "Bearer ",
		Encode: func(r providers.Request) any {
			b := body{Model: r.Model, Input: r.Texts, Dimensions: r.Dimensions}
			if s.base64 {
				b.Format = "base64"
			}
			return b
		},
		Decode: providers.DecodeData,
	}
	if s.header != "" {
		spec.KeyHeader, spec.KeyScheme = s.header, ""
	}
	return providers.Open(ctx, spec)
}

// body is that of POST /embeddings.
type body struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions,omitempty"`
	Format     string   `json:"encoding_format,omitempty"`
}
