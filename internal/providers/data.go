package providers

import "encoding/json"

// DecodeData reads the answer that OpenAI made common: {"data": [{"index", "embedding"}], "usage": {"total_tokens"}}.
func DecodeData(body []byte) (Answer, error) {
	var a struct {
		Data []struct {
			Index     *int   `json:"index"`
			Embedding Values `json:"embedding"`
		} `json:"data"`
		Usage struct {
			PromptTokens int `json:"prompt_tokens"`
			TotalTokens  int `json:"total_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return Answer{}, err
	}
	items := make([]Item, len(a.Data))
	for i, d := range a.Data {
		items[i] = Item{Index: d.Index, Values: d.Embedding}
	}
	return Answer{Items: items, Tokens: max(a.Usage.PromptTokens, a.Usage.TotalTokens)}, nil
}

// InOrder makes items of vectors whose service gives no index: their order is that of the texts.
func InOrder(vectors []Values) []Item {
	items := make([]Item, len(vectors))
	for i, v := range vectors {
		items[i] = Item{Values: v}
	}
	return items
}
