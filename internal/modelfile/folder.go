package modelfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ReadFolder reads a model as Hugging Face's libraries write it: config.json of a BertModel or XLMRobertaModel, model.safetensors, and
// tokenizer.json. What is there of 1_Pooling/config.json, sentence_bert_config.json and config_sentence_transformers.json is heeded. Name is
// the folder's.
func ReadFolder(dir string) (*Model, error) {
	m := &Model{}
	if err := readConfig(dir, &m.Config); err != nil {
		return nil, fmt.Errorf("modelfile: %s: %w", dir, err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	if err := readTokenizer(raw, &m.Vocabulary); err != nil {
		return nil, fmt.Errorf("modelfile: %s: tokenizer.json: %w", dir, err)
	}
	m.Vocabulary.Name = m.Config.Name
	weights, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	if m.Tensors, err = readSafetensors(weights, m.shapes()); err != nil {
		return nil, fmt.Errorf("modelfile: %s: model.safetensors: %w", dir, err)
	}
	return m, m.Validate()
}

// bertConfig is what config.json says.
type bertConfig struct {
	ModelType    string  `json:"model_type"`
	Activation   string  `json:"hidden_act"`
	Layers       int     `json:"num_hidden_layers"`
	Hidden       int     `json:"hidden_size"`
	Heads        int     `json:"num_attention_heads"`
	Intermediate int     `json:"intermediate_size"`
	Vocabulary   int     `json:"vocab_size"`
	Positions    int     `json:"max_position_embeddings"`
	Types        int     `json:"type_vocab_size"`
	Epsilon      float64 `json:"layer_norm_eps"`
	Pad          int     `json:"pad_token_id"`
	PositionType string  `json:"position_embedding_type"`
}

func readConfig(dir string, c *Config) error {
	b := bertConfig{Epsilon: 1e-12, Activation: "gelu", PositionType: "absolute"}
	if err := readJSON(filepath.Join(dir, "config.json"), &b); err != nil {
		return err
	}
	if b.PositionType != "absolute" {
		return fmt.Errorf("config.json: positions are %q: only absolute ones are known", b.PositionType)
	}
	*c = Config{
		Name: filepath.Base(filepath.Clean(dir)), Version: "1", Layers: b.Layers, Hidden: b.Hidden, Heads: b.Heads, Intermediate: b.Intermediate,
		Vocabulary: b.Vocabulary, Positions: b.Positions, TypeVocabulary: b.Types, Epsilon: b.Epsilon, Activation: b.Activation,
		Pooling: "mean", Normalize: true,
	}
	switch b.ModelType {
	case "bert":
	case "xlm-roberta":
		c.PositionOffset = b.Pad + 1
	default:
		return fmt.Errorf("config.json: the architecture is %q: only bert and xlm-roberta are known", b.ModelType)
	}
	c.MaxTokens = c.Positions - c.PositionOffset
	return sentenceConfig(dir, c)
}

// sentenceConfig reads what sentence-transformers adds.
func sentenceConfig(dir string, c *Config) error {
	var pooling struct {
		CLS  bool `json:"pooling_mode_cls_token"`
		Mean bool `json:"pooling_mode_mean_tokens"`
		Max  bool `json:"pooling_mode_max_tokens"`
		Sqrt bool `json:"pooling_mode_mean_sqrt_len_tokens"`
	}
	pooling.Mean = true
	var sentence struct {
		Max int `json:"max_seq_length"`
	}
	var prompts struct {
		Prompts map[string]string `json:"prompts"`
	}
	for name, into := range map[string]any{"1_Pooling/config.json": &pooling, "sentence_bert_config.json": &sentence, "config_sentence_transformers.json": &prompts} {
		if err := readJSON(filepath.Join(dir, filepath.FromSlash(name)), into); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	switch {
	case pooling.Max || pooling.Sqrt || pooling.CLS == pooling.Mean:
		return errors.New("1_Pooling/config.json: only the mean of all tokens and the first token are known")
	case pooling.CLS:
		c.Pooling = "cls"
	}
	if sentence.Max > 0 {
		c.MaxTokens = min(c.MaxTokens, sentence.Max)
	}
	for _, name := range []string{"document", "passage"} {
		if p, ok := prompts.Prompts[name]; ok && c.DocumentPrefix == "" {
			c.DocumentPrefix = p
		}
	}
	c.QueryPrefix = prompts.Prompts["query"]
	if strings.Contains(c.Name, "e5") && c.DocumentPrefix == "" && c.QueryPrefix == "" {
		c.DocumentPrefix, c.QueryPrefix = "passage: ", "query: "
	}
	return nil
}

func readJSON(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}
