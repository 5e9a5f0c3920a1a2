package connector

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// LLMModel is what a language model is: fixed once it is open.
type LLMModel struct {
	Provider string // "openai", "anthropic" …
	Name     string
	// Version changes whenever the same request may get another answer for a reason that neither Name nor Options tell.
	Version string
	// Options are the settings that change an answer, such as the effort of reasoning, in one fixed spelling.
	Options string
	// ContextTokens fit in a request and its answer together, MaxOutputTokens in an answer; 0 is unknown.
	ContextTokens   int
	MaxOutputTokens int
	// Counter is the model's own tokenizer; nil where it has none to offer, cl100k then counts.
	Counter Counter
	// Prices of a million tokens, in Currency; 0 is unknown.
	PriceIn, PriceOut float64
	Currency          string
	// Limits over time, which the engine keeps for all its workers together; 0 means none.
	RequestsPerMinute int
	TokensPerMinute   int
	// Budget of one run.
	Budget LLMBudget
}

// LLMBudget is the most that one run may ask of a language model; 0 means no limit.
type LLMBudget struct {
	Calls  int
	Tokens int // of requests and answers together
	// Cost is in the currency of the model's prices, and needs them.
	Cost float64
}

// Identity names everything that changes an answer: answers are kept and found again under it.
func (m LLMModel) Identity() string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %q %q %q", m.Provider, m.Name, m.Version, m.Options)
	return fmt.Sprintf("%s/%s@%s#%s", m.Provider, m.Name, m.Version, hex.EncodeToString(h.Sum(nil)[:8]))
}

// LLMRequest is one question to a language model. It is always asked at temperature 0.
type LLMRequest struct {
	// Prompt names the prompt and its version, as in "propositions/1". It is not sent.
	Prompt string
	// System says what is to be done, User holds the material. User is never blank.
	System string
	User   string
	// Name and Schema, a JSON Schema whose root is an object, describe the JSON that is wanted; without Schema the answer is free text.
	// Objects name all their properties as required and allow no others; types are object, array, string, integer, number and boolean, and a
	// string may have an enum: so much every service understands. Services keep it more or less well: read the answer with care.
	Name   string
	Schema json.RawMessage
	// MaxTokens of the answer; above 0.
	MaxTokens int
	// Seed is sent to services that take one.
	Seed int
}

// Finish says why an answer ended.
type Finish int

// The ways an answer ends.
const (
	FinishStop    Finish = iota // the model had said all
	FinishLength                // cut off, by MaxTokens or the model's own limit
	FinishRefused               // the model, or a filter of the service, would not answer
)

// String is the way in a word.
func (f Finish) String() string {
	switch f {
	case FinishLength:
		return "cut off"
	case FinishRefused:
		return "refused"
	}
	return "complete"
}

// LLMAnswer is what came of an [LLMRequest].
type LLMAnswer struct {
	// Text as the model gave it: it may hold prose around the JSON, and may be empty.
	Text   string
	Finish Finish
	// TokensIn and TokensOut were counted by the service, which bills them; 0 if it does not say. Out includes those of hidden reasoning.
	TokensIn, TokensOut int
}

// LLM answers questions. Safe for concurrent use.
type LLM interface {
	Model() LLMModel
	// Complete sends one request and never retries: the engine does, by the error's class. An answer that was cut off or refused is no
	// error, but one that [LLMAnswer.Finish] tells. ClassInvalid and ClassTooLarge say that this request will never be answered.
	Complete(ctx context.Context, r LLMRequest) (LLMAnswer, error)
	Close() error
}

// LLMPlugin opens an LLM.
type LLMPlugin = Plugin[Env, LLM]
