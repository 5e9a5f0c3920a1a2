package providers

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
)

func TestCheck(t *testing.T) {
	bad := map[string]Config{
		"model":     {APIKey: "k"},
		"api_key":   {Model: "m"},
		"line":      {Model: "m", APIKey: "k\nx"},
		"space":     {Model: "m", APIKey: " k"},
		"address":   {Model: "m", APIKey: "k", BaseURL: "example.com/v1"},
		"user":      {Model: "m", APIKey: "k", BaseURL: "https://a:topsecret@example.com"},
		"negative":  {Model: "m", APIKey: "k", Batch: -1},
		"rpm":       {Model: "m", APIKey: "k", RequestsPerMinute: -1},
		"cannot be": {Model: "m", APIKey: "k", Headers: map[string]connector.Secret{"host": "x"}},
		"not the":   {Model: "m", APIKey: "k", Headers: map[string]connector.Secret{"a b": "x"}},
		"value":     {Model: "m", APIKey: "k", Headers: map[string]connector.Secret{"X-A": "topsecret\r\nB: c"}},
	}
	for want, c := range bad {
		err := c.Check("https://example.com/v1", "SOME_KEY")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s: %v", want, err)
		}
	}
	c := Config{Model: "m", BaseURL: "http://gateway:8080", TokensPerMinute: 3, Budget: 1.5}
	if err := c.Check("https://example.com/v1", "SOME_KEY"); err != nil || c.Timeout != DefaultTimeout {
		t.Errorf("a gateway without a key: %v, timeout %v", err, c.Timeout)
	}
	elsewhere := Config{Model: "m"}
	if err := elsewhere.Check(Elsewhere, ""); err != nil || elsewhere.BaseURL != "" {
		t.Errorf("a client that knows the address: %v, base_url %q", err, elsewhere.BaseURL)
	}
	elsewhere.BaseURL = "gateway:8080"
	if err := elsewhere.Check(Elsewhere, ""); err == nil {
		t.Error("no address was taken for one")
	}
	m, err := (&Spec{Provider: "p", Name: "m", Config: c}).model()
	if err != nil || m.Name != "m" || m.TokensPerMinute != 3 || m.Budget != 1.5 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestAllows(t *testing.T) {
	for _, c := range []struct {
		card Card
		size int
		ok   bool
	}{
		{Card{}, 7, true},
		{Card{Dimensions: 8}, 0, true},
		{Card{Dimensions: 8}, 8, true},
		{Card{Dimensions: 8}, 4, false},
		{Card{Dimensions: 8, Any: true}, 4, true},
		{Card{Dimensions: 8, Any: true}, 9, false},
		{Card{Dimensions: 8, Sizes: []int{4, 16}}, 16, true},
		{Card{Dimensions: 8, Sizes: []int{4, 16}}, 5, false},
	} {
		if err := c.card.Allows(c.size); (err == nil) != c.ok {
			t.Errorf("%+v, %d: %v", c.card, c.size, err)
		}
	}
}

func TestModel(t *testing.T) {
	prefix, none := "passage: ", ""
	s := Spec{Provider: "p", Version: "1", Config: Config{Model: "m", DocumentPrefix: &prefix},
		Card: Card{Dimensions: 8, MaxItems: 10, MaxTokens: 1000, MaxInputTokens: 100, Tokenizer: "cl100k", QueryPrefix: "q: ", Price: 2}}
	m, err := s.model()
	if err != nil {
		t.Fatal(err)
	}
	n := m.Counter.Count(prefix)
	if m.MaxInputTokens != 100-n || m.MaxTokens != 1000-10*n || m.QueryPrefix != "q: " || m.DocumentPrefix != prefix || m.Currency != "USD" {
		t.Errorf("%+v, the prefix has %d tokens", m, n)
	}
	s.Config = Config{Model: "m", QueryPrefix: &none, Batch: 3, MaxTokens: 50, Normalize: true, Dimensions: 4}
	s.Card.Tokenizer = ""
	if m, err = s.model(); err != nil || m.QueryPrefix != "" || m.MaxItems != 3 || m.MaxTokens != 50 || !m.Normalized || m.Dimensions != 4 || m.Counter != nil {
		t.Errorf("%+v, %v", m, err)
	}
	s.Config.MaxTokens = 0
	if m, err = s.model(); err != nil || m.MaxTokens != 750 {
		t.Errorf("counted by another tokenizer: %d, %v", m.MaxTokens, err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		want    time.Duration
		headers []string
	}{
		{0, nil},
		{2 * time.Second, []string{"Retry-After", "2"}},
		{1500 * time.Millisecond, []string{"Retry-After", "1.5"}},
		{30 * time.Second, []string{"Retry-After", "Fri, 02 Jan 2026 03:04:35 GMT"}},
		{0, []string{"Retry-After", "Fri, 02 Jan 2026 03:04:00 GMT"}},
		{0, []string{"Retry-After", "soon"}},
		{0, []string{"Retry-After", "-5"}},
		{0, []string{"Retry-After", "NaN"}},
		{time.Hour, []string{"Retry-After", "999999"}},
		{250 * time.Millisecond, []string{"Retry-After-Ms", "250", "Retry-After", "9"}},
		{time.Second, []string{"x-ratelimit-reset-requests", "1s"}},
		{6 * time.Minute, []string{"x-ratelimit-reset-tokens", "6m0s", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-requests", "1s", "x-ratelimit-remaining-requests", "3"}},
		{20 * time.Millisecond, []string{"x-ratelimit-reset-tokens", "6m0s", "x-ratelimit-reset-requests", "20ms"}},
		{9 * time.Second, []string{"X-RateLimit-Reset", "9"}},
		{5 * time.Second, []string{"X-RateLimit-Reset", "1767323050"}},
		{5 * time.Second, []string{"X-RateLimit-Reset", "1767323050000"}},
	} {
		h := http.Header{}
		for i := 0; i < len(c.headers); i += 2 {
			h.Set(c.headers[i], c.headers[i+1])
		}
		if got := RetryAfter(h, now); got != c.want {
			t.Errorf("%v: %v, want %v", c.headers, got, c.want)
		}
	}
}

func TestRedact(t *testing.T) {
	const key = "sk-proj-0123456789abcdef/+=WXYZ"
	c := Config{APIKey: key, BaseURL: "https://e.com/v1?api-version=2024-02-01&code=querysecret", Headers: map[string]connector.Secret{"X-A": "Bearer headersecret", "X-B": "1"}}
	hide := redactor(&c, "furthersecret")
	for message, want := range map[string]string{
		"key " + key + " is bad":                          "key *** is bad",
		`{"k":"` + key + `"}`:                             `{"k":"***"}`,
		"at ?k=sk-proj-0123456789abcdef%2F%2B%3DWXYZ&b=1": "at ?k=***&b=1",
		"provided: sk-proj-********WXYZ. Get one":         "provided: *** Get one",
		"provided: sk-p…XYZ":                              "provided: ***",
		"begins sk-proj-012":                              "begins ***",
		"headersecret and querysecret of 2024-02-01":      "*** and *** of 2024-02-01",
		"a furthersecret is one":                          "a *** is one",
		"nothing to hide: 1 a…b **bold**":                 "nothing to hide: 1 a…b **bold**",
	} {
		if got := hide(message); got != want {
			t.Errorf("%q became %q, want %q", message, got, want)
		}
	}
}

func TestValues(t *testing.T) {
	nan := float32(math.NaN())
	for in, want := range map[string][]float32{
		`[]`: {}, ` [ 1 , -2.5e-3 ] `: {1, -0.0025}, `[null,1]`: {nan, 1}, `[1e999]`: {float32(math.Inf(1))}, `"AACAPwAAAMA="`: {1, -2}, `""`: {},
	} {
		var got Values
		if err := json.Unmarshal([]byte(in), &got); err != nil || len(got) != len(want) {
			t.Errorf("%s: %v, %v", in, got, err)
			continue
		}
		for i := range want {
			if got[i] != want[i] && !(got[i] != got[i] && want[i] != want[i]) {
				t.Errorf("%s: %v, want %v", in, got, want)
			}
		}
	}
	for _, in := range []string{`{}`, `1`, `["1"]`, `[[1]]`, `[true]`, `"AAA"`, `"AAAA"`, `"?"`} {
		var got Values
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s became %v", in, got)
		}
	}
}

func TestNullify(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":[NaN,-Infinity,1,Infinity]}`: `{"a":[null,null,1,null]}`,
		`{"NaN":"a \" NaN","b":-NaN}`:      `{"NaN":"a \" NaN","b":null}`,
	} {
		if got, changed := nullify([]byte(in)); string(got) != want || !changed {
			t.Errorf("%s became %s", in, got)
		}
	}
	if _, changed := nullify([]byte(`{"a":"NaN"`)); changed {
		t.Error("a string was changed")
	}
}

func FuzzAnswers(f *testing.F) {
	for _, s := range []string{`{"data":[{"index":0,"embedding":[1,2]}]}`, `{"data":[{"embedding":"AACAPw=="}]}`, `{"data":[{"index":0,"embedding":[NaN]}]}`, `{"error":{"message":"m"}}`, `[`, ``} {
		f.Add([]byte(s))
	}
	e := &Embedder{}
	e.model.Normalized = true
	f.Fuzz(func(t *testing.T, body []byte) {
		_ = parse(body)
		answer, err := decode(body, DecodeData)
		if err != nil {
			return
		}
		out, err := e.check(answer.Items, 1)
		var be *connector.BatchError
		if err != nil && !errors.As(err, &be) {
			return
		}
		for i, v := range out {
			if be != nil && be.Items[i] != nil {
				continue
			}
			if prove(v, false) != nil {
				t.Fatalf("%q gave %v", body, v)
			}
		}
	})
}
