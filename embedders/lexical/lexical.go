// Package lexical is the embedder without a model: it hashes words and pieces of words into a vector, so that texts
// which share words, parts of words or Chinese characters lie close to each other. It is deterministic, offline and
// fast, and knows nothing of meaning.
//
// Features are words, the 3- to 5-character pieces of words, and, for scripts without
// spaces, characters and pairs of characters. Each is hashed to one component and a sign (feature hashing, Weinberger
// et al. 2009), its frequency counts as 1 + ln(tf), and the vector has length 1.
//
// # Config
//
//	embedder: { lexical: { dimensions: 1024 } }
//
// # Limits
//
// Synonyms and translations are strangers to each other. There is no limit on the length of a text, but the longer it
// is, the more features share a component.
package lexical

import (
	"context"
	"fmt"
	"sync"

	"github.com/kbsync/kbsync/connector"
)

// version changes whenever a text may get another vector.
const version = "1"

// DefaultDimensions weighs recall against the size of the sink and the time of a query, which grow with it. Measured by
// TestRetrieval of package acceptance, recall@5 is 0.87 for Chinese and 0.71 for English at 384 dimensions, 0.96 and 0.78 at 1,024.
const DefaultDimensions = 384

// hybridShare is little: these vectors see a text's words, as BM25 does, but less sharply. TestRetrieval of package acceptance measures
// that with a half a hybrid query is worse than BM25 alone.
const hybridShare = 0.05

// Config is the embedder's part of the configuration.
type Config struct {
	Dimensions int `yaml:"dimensions" doc:"components of a vector; more of them keep more words apart"`
}

// Validate bounds the dimensions.
func (c *Config) Validate() error {
	if c.Dimensions < 16 || c.Dimensions > 16384 {
		return fmt.Errorf("lexical: dimensions %d: want 16 to 16384", c.Dimensions)
	}
	return nil
}

// Embedder hashes texts. Safe for concurrent use.
type Embedder struct {
	dims int
	bags sync.Pool // of *bag: they are large for a single question
}

var _ connector.Embedder = (*Embedder)(nil)

// Plugin registers the embedder under "lexical".
func Plugin() connector.EmbedderPlugin {
	return connector.Define("lexical", "hashed words and characters, no model", Config{Dimensions: DefaultDimensions},
		func(_ context.Context, c *Config, _ connector.Env) (connector.Embedder, error) { return Open(*c) })
}

// Open makes an embedder; zero dimensions are [DefaultDimensions].
func Open(c Config) (*Embedder, error) {
	if c.Dimensions == 0 {
		c.Dimensions = DefaultDimensions
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	dims := c.Dimensions
	return &Embedder{dims: dims, bags: sync.Pool{New: func() any { return newBag(dims) }}}, nil
}

// Model implements [connector.Embedder].
func (e *Embedder) Model() connector.Model {
	return connector.Model{Provider: "lexical", Name: "hash", Version: version, Dimensions: e.dims, Normalized: true, HybridShare: hybridShare}
}

// Embed implements [connector.Embedder]. A text without any character, which the engine never sends, is refused.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	failed := map[int]error{}
	b := e.bags.Get().(*bag) //nolint:forcetypeassert // the pool makes nothing else
	defer e.bags.Put(b)
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v, err := b.embed(text)
		if err != nil {
			failed[i] = err
			continue
		}
		out[i] = v
	}
	if len(failed) > 0 {
		return out, &connector.BatchError{Items: failed}
	}
	return out, nil
}

// EmbedQuery implements [connector.Embedder]: a question is a text like any other.
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := e.bags.Get().(*bag) //nolint:forcetypeassert // the pool makes nothing else
	defer e.bags.Put(b)
	return b.embed(text)
}

// Close has nothing to close.
func (e *Embedder) Close() error { return nil }
