package bedrock

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/embedtest"
	"github.com/kbsync/kbsync/internal/awsconf"
	"github.com/kbsync/kbsync/internal/providers"
	"github.com/kbsync/kbsync/internal/providers/providerstest"
)

const (
	accessKey    = "AKIDEXAMPLE"
	multilingual = "cohere.embed-multilingual-v3"
)

// alone keeps what this machine knows of Amazon out of a test.
func alone(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
}

// configured makes the tests' common configuration one of this embedder: the key is the secret one.
func configured(c providers.Config) Config {
	secret := c.APIKey
	c.APIKey = ""
	return Config{Config: c, Access: awsconf.Access{Region: "eu-central-1", AccessKey: accessKey, SecretKey: secret}}
}

func open(t *testing.T, c providers.Config) connector.Embedder {
	t.Helper()
	e, err := Open(t.Context(), configured(c))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// wire is POST /model/…/invoke, signed. It gives the secret key for a request that is signed with the access key for Bedrock in the region.
func wire(model string, dimensions int, read func([]byte) (providerstest.Call, error), write func(providerstest.Call, []providerstest.Vec, int) any) providerstest.Wire {
	return providerstest.Wire{
		Below: "/model/" + model + "/invoke", Dimensions: dimensions, Agent: "app/kbsync", Write: write,
		Key: func(h http.Header) string {
			auth := h.Get("Authorization")
			for _, part := range []string{"AWS4-HMAC-SHA256 Credential=" + accessKey + "/", "/eu-central-1/bedrock/aws4_request", "SignedHeaders=", "Signature="} {
				if !strings.Contains(auth, part) {
					return auth
				}
			}
			return providerstest.Key
		},
		Read: func(body []byte) (providerstest.Call, error) {
			c, err := read(body)
			c.Model = model
			return c, err
		},
	}
}

func strict(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func bare(vectors []providerstest.Vec) [][]float32 {
	out := make([][]float32, len(vectors))
	for i, v := range vectors {
		out[i] = v.Values
	}
	return out
}

func cohereWire(model string, dimensions int) providerstest.Wire {
	return wire(model, dimensions, func(body []byte) (providerstest.Call, error) {
		var b struct {
			Texts           []string
			InputType       string   `json:"input_type"`
			Truncate        string   `json:"truncate"`
			EmbeddingTypes  []string `json:"embedding_types"`
			OutputDimension int      `json:"output_dimension"`
		}
		err := strict(body, &b)
		if err == nil && (b.Truncate != "NONE" || len(b.EmbeddingTypes) != 1 || b.EmbeddingTypes[0] != "float" || len(b.Texts) > 96) {
			err = errors.New("cut texts, or too many")
		}
		return providerstest.Call{Texts: b.Texts, Kind: b.InputType, Dimensions: b.OutputDimension}, err
	}, func(_ providerstest.Call, vectors []providerstest.Vec, _ int) any {
		return map[string]any{"id": "1", "response_type": "embeddings_by_type", "embeddings": map[string]any{"float": bare(vectors)}}
	})
}

func titanWire(model string, dimensions int) providerstest.Wire {
	return wire(model, dimensions, func(body []byte) (providerstest.Call, error) {
		var b struct {
			InputText      string
			Dimensions     int
			Normalize      bool
			EmbeddingTypes []string
		}
		err := strict(body, &b)
		if second := strings.Contains(model, "v2"); err == nil && (second != b.Normalize || second != (len(b.EmbeddingTypes) == 1)) {
			err = errors.New("odd keys")
		}
		return providerstest.Call{Texts: []string{b.InputText}, Dimensions: b.Dimensions}, err
	}, func(_ providerstest.Call, vectors []providerstest.Vec, tokens int) any {
		return map[string]any{"embedding": vectors[0].Values, "embeddingsByType": map[string]any{"float": vectors[0].Values}, "inputTextTokenCount": tokens}
	})
}

func novaWire(dimensions int) providerstest.Wire {
	return wire("amazon.nova-2-multimodal-embeddings-v1:0", dimensions, func(body []byte) (providerstest.Call, error) {
		var b struct {
			SchemaVersion         string
			TaskType              string
			SingleEmbeddingParams struct {
				EmbeddingPurpose   string
				EmbeddingDimension int
				Text               struct{ TruncationMode, Value string }
			}
		}
		err := strict(body, &b)
		p := b.SingleEmbeddingParams
		if err == nil && (b.SchemaVersion != "nova-multimodal-embed-v1" || b.TaskType != "SINGLE_EMBEDDING" || p.Text.TruncationMode != "NONE") {
			err = errors.New("cut texts, or another task")
		}
		return providerstest.Call{Texts: []string{p.Text.Value}, Kind: p.EmbeddingPurpose, Dimensions: p.EmbeddingDimension}, err
	}, func(_ providerstest.Call, vectors []providerstest.Vec, _ int) any {
		return map[string]any{"embeddings": []map[string]any{{"embeddingType": "TEXT", "embedding": vectors[0].Values}}}
	})
}

func TestConformance(t *testing.T) {
	alone(t)
	for model, w := range map[string]providerstest.Wire{
		multilingual:                               cohereWire(multilingual, 1024),
		"amazon.titan-embed-text-v2:0":             titanWire("amazon.titan-embed-text-v2:0", 1024),
		"amazon.titan-embed-text-v1":               titanWire("amazon.titan-embed-text-v1", 1536),
		"amazon.nova-2-multimodal-embeddings-v1:0": novaWire(3072),
	} {
		t.Run(model, func(t *testing.T) {
			server := providerstest.Start(t, w)
			embedtest.Run(t, func(t *testing.T) connector.Embedder { return open(t, server.Config(model)) }, embedtest.Options{})
		})
	}
}

func TestFaults(t *testing.T) {
	alone(t)
	providerstest.Run(t, cohereWire(multilingual, 1024), providerstest.Options{Model: multilingual, Kinds: [2]string{"search_document", "search_query"}}, open)
}

// TestFaultsOfOneText meets every fault that an answer with one vector can have.
func TestFaultsOfOneText(t *testing.T) {
	alone(t)
	server := providerstest.Start(t, titanWire(DefaultModel, 1024))
	e := open(t, server.Config(DefaultModel))
	defer func() { _ = e.Close() }()
	c := server.Config(DefaultModel)
	c.Timeout /= 20
	hasty := open(t, c)
	defer func() { _ = hasty.Close() }()
	for _, f := range providerstest.Faults() {
		t.Run(f.Name, func(t *testing.T) {
			e := e
			if strings.HasPrefix(f.Name, "slow") {
				e = hasty
			}
			asked := len(server.Calls())
			server.Fail(&f, 1)
			got, err := e.Embed(t.Context(), []string{f.Name})
			server.Fail(nil, 0)
			if n := len(server.Calls()) - asked; n != 1 {
				t.Errorf("%d requests, want one", n)
			}
			if err == nil && string(mustJSON(got[0])) != string(mustJSON(providerstest.Vector("", f.Name, 1024))) {
				t.Error("the vector is that of another text")
			}
			if err != nil && connector.ClassOf(err) != f.Class {
				t.Errorf("%v: class %v, want %v", err, connector.ClassOf(err), f.Class)
			}
			if err != nil && strings.Contains(err.Error(), providerstest.Key) {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error())
	}
	return b
}
