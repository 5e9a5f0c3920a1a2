package providers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/counters"
)

// Card is what is known of a model without asking its service. Zero values are unknown.
type Card struct {
	Name string
	// Dimensions of a vector when no size is asked for.
	Dimensions int
	// Sizes that may be asked for; with Any every size from 1 to Dimensions may.
	Sizes []int
	Any   bool
	// MaxItems texts and MaxTokens tokens fit in a request, MaxInputTokens in a text.
	MaxItems       int
	MaxTokens      int
	MaxInputTokens int
	// Tokenizer is a name that internal/counters knows, or empty.
	Tokenizer string
	// Normalized vectors have length 1 as they arrive.
	Normalized bool
	// Prefixes that the model was trained with.
	DocumentPrefix string
	QueryPrefix    string
	// Plain models do not tell passages from questions though others of the provider do.
	Plain bool
	// Contextual models take the texts of a request for consecutive parts of one document.
	Contextual bool
	// Price of a million tokens in US dollars.
	Price float64
}

// Find gives the card of a model; upper and lower case are one. ok is false where there is none.
func Find(cards []Card, name string) (card Card, ok bool) {
	i := slices.IndexFunc(cards, func(c Card) bool { return strings.EqualFold(c.Name, name) })
	if i < 0 {
		return Card{}, false
	}
	return cards[i], true
}

// Allows says whether the model can give vectors of this size. A model without a card may.
func (c *Card) Allows(dimensions int) error {
	switch {
	case dimensions == 0 || c.Dimensions == 0 || dimensions == c.Dimensions:
		return nil
	case c.Any && dimensions < c.Dimensions, slices.Contains(c.Sizes, dimensions):
		return nil
	case c.Any:
		return fmt.Errorf("dimensions %d: %s gives 1 to %d", dimensions, c.Name, c.Dimensions)
	case len(c.Sizes) > 0:
		return fmt.Errorf("dimensions %d: %s gives %s", dimensions, c.Name, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(c.Sizes)), ", "), "[]"))
	}
	return fmt.Errorf("dimensions %d: %s gives %d and nothing else", dimensions, c.Name, c.Dimensions)
}

// model is what the engine is told, from the card and the configuration, which wins.
func (s *Spec) model() (connector.Model, error) {
	c, card := &s.Config, &s.Card
	prefix := func(configured *string, trained string) string {
		if configured != nil {
			return *configured
		}
		return trained
	}
	m := connector.Model{
		Provider: s.Provider, Name: cmp.Or(s.Name, c.Model), Version: s.Version, Dimensions: card.Dimensions,
		DocumentPrefix: prefix(c.DocumentPrefix, card.DocumentPrefix), QueryPrefix: prefix(c.QueryPrefix, card.QueryPrefix),
		Normalized: card.Normalized || c.Normalize, Contextual: card.Contextual,
		MaxItems: card.MaxItems, MaxTokens: card.MaxTokens, MaxInputTokens: card.MaxInputTokens,
		RequestsPerMinute: c.RequestsPerMinute, TokensPerMinute: c.TokensPerMinute, Budget: c.Budget,
		PricePerMillion: card.Price,
	}
	if card.Price > 0 {
		m.Currency = "USD"
	}
	if c.Dimensions > 0 {
		m.Dimensions = c.Dimensions
	}
	if c.Batch > 0 {
		m.MaxItems = c.Batch
	}
	if card.Tokenizer != "" {
		counter, err := counters.Named(card.Tokenizer)
		if err != nil {
			return m, err
		}
		m.Counter = counter
	} else {
		m.MaxTokens = m.MaxTokens / 4 * 3 // cl100k counts in place of the model's own tokenizer: leave room
	}
	if c.MaxTokens > 0 {
		m.MaxTokens = c.MaxTokens
	}
	reserve(&m)
	return m, nil
}

// reserve takes the document prefix off the limits: the engine counts texts without it. A token has at least one byte, so that the
// prefix's bytes bound its tokens.
func reserve(m *connector.Model) {
	tokens := len(m.DocumentPrefix)
	if tokens == 0 {
		return
	}
	if m.Counter != nil {
		tokens = m.Counter.Count(m.DocumentPrefix)
	}
	if m.MaxInputTokens > 0 {
		m.MaxInputTokens = max(1, m.MaxInputTokens-tokens)
	}
	if m.MaxTokens > 0 {
		m.MaxTokens = max(min(m.MaxInputTokens, m.MaxTokens), m.MaxTokens-tokens*m.MaxItems, 1)
	}
}
