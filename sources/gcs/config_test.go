package gcs

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
)

func TestValidate(t *testing.T) {
	good := func(change func(*Config)) Config {
		c := defaults()
		c.Bucket = "docs"
		change(&c)
		return c
	}
	for want, c := range map[string]Config{
		"":                                 good(func(*Config) {}),
		"bucket: missing":                  good(func(c *Config) { c.Bucket = "" }),
		"without gs://":                    good(func(c *Config) { c.Bucket = "gs://docs" }),
		"endpoint: expected a URL":         good(func(c *Config) { c.Endpoint = "127.0.0.1:4443" }),
		"one of them":                      good(func(c *Config) { c.CredentialsFile, c.CredentialsJSON = "a.json", "{}" }),
		"does not go with credentials":     good(func(c *Config) { c.Anonymous, c.CredentialsFile = true, "a.json" }),
		"tags: Google Cloud Storage":       good(func(c *Config) { c.Tags = true }),
		"include[0]: not a valid glob":     good(func(c *Config) { c.Include = []string{"["} }),
		"max_size and max_tree_size: expe": good(func(c *Config) { c.MaxSize = -1 }),
	} {
		err := c.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// TestCredentials: what cannot be used is said at once, and no error shows a secret.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte(`{"type":"service_account","private_key":"SECRET"`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"credentials_file: open":             func(c *Config) { c.CredentialsFile = "none.json" },
		"credentials_file: not the JSON":     func(c *Config) { c.CredentialsFile = "bad.json" },
		"credentials_json: not the JSON":     func(c *Config) { c.CredentialsJSON = "SECRET" },
		`credentials of type "magic" cannot`: func(c *Config) { c.CredentialsJSON = `{"type":"magic","k":"SECRET"}` },
		`"service_account" cannot`:           func(c *Config) { c.CredentialsJSON = `{"type":"service_account","private_key":"SECRET"}` },
	} {
		c := defaults()
		c.Bucket = "docs"
		change(&c)
		s, err := Open(t.Context(), c, dir)
		if err == nil {
			// A key is parsed when the first token is fetched.
			err = objectstest.Broken(t, s, 0, nil)
			_ = s.Close()
		}
		if connector.ClassOf(err) != connector.ClassCredentials || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("want %q: class %s: %v", want, connector.ClassOf(err), err)
		}
	}
}

// TestInvalidGrant: a key that was revoked ends the listing as refused credentials; a token server that is down may come back.
func TestInvalidGrant(t *testing.T) {
	status, body := http.StatusBadRequest, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	defer tokens.Close()
	store := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the store is asked without a token") }))
	defer store.Close()
	c := defaults()
	c.Bucket, c.Endpoint, c.CredentialsJSON = "docs", store.URL, connector.Secret(account(t, tokens.URL))
	s, err := Open(t.Context(), c, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	err = objectstest.Broken(t, s, 0, nil)
	if connector.ClassOf(err) != connector.ClassCredentials || !strings.Contains(err.Error(), "invalid_grant Invalid JWT Signature.") {
		t.Errorf("class %s: %v", connector.ClassOf(err), err)
	}
	status, body = http.StatusServiceUnavailable, "later"
	if err := objectstest.Broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("a token server that is down: class %s: %v", connector.ClassOf(err), err)
	}
	tokens.Close()
	if err := objectstest.Broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("no token server: class %s: %v", connector.ClassOf(err), err)
	}
}

// account is the JSON of a service account with a fresh key.
func account(t *testing.T, tokenURL string) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "reader@example.iam.gserviceaccount.com", "private_key_id": "1", "token_uri": tokenURL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestEmulatorVariable: the address that Google's tools take is taken too, and no credentials are looked for.
func TestEmulatorVariable(t *testing.T) {
	asked := ""
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path + " " + r.Header.Get("Authorization")
		_, _ = fmt.Fprint(w, `{"kind":"storage#objects"}`)
	}))
	defer store.Close()
	t.Setenv(emulatorVariable, strings.TrimPrefix(store.URL, "http://"))
	c := defaults()
	c.Bucket = "docs"
	s, err := Open(t.Context(), c, "")
	if err != nil {
		t.Fatal(err)
	}
	if docs := objectstest.List(t, s); len(docs) != 0 || asked != "/storage/v1/b/docs/o " {
		t.Errorf("%d documents; asked for %q", len(docs), asked)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	c.Endpoint = "http://" + objectstest.Dead(t) // a configured endpoint stands before the variable
	if s, err = Open(t.Context(), c, ""); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := objectstest.Broken(t, s, 0, nil); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("nobody listens: %v", err)
	}
}
