package embedserver

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/embedders/lexical"
)

// Every way of asking gives the vectors of the texts, in order, whatever calls they were split into.
func TestAnswers(t *testing.T) {
	many := make([]string, 50)
	for i := range many {
		many[i] = fmt.Sprintf("text %d 文", i)
	}
	long, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, path, body string
		role             Role // the default
		prefix           string
		texts            []string
		tokens           int
	}{
		{name: "one", body: `{"model":"org/f:latest","input":"a b"}`, prefix: "d: ", texts: []string{"a b"}, tokens: 2},
		{name: "some", body: `{"input":["a","b c"],"model":"fake/org/f:latest","user":"u","encoding_format":"float","dimensions":4}`, prefix: "d: ", texts: []string{"a", "b c"}, tokens: 3},
		{name: "the same twice", body: `{"input":["a","a"],"model":"ada"}`, prefix: "d: ", texts: []string{"a", "a"}, tokens: 2},
		{name: "many", body: `{"model":"ada","input":` + string(long) + `}`, prefix: "d: ", texts: many, tokens: 150},
		{name: "many questions", body: `{"model":"ada:query","input":` + string(long) + `}`, prefix: "q: ", texts: many, tokens: 150},
		{name: "nulls", body: `{"model":"ada","input":"a","user":null,"dimensions":null,"encoding_format":null,"input_type":null,"other":null}`, prefix: "d: ", texts: []string{"a"}, tokens: 1},
		{name: "escapes", body: `{"model":"ada","input":"\ud83e\udd8a \\ud83e é\u0000"}`, prefix: "d: ", texts: []string{"🦊 \\ud83e é\x00"}, tokens: 3},
		{name: "query", body: `{"model":"ada","input":"a","input_type":"query"}`, prefix: "q: ", texts: []string{"a"}, tokens: 1},
		{name: "search_query", body: `{"model":"ada","input":"a","input_type":"search_query"}`, prefix: "q: ", texts: []string{"a"}, tokens: 1},
		{name: "passage", body: `{"model":"ada","input":"a","input_type":"passage"}`, role: Query, prefix: "d: ", texts: []string{"a"}, tokens: 1},
		{name: "default query", body: `{"model":"ada","input":"a"}`, role: Query, prefix: "q: ", texts: []string{"a"}, tokens: 1},
		{name: "suffix document", body: `{"model":"org/f:latest:document","input":"a"}`, role: Query, prefix: "d: ", texts: []string{"a"}, tokens: 1},
		{name: "input_type before suffix", body: `{"model":"ada:query","input":"a","input_type":"document"}`, prefix: "d: ", texts: []string{"a"}, tokens: 1},
		{name: "no version", path: "/embeddings", body: `{"model":"ada","input":"a"}`, prefix: "d: ", texts: []string{"a"}, tokens: 1},
		{name: "azure", path: "/openai/deployments/ada/embeddings?api-version=2024-02-01", body: `{"input":"a"}`, prefix: "d: ", texts: []string{"a"}, tokens: 1},
		{name: "azure query", path: "/openai/deployments/ada:query/embeddings", body: `{"input":"a","model":"whatever"}`, prefix: "q: ", texts: []string{"a"}, tokens: 1},
		{name: "azure v1", path: "/openai/v1/embeddings", body: `{"model":"ada","input":"a"}`, prefix: "d: ", texts: []string{"a"}, tokens: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newFake()
			s := server(t, e, Options{Role: test.role, Aliases: []string{"ada"}})
			if test.path == "" {
				test.path = "/v1/embeddings"
			}
			w := post(s, test.path, test.body)
			want := make([][]float32, len(test.texts))
			given := make([]string, len(test.texts))
			for i, text := range test.texts {
				given[i] = test.prefix + text
				want[i] = vectorOf(given[i])
			}
			expect(t, test.name, vectors(t, w), want)
			var l list
			if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || l.Usage.Prompt != test.tokens || l.Usage.Total != test.tokens || l.Model == "" {
				t.Errorf("%+v, %v", l, err)
			}
			if slices.Sort(given); !slices.Equal(e.asked(), given) {
				t.Errorf("the embedder was given %q", e.asked())
			}
			for _, call := range e.calls {
				if n := (words{}).Count(strings.Join(call, " ")) - len(call); len(call) > e.model.MaxItems || n > e.model.MaxTokens {
					t.Errorf("a call of %d texts and %d tokens", len(call), n)
				}
			}
		})
	}
}

// What cannot be answered is refused in OpenAI's shape, and the embedder is not bothered.
func TestRefusals(t *testing.T) {
	over := `["` + strings.Repeat(`a","`, 20) + `a"]`
	for body, want := range map[string]string{
		``:                               "400 invalid_request_error - -: We could not parse the JSON body of your request: it ends too early",
		`{`:                              "400 invalid_request_error - -: We could not parse",
		`[]`:                             "400 invalid_request_error - -: the body is not a JSON object",
		`"text"`:                         "400 invalid_request_error - -: the body is not a JSON object",
		`{"model":"ada","input":"a"} {}`: "400 invalid_request_error - -: the body holds more than one",
		`{"model":"ada","input":"a",}`:   "400 invalid_request_error - -: We could not parse",
		"{\"model\":\"ada\",\"input\":\"a\xff\"}":                                     "400 invalid_request_error - -: the body is not valid UTF-8",
		`{"model":"ada","input":"\ud83e"}`:                                            `400 invalid_request_error input -: at byte 24 of the body, \ud83e is half of a character`,
		`{"model":"ada","input":"\\\uDD8A x"}`:                                        `400 invalid_request_error input -: at byte 26 of the body, \uDD8A is half`,
		`{"model":"ada","input":"\ud83e\ud83e\udd8a"}`:                                `400 invalid_request_error input -: at byte 24 of the body, \ud83e is half`,
		`{"model":"ada"}`:                                                             "400 invalid_request_error input -: you must provide an input",
		`{"input":"a"}`:                                                               "400 invalid_request_error model -: you must provide a model parameter",
		`{"model":3,"input":"a"}`:                                                     "400 invalid_request_error model invalid_type: Invalid type for 'model': expected a string, but got 3",
		`{"model":"ada","input":""}`:                                                  "400 invalid_request_error input[0] empty_string: Invalid 'input[0]'",
		`{"model":"ada","input":["a"," \t\n"]}`:                                       "400 invalid_request_error input[1] empty_string: Invalid 'input[1]'",
		`{"model":"ada","input":[]}`:                                                  "400 invalid_request_error input empty_array: Invalid 'input': empty array",
		`{"model":"ada","input":null}`:                                                "400 invalid_request_error input invalid_type: Invalid type for 'input'",
		`{"model":"ada","input":{"a":1}}`:                                             "400 invalid_request_error input invalid_type: Invalid type for 'input': expected a string or an array of strings, but got an object",
		`{"model":"ada","input":true}`:                                                "400 invalid_request_error input invalid_type: Invalid type",
		`{"model":"ada","input":[1,2]}`:                                               "400 invalid_request_error input[0] -: Invalid 'input[0]': token arrays are not taken",
		`{"model":"ada","input":["a",[1,2]]}`:                                         "400 invalid_request_error input[1] -: Invalid 'input[1]': token arrays are not taken",
		`{"model":"ada","input":["a",null]}`:                                          "400 invalid_request_error input[1] invalid_type: Invalid type",
		`{"model":"ada","input":["a"`:                                                 "400 invalid_request_error - -: We could not parse",
		`{"model":"ada","input":` + over + `}`:                                        "400 invalid_request_error input array_above_max_length: Invalid 'input': array too long. Expected an array with maximum length 20",
		`{"model":"ada","input":"a","encoding_format":7}`:                             "400 invalid_request_error encoding_format invalid_value: Invalid 'encoding_format': 7",
		`{"model":"ada","input":"a","encoding_format":""}`:                            "400 invalid_request_error encoding_format invalid_value: Invalid",
		`{"model":"ada","input":"a","dimensions":3}`:                                  "400 invalid_request_error dimensions invalid_value: Invalid 'dimensions': org/f:latest gives 4 and no other number",
		`{"model":"ada","input":"a","dimensions":-4}`:                                 "400 invalid_request_error dimensions invalid_value: Invalid",
		`{"model":"ada","input":"a","dimensions":4.5}`:                                "400 invalid_request_error dimensions invalid_value: Invalid",
		`{"model":"ada","input":"a","dimensions":"4"}`:                                "400 invalid_request_error dimensions invalid_value: Invalid",
		`{"model":"ada","input":"a","input_type":"x"}`:                                `400 invalid_request_error input_type invalid_value: Invalid 'input_type': "x"`,
		`{"model":"ada","input":"a","user":{}}`:                                       "400 invalid_request_error user invalid_type: Invalid type for 'user'",
		`{"model":"ada","input":"a","task":"query"}`:                                  `400 invalid_request_error task -: Unrecognized request argument supplied: "task"`,
		`{"model":"ada","input":"a","Model":"ada"}`:                                   `400 invalid_request_error Model -: Unrecognized`,
		`{"model":"ada","input":"a","input":"b"}`:                                     `400 invalid_request_error input -: "input" is given twice`,
		`{"model":"bert","input":"a"}`:                                                `404 invalid_request_error model model_not_found: The model "bert" does not exist here: this server has org/f:latest, fake/org/f:latest, ada`,
		`{"model":"ada:search","input":"a"}`:                                          "404 invalid_request_error model model_not_found: The model",
		`{"model":"ada:query:query","input":"a"}`:                                     "404 invalid_request_error model model_not_found: The model",
		`{"model":"ada","input":["a b","a b c d e f g"]}`:                             "400 invalid_request_error input[1] context_length_exceeded: Invalid 'input[1]': 7 tokens are over the maximum input length of org/f:latest, which is 6 tokens",
		`{"model":"ada","input":["a b c d e f","a b c d e f","a b c d e f","a b c"]}`: "400 invalid_request_error input max_tokens_per_request: Requested 21 tokens, max 20 tokens per request",
	} {
		e := newFake()
		s := server(t, e, Options{Aliases: []string{"ada"}, MaxInputs: 20, MaxTokens: 20})
		if got := refusal(t, post(s, "/v1/embeddings", body)); !strings.HasPrefix(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", body, got, want)
		}
		if len(e.calls) > 0 {
			t.Errorf("%s: the embedder was asked", body)
		}
	}
}

func TestHTTP(t *testing.T) {
	for _, test := range []struct {
		method, path, body string
		headers            []string
		want               string
	}{
		{"GET", "/v1/embeddings", "", nil, "405 invalid_request_error - method_not_supported: Not allowed to GET on /v1/embeddings"},
		{"POST", "/v1/models", "", nil, "405 invalid_request_error - method_not_supported"},
		{"POST", "/v1/completions", "", nil, "404 invalid_request_error - unknown_url: Unknown request URL: POST /v1/completions"},
		{"GET", "/v1/models/gpt/4", "", nil, `404 invalid_request_error model model_not_found: The model "gpt/4"`},
		{"POST", "/v1/embeddings", strings.Repeat(" ", 1001), nil, "413 invalid_request_error - request_too_large: the body is over 1000 bytes"},
		{"POST", "/v1/embeddings", "", []string{"Content-Encoding: gzip"}, "415 invalid_request_error - -"},
	} {
		s := server(t, newFake(), Options{MaxBody: 1000})
		if got := refusal(t, send(s, test.method, test.path, test.body, test.headers...)); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s %s: %s", test.method, test.path, got)
		}
	}
}

func TestModels(t *testing.T) {
	s := server(t, newFake(), Options{Aliases: []string{"ada", "ada"}})
	w := send(s, "GET", "/v1/models", "")
	var l struct {
		Object string
		Data   []modelInfo
	}
	if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || l.Object != "list" || len(l.Data) != 9 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	for _, m := range l.Data {
		w := send(s, "GET", "/v1/models/"+m.ID, "")
		var one modelInfo
		if err := json.Unmarshal(w.Body.Bytes(), &one); err != nil || one != m {
			t.Errorf("%s: %v %+v, want %+v", m.ID, err, one, m)
		}
		if m.Object != "model" || m.OwnedBy != "fake" || m.Dimensions != 4 || m.MaxInputTokens != 6 || m.Created == 0 || m.Identity != newFake().model.Identity() {
			t.Errorf("%+v", m)
		}
		if want := strings.HasSuffix(m.ID, ":query"); (m.InputType == "query") != want {
			t.Errorf("%+v", m)
		}
		if vectors(t, post(s, "/v1/embeddings", fmt.Sprintf(`{"model":%q,"input":"a"}`, m.ID))); t.Failed() {
			t.Errorf("%s cannot be used", m.ID)
		}
	}
	e, err := lexical.Open(lexical.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if w := send(server(t, e, Options{}), "GET", "/models", ""); strings.Contains(w.Body.String(), ":query") {
		t.Errorf("a model that does not tell questions apart: %s", w.Body)
	}
}

// A key, or none: who is let in.
func TestAccess(t *testing.T) {
	const body = `{"model":"org/f:latest","input":"a"}`
	key := Options{Key: "s3cret"}
	for _, test := range []struct {
		opts    Options
		headers []string
		want    int
	}{
		{Options{}, nil, 200},
		{Options{}, []string{"Host: localhost"}, 200},
		{Options{}, []string{"Host: [::1]:8089", "Authorization: Bearer whatever"}, 200},
		{Options{}, []string{"Host: rebound.example"}, 403},
		{Options{}, []string{"Origin: https://page.example"}, 403},
		{Options{WithoutKey: true}, []string{"Host: embeddings.internal:80"}, 200},
		{Options{WithoutKey: true}, []string{"Origin: https://page.example"}, 403},
		{key, nil, 401},
		{key, []string{"Authorization: Bearer s3cre"}, 401},
		{key, []string{"Authorization: Bearer s3cret2"}, 401},
		{key, []string{"Authorization: s3cret"}, 401},
		{key, []string{"Authorization: Basic s3cret"}, 401},
		{key, []string{"Authorization: Bearer "}, 401},
		{key, []string{"Authorization: Bearer s3cret"}, 200},
		{key, []string{"Authorization: bearer s3cret", "Host: elsewhere", "Origin: https://page.example"}, 200},
		{key, []string{"api-key: s3cret"}, 200},
		{key, []string{"api-key: wrong"}, 401},
	} {
		s := server(t, newFake(), test.opts)
		w := post(s, "/v1/embeddings", body, test.headers...)
		if w.Code != test.want {
			t.Errorf("%+v: %d %s", test, w.Code, w.Body)
		}
		if w.Code != 200 {
			refusal(t, w)
		}
		if w.Code == 401 && w.Header().Get("WWW-Authenticate") == "" {
			t.Error("no WWW-Authenticate")
		}
		if m := send(s, "GET", "/v1/models", "", test.headers...); m.Code != w.Code {
			t.Errorf("%+v: models %d", test, m.Code)
		}
		for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
			if m := send(s, "GET", path, "", test.headers...); m.Code != 200 || strings.Contains(m.Body.String(), "s3cret") {
				t.Errorf("%s: %d", path, m.Code)
			}
		}
		if strings.Contains(w.Body.String(), "s3c") {
			t.Errorf("the key is told: %s", w.Body)
		}
	}
}

// Errors of the embedder: what the client can do about them decides the status.
func TestFaults(t *testing.T) {
	refuse := func(class connector.Class) func(context.Context, []string) error {
		return func(context.Context, []string) error { return connector.Errorf(class, "fake: no") }
	}
	poison := func(_ context.Context, texts []string) error {
		if slices.Contains(texts, "p") {
			return connector.Errorf(connector.ClassInvalid, "fake: poison")
		}
		return nil
	}
	crowd := func(_ context.Context, texts []string) error {
		if len(texts) > 1 {
			return connector.Errorf(connector.ClassTooLarge, "fake: one at a time")
		}
		return nil
	}
	change := func(fn func(v [][]float32)) func([]string, [][]float32) ([][]float32, error) {
		return func(texts []string, out [][]float32) ([][]float32, error) {
			if slices.Contains(texts, "p") {
				fn(out)
			}
			return out, nil
		}
	}
	for name, test := range map[string]struct {
		before func(context.Context, []string) error
		spoil  func([]string, [][]float32) ([][]float32, error)
		want   string // empty: vectors
		query  string
	}{
		"throttled": {before: func(context.Context, []string) error {
			return fmt.Errorf("outer: %w", &connector.Error{Class: connector.ClassThrottled, RetryAfter: 1500 * time.Millisecond, Err: errors.New("slow down")})
		}, want: "429 requests - rate_limit_exceeded: outer: slow down"},
		"transient":   {before: refuse(connector.ClassTransient), want: "503 server_error - unavailable: fake: no"},
		"denied":      {before: refuse(connector.ClassDenied), want: "502 server_error - embedder_refused: fake: no"},
		"credentials": {before: refuse(connector.ClassCredentials), want: "502 server_error - embedder_refused: fake: no"},
		"unknown":     {before: func(context.Context, []string) error { return errors.New("odd") }, want: "500 server_error - -: odd"},
		"panic":       {before: func(context.Context, []string) error { panic("ouch") }, want: "500 server_error - -: the embedder fake failed within"},
		"poison": {before: poison, want: "400 invalid_request_error input[1] input_refused: the model refuses 2 of 5 inputs: input[1]: fake: poison; input[4]: fake: poison",
			query: "400 invalid_request_error input[1] input_refused: the model refuses 2 of 5 inputs: input[1]: fake: poison; input[4]: fake: poison"},
		"too large": {before: crowd},
		"batch": {spoil: func(texts []string, out [][]float32) ([][]float32, error) {
			failed := map[int]error{}
			for i, text := range texts {
				if text == "p" {
					failed[i], out[i] = errors.New("not this"), nil
				}
			}
			if len(failed) == 0 {
				return out, nil
			}
			return out, &connector.BatchError{Items: failed}
		}, want: "400 invalid_request_error input[1] input_refused: the model refuses 2 of 5 inputs: input[1]: not this; input[4]: not this",
			query: "400 invalid_request_error input[1] input_refused: the model refuses 2 of 5 inputs: input[1]: 1 items"},
		"NaN": {spoil: change(func(v [][]float32) {
			for i := range v {
				v[i][2] = float32(math.NaN())
			}
		}), want: "400 invalid_request_error input[0] input_refused: the model refuses 5 of 5 inputs: input[0]: its vector is not finite",
			query: "400 invalid_request_error input[1] input_refused: the model refuses 2 of 5 inputs: input[1]: its vector is not finite"},
		"zero": {spoil: change(func(v [][]float32) { clear(v[len(v)-1]) }),
			want:  "400 invalid_request_error input[2] input_refused: the model refuses 2 of 5 inputs: input[2]: its vector is zero; input[4]",
			query: "400 invalid_request_error input[1] input_refused: the model refuses 2 of 5 inputs: input[1]: its vector is zero; input[4]"},
		"size":  {spoil: change(func(v [][]float32) { v[0] = v[0][:3] }), want: "500 server_error - -: the embedder fake returned a vector of 3 dimensions, want 4"},
		"count": {spoil: func(_ []string, out [][]float32) ([][]float32, error) { return append(out, out[0]), nil }, want: "500 server_error - -: the embedder fake returned", query: "vectors"},
	} {
		for model, want := range map[string]string{"org/f:latest": test.want, "org/f:latest:query": test.want} {
			if test.query != "" && strings.HasSuffix(model, ":query") {
				want = test.query
			}
			e := newFake()
			e.before, e.spoil = test.before, test.spoil
			s := server(t, e, Options{Concurrency: 1})
			w := post(s, "/v1/embeddings", fmt.Sprintf(`{"model":%q,"input":["a","p","c","d","p"]}`, model))
			if want == "" || want == "vectors" {
				if got := vectors(t, w); len(got) != 5 {
					t.Errorf("%s, %s: %d vectors", name, model, len(got))
				}
			} else if got := refusal(t, w); !strings.HasPrefix(got, want) {
				t.Errorf("%s, %s:\n got %s\nwant %s", name, model, got, want)
			}
			if wait := w.Header().Get("Retry-After"); (wait == "2") != (name == "throttled") {
				t.Errorf("%s: Retry-After %q", name, wait)
			}
			e.before, e.spoil = nil, nil
			vectors(t, post(s, "/v1/embeddings", `{"model":"org/f:latest","input":"after"}`)) // nothing is held
		}
	}
}

// Numbers and base64 give back every bit, also to readers that go by way of 64-bit floats.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	v := []float32{0, float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32, math.MaxFloat32, 1, -1, 0.1, 1e21, 7.038531e-26, math.Float32frombits(0x15ae43fd)}
	for len(v) < 200000 {
		if x := math.Float32frombits(r.Uint32()); !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) {
			v = append(v, x, float32(r.NormFloat64()*0.05))
		}
	}
	raw, err := base64.StdEncoding.DecodeString(strings.Trim(string(appendBase64(nil, v)), `"`))
	if err != nil || len(raw) != 4*len(v) {
		t.Fatal(err, len(raw))
	}
	var direct []float32
	var wide []float64
	text := appendNumbers(nil, v)
	if err := errors.Join(json.Unmarshal(text, &direct), json.Unmarshal(text, &wide)); err != nil {
		t.Fatal(err)
	}
	for i, x := range v {
		bits := math.Float32bits(x)
		if math.Float32bits(direct[i]) != bits || math.Float32bits(float32(wide[i])) != bits || binary.LittleEndian.Uint32(raw[4*i:]) != bits {
			t.Fatalf("%v (%x): %v, %v, %x", x, bits, direct[i], wide[i], raw[4*i:4*i+4])
		}
	}
	if short := string(appendNumbers(nil, []float32{0.1, -2, 1e-7})); short != "[0.1,-2,1e-07]" {
		t.Error(short)
	}
	naive := strconv.FormatFloat(float64(math.Float32frombits(0x15ae43fd)), 'g', -1, 32)
	if back, _ := strconv.ParseFloat(naive, 64); math.Float32bits(float32(back)) == 0x15ae43fd {
		t.Error("the example of rounding twice is none")
	}
}

func TestOptions(t *testing.T) {
	for alias, want := range map[string]string{"": "empty", "a b": "blank", "a\n": "blank", "a:query": "leave that out", "b:document": "leave that out"} {
		if _, err := New(newFake(), Options{Aliases: []string{alias}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", alias, err)
		}
	}
	e := newFake()
	e.model.Dimensions = 0
	if _, err := New(e, Options{}); err == nil {
		t.Error("a model without dimensions")
	}
	s := server(t, newFake(), Options{})
	if cap(s.slots) < 2 || cap(s.tickets) != cap(s.slots)+DefaultQueue {
		t.Errorf("%d, %d", cap(s.slots), cap(s.tickets))
	}
	for _, word := range []string{"document", "passage", "search_document", "query", "search_query"} {
		r, err := ParseRole(word)
		if err != nil || strings.HasSuffix(word, "query") != (r == Query) {
			t.Errorf("%s: %v, %v", word, r, err)
		}
	}
	if _, err := ParseRole("QUERY"); err == nil {
		t.Error("QUERY")
	}
}

// The budget is that of all requests together, and the price counts before a call is made.
func TestBudget(t *testing.T) {
	e := newFake()
	e.model.PricePerMillion, e.model.Budget, e.model.Currency = 1e6, 5, "USD"
	s := server(t, e, Options{})
	const two = `{"model":"org/f:latest","input":"a b"}`
	for range 2 {
		vectors(t, post(s, "/v1/embeddings", two))
	}
	if got := refusal(t, post(s, "/v1/embeddings", two)); !strings.HasPrefix(got, "429 insufficient_quota - insufficient_quota: the budget of 5 USD is spent (4.0000") {
		t.Error(got)
	}
	vectors(t, post(s, "/v1/embeddings", `{"model":"org/f:latest","input":"a"}`))
	if len(e.calls) != 3 {
		t.Errorf("%d calls", len(e.calls))
	}
}

func TestMetrics(t *testing.T) {
	e, err := lexical.Open(lexical.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := server(t, e, Options{Version: "v1.2.3"})
	vectors(t, post(s, "/v1/embeddings", `{"model":"hash","input":["one two","three"]}`))
	post(s, "/v1/embeddings", `{"model":"hash","input":[1, 2]}`)
	post(s, "/v1/embeddings", `{"model":"other","input":"x"}`)
	w := send(s, http.MethodGet, "/metrics", "")
	for _, line := range []string{
		`kbsync_embed_requests_total{model="lexical/hash",status="200"} 1`,
		`kbsync_embed_requests_total{model="lexical/hash",status="400"} 1`,
		`kbsync_embed_requests_total{model="lexical/hash",status="404"} 1`,
		`kbsync_embed_texts_total{input_type="document",model="lexical/hash"} 2`,
		`kbsync_embed_tokens_total{input_type="document",model="lexical/hash"} 3`,
		`kbsync_embed_tokens_total{input_type="query",model="lexical/hash"} 0`,
		`kbsync_embed_request_duration_seconds_count{model="lexical/hash"} 1`,
		`kbsync_embed_requests_in_progress{model="lexical/hash"} 0`,
		`kbsync_embed_calls_in_progress{model="lexical/hash"} 0`,
	} {
		if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	if !strings.Contains(w.Body.String(), `version="v1.2.3"`) {
		t.Error("no version")
	}
}
