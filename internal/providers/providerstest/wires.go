package providerstest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
)

// strict decodes and refuses unknown fields.
func strict(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func bearer(h http.Header) string {
	key, _ := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	return key
}

func errCut() error { return errors.New("long texts would be cut, or the request is incomplete") }

// mark is a component that becomes NaN on its way to the client, where it is the mark.
const mark = 424242.25

func write(c Call, values []float32) any {
	if !c.Base64 {
		return values
	}
	raw := make([]byte, 0, 4*len(values))
	for _, x := range values {
		if x == mark {
			x = float32(math.NaN())
		}
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// data is the answer that OpenAI made common.
func data(c Call, vectors []Vec, tokens int) any {
	list := make([]map[string]any, len(vectors))
	for i, v := range vectors {
		list[i] = map[string]any{"object": "embedding", "index": v.Index, "embedding": write(c, v.Values)}
	}
	return map[string]any{"object": "list", "data": list, "model": c.Model, "usage": map[string]any{"prompt_tokens": tokens, "total_tokens": tokens}}
}

// OpenAI is POST /v1/embeddings. keyHeader carries the bare key; empty: Authorization.
func OpenAI(dimensions int, keyHeader string) Wire {
	key := bearer
	if keyHeader != "" {
		key = func(h http.Header) string { return h.Get(keyHeader) }
	}
	return Wire{Base: "/v1", Below: "/embeddings", Key: key, Indexed: true, Dimensions: dimensions, Write: data,
		Read: func(body []byte) (Call, error) {
			var b struct {
				Model          string
				Input          []string
				Dimensions     int
				EncodingFormat string `json:"encoding_format"`
			}
			err := strict(body, &b)
			return Call{Model: b.Model, Texts: b.Input, Dimensions: b.Dimensions, Base64: b.EncodingFormat == "base64"}, err
		}}
}

// Voyage is POST /v1/embeddings with input types.
func Voyage(dimensions int) Wire {
	return Wire{Base: "/v1", Below: "/embeddings", Key: bearer, Indexed: true, Dimensions: dimensions, Write: data,
		Read: func(body []byte) (Call, error) {
			var b struct {
				Model           string
				Input           []string
				InputType       string `json:"input_type"`
				Truncation      *bool
				OutputDimension int    `json:"output_dimension"`
				EncodingFormat  string `json:"encoding_format"`
			}
			err := strict(body, &b)
			if err == nil && (b.Truncation == nil || *b.Truncation) {
				err = errCut()
			}
			return Call{Model: b.Model, Texts: b.Input, Kind: b.InputType, Dimensions: b.OutputDimension, Base64: b.EncodingFormat == "base64"}, err
		}}
}

// VoyageContext is POST /v1/contextualizedembeddings, of one document a request.
func VoyageContext(dimensions int) Wire {
	return Wire{
		Base: "/v1", Below: "/contextualizedembeddings", Key: bearer, Indexed: true, Dimensions: dimensions,
		Read: func(body []byte) (Call, error) {
			var b struct {
				Model           string
				Inputs          [][]string
				InputType       string `json:"input_type"`
				OutputDimension int    `json:"output_dimension"`
			}
			err := strict(body, &b)
			if err == nil && (len(b.Inputs) != 1 || b.InputType == "query" && len(b.Inputs[0]) != 1) {
				err = errors.New("want one document, and of a question one text")
			}
			c := Call{Model: b.Model, Kind: b.InputType, Dimensions: b.OutputDimension}
			for _, texts := range b.Inputs {
				c.Texts = append(c.Texts, texts...)
			}
			return c, err
		},
		Write: func(c Call, vectors []Vec, tokens int) any {
			document, _ := data(c, vectors, tokens).(map[string]any)
			document["index"] = 0
			delete(document, "usage")
			return map[string]any{"object": "list", "data": []any{document}, "model": c.Model, "usage": map[string]any{"total_tokens": tokens}}
		},
	}
}

// JinaLate is POST /v1/embeddings with late chunking of passages.
func JinaLate(dimensions int) Wire { return jina(dimensions, true) }

// Jina is POST /v1/embeddings with tasks.
func Jina(dimensions int) Wire { return jina(dimensions, false) }

func jina(dimensions int, late bool) Wire {
	return Wire{Base: "/v1", Below: "/embeddings", Key: bearer, Indexed: true, Dimensions: dimensions, Write: data,
		Read: func(body []byte) (Call, error) {
			var b struct {
				Model         string
				Input         []string
				Task          string
				Dimensions    int
				Normalized    bool
				EmbeddingType string `json:"embedding_type"`
				Truncate      *bool
				LateChunking  bool `json:"late_chunking"`
			}
			err := strict(body, &b)
			if err == nil && (b.Truncate != nil && *b.Truncate || b.LateChunking != (late && b.Task != "retrieval.query") || !b.Normalized) {
				err = errCut()
			}
			return Call{Model: b.Model, Texts: b.Input, Kind: b.Task, Dimensions: b.Dimensions, Base64: b.EmbeddingType == "base64"}, err
		}}
}

// Cohere is POST /v2/embed.
func Cohere(dimensions int) Wire {
	return Wire{Base: "/v2", Below: "/embed", Key: bearer, Dimensions: dimensions,
		Read: func(body []byte) (Call, error) {
			var b struct {
				Model           string
				Texts           []string
				InputType       string   `json:"input_type"`
				EmbeddingTypes  []string `json:"embedding_types"`
				OutputDimension int      `json:"output_dimension"`
				Truncate        string
			}
			err := strict(body, &b)
			if err == nil && (b.Truncate != "NONE" || b.InputType == "" || len(b.EmbeddingTypes) != 1 || b.EmbeddingTypes[0] != "float") {
				err = errCut()
			}
			return Call{Model: b.Model, Texts: b.Texts, Kind: b.InputType, Dimensions: b.OutputDimension}, err
		},
		Write: func(_ Call, vectors []Vec, tokens int) any {
			return map[string]any{"id": "1", "embeddings": map[string]any{"float": bare(vectors)}, "meta": map[string]any{"billed_units": map[string]any{"input_tokens": tokens}}}
		}}
}

// Ollama is POST /api/embed.
func Ollama(dimensions int) Wire {
	return Wire{Below: "/api/embed", Key: bearer, Dimensions: dimensions,
		Read: func(body []byte) (Call, error) {
			var b struct {
				Model      string
				Input      []string
				Truncate   *bool
				Dimensions int
				KeepAlive  any `json:"keep_alive"`
				Options    map[string]any
			}
			err := strict(body, &b)
			if err == nil && (b.Truncate == nil || *b.Truncate) {
				err = errCut()
			}
			return Call{Model: b.Model, Texts: b.Input, Dimensions: b.Dimensions}, err
		},
		Write: func(c Call, vectors []Vec, tokens int) any {
			return map[string]any{"model": c.Model, "embeddings": bare(vectors), "prompt_eval_count": tokens}
		}}
}

// Gemini is POST /v1beta/models/…:batchEmbedContents.
func Gemini(model string, dimensions int) Wire {
	return Wire{Base: "/v1beta", Below: "/models/" + model + ":batchEmbedContents", Dimensions: dimensions,
		Key: func(h http.Header) string { return h.Get("x-goog-api-key") },
		Read: func(body []byte) (Call, error) {
			var b struct {
				Requests []struct {
					Model   string
					Content struct {
						Parts []struct{ Text string }
					}
					TaskType             string
					OutputDimensionality int
				}
			}
			err := strict(body, &b)
			var c Call
			for _, r := range b.Requests {
				if len(r.Content.Parts) != 1 || r.Model != "models/"+model {
					return c, errors.New("want one part, of the path's model")
				}
				c.Model, c.Kind, c.Dimensions, c.Texts = model, r.TaskType, r.OutputDimensionality, append(c.Texts, r.Content.Parts[0].Text)
			}
			return c, err
		},
		Write: func(_ Call, vectors []Vec, _ int) any {
			list := make([]map[string]any, len(vectors))
			for i, v := range vectors {
				list[i] = map[string]any{"values": v.Values}
			}
			return map[string]any{"embeddings": list}
		}}
}

func bare(vectors []Vec) [][]float32 {
	out := make([][]float32, len(vectors))
	for i, v := range vectors {
		out[i] = v.Values
	}
	return out
}
