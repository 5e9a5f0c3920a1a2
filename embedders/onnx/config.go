// Package onnx is the embedder of models of BERT's family in ONNX files, run by ONNX Runtime (https://onnxruntime.ai). It is part of programs that are
// built with cgo and the tag onnx alone; the library is loaded when the embedder is opened.
//
// # Config
//
//	embedder: { onnx: { model: ./all-MiniLM-L6-v2, library: /usr/lib/libonnxruntime.so } }
//
// model is a folder with model.onnx, which takes input_ids and attention_mask (and token_type_ids) and gives a vector for each token, and tokenizer.json,
// which is of WordPiece or Unigram.
//
// # Limits
//
// A process has one ONNX Runtime: the first embedder's library. Texts above max_tokens are refused, not cut. Vectors depend, in their last digits, on what
// else is in a request.
package onnx

import (
	"context"
	"errors"
	"fmt"

	"github.com/kbsync/kbsync/connector"
)

// The defaults: tokens of a text, as BERT's table of positions has them, and texts computed at a time.
const (
	DefaultMaxTokens = 512
	DefaultBatch     = 16
)

// Config is the embedder's part of the configuration.
type Config struct {
	Model          string `yaml:"model" required:"true" doc:"a folder with model.onnx and tokenizer.json"`
	Library        string `yaml:"library" required:"true" doc:"the shared library of ONNX Runtime"`
	Threads        int    `yaml:"threads" doc:"threads of a request; 0: one for each core"`
	QueryPrefix    string `yaml:"query_prefix" doc:"put before every question. Part of the model's identity"`
	DocumentPrefix string `yaml:"document_prefix" doc:"put before every passage. Part of the model's identity"`
	Pooling        string `yaml:"pooling" doc:"how the vectors of tokens become one: mean or cls. Part of the model's identity"`
	Normalize      bool   `yaml:"normalize" doc:"bring every vector to length 1. Part of the model's identity"`
	MaxTokens      int    `yaml:"max_tokens" doc:"tokens of one text, prefix and special tokens included"`
	Batch          int    `yaml:"batch" doc:"texts that are computed together"`
}

func defaults() Config {
	return Config{Pooling: "mean", Normalize: true, MaxTokens: DefaultMaxTokens, Batch: DefaultBatch}
}

// Validate checks the keys.
func (c *Config) Validate() error {
	switch {
	case c.Model == "":
		return errors.New("onnx: model is not given: set it to a folder with model.onnx and tokenizer.json")
	case c.Library == "":
		return errors.New("onnx: library is not given: set it to the path of libonnxruntime.so")
	case c.Pooling != "mean" && c.Pooling != "cls":
		return fmt.Errorf("onnx: pooling %q: choose mean or cls", c.Pooling)
	case c.Threads < 0 || c.MaxTokens < 3 || c.Batch < 1:
		return errors.New("onnx: threads must not be negative, max_tokens at least 3, batch at least 1")
	}
	return nil
}

// Plugin is the registry entry of kind "onnx".
func Plugin() connector.EmbedderPlugin {
	return connector.Define("onnx", "a model of BERT's family, run by ONNX Runtime", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Embedder, error) { return Open(*c) })
}
