// Package providers holds what the embedders that ask a service over HTTP share: the common keys of their configuration, the cards of
// known models, one JSON request a call, the classes of errors, and the checks that every answer passes before a vector is given a text.
//
// A provider sends one request for each Embed. It never retries, never paces and never splits: the engine does, by the model's limits and
// the error's class.
package providers

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// DefaultTimeout bounds a request where nothing else is configured.
const DefaultTimeout = time.Minute

// Elsewhere as the base address of [Config.Check] leaves an empty base_url empty: the provider's own [Sender] knows where its service is.
const Elsewhere = "elsewhere"

// Config are the keys that every provider takes; it is embedded with `yaml:",inline"`.
type Config struct {
	Model             string                      `yaml:"model" doc:"the model's name, as the service spells it"`
	BaseURL           string                      `yaml:"base_url" doc:"where the service is; default the provider's own address"`
	APIKey            connector.Secret            `yaml:"api_key" doc:"the service's key; better env:NAME or file:PATH than the key itself"`
	Dimensions        int                         `yaml:"dimensions" doc:"components of a vector; 0: what the model gives. Asked of the service where the model can give several sizes or is not known"`
	Batch             int                         `yaml:"batch" doc:"texts in a request; 0: the most that the service takes"`
	MaxTokens         int                         `yaml:"max_tokens_per_request" doc:"tokens in a request; 0: the most that the service takes"`
	Timeout           time.Duration               `yaml:"timeout" doc:"the longest time for one request"`
	QueryPrefix       *string                     `yaml:"query_prefix" doc:"put before every question; default what the model was trained with. Part of the model's identity"`
	DocumentPrefix    *string                     `yaml:"document_prefix" doc:"put before every passage; default what the model was trained with. Part of the model's identity"`
	Normalize         bool                        `yaml:"normalize" doc:"bring every vector to length 1, where the model does not"`
	Headers           map[string]connector.Secret `yaml:"headers" doc:"more headers of every request, for a gateway; never printed"`
	RequestsPerMinute int                         `yaml:"rpm" doc:"requests a minute, all workers together; 0: as many as the service takes"`
	TokensPerMinute   int                         `yaml:"tpm" doc:"tokens a minute, all workers together; 0: as many as the service takes"`
	Budget            float64                     `yaml:"budget" doc:"stop before a sync has spent more than this on embeddings, in the currency of the model's price; 0: no limit"`
}

// Complete checks the common keys and the size of the vectors, and fills the keys that are empty; base and keyName as in Check. The
// errors name the provider. card is asked once the keys are filled.
func (c *Config) Complete(provider, base, keyName string, card func() Card) error {
	err := c.Check(base, keyName)
	if err == nil {
		model := card()
		err = model.Allows(c.Dimensions)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", provider, err)
	}
	return nil
}

// Check validates the common keys and fills those that are empty. base is the address where none is configured; keyName is the
// environment variable that the error for a missing key names, empty where the service works without one.
func (c *Config) Check(base, keyName string) error {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.BaseURL == "" {
		c.BaseURL = base
	}
	own := c.BaseURL == base
	if own && base == Elsewhere {
		c.BaseURL = ""
	}
	u, err := url.Parse(c.BaseURL)
	switch {
	case strings.TrimSpace(c.Model) == "":
		return errors.New("model is not given")
	case c.BaseURL == "" && base != Elsewhere:
		return errors.New("base_url is not given")
	case c.BaseURL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == ""):
		return errors.New("base_url: want an address such as https://example.com/v1") // not quoted: it may hold a key
	case u.User != nil:
		return errors.New("base_url holds a user or password: use api_key or headers")
	case c.Dimensions < 0 || c.Batch < 0 || c.MaxTokens < 0 || c.Timeout < 0:
		return errors.New("dimensions, batch, max_tokens_per_request and timeout must not be negative")
	case c.RequestsPerMinute < 0 || c.TokensPerMinute < 0 || c.Budget < 0:
		return errors.New("rpm, tpm and budget must not be negative")
	case !sendable(c.APIKey.Reveal()):
		return errors.New("api_key holds a line break, a space at an end, or a character that no header can carry")
	case c.APIKey == "" && own && keyName != "":
		return fmt.Errorf("api_key is not given: set it to env:%s, or base_url to a gateway that adds one", keyName)
	}
	return c.checkHeaders()
}

func (c *Config) checkHeaders() error {
	for name, value := range c.Headers {
		switch http.CanonicalHeaderKey(name) {
		case "", "Host", "Content-Length", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Accept-Encoding", "Connection":
			return fmt.Errorf("headers: %q cannot be set", name)
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("()<>@,;:\\\"/[]?={}", r) }) {
			return fmt.Errorf("headers: %q is not the name of a header", name)
		}
		if !sendable(value.Reveal()) {
			return fmt.Errorf("headers: the value of %s holds a line break or a character that no header can carry", name)
		}
	}
	return nil
}

func sendable(value string) bool {
	return strings.TrimSpace(value) == value && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f })
}
