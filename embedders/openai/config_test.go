package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/internal/providers"
	"github.com/kbsync/kbsync/internal/providers/providerstest"
)

func registry(t *testing.T) *connector.Registry {
	t.Helper()
	reg := new(connector.Registry)
	if err := reg.Embedders.Add("openai", Plugin()); err != nil {
		t.Fatal(err)
	}
	return reg
}

// Every key is read from YAML, and no secret is printed.
func TestYAML(t *testing.T) {
	const file = `
embedder:
  openai:
    service: tei
    model: intfloat/multilingual-e5-small
    base_url: http://tei:8080/v1
    api_key: env:KEY
    dimensions: 384
    batch: 16
    max_tokens_per_request: 4000
    timeout: 30s
    query_prefix: ""
    normalize: true
    headers: { X-Team: "env:TEAM", X-Plain: blue }
    rpm: 500
    tpm: 100000
    budget: 2.5
`
	env := func(name string) (string, bool) {
		return map[string]string{"KEY": "topsecret-key", "TEAM": "topsecret-team"}[name], true
	}
	f, err := config.Parse("kbsync.yaml", []byte(file), registry(t), config.Options{Partial: true, Getenv: env})
	if err != nil {
		t.Fatal(err)
	}
	c, ok := f.Embedder.Config.(*Config)
	if !ok {
		t.Fatalf("%T", f.Embedder.Config)
	}
	if c.APIKey.Reveal() != "topsecret-key" || c.Headers["X-Team"].Reveal() != "topsecret-team" || c.Headers["X-Plain"].Reveal() != "blue" {
		t.Errorf("secrets %q, %q, %q", c.APIKey.Reveal(), c.Headers["X-Team"].Reveal(), c.Headers["X-Plain"].Reveal())
	}
	e, err := Open(t.Context(), *c)
	if err != nil {
		t.Fatal(err)
	}
	m := e.Model()
	if m.QueryPrefix != "" || m.DocumentPrefix != "passage: " || m.MaxItems != 16 || m.MaxTokens >= 4000 || m.Dimensions != 384 || !m.Normalized {
		t.Errorf("%+v", m)
	}
	if m.RequestsPerMinute != 500 || m.TokensPerMinute != 100000 || m.Budget != 2.5 {
		t.Errorf("%+v", m)
	}
	shown, err := f.Show()
	if err != nil || strings.Contains(string(shown), "topsecret") {
		t.Errorf("shown: %s, %v", shown, err)
	}
	if table := config.KeyTable(Plugin().Config()); !strings.Contains(table, "| `query_prefix` | string |") || !strings.Contains(table, "| `api_key` | secret |") {
		t.Error(table)
	}
	if _, err := config.Schema(registry(t)); err != nil {
		t.Error(err)
	}
}

func TestServices(t *testing.T) {
	for _, c := range []struct {
		config  Config
		service string
		base    string
		items   int
		input   int
		err     string
	}{
		{config: Config{Config: providers.Config{APIKey: "k"}}, service: "openai", base: "https://api.openai.com/v1", items: 2048, input: 8192},
		{config: Config{}, err: "env:OPENAI_API_KEY"},
		{config: Config{Config: providers.Config{BaseURL: "https://x.openai.azure.com/openai/v1", APIKey: "k", Model: "text-embedding-3-large"}}, service: "azure", items: 2048, input: 8192},
		{config: Config{Service: "azure"}, err: "base_url is not given"},
		{config: Config{Service: "dashscope", Config: providers.Config{APIKey: "k", Model: "text-embedding-v4"}}, service: "dashscope",
			base: "https://dashscope.aliyuncs.com/compatible-mode/v1", items: 10, input: 8192},
		{config: Config{Config: providers.Config{BaseURL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", APIKey: "k", Model: "text-embedding-v1"}}, service: "dashscope", items: 10, input: 2048},
		{config: Config{Config: providers.Config{BaseURL: "https://open.bigmodel.cn/api/paas/v4", APIKey: "k", Model: "embedding-3"}}, service: "zhipu", items: 64, input: 3072},
		{config: Config{Service: "siliconflow", Config: providers.Config{APIKey: "k", Model: "BAAI/bge-m3"}}, service: "siliconflow", items: 32, input: 8192},
		{config: Config{Service: "siliconflow", Config: providers.Config{Model: "BAAI/bge-m3"}}, err: "env:SILICONFLOW_API_KEY"},
		{config: Config{Service: "tei", Config: providers.Config{Model: "baai/BGE-m3"}}, service: "tei", base: "http://localhost:8080/v1", items: 32, input: 8192},
		{config: Config{Config: providers.Config{BaseURL: "http://10.0.0.1/v1", Model: "BAAI/bge-m3"}}, service: "compatible", items: 64, input: 8192},
		{config: Config{Config: providers.Config{BaseURL: "http://10.0.0.1/v1"}}, err: "model is not given"},
		{config: Config{Config: providers.Config{BaseURL: "https://api.openai.com.evil.example/v1", Model: "BAAI/bge-m3"}}, service: "compatible", items: 64, input: 8192},
		{config: Config{Service: "tie"}, err: "no service"},
		{config: Config{Config: providers.Config{APIKey: "k", Dimensions: 4000}}, err: "1 to 1536"},
		{config: Config{Service: "zhipu", Config: providers.Config{APIKey: "k", Model: "embedding-3", Dimensions: 300}}, err: "256, 512, 1024"},
	} {
		e, err := Open(t.Context(), c.config)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: %v, want %q", c.config, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c.config, err)
			continue
		}
		again := c.config
		if err := errors.Join(again.Validate(), again.Validate()); err != nil || again.Service != c.service || c.base != "" && again.BaseURL != c.base {
			t.Errorf("%+v: service %s at %s", c.config, again.Service, again.BaseURL)
		}
		if m := e.Model(); m.MaxItems != c.items || m.MaxInputTokens != c.input {
			t.Errorf("%s %s: limits %d, %d", c.service, m.Name, m.MaxItems, m.MaxInputTokens)
		}
	}
}

// The services' manners: the key's header, base64, the query of the address, and a size that is asked for.
func TestManners(t *testing.T) {
	azure := providerstest.OpenAI(1536, "api-key")
	azure.Base = "/openai/deployments/d"
	for name, c := range map[string]struct {
		wire   providerstest.Wire
		config Config
		query  string
		want   providerstest.Call
	}{
		"openai": {providerstest.OpenAI(1536, ""), Config{Service: "openai", Config: providers.Config{Model: "text-embedding-3-small", Dimensions: 256}}, "", providerstest.Call{Dimensions: 256, Base64: true}},
		"azure":  {azure, Config{Service: "azure", Config: providers.Config{Model: "text-embedding-3-small", Dimensions: 1536}}, "?api-version=2024-02-01", providerstest.Call{Base64: true}},
		"tei":    {providerstest.OpenAI(1024, ""), Config{Service: "tei", Config: providers.Config{Model: "BAAI/bge-m3"}}, "", providerstest.Call{}},
	} {
		t.Run(name, func(t *testing.T) {
			server := providerstest.Start(t, c.wire)
			c.config.BaseURL, c.config.APIKey = server.URL+c.query, providerstest.Key
			e, err := Open(t.Context(), c.config)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = e.Close() }()
			if _, err := e.Embed(t.Context(), []string{"a", "b"}); err != nil {
				t.Fatal(err)
			}
			calls := server.Calls()
			if len(calls) != 1 || calls[0].Dimensions != c.want.Dimensions || calls[0].Base64 != c.want.Base64 {
				t.Errorf("%+v", calls)
			}
			if u := e.Usage(); u.Requests != 1 || u.Tokens != 2 {
				t.Errorf("usage %+v", u)
			}
		})
	}
}

// A model that nobody knows is asked once for its dimensions; the error says how to do without.
func TestUnknownModel(t *testing.T) {
	server := providerstest.Start(t, providerstest.OpenAI(77, ""))
	e, err := Open(t.Context(), Config{Config: server.Config("home-made")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if e.Model().Dimensions != 77 || len(server.Calls()) != 1 {
		t.Errorf("%d dimensions after %d calls", e.Model().Dimensions, len(server.Calls()))
	}
	configured := server.Config("home-made")
	configured.Dimensions = 77
	other, err := Open(t.Context(), Config{Config: configured})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if len(server.Calls()) != 1 || other.Model().Identity() != e.Model().Identity() {
		t.Errorf("configured dimensions: %d calls, identity %s", len(server.Calls()), other.Model().Identity())
	}
	configured.APIKey, configured.Dimensions = "sk-some-wrong-key", 0
	_, err = Open(t.Context(), Config{Config: configured})
	if connector.ClassOf(err) != connector.ClassDenied || !strings.Contains(err.Error(), "set dimensions") || strings.Contains(err.Error(), "sk-some") {
		t.Errorf("a wrong key: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = Open(ctx, Config{Config: server.Config("home-made")}); err == nil {
		t.Error("opened though cancelled")
	}
}

// The address and the key are no part of the identity; prefixes and dimensions are.
func TestIdentity(t *testing.T) {
	id := func(change func(c *Config)) string {
		t.Helper()
		c := Config{Config: providers.Config{APIKey: "k", Model: "text-embedding-3-small"}}
		change(&c)
		e, err := Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return e.Model().Identity()
	}
	base, prefix := id(func(*Config) {}), "p: "
	for name, change := range map[string]func(c *Config){
		"address": func(c *Config) { c.BaseURL, c.Service = "http://gateway/v1", "openai" },
		"key":     func(c *Config) { c.APIKey = "other" },
		"batch":   func(c *Config) { c.Batch, c.RequestsPerMinute, c.Budget = 3, 4, 5 },
		"default": func(c *Config) { c.Dimensions, c.Normalize = 1536, true },
	} {
		if id(change) != base {
			t.Errorf("%s changes the identity", name)
		}
	}
	for name, change := range map[string]func(c *Config){
		"dimensions": func(c *Config) { c.Dimensions = 512 },
		"model":      func(c *Config) { c.Model = "text-embedding-ada-002" },
		"document":   func(c *Config) { c.DocumentPrefix = &prefix },
		"query":      func(c *Config) { c.QueryPrefix = &prefix },
	} {
		if id(change) == base {
			t.Errorf("%s leaves the identity as it is", name)
		}
	}
}

// A server that gives no index and wrongly large vectors for normalize; and headers for a gateway.
func TestCompatible(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var b struct{ Input []string }
		if r.Header.Get("X-Team") != "blue" || json.Unmarshal(body, &b) != nil || r.Header.Get("Authorization") != "" {
			http.Error(w, "headers", http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"embedding":[3,4]},{"embedding":[0,-7]}]}`)
	}))
	defer server.Close()
	e, err := Open(t.Context(), Config{Config: providers.Config{BaseURL: server.URL, Model: "m", Dimensions: 2, Normalize: true, Headers: map[string]connector.Secret{"X-Team": "blue"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	v, err := e.Embed(t.Context(), []string{"a", "b"})
	if err != nil || v[0][0] != 0.6 || v[0][1] != 0.8 || v[1][0] != 0 || v[1][1] != -1 {
		t.Errorf("%v, %v", v, err)
	}
}

// A question whose vector is all zero is an error by itself, not that of a batch.
func TestZeroQuestion(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[0,0]}]}`)
	}))
	defer server.Close()
	e, err := Open(t.Context(), Config{Config: providers.Config{BaseURL: server.URL, Model: "m", Dimensions: 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	var be *connector.BatchError
	if v, err := e.EmbedQuery(t.Context(), "a"); v != nil || connector.ClassOf(err) != connector.ClassInvalid || errors.As(err, &be) {
		t.Errorf("%v, %v", v, err)
	}
}
