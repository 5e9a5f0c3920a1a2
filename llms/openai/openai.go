// Package openai is the language models of OpenAI and of every service that speaks its chat protocol: Azure, DashScope, DeepSeek, Zhipu,
// SiliconFlow, Ollama, vLLM, LM Studio and others.
//
// # Config
//
//	llm: { openai: { model: gpt-4o-mini, api_key: env:OPENAI_API_KEY } }
//	llm: { openai: { service: ollama, model: "qwen2.5:7b" } }
//	llm: { openai: { service: deepseek, model: deepseek-chat, api_key: env:DEEPSEEK_API_KEY, max_cost: 2, price_in: 0.27, price_out: 1.1 } }
//
// The service decides address, how the key is sent and how JSON is asked for. It is recognised by the host of base_url, or named.
//
// # Limits
//
// Models that reason (o1, o3, o4, gpt-5 and their kin) take no temperature and count hidden reasoning as part of the answer: raise the
// strategy's max_tokens for them. Only prices of OpenAI's own models are known.
package openai

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/chats"
	"github.com/kbsync/kbsync/internal/providers"
)

// DefaultModel is used where no model is configured and the service is OpenAI itself.
const DefaultModel = "gpt-4o-mini"

// Config is the model's part of the configuration.
type Config struct {
	chats.Config `yaml:",inline"`
	Service      string `yaml:"service" enum:"openai,azure,dashscope,deepseek,zhipu,siliconflow,ollama,vllm,lmstudio,compatible" doc:"whose manners apply; default: by the host of base_url"`
	JSON         string `yaml:"json" enum:"schema,object,text" doc:"how JSON is asked for: by its schema, as an object of any shape, or in words alone; default what the service can"`
	Effort       string `yaml:"reasoning_effort" doc:"of models that reason, as the service spells it (minimal, low …); default the model's own"`
}

// The ways to ask for JSON.
const (
	bySchema = "schema"
	asObject = "object"
	inWords  = "text"
)

// service is what a server that speaks OpenAI's protocol does in its own way.
type service struct {
	name  string
	hosts []string // the host, or with a leading dot its end
	base  string
	// key names the environment variable of the key, if one is needed.
	key string
	// header that carries the bare key; empty: Authorization.
	header string
	json   string
	// seedless services refuse or ignore a seed.
	seedless bool
}

// services known; the last one is for all others.
func services() []service {
	return []service{
		{name: "openai", hosts: []string{"api.openai.com", ".api.openai.com"}, base: "https://api.openai.com/v1", key: "OPENAI_API_KEY", json: bySchema},
		{name: "azure", hosts: []string{".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"}, header: "api-key", json: bySchema},
		{name: "dashscope", hosts: []string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"}, base: "https://dashscope.aliyuncs.com/compatible-mode/v1",
			key: "DASHSCOPE_API_KEY", json: asObject},
		{name: "deepseek", hosts: []string{"api.deepseek.com"}, base: "https://api.deepseek.com/v1", key: "DEEPSEEK_API_KEY", json: asObject, seedless: true},
		{name: "zhipu", hosts: []string{"open.bigmodel.cn", ".bigmodel.cn", "api.z.ai"}, base: "https://open.bigmodel.cn/api/paas/v4", key: "ZHIPU_API_KEY", json: asObject, seedless: true},
		{name: "siliconflow", hosts: []string{"api.siliconflow.cn", "api.siliconflow.com"}, base: "https://api.siliconflow.cn/v1", key: "SILICONFLOW_API_KEY", json: asObject},
		{name: "ollama", base: "http://localhost:11434/v1", json: bySchema},
		{name: "vllm", base: "http://localhost:8000/v1", json: bySchema},
		{name: "lmstudio", base: "http://localhost:1234/v1", json: bySchema},
		{name: "compatible", json: asObject},
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
	switch c.JSON {
	case "":
		c.JSON = s.json
	case bySchema, asObject, inWords:
	default:
		return fmt.Errorf("openai: json: %q: want %s, %s or %s", c.JSON, bySchema, asObject, inWords)
	}
	if c.Model == "" && s.name == "openai" {
		c.Model = DefaultModel
	}
	if c.BaseURL == "" && s.base == "" {
		return fmt.Errorf("openai: base_url is not given: service %s has no address of its own", s.name)
	}
	return c.Complete("openai", s.base, s.key, c.card(s))
}

// card is that of the model where OpenAI, or Azure at the same price, sells it.
func (c *Config) card(s service) chats.Card {
	card := chats.Find(cards(), c.Model)
	if s.name != "openai" && s.name != "azure" {
		card.PriceIn, card.PriceOut = 0, 0 // those of another seller
	}
	return card
}

// reasons tells models that take neither temperature nor max_tokens.
func reasons(model string) bool {
	model = strings.ToLower(model)
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5"}, func(family string) bool { return strings.HasPrefix(model, family) }) && !strings.Contains(model, "chat")
}

// Plugin registers the language model under "openai".
func Plugin() connector.LLMPlugin {
	return connector.Define("openai", "OpenAI, and every service that speaks its chat protocol", Config{Config: chats.Config{Timeout: chats.DefaultTimeout}},
		func(_ context.Context, c *Config, _ connector.Env) (connector.LLM, error) { return Open(*c) })
}

// Open makes a language model. It sends nothing.
func Open(c Config) (*chats.Chat, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := find(c.Service, c.BaseURL)
	// Options hold what changes answers: constrained by a schema a model says other things than asked in words.
	options := "json=" + c.JSON
	if c.Effort != "" {
		options += " reasoning_effort=" + c.Effort
	}
	spec := chats.Spec{
		Provider: "openai", Version: "1", Options: options, Config: c.Config, Card: c.card(s), Path: "chat/completions",
		KeyHeader: "Authorization", KeyScheme: "Bearer ",
		Encode: func(r connector.LLMRequest) any { return c.encode(s, r) }, Decode: decode,
	}
	if s.header != "" {
		spec.KeyHeader, spec.KeyScheme = s.header, ""
	}
	return chats.Open(spec)
}

// cards are OpenAI's own figures.
func cards() []chats.Card {
	return []chats.Card{
		{Name: "gpt-4o-mini", ContextTokens: 128000, MaxOutputTokens: 16384, PriceIn: 0.15, PriceOut: 0.60},
		{Name: "gpt-4o", ContextTokens: 128000, MaxOutputTokens: 16384, PriceIn: 2.50, PriceOut: 10},
		{Name: "gpt-4.1-nano", ContextTokens: 1047576, MaxOutputTokens: 32768, PriceIn: 0.10, PriceOut: 0.40},
		{Name: "gpt-4.1-mini", ContextTokens: 1047576, MaxOutputTokens: 32768, PriceIn: 0.40, PriceOut: 1.60},
		{Name: "gpt-4.1", ContextTokens: 1047576, MaxOutputTokens: 32768, PriceIn: 2, PriceOut: 8},
		{Name: "gpt-5-nano", ContextTokens: 400000, MaxOutputTokens: 128000, PriceIn: 0.05, PriceOut: 0.40},
		{Name: "gpt-5-mini", ContextTokens: 400000, MaxOutputTokens: 128000, PriceIn: 0.25, PriceOut: 2},
		{Name: "gpt-5", ContextTokens: 400000, MaxOutputTokens: 128000, PriceIn: 1.25, PriceOut: 10},
	}
}
