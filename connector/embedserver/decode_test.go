package embedserver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzDecode: no body panics, and what is taken is exactly what encoding/json reads in it: valid text, none blank, no key unheard.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","input":"a"}`, `{"input":["a","文","🦊"],"model":"m","encoding_format":"base64","dimensions":384,"user":"u","input_type":"query"}`,
		`{"input":[1,2,3]}`, `{"input":[[1],[2]]}`, `{"input":"\ud83e\udd8a"}`, `{"input":"\ud83e"}`, `{"input":"\\ud83e"}`, `{"input":["a"],"input":["b"]}`, `{"INPUT":"a"}`,
		`{"input":" "}`, `{"input":[]}`, `[`, `{}{}`, "{\"input\":\"\xff\"}", `{"dimensions":1e3,"input":"a"}`, `{"user":null,"input":"a","x":null}`, `{"input":["a"`, `{"\u0069nput":"a"}`, `{"input":"�"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, refused := decode(body, 5)
		if refused != nil {
			if refused.status != 400 || refused.message == "" || len(refused.message) > 1000 || !utf8.ValidString(refused.message) || !utf8.ValidString(refused.param) {
				t.Errorf("%q: %+v", body, refused)
			}
			return
		}
		var want map[string]any
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("%q was taken: %v", body, err)
		}
		var texts []string
		switch v := want["input"].(type) {
		case string:
			texts = []string{v}
		case []any:
			for _, x := range v {
				texts = append(texts, x.(string)) //nolint:forcetypeassert // that it is one is what is tested
			}
		}
		if !slices.Equal(req.inputs, texts) || len(texts) < 1 || len(texts) > 5 {
			t.Errorf("%q: inputs %q, want %q", body, req.inputs, texts)
		}
		for _, text := range texts {
			if strings.TrimSpace(text) == "" || !utf8.ValidString(text) || strings.Contains(text, "\ufffd") && !strings.Contains(string(body), "\ufffd") && !strings.Contains(strings.ToLower(string(body)), `\ufffd`) {
				t.Errorf("%q: the text %q", body, text)
			}
		}
		model, _ := want["model"].(string)
		format, _ := want["encoding_format"].(string)
		dimensions, _ := want["dimensions"].(float64)
		kind, typed := want["input_type"].(string)
		role, _ := ParseRole(kind)
		if req.model != model || req.base64 != (format == "base64") || float64(req.dimensions) != dimensions || req.typed != typed || typed && req.role != role {
			t.Errorf("%q: %+v", body, req)
		}
		for key, v := range want {
			if !slices.Contains([]string{"model", "input", "encoding_format", "dimensions", "user", "input_type"}, key) && v != nil {
				t.Errorf("%q: %s was not heard", body, key)
			}
		}
	})
}
