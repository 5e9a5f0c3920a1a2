package connector

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Model is what an embedder is: fixed once it is open.
type Model struct {
	Provider string // "lexical", "openai" …
	Name     string
	// Version changes whenever the same text may get another vector.
	Version    string
	Dimensions int
	// Prefixes that the embedder puts before passages and queries; part of the identity.
	DocumentPrefix string
	QueryPrefix    string
	Normalized     bool
	// Contextual models give a text a vector that depends on its neighbours: the texts of one Embed call are then consecutive chunks of ONE
	// document, in order, and each vector depends on all of them and on its place. The engine forms such groups within the limits below,
	// and addresses their vectors by the whole group. Part of the identity. Questions are embedded alone, by EmbedQuery.
	Contextual bool
	// HybridShare is what the vectors should weigh against the words in a hybrid query, above 0 and at most 1; 0 means as those of most
	// models. Little suits vectors that are made of words themselves. No part of the identity.
	HybridShare float64
	// Limits of one request; 0 means none. Tokens are counted by Counter.
	MaxItems       int
	MaxTokens      int
	MaxBytes       int
	MaxInputTokens int
	// Counter is the model's own tokenizer; nil where it has none to offer, cl100k then counts.
	Counter Counter
	// PricePerMillion tokens, 0 if unknown, in Currency.
	PricePerMillion float64
	Currency        string
	// Limits over time, which the engine keeps for all its workers together; 0 means none.
	RequestsPerMinute int
	TokensPerMinute   int
	// Budget is the most that one run may spend, in Currency; 0 means no limit. It needs a price.
	Budget float64
}

// Identity names everything that changes a vector. Vectors of different identities are never compared.
func (m Model) Identity() string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %q %q %d %q %q %t", m.Provider, m.Name, m.Version, m.Dimensions, m.DocumentPrefix, m.QueryPrefix, m.Normalized)
	if m.Contextual {
		_, _ = fmt.Fprint(h, " contextual") // nothing is added for other models: their identities are in use
	}
	return fmt.Sprintf("%s/%s@%s#%s", m.Provider, m.Name, m.Version, hex.EncodeToString(h.Sum(nil)[:8]))
}

// Embedder gives texts their vectors. Safe for concurrent use.
type Embedder interface {
	Model() Model
	// Embed returns one vector of Model().Dimensions finite values per text, in order. The engine keeps every request
	// within the model's limits and sends no blank text. A *BatchError names the texts that were refused; vectors of the
	// others are returned at their places (those of a contextual model are not used: their group lacks a text).
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// EmbedQuery embeds a question: the same as Embed unless the model tells them apart.
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
	Close() error
}
