package bedrock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/awsconf"
	"github.com/kbsync/kbsync/internal/providers"
	"github.com/kbsync/kbsync/internal/providers/providerstest"
)

// serve answers every request by h, and counts them.
func serve(t *testing.T, h http.HandlerFunc) (c Config, asked *int) {
	t.Helper()
	alone(t)
	asked = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		h(w, r)
	}))
	t.Cleanup(server.Close)
	return configured(providers.Config{BaseURL: server.URL, APIKey: providerstest.Key, Dimensions: 256}), asked
}

func embed(t *testing.T, c Config) error {
	t.Helper()
	e, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, err = e.Embed(t.Context(), []string{"a text"})
	return err
}

// vector answers as Titan with 256 dimensions does.
func vector(w http.ResponseWriter) {
	_, _ = io.WriteString(w, `{"embedding":[1`+strings.Repeat(",0", 255)+`],"inputTextTokenCount":3}`)
}

// TestRefusals are those of Amazon: the code in a header, the message in the body.
func TestRefusals(t *testing.T) {
	denied, throttled, transient, invalid := connector.ClassDenied, connector.ClassThrottled, connector.ClassTransient, connector.ClassInvalid
	for _, f := range []struct {
		status  int
		code    string
		message string
		class   connector.Class
		words   string
		header  string
	}{
		{429, "ThrottlingException", "Too many requests, please wait before trying again.", throttled, "Too many requests", ""},
		{429, "ThrottlingException", "Too many requests", throttled, "", "5"},
		{400, "ThrottlingException", "Rate exceeded", throttled, "", ""},
		{429, "ThrottlingException", "Too many tokens per day, please wait before trying again.", denied, "quota", ""},
		{400, "ServiceQuotaExceededException", "Your request exceeds the service quota", throttled, "", ""},
		{429, "ModelNotReadyException", "The model is not ready", transient, "not ready", ""},
		{424, "ModelErrorException", "The model failed", transient, "", ""},
		{408, "ModelTimeoutException", "The request took too long to process", transient, "", ""},
		{500, "InternalServerException", "The system encountered an unexpected error", transient, "unexpected", ""},
		{503, "ServiceUnavailableException", "Bedrock is unable to process your request", transient, "", ""},
		{503, "ServiceUnavailableException", "busy", throttled, "", "5"},
		{403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", denied, "bedrock:InvokeModel", ""},
		{403, "ExpiredTokenException", "The security token included in the request is expired", denied, "expired", ""},
		{400, "ExpiredTokenException", "The security token included in the request is expired", denied, "access_key", ""},
		{403, "UnrecognizedClientException", "The security token included in the request is invalid.", denied, "access_key", ""},
		{403, "InvalidSignatureException", "The request signature we calculated does not match", denied, "", ""},
		{400, "IncompleteSignatureException", "no signature", denied, "", ""},
		{404, "ResourceNotFoundException", "Could not resolve the foundation model", connector.ClassNotFound, "region", ""},
		{400, "ValidationException", "The provided model identifier is invalid.", connector.ClassNotFound, "check model", ""},
		{400, "ValidationException", "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 11393 ", invalid, "8192", ""},
		{400, "ValidationException", "Malformed input request: expected maxLength: 2048, actual: 3000, please reformat your input and try again.", invalid, "2048", ""},
		{400, "ValidationException", "Malformed input request: #/texts: expected maximum item count: 96, found: 97", connector.ClassTooLarge, "", ""},
		{400, "ValidationException", "Malformed input request: #: extraneous key [dimensions] is not permitted", connector.ClassUnsupported, "check model", ""},
		{400, "ValidationException", "Invocation of model ID m with on-demand throughput isn’t supported. Retry with an inference profile", connector.ClassUnsupported, "profile", ""},
		{400, "ValidationException", "Malformed input request", invalid, "", ""},
	} {
		for _, inBody := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %s %.20s %t", f.status, f.code, f.message, inBody), func(t *testing.T) {
				c, asked := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					body := fmt.Sprintf(`{"message":%q}`, f.message+" "+providerstest.Key)
					if inBody {
						body = fmt.Sprintf(`{"__type":"com.amazon.coral.service#%s",%s`, f.code, body[1:])
					} else {
						w.Header().Set("X-Amzn-Errortype", f.code+":http://internal.amazon.com/coral/com.amazon.bedrock/")
					}
					if f.header != "" {
						w.Header().Set("Retry-After", f.header)
					}
					w.WriteHeader(f.status)
					_, _ = io.WriteString(w, body)
				})
				err := embed(t, c)
				if connector.ClassOf(err) != f.class || *asked != 1 || !strings.Contains(err.Error(), f.words) || strings.Contains(err.Error(), providerstest.Key) {
					t.Errorf("%v: class %v, want %v; %d requests", err, connector.ClassOf(err), f.class, *asked)
				}
				if ce, ok := err.(*connector.Error); !ok || (ce.RetryAfter == 5*time.Second) != (f.header != "") { //nolint:errorlint // it is the outermost
					t.Errorf("%v does not say how long to wait", err)
				}
			})
		}
	}
}

// TestSignature makes the signature again from what arrived.
func TestSignature(t *testing.T) {
	var got, want string
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sum := sha256.Sum256(body)
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if err != nil {
			t.Error(err)
		}
		got = r.Header.Get("Authorization")
		again := r.Clone(r.Context())
		again.URL.Scheme, again.URL.Host = "http", r.Host
		again.Header = http.Header{}
		_, signed, _ := strings.Cut(got, "SignedHeaders=")
		signed, _, _ = strings.Cut(signed, ",")
		for _, name := range strings.Split(signed, ";") {
			if v := r.Header.Get(name); v != "" {
				again.Header.Set(name, v)
			}
		}
		creds := aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: providerstest.Key, SessionToken: "session-token-of-tests"}
		if err := v4.NewSigner().SignHTTP(r.Context(), creds, again, hex.EncodeToString(sum[:]), "bedrock", "eu-central-1", at); err != nil {
			t.Error(err)
		}
		want = again.Header.Get("Authorization")
		vector(w)
	})
	c.SessionToken = "session-token-of-tests"
	if err := embed(t, c); err != nil || got != want || got == "" {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

// TestKeysBeforeEnvironment: the configuration's credentials are used, whatever the environment holds.
func TestKeysBeforeEnvironment(t *testing.T) {
	auth := ""
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		auth = r.Header.Get("Authorization")
		if r.Header.Get("X-Gateway") != "gatewaysecret" {
			t.Error("the configured header is missing")
		}
		vector(w)
	})
	c.Headers = map[string]connector.Secret{"X-Gateway": "gatewaysecret"}
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "bearer-of-the-environment")
	if err := embed(t, c); err != nil || !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 Credential="+accessKey) {
		t.Errorf("%v, signed %q", err, auth)
	}
}

// TestBearer sends a key of Bedrock, over TLS alone.
func TestBearer(t *testing.T) {
	alone(t)
	auth := ""
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { auth = r.Header.Get("Authorization"); vector(w) }))
	defer server.Close()
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CA_BUNDLE", bundle)
	t.Setenv("AWS_ACCESS_KEY_ID", "other")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "other")
	c := Config{Config: providers.Config{BaseURL: server.URL, APIKey: providerstest.Key, Dimensions: 256}}
	if err := embed(t, c); err != nil || auth != "Bearer "+providerstest.Key {
		t.Errorf("%v, %q", err, auth)
	}
}

func TestNoCredentials(t *testing.T) {
	c, asked := serve(t, func(w http.ResponseWriter, _ *http.Request) { vector(w) })
	c.AccessKey, c.SecretKey = "", ""
	if err := embed(t, c); connector.ClassOf(err) != connector.ClassDenied || !strings.Contains(err.Error(), "no credentials") || *asked != 0 {
		t.Errorf("%v, class %v, %d requests", err, connector.ClassOf(err), *asked)
	}
	c.RoleARN = "arn:aws:iam::123456789012:role/reader"
	c.AccessKey, c.SecretKey = accessKey, providerstest.Key
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer busy.Close()
	t.Setenv("AWS_ENDPOINT_URL_STS", busy.URL)
	if err := embed(t, c); connector.ClassOf(err) != connector.ClassTransient || *asked != 0 {
		t.Errorf("a role whose token service is overloaded: %v, class %v", err, connector.ClassOf(err))
	}
}

func TestModels(t *testing.T) {
	for id, want := range map[string]string{
		"amazon.titan-embed-text-v2:0":                                                      "amazon.titan-embed-text-v2:0",
		"amazon.titan-embed-text-v1:2:8k":                                                   "amazon.titan-embed-text-v1",
		"us.cohere.embed-v4:0":                                                              "cohere.embed-v4:0",
		"arn:aws:bedrock:us-east-1::foundation-model/cohere.embed-english-v3":               "cohere.embed-english-v3",
		"arn:aws:bedrock:us-east-1:123456789012:inference-profile/global.cohere.embed-v4:0": "cohere.embed-v4:0",
		"eu.amazon.nova-2-multimodal-embeddings-v1:0":                                       "amazon.nova-2-multimodal-embeddings-v1:0",
		"cohere.embed-v9:0":                                                                 "cohere.embed-v9:0",
	} {
		if m, err := find(id); err != nil || m.card.Name != want || m.card.MaxItems == 0 {
			t.Errorf("%s leads to %+v, %v", id, m.card, err)
		}
	}
	alone(t)
	a, b := configured(providers.Config{Model: "cohere.embed-v4:0", APIKey: "secret"}), configured(providers.Config{Model: "us.cohere.embed-v4:0", APIKey: "secret"})
	c := configured(providers.Config{Model: "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/x7", APIKey: "secret"})
	c.BaseModel = "cohere.embed-v4:0"
	seen := map[string]bool{}
	for _, one := range []Config{a, b, c} {
		e, err := Open(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.Close() }()
		seen[e.Model().Identity()] = true
	}
	if len(seen) != 1 {
		t.Errorf("one model has the identities %v", seen)
	}
}

func TestValidate(t *testing.T) {
	c := func(change func(*Config)) *Config {
		c := Config{Access: awsconf.Access{AccessKey: accessKey, SecretKey: providerstest.Key}}
		change(&c)
		return &c
	}
	for want, c := range map[string]*Config{
		"set base_model": c(func(c *Config) { c.Model = "arn:aws:bedrock:eu-west-1:1:application-inference-profile/x7" }),
		"known family":   c(func(c *Config) { c.Model = "anthropic.claude" }),
		"256, 512":       c(func(c *Config) { c.Dimensions = 300 }),
		"1 texts":        c(func(c *Config) { c.Batch = 2 }),
		"both or none":   c(func(c *Config) { c.SecretKey = "" }),
		"api_key: goes":  c(func(c *Config) { c.APIKey = "a-key-of-bedrock" }),
		"https only": c(func(c *Config) {
			c.Access, c.APIKey, c.BaseURL = awsconf.Access{}, "a-key-of-bedrock", "http://gateway"
		}),
		"must hold no query":        c(func(c *Config) { c.BaseURL = "https://gateway?x=1" }),
		"base_url: want an address": c(func(c *Config) { c.BaseURL = "gateway" }),
		"external_id":               c(func(c *Config) { c.ExternalID = "x" }),
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), providerstest.Key) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := c(func(*Config) {}).Validate(); err != nil {
		t.Error(err)
	}
}
