// Package bedrock is the embedder of the models in Amazon Bedrock: Titan Text Embeddings, Cohere Embed and Nova Multimodal Embeddings (of texts). The
// AWS SDK signs the requests and finds credentials; what is asked of an answer is what internal/providers asks of every service's.
//
// # Config
//
//	embedder: { bedrock: { model: "amazon.titan-embed-text-v2:0", region: eu-central-1, dimensions: 512 } }
//
// model is the id of a model or of an inference profile, or an ARN; where an ARN does not tell the model behind it, base_model does. The model's
// identity is that of the model behind: another profile or region gives the same vectors. Credentials come from where the AWS tools look for them, from
// access_key and secret_key, from profile, then from role_arn; or api_key is a key of Bedrock. base_url is for gateways and private endpoints.
//
// # Limits
//
// Titan and Nova take one text in a request, so their speed is that of many requests at a time; Cohere's models take 96. Long texts are refused, not cut:
// above 8,192 tokens by Titan, 2,048 characters by Cohere's version 3, 8,192 characters by Nova. The tokenizers are not known here: cl100k counts in
// their place. The SDK never repeats a request; the engine does.
package bedrock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/awsconf"
	"github.com/kbsync/kbsync/internal/providers"
)

// DefaultModel is Titan Text Embeddings V2.
const DefaultModel = "amazon.titan-embed-text-v2:0"

// Config is the embedder's part of the configuration.
type Config struct {
	providers.Config `yaml:",inline"`
	BaseModel        string `yaml:"base_model" doc:"id of the model behind model, where that is an ARN which does not tell it"`
	awsconf.Access   `yaml:",inline"`
}

// Validate checks the keys and fills those that are empty.
func (c *Config) Validate() error {
	if c.Model == "" {
		c.Model = DefaultModel
	}
	m, err := find(cmp.Or(c.BaseModel, c.Model))
	if err != nil {
		return fmt.Errorf("bedrock: %w", err)
	}
	if err := c.Complete("bedrock", providers.Elsewhere, "", func() providers.Card { return m.card }); err != nil {
		return err
	}
	errs := []error{c.Access.Validate()}
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil, u.RawQuery != "", u.Fragment != "":
		fail("base_url: must hold no query; use headers")
	case u.Scheme == "http" && c.APIKey != "":
		fail("api_key: is sent over https only; base_url is http")
	}
	if c.APIKey != "" && c.Chosen() {
		fail("api_key: goes with no access_key, profile or role_arn")
	}
	if c.Batch > m.card.MaxItems {
		fail("batch: %s takes %d texts in a request", m.card.Name, m.card.MaxItems)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("bedrock: %w", err)
	}
	return nil
}

// Plugin registers the embedder under "bedrock".
func Plugin() connector.EmbedderPlugin {
	return connector.Define("bedrock", "Titan, Cohere's and Nova's embedding models in Amazon Bedrock",
		Config{Config: providers.Config{Model: DefaultModel, Timeout: providers.DefaultTimeout}},
		func(ctx context.Context, c *Config, _ connector.Env) (connector.Embedder, error) {
			return Open(ctx, *c)
		})
}

// Open makes an embedder; see [providers.Open] for when it asks the service.
func Open(ctx context.Context, c Config) (*providers.Embedder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m, err := find(cmp.Or(c.BaseModel, c.Model))
	if err != nil {
		return nil, fmt.Errorf("bedrock: %w", err)
	}
	spec := providers.Spec{
		Provider: "bedrock", Name: m.card.Name, Version: "1", Config: c.Config, Card: m.card, Roles: m.family.roles,
		Encode: m.family.encode, Decode: m.family.decode, Secrets: []connector.Secret{c.SecretKey, c.SessionToken},
	}
	if err := dial(ctx, &c, &spec); err != nil {
		return nil, fmt.Errorf("bedrock: %w", err)
	}
	e, err := providers.Open(ctx, spec)
	if err != nil {
		spec.Sender.Close()
		return nil, err
	}
	return e, nil
}
