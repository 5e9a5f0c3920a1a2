// Package chats holds what the language models that ask a service over HTTP share: the common keys of their configuration, the cards of
// known models, one JSON request a call, and how an answer ended. Addresses, keys and the classes of errors are those of package providers.
//
// A chat sends one request for each Complete. It never retries, never paces and keeps no budget: the engine does, by the model's
// figures and the error's class.
package chats

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/providers"
)

// DefaultTimeout bounds a request where nothing else is configured: models that reason take their time.
const DefaultTimeout = 2 * time.Minute

// Config are the keys that every language model takes; it is embedded with `yaml:",inline"`.
type Config struct {
	Model             string                      `yaml:"model" doc:"the model's name, as the service spells it"`
	BaseURL           string                      `yaml:"base_url" doc:"where the service is; default the provider's own address"`
	APIKey            connector.Secret            `yaml:"api_key" doc:"the service's key; better env:NAME or file:PATH than the key itself"`
	Timeout           time.Duration               `yaml:"timeout" doc:"the longest time for one request"`
	Headers           map[string]connector.Secret `yaml:"headers" doc:"more headers of every request, for a gateway; never printed"`
	ContextTokens     int                         `yaml:"context_tokens" doc:"tokens of a request and its answer together; 0: what is known of the model"`
	MaxOutputTokens   int                         `yaml:"max_output_tokens" doc:"the most tokens of an answer; 0: what is known of the model"`
	PriceIn           *float64                    `yaml:"price_in" doc:"price of a million tokens sent; default what is known of the model, in US dollars"`
	PriceOut          *float64                    `yaml:"price_out" doc:"price of a million tokens answered; default what is known of the model, in US dollars"`
	Currency          string                      `yaml:"currency" doc:"of price_in, price_out and max_cost"`
	RequestsPerMinute int                         `yaml:"rpm" doc:"requests a minute, all workers together; 0: as many as the service takes"`
	TokensPerMinute   int                         `yaml:"tpm" doc:"tokens a minute, all workers together; 0: as many as the service takes"`
	MaxCalls          int                         `yaml:"max_calls" doc:"the most requests of one sync; 0: no limit. Answers that are kept from before cost nothing"`
	MaxTokens         int                         `yaml:"max_tokens" doc:"the most tokens of one sync, sent and answered together; 0: no limit"`
	MaxCost           float64                     `yaml:"max_cost" doc:"the most that one sync may spend, in the currency of the model's prices; 0: no limit"`
}

// Card is what is known of a model without asking its service. Zero values are unknown.
type Card struct {
	Name string
	// ContextTokens fit in a request and its answer, MaxOutputTokens in an answer.
	ContextTokens   int
	MaxOutputTokens int
	// Prices of a million tokens in US dollars.
	PriceIn, PriceOut float64
}

// Find gives the card of a model: that of its name, or of the name without a date or version at its end ("gpt-4o-mini-2024-07-18",
// "claude-sonnet-4-5-20250929", "gemini-2.5-flash-001"). Upper and lower case are one. Where there is none the zero card is given.
func Find(cards []Card, name string) Card {
	for _, c := range cards {
		rest, ok := strings.CutPrefix(strings.ToLower(name), strings.ToLower(c.Name))
		if ok && strings.Trim(rest, "-0123456789") == "" && (rest == "" || rest[0] == '-') {
			return c
		}
	}
	return Card{}
}

// Complete checks the keys and fills those that are empty. base is the address where none is configured; keyName is the environment
// variable that the error for a missing key names, empty where the service works without one. The errors name the provider.
func (c *Config) Complete(provider, base, keyName string, card Card) error {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	p := c.carried()
	if err := p.Check(base, keyName); err != nil {
		return fmt.Errorf("%s: %w", provider, err)
	}
	c.BaseURL = p.BaseURL
	if err := c.figures(card); err != nil {
		return fmt.Errorf("%s: %w", provider, err)
	}
	return nil
}

func (c *Config) figures(card Card) error {
	in, out := c.prices(card)
	switch {
	case c.ContextTokens < 0 || c.MaxOutputTokens < 0:
		return errors.New("context_tokens and max_output_tokens must not be negative")
	case !(in >= 0) || !(out >= 0):
		return errors.New("price_in and price_out must not be negative")
	case c.MaxCalls < 0 || c.MaxTokens < 0 || !(c.MaxCost >= 0):
		return errors.New("max_calls, max_tokens and max_cost must not be negative")
	case c.MaxCost > 0 && in == 0 && out == 0:
		return fmt.Errorf("max_cost needs the model's prices, and none are known of %s: set price_in and price_out", c.Model)
	}
	return nil
}

func (c *Config) prices(card Card) (in, out float64) {
	in, out = card.PriceIn, card.PriceOut
	if c.PriceIn != nil {
		in = *c.PriceIn
	}
	if c.PriceOut != nil {
		out = *c.PriceOut
	}
	return in, out
}

// carried are the keys that requests are sent with.
func (c *Config) carried() providers.Config {
	return providers.Config{
		Model: c.Model, BaseURL: c.BaseURL, APIKey: c.APIKey, Timeout: c.Timeout, Headers: c.Headers,
		RequestsPerMinute: c.RequestsPerMinute, TokensPerMinute: c.TokensPerMinute,
	}
}

// model is what the engine is told, from the card and the configuration, which wins.
func (s *Spec) model() connector.LLMModel {
	c := &s.Config
	m := connector.LLMModel{
		Provider: s.Provider, Name: c.Model, Version: s.Version, Options: s.Options,
		ContextTokens: s.Card.ContextTokens, MaxOutputTokens: s.Card.MaxOutputTokens,
		RequestsPerMinute: c.RequestsPerMinute, TokensPerMinute: c.TokensPerMinute,
		Budget: connector.LLMBudget{Calls: c.MaxCalls, Tokens: c.MaxTokens, Cost: c.MaxCost},
	}
	if c.ContextTokens > 0 {
		m.ContextTokens = c.ContextTokens
	}
	if c.MaxOutputTokens > 0 {
		m.MaxOutputTokens = c.MaxOutputTokens
	}
	m.PriceIn, m.PriceOut = c.prices(s.Card)
	if m.Currency = c.Currency; m.Currency == "" && (m.PriceIn > 0 || m.PriceOut > 0) {
		m.Currency = "USD"
	}
	return m
}
