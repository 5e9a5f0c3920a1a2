package bedrock

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kbsync/kbsync/internal/providers"
)

// family is the shape of the requests and answers of a maker's models.
type family struct {
	// prefix of the models' ids.
	prefix string
	// card of a model that is not known.
	card   providers.Card
	roles  [2]string
	encode func(providers.Request) any
	decode func([]byte) (providers.Answer, error)
}

// model is one of a family.
type model struct {
	card   providers.Card
	family family
}

// find gives the model of an id, of an inference profile's id (us.cohere.embed-v4:0) or of an ARN that ends in one of them.
func find(id string) (model, error) {
	base := id[strings.LastIndexByte(id, '/')+1:]
	for _, maker := range []string{"amazon.", "cohere."} {
		if i := strings.Index(base, "."+maker); i >= 0 {
			base = base[i+1:] // the geography of a profile
		}
	}
	bare, _, _ := strings.Cut(base, ":") // without version and context size
	for _, f := range families() {
		if !strings.HasPrefix(bare, f.prefix) {
			continue
		}
		for _, card := range cards() {
			if known, _, _ := strings.Cut(card.Name, ":"); known == bare {
				return model{card, f}, nil
			}
		}
		f.card.Name = base
		return model{f.card, f}, nil
	}
	if strings.HasPrefix(id, "arn:") {
		return model{}, fmt.Errorf("model: %q does not tell which model it leads to: set base_model to its id, such as %s", id, DefaultModel)
	}
	return model{}, fmt.Errorf("model: %q is not of a known family (amazon.titan-embed-text, amazon.nova…embeddings, cohere.embed): set model to the id of one, or base_model where model is a profile", id)
}

// cards are Amazon's and Cohere's own figures, prices of us-east-1. Cohere's version 3 takes 2,048 characters, which are about 450 tokens of English; room is
// left, and Chinese has fewer characters to a token. Nova takes 8,192 characters.
func cards() []providers.Card {
	return []providers.Card{
		{Name: "amazon.titan-embed-text-v2:0", Dimensions: 1024, Sizes: []int{256, 512}, MaxItems: 1, MaxInputTokens: 8192, Normalized: true, Price: 0.02},
		{Name: "amazon.titan-embed-text-v1", Dimensions: 1536, MaxItems: 1, MaxInputTokens: 8192, Price: 0.10},
		{Name: "amazon.nova-2-multimodal-embeddings-v1:0", Dimensions: 3072, Sizes: []int{256, 384, 1024}, MaxItems: 1, MaxInputTokens: 1600, Price: 0.135},
		{Name: "cohere.embed-v4:0", Dimensions: 1536, Sizes: []int{256, 512, 1024}, MaxItems: 96, MaxTokens: 128000, MaxInputTokens: 128000, Price: 0.12},
		{Name: "cohere.embed-multilingual-v3", Dimensions: 1024, MaxItems: 96, MaxInputTokens: 400, Price: 0.10},
		{Name: "cohere.embed-english-v3", Dimensions: 1024, MaxItems: 96, MaxInputTokens: 400, Price: 0.10},
	}
}

func families() []family {
	cohere := [2]string{"search_document", "search_query"}
	nova := [2]string{"GENERIC_INDEX", "TEXT_RETRIEVAL"}
	one := providers.Card{MaxItems: 1}
	return []family{
		{prefix: "amazon.titan-embed-text-v1", card: one, decode: decodeTitan,
			encode: func(r providers.Request) any { return titan{Text: r.Texts[0]} }},
		{prefix: "amazon.titan-embed-text-", card: one, decode: decodeTitan,
			encode: func(r providers.Request) any {
				return titan{Text: r.Texts[0], Dimensions: r.Dimensions, Normalize: true, Types: []string{"float"}}
			}},
		{prefix: "amazon.nova-2-multimodal-embeddings-", card: one, roles: nova, decode: decodeNova,
			encode: func(r providers.Request) any {
				return novaBody{Schema: "nova-multimodal-embed-v1", Task: "SINGLE_EMBEDDING", Params: novaParams{
					Purpose: nova[r.Role], Dimension: r.Dimensions, Text: novaText{Truncation: "NONE", Value: r.Texts[0]},
				}}
			}},
		{prefix: "cohere.embed-", card: providers.Card{MaxItems: 96}, roles: cohere, decode: decodeCohere,
			encode: func(r providers.Request) any {
				return cohereBody{Texts: r.Texts, InputType: cohere[r.Role], Truncate: "NONE", Types: []string{"float"}, Dimensions: r.Dimensions}
			}},
	}
}

// titan is the body for Titan; version 1 knows its text alone.
type titan struct {
	Text       string   `json:"inputText"`
	Dimensions int      `json:"dimensions,omitempty"`
	Normalize  bool     `json:"normalize,omitempty"`
	Types      []string `json:"embeddingTypes,omitempty"`
}

func decodeTitan(body []byte) (providers.Answer, error) {
	var a struct {
		Embedding *providers.Values `json:"embedding"`
		ByType    struct {
			Float *providers.Values `json:"float"`
		} `json:"embeddingsByType"`
		Tokens int `json:"inputTextTokenCount"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return providers.Answer{}, err
	}
	if a.Embedding == nil {
		a.Embedding = a.ByType.Float
	}
	answer := providers.Answer{Tokens: a.Tokens}
	if a.Embedding != nil {
		answer.Items = providers.InOrder([]providers.Values{*a.Embedding})
	}
	return answer, nil
}

type novaBody struct {
	Schema string     `json:"schemaVersion"`
	Task   string     `json:"taskType"`
	Params novaParams `json:"singleEmbeddingParams"`
}

type novaParams struct {
	Purpose   string   `json:"embeddingPurpose"`
	Dimension int      `json:"embeddingDimension,omitempty"`
	Text      novaText `json:"text"`
}

type novaText struct {
	Truncation string `json:"truncationMode"`
	Value      string `json:"value"`
}

func decodeNova(body []byte) (providers.Answer, error) {
	var a struct {
		Embeddings []struct {
			Embedding providers.Values `json:"embedding"`
		} `json:"embeddings"`
	}
	err := json.Unmarshal(body, &a)
	vectors := make([]providers.Values, len(a.Embeddings))
	for i, e := range a.Embeddings {
		vectors[i] = e.Embedding
	}
	return providers.Answer{Items: providers.InOrder(vectors)}, err
}

type cohereBody struct {
	Texts      []string `json:"texts"`
	InputType  string   `json:"input_type"`
	Truncate   string   `json:"truncate"`
	Types      []string `json:"embedding_types"`
	Dimensions int      `json:"output_dimension,omitempty"`
}

// decodeCohere reads vectors by type, and bare ones, as the first models gave them.
func decodeCohere(body []byte) (providers.Answer, error) {
	var a struct {
		Embeddings json.RawMessage `json:"embeddings"`
	}
	err := json.Unmarshal(body, &a)
	if err != nil || len(a.Embeddings) == 0 {
		return providers.Answer{}, err
	}
	var types struct {
		Float []providers.Values `json:"float"`
	}
	if a.Embeddings[0] == '[' {
		err = json.Unmarshal(a.Embeddings, &types.Float)
	} else {
		err = json.Unmarshal(a.Embeddings, &types)
	}
	return providers.Answer{Items: providers.InOrder(types.Float)}, err
}
