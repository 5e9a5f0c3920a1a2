package acceptance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/embedserver"
	"github.com/kbsync/kbsync/connector/embedtest"
	"github.com/kbsync/kbsync/embedders/openai"
	"github.com/kbsync/kbsync/internal/providers"
)

// servedEmbedder is what the server of these tests has behind it.
const servedEmbedder = "embedder: { lexical: { dimensions: 64 } }"

// servedKey is the key that it asks for.
const servedKey = "s3rved-key"

// behind opens the embedder itself.
func behind(t *testing.T) connector.Embedder {
	t.Helper()
	r := newRig(t, "", servedEmbedder)
	conf := r.config().Embedder
	plugin, ok := r.reg.Embedders.Get(conf.Kind)
	if !ok {
		t.Fatalf("no embedder %s", conf.Kind)
	}
	if conf.Config == nil {
		conf.Config = plugin.Config()
	}
	e, err := plugin.Open(t.Context(), conf.Config, connector.Env{Name: pipelineName, Dir: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// embeddings is a server with an embedder behind it.
type embeddings struct {
	*httptest.Server
	embedder connector.Embedder
	model    string
}

// embeddingServer starts one on a port of this machine.
func embeddingServer(t *testing.T, opts embedserver.Options) *embeddings {
	t.Helper()
	e := behind(t)
	opts.Key, opts.Aliases = servedKey, []string{"served"}
	h, err := embedserver.New(e, opts)
	if err != nil {
		t.Fatal(err)
	}
	return &embeddings{httptest.NewServer(h), e, "served"}
}

func (s *embeddings) close() error {
	s.Close()
	return s.embedder.Close()
}

// client speaks OpenAI's protocol with the server: base64 as to OpenAI, or numbers as to any compatible service.
func (s *embeddings) client(t *testing.T, service, model string) connector.Embedder {
	t.Helper()
	e, err := openai.Open(t.Context(), openai.Config{Service: service, Config: providers.Config{BaseURL: s.URL + "/v1", APIKey: servedKey, Model: model}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// wholeStack is a client and the server behind it, which are closed together.
type wholeStack struct {
	connector.Embedder
	server *embeddings
}

func (s wholeStack) Close() error { return errors.Join(s.Embedder.Close(), s.server.close()) }

// TestServedEmbedderConforms: the provider, HTTP, the server and the embedder together keep every rule of an embedder.
func TestServedEmbedderConforms(t *testing.T) {
	for _, service := range []string{"openai", "compatible"} {
		t.Run(service, func(t *testing.T) {
			embedtest.Run(t, func(t *testing.T) connector.Embedder {
				t.Helper()
				s := embeddingServer(t, embedserver.Options{})
				return wholeStack{s.client(t, service, s.model), s}
			}, embedtest.Options{})
		})
	}
}

// TestServedVectorsAreExact: vectors come through HTTP bit for bit, as numbers and as base64, of passages and of questions.
func TestServedVectorsAreExact(t *testing.T) {
	s := embeddingServer(t, embedserver.Options{})
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a test
	words := strings.Fields("The pump 必须 先 关闭 before filter 更换 🦊 naïve café été \"quoted\" \\back\\slash <b>&amp; поле 날쌘 \u2028 x_y=1")
	texts := make([]string, 100)
	for i := range texts {
		var b strings.Builder
		for range 1 + r.IntN(30) {
			b.WriteString(words[r.IntN(len(words))] + " \n\t"[r.IntN(3):][:1])
		}
		texts[i] = b.String()
	}
	direct, err := s.embedder.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"openai", "compatible"} {
		c := s.client(t, service, s.model)
		for from := 0; from < len(texts); from += 50 {
			got, err := c.Embed(t.Context(), texts[from:from+50])
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				identical(t, fmt.Sprintf("%s: %q", service, texts[from+i]), v, direct[from+i])
			}
		}
		questions := s.client(t, service, s.model+":query")
		for _, text := range texts[:20] {
			want, err := s.embedder.EmbedQuery(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := questions.Embed(t.Context(), []string{text})
			if err != nil {
				t.Fatal(err)
			}
			identical(t, fmt.Sprintf("%s: the question %q", service, text), got[0], want)
		}
		if err := errors.Join(c.Close(), questions.Close()); err != nil {
			t.Error(err)
		}
	}
}

func identical(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Errorf("%s: %d dimensions, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Errorf("%s: component %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// TestServedSync: a sync through the server stores the very vectors of a sync with the embedder itself, though the server is
// small and may tell requests to come back.
func TestServedSync(t *testing.T) {
	s := embeddingServer(t, embedserver.Options{Concurrency: 1, Queue: 1})
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	direct := newRig(t, "", servedEmbedder)
	for i := range 30 {
		direct.write(fmt.Sprintf("folder/%d.md", i), fmt.Sprintf("# Document %d\n\n%s", i, paragraphs(fmt.Sprintf("d%d", i), 12)))
	}
	direct.sync()
	want := direct.storedVectors()
	for _, service := range []string{"openai", "compatible"} {
		through := newRig(t, direct.docs, fmt.Sprintf("embedder: { openai: { service: %s, base_url: %q, api_key: %q, model: served, batch: 7 } }\nsync: { concurrency: 8, retries: 50 }",
			service, s.URL+"/v1", servedKey))
		through.sync()
		got := through.storedVectors()
		if len(got) != len(want) || len(want) < 30 {
			t.Errorf("%s: %d chunks, want %d", service, len(got), len(want))
		}
		for id, v := range want {
			identical(t, service+": "+id, got[id], v)
		}
		if n := through.embeds.Load(); n < int64(len(want)) {
			t.Errorf("%s: only %d texts were embedded", service, n)
		}
	}
}

// storedVectors are those that the sink holds, by document and text of the chunk.
func (r *rig) storedVectors() map[string][]float32 {
	r.tb.Helper()
	p := r.open()
	defer func() { _ = p.Close() }()
	out := map[string][]float32{}
	for pt, err := range p.Export(context.Background(), true) {
		if err != nil {
			r.tb.Fatal(err)
		}
		out[fmt.Sprintf("%s %q", pt.DocID, pt.EmbedText)] = pt.Vector
	}
	return out
}
