package azblob

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/kbsync/kbsync/connector"
)

func TestValidate(t *testing.T) {
	good := func(change func(*Config)) Config {
		c := defaults()
		c.Account, c.Container = "corp", "docs"
		change(&c)
		return c
	}
	for want, c := range map[string]Config{
		"":                                 good(func(*Config) {}),
		"container: missing":               good(func(c *Config) { c.Container = "" }),
		"without a path":                   good(func(c *Config) { c.Container = "docs/2024" }),
		"account: missing":                 good(func(c *Config) { c.Account = "" }),
		"its address is endpoint":          good(func(c *Config) { c.Account = "corp.blob.core.windows.net" }),
		"account_key, sas_token: one":      good(func(c *Config) { c.AccountKey, c.SASToken = "a", "b" }),
		"sas_token, anonymous: one":        good(func(c *Config) { c.SASToken, c.Anonymous = "b", true }),
		"leave out account and endpoint":   good(func(c *Config) { c.ConnectionString = "UseDevelopmentStorage=true" }),
		"the signature is sas_token":       good(func(c *Config) { c.Endpoint = "https://corp.blob.core.windows.net/?sig=SECRET" }),
		"endpoint: expected a URL":         good(func(c *Config) { c.Endpoint = "corp.blob.core.windows.net" }),
		"not sent over http":               good(func(c *Config) { c.Endpoint = "http://127.0.0.1:10000/corp" }),
		"connection_string: expected KEY":  good(func(c *Config) { c.Account, c.ConnectionString = "", "SECRET" }),
		"has neither AccountKey":           good(func(c *Config) { c.Account, c.ConnectionString = "", "AccountName=corp;Secret=SECRET" }),
		"names neither AccountName":        good(func(c *Config) { c.Account, c.ConnectionString = "", "AccountKey=SECRET" }),
		"include[0]: not a valid glob":     good(func(c *Config) { c.Include = []string{"["} }),
		"max_size and max_tree_size: expe": good(func(c *Config) { c.MaxSize = -1 }),
	} {
		err := c.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("want %q: %v", want, err)
		}
		if err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("a secret is shown: %v", err)
		}
	}
}

func TestConnectionStrings(t *testing.T) {
	for s, want := range map[string]access{
		"DefaultEndpointsProtocol=https;AccountName=corp;AccountKey=a2V5==;EndpointSuffix=core.windows.net": {"corp", "https://corp.blob.core.windows.net", "a2V5==", ""},
		"AccountName=corp;AccountKey=a2V5;EndpointSuffix=core.chinacloudapi.cn;":                            {"corp", "https://corp.blob.core.chinacloudapi.cn", "a2V5", ""},
		"BlobEndpoint=https://corp.blob.core.windows.net/;SharedAccessSignature=?sv=1&sig=x%3D":             {"", "https://corp.blob.core.windows.net", "", "sv=1&sig=x%3D"},
		"UseDevelopmentStorage=true": {devAccount, devEndpoint, devKey, ""},
	} {
		if got, err := parseConnectionString(s); err != nil || got != want {
			t.Errorf("%s: %+v, %v", s, got, err)
		}
	}
}

func TestBadKey(t *testing.T) {
	c := defaults()
	c.Account, c.Container, c.AccountKey = "corp", "docs", "SECRET!"
	_, err := Open(t.Context(), c)
	if connector.ClassOf(err) != connector.ClassCredentials || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("%v", err)
	}
}

// TestIdentity: what the identity's service refuses ends the run; what it cannot do now may pass.
func TestIdentity(t *testing.T) {
	answer := func(status int, body string) error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://login.example/token", nil)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Errorf("list: %w", &azidentity.AuthenticationFailedError{RawResponse: &http.Response{
			StatusCode: status, Request: request, Body: io.NopCloser(bytes.NewReader([]byte(body))), Header: http.Header{},
		}})
	}
	c := defaults()
	err := c.classify(answer(401, `{"error":"invalid_client","error_description":"AADSTS7000222: The provided client secret keys are expired."}`))
	if connector.ClassOf(err) != connector.ClassCredentials || !strings.Contains(err.Error(), "keys are expired") {
		t.Errorf("%v", err)
	}
	if err := c.classify(answer(503, "later")); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("%v", err)
	}
	none := fmt.Errorf("list: %w", azidentity.NewCredentialUnavailableError("DefaultAzureCredential: failed to acquire a token.\nAttempted credentials:\n\tEnvironmentCredential: missing AZURE_TENANT_ID"))
	if err := c.classify(none); connector.ClassOf(err) != connector.ClassCredentials || !strings.Contains(err.Error(), "AZURE_TENANT_ID") {
		t.Errorf("%v", err)
	}
}
