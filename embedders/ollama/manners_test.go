package ollama

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/providers"
)

// The context, the time to stay loaded and the model's own prefixes are sent; a missing model's error says how to get it.
func TestManners(t *testing.T) {
	var got map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = nil
		if err := json.Unmarshal(body, &got); err != nil || got["model"] == "gone" {
			http.Error(w, `{"error":"model \"gone\" not found, try pulling it first"}`, http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, `{"embeddings":[[`+strings.Repeat("1,", 767)+`1]],"prompt_eval_count":5}`)
	}))
	defer server.Close()
	e, err := Open(t.Context(), Config{Config: providers.Config{BaseURL: server.URL, Model: "nomic-embed-text:v1.5"}, KeepAlive: "-1", Context: 8192})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	sent, _ := json.Marshal(got)
	if string(sent) != `{"input":["search_document: a"],"keep_alive":-1,"model":"nomic-embed-text:v1.5","options":{"num_ctx":8192},"truncate":false}` {
		t.Errorf("sent %s", sent)
	}
	if m := e.Model(); m.MaxInputTokens != 8192-len("search_document: ") || m.QueryPrefix != "search_query: " || e.Usage().Tokens != 5 {
		t.Errorf("%+v, %+v", m, e.Usage())
	}
	_, err = Open(t.Context(), Config{Config: providers.Config{BaseURL: server.URL, Model: "gone"}})
	if connector.ClassOf(err) != connector.ClassNotFound || !strings.Contains(err.Error(), "ollama pull gone") {
		t.Errorf("a missing model: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for want, c := range map[string]Config{
		"model":      {},
		"keep_alive": {Config: providers.Config{Model: "bge-m3"}, KeepAlive: "long"},
		"context":    {Config: providers.Config{Model: "bge-m3"}, Context: -1},
		"nothing":    {Config: providers.Config{Model: "bge-m3:567m", Dimensions: 512}},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	c := Config{Config: providers.Config{Model: "qwen3-embedding:8b", Dimensions: 1024}, KeepAlive: "10m"}
	if err := c.Validate(); err != nil || c.BaseURL != DefaultBaseURL {
		t.Errorf("%v, %s", err, c.BaseURL)
	}
}
