package embedserver

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/kbsync/kbsync/connector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// words counts words.
type words struct{}

func (words) Name() string                   { return "words" }
func (words) Count(s string) int             { return len(strings.Fields(s)) }
func (words) Ruler(s string) connector.Ruler { return wordRuler(s) }

type wordRuler string

func (r wordRuler) Count(i, j int) int { return words{}.Count(string(r[i:j])) }

// fake is an embedder whose vectors follow from the text and its prefix.
type fake struct {
	model connector.Model
	// before, if set, is called first; its error is that of the call.
	before func(ctx context.Context, texts []string) error
	// spoil, if set, changes the answer.
	spoil func(texts []string, out [][]float32) ([][]float32, error)

	mu    sync.Mutex
	calls [][]string // what each call was given, with its prefix
	at    int        // calls under way
	most  int
}

func newFake() *fake {
	return &fake{model: connector.Model{Provider: "fake", Name: "org/f:latest", Version: "1", Dimensions: 4, DocumentPrefix: "d: ", QueryPrefix: "q: ", Counter: words{}, MaxItems: 3, MaxTokens: 10, MaxInputTokens: 6, Normalized: true}}
}

func vectorOf(text string) []float32 {
	v := make([]float32, 4)
	square := 0.0
	for i := range v {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, i, text)
		v[i] = float32(int64(h.Sum64())) / math.MaxInt64 //nolint:gosec // wraps around on purpose
		square += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(square))
	}
	return v
}

func (f *fake) Model() connector.Model { return f.model }
func (f *fake) Close() error           { return nil }

func (f *fake) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return f.embed(ctx, f.model.DocumentPrefix, texts)
}

func (f *fake) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := f.embed(ctx, f.model.QueryPrefix, []string{text})
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

func (f *fake) embed(ctx context.Context, prefix string, texts []string) ([][]float32, error) {
	given := make([]string, len(texts))
	out := make([][]float32, len(texts))
	for i, text := range texts {
		given[i] = prefix + text
		out[i] = vectorOf(given[i])
	}
	f.mu.Lock()
	f.calls = append(f.calls, given)
	f.at++
	f.most = max(f.most, f.at)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.at--
		f.mu.Unlock()
	}()
	if f.before != nil {
		if err := f.before(ctx, texts); err != nil {
			return nil, err
		}
	}
	if f.spoil != nil {
		return f.spoil(texts, out)
	}
	return out, ctx.Err()
}

// asked are the texts of all calls, in alphabetical order.
func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(slices.Values(slices.Concat(f.calls...)))
}

func server(t testing.TB, e connector.Embedder, opts Options) *Server {
	t.Helper()
	s, err := New(e, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// post sends a body from this machine; headers are "Name: value".
func post(h http.Handler, path, body string, headers ...string) *httptest.ResponseRecorder {
	return send(h, http.MethodPost, path, body, headers...)
}

func send(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8089"
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// list is an answer.
type list struct {
	Object string
	Data   []struct {
		Object    string
		Index     int
		Embedding json.RawMessage
	}
	Model string
	Usage struct {
		Prompt int `json:"prompt_tokens"`
		Total  int `json:"total_tokens"`
	}
}

// vectors reads an answer with vectors as numbers.
func vectors(t testing.TB, w *httptest.ResponseRecorder) [][]float32 {
	t.Helper()
	var l list
	if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v: %s", w.Code, err, w.Body)
	}
	out := make([][]float32, len(l.Data))
	for i, d := range l.Data {
		if d.Index != i || d.Object != "embedding" || l.Object != "list" {
			t.Errorf("vector %d: %+v of a %s", i, d, l.Object)
		}
		if err := json.Unmarshal(d.Embedding, &out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// refusal is the error of an answer, as "status type param code: message".
func refusal(t testing.TB, w *httptest.ResponseRecorder) string {
	t.Helper()
	var body map[string]map[string]*string
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || len(body) != 1 || len(body["error"]) != 4 || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d: not an error of OpenAI's shape (%v): %s", w.Code, err, w.Body)
	}
	text := func(key string) string {
		s, ok := body["error"][key]
		if !ok {
			t.Fatalf("no %s: %s", key, w.Body)
		}
		if s == nil {
			return "-"
		}
		return *s
	}
	return fmt.Sprintf("%d %s %s %s: %s", w.Code, text("type"), text("param"), text("code"), text("message"))
}

func expect(t testing.TB, what string, got, want [][]float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d vectors, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("%s: vector %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}
