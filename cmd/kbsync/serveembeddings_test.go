//go:build unix

package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// embed asks for an embedding.
func (d *daemon) embed(body, key string) (int, string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.address+"/v1/embeddings", strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestServeEmbeddings: the configured embedder, by name and by alias, for those who have the key; SIGTERM ends it with code 0.
func TestServeEmbeddings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "part.yaml"), "embedder: { lexical: { dimensions: 16 } }\n")
	writeText(t, filepath.Join(dir, "key"), "topsecret\n")
	d := daemonize(t, dir, "serve-embeddings", "-c", "part.yaml", "--listen", "127.0.0.1:0", "--api-key", "file:key", "--alias", "ada", "--input-type", "query")
	d.listens()
	for body, want := range map[string]string{
		`{"model":"ada","input":["a text"]}`:                    `"index":0,"embedding":[`,
		`{"model":"lexical/hash","input":"a","dimensions":16}`:  `"prompt_tokens":1`,
		`{"model":"text-embedding-3-small","input":["a text"]}`: "model_not_found",
	} {
		if _, got := d.embed(body, "topsecret"); !strings.Contains(got, want) {
			t.Errorf("%s: %s", body, got)
		}
		if code, got := d.embed(body, "wrong"); code != http.StatusUnauthorized || strings.Contains(got, "topsecret") {
			t.Errorf("with a wrong key: %d %s", code, got)
		}
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/v1/models": 401} {
		if code, body := d.ask("GET", path); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := d.ends(); code != 0 || d.said("stopping", "", "") != 1 {
		t.Errorf("exit code %d", code)
	}
	for _, line := range d.log {
		for key, value := range line {
			if s, _ := value.(string); strings.Contains(s, "topsecret") {
				t.Errorf("the log tells the key at %s", key)
			}
		}
	}
}
