// Package local is the embedder that computes vectors itself, on the CPU, with a model of BERT's family: without a network, a key
// or another program. Its own model is multilingual-e5-small, which is part of the program and knows Chinese and English among about
// a hundred languages; a configuration may name another one.
//
// # Config
//
//	embedder: { local: {} }
//	embedder: { local: { model: ./bge-small-zh } }
//
// # Limits
//
// A text may have 512 tokens, the model's prefix included; longer ones are refused, never cut. Scripts whose pieces were left out of the
// model's vocabulary are embedded character by character.
package local

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/bert"
	"github.com/kbsync/kbsync/internal/modelfile"
	"github.com/kbsync/kbsync/internal/wordpieces"
)

// batch is how many texts the engine hands over at a time: enough to keep every core busy, few enough that vectors are stored
// every second or two.
const batch = 64

// Config is the embedder's part of the configuration.
type Config struct {
	Model          string  `yaml:"model" doc:"another model of BERT's family: a folder with config.json, model.safetensors and tokenizer.json, or a file of convertmodel; default: the one in the program"`
	Threads        int     `yaml:"threads" doc:"texts that are computed at a time; 0: one for each core"`
	MaxTokens      int     `yaml:"max_tokens" doc:"tokens of one text, prefix and special tokens included; 0: what the model was made for"`
	Pooling        string  `yaml:"pooling" doc:"how the vectors of tokens become one: mean or cls; default: what the model's files say. Part of the model's identity"`
	Normalize      *bool   `yaml:"normalize" doc:"bring every vector to length 1; default: what the model's files say. Part of the model's identity"`
	QueryPrefix    *string `yaml:"query_prefix" doc:"put before every question; default: what the model was trained with. Part of the model's identity"`
	DocumentPrefix *string `yaml:"document_prefix" doc:"put before every passage; default: what the model was trained with. Part of the model's identity"`
}

// Validate bounds the numbers and knows the words.
func (c *Config) Validate() error {
	switch {
	case c.Threads < 0 || c.Threads > 1024:
		return fmt.Errorf("local: threads %d: want 0 to 1024", c.Threads)
	case c.MaxTokens < 0:
		return fmt.Errorf("local: max_tokens %d: want 0 or more", c.MaxTokens)
	case c.Pooling != "" && c.Pooling != "mean" && c.Pooling != "cls":
		return fmt.Errorf("local: pooling %q: want mean or cls", c.Pooling)
	}
	return nil
}

// Embedder computes vectors. Safe for concurrent use.
type Embedder struct {
	file      *modelfile.Model
	model     connector.Model
	documents wordpieces.Tokenizer
	queries   wordpieces.Tokenizer
	// encoder packs the weights when the first text comes: many commands only count tokens.
	encoder func() (*bert.Encoder, error)
}

var (
	_ connector.Embedder      = (*Embedder)(nil)
	_ connector.TokenEmbedder = (*Embedder)(nil)
)

// Plugin registers the embedder under "local". Weights are those of the model in the program, nil where it has none.
func Plugin(weights []byte) connector.EmbedderPlugin {
	return connector.Define("local", "a model that runs in kbsync itself: no network, no key", Config{},
		func(_ context.Context, c *Config, env connector.Env) (connector.Embedder, error) {
			if c.Model != "" && !filepath.IsAbs(c.Model) {
				conf := *c
				conf.Model = filepath.Join(env.Dir, c.Model)
				c = &conf
			}
			return Open(*c, weights)
		})
}

// Open reads a model: the configured one, or that of the weights. Weights are read where they lie and must not change.
func Open(c Config, weights []byte) (*Embedder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	file, err := read(c, weights)
	if err != nil {
		return nil, err
	}
	if err := adapt(&file.Config, c); err != nil {
		return nil, err
	}
	tokenizer, err := file.Tokenizer()
	if err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	version, err := file.Fingerprint()
	if err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	conf := file.Config
	e := &Embedder{
		file:      file,
		documents: wordpieces.Prefixed(tokenizer, conf.DocumentPrefix),
		queries:   wordpieces.Prefixed(tokenizer, conf.QueryPrefix),
		encoder: sync.OnceValues(func() (*bert.Encoder, error) {
			return bert.Load(file, bert.Options{Threads: c.Threads})
		}),
	}
	e.model = connector.Model{
		Provider: "local", Name: conf.Name, Version: version, Dimensions: conf.Hidden,
		DocumentPrefix: conf.DocumentPrefix, QueryPrefix: conf.QueryPrefix, Normalized: conf.Normalize,
		MaxItems: batch, MaxInputTokens: conf.MaxTokens, Counter: e.documents,
	}
	return e, nil
}

// read gives a model of its own to every call: its config is changed.
func read(c Config, weights []byte) (*modelfile.Model, error) {
	if c.Model != "" {
		m, err := modelfile.Load(c.Model)
		if err != nil {
			return nil, fmt.Errorf("local: the model %s: %w", c.Model, err)
		}
		return m, nil
	}
	if len(weights) == 0 {
		return nil, fmt.Errorf("local: this build has no model in it (it was made with the tag nomodel): name one with model, choose another embedder, or use the full build")
	}
	m, err := modelfile.Parse(weights)
	if err != nil {
		return nil, fmt.Errorf("local: the model in the program: %w", err)
	}
	return m, nil
}

// adapt puts what is configured into a model's config.
func adapt(m *modelfile.Config, c Config) error {
	if c.Pooling != "" {
		m.Pooling = c.Pooling
	}
	if c.Normalize != nil {
		m.Normalize = *c.Normalize
	}
	if c.QueryPrefix != nil {
		m.QueryPrefix = *c.QueryPrefix
	}
	if c.DocumentPrefix != nil {
		m.DocumentPrefix = *c.DocumentPrefix
	}
	limit := m.Positions - m.PositionOffset
	if c.MaxTokens > limit {
		return fmt.Errorf("local: max_tokens %d: the model %s has places for %d", c.MaxTokens, m.Name, limit)
	}
	if c.MaxTokens > 0 {
		m.MaxTokens = c.MaxTokens
	}
	return nil
}
