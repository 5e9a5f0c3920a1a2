package acceptance

// What people report of programs that embed documents, and where it is tested, end to end and near the code:
//
//	report                                      here                        elsewhere
//	a 429 kills the run                         TestThrottledRunGoesOn      openai.TestSyncInAStorm, providerstest (429, five kinds), pipeline.TestPace…
//	a blank chunk fails the batch               TestBlankTextsAreNotSent    TestBlankDocumentAmongMany, lexical.TestBlankIsRefused
//	a chunk over the model's limit              TestModelLimitBindsChunks   strategytest (caps), TestPoison, local.TestTooLong
//	other dimensions after a change of model    TestOtherDimensions         TestModelChangeIsARebuild, providerstest (other dimensions)
//	two models with the same dimensions         TestEqualDimensions         TestModelsOfEqualDimensionsAreNotMixed (qdrant), TestStoreKeepsModelsApart
//	a token limit counts Chinese by words       TestModelLimitBindsChunks   internal/tokens, strategytest (caps)
//	a key is printed in an error                TestKeyIsNeverPrinted       providerstest (every fault), cmd/kbsync (config)
//	a wrong model name costs a request a text   TestEmbedderThatTakesNothing
//	one bad text costs the good ones            TestBadTextsAmongGood       TestPoison, TestContextPoison
//	what was sent when a run broke is paid twice TestPaidIsKept

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/internal/counters"
	"github.com/kbsync/kbsync/internal/providers/providerstest"
)

// serviceDims are those of the home-made model of the tests' service.
const serviceDims = 32

// withService is a rig that embeds by a service over HTTP.
func withService(t *testing.T, keys string) (*rig, *providerstest.Server) {
	t.Helper()
	server := providerstest.Start(t, providerstest.OpenAI(serviceDims, ""))
	return newRig(t, "", serviceLine(server, "home-made", serviceDims, keys)), server
}

func serviceLine(server *providerstest.Server, model string, dims int, keys string) string {
	return fmt.Sprintf("embedder: { openai: { base_url: %q, api_key: %q, model: %s, dimensions: %d%s } }", server.URL, providerstest.Key, model, dims, keys)
}

func fault(t *testing.T, name string) *providerstest.Fault {
	t.Helper()
	all := providerstest.Faults()
	at := slices.IndexFunc(all, func(f providerstest.Fault) bool { return f.Name == name })
	if at < 0 {
		t.Fatalf("no fault %q", name)
	}
	return &all[at]
}

const always = 1 << 30

func TestThrottledRunGoesOn(t *testing.T) {
	for _, name := range []string{"429", "429 with milliseconds"} {
		r, server := withService(t, ", batch: 3")
		for i := range 20 {
			r.write(fmt.Sprintf("%d.txt", i), paragraphs(fmt.Sprint(i), 1))
		}
		server.Storm(2, []providerstest.Fault{*fault(t, name)})
		if res := r.sync(); res.Documents.Added != 20 || res.Documents.Failed != 0 {
			t.Errorf("%s: %+v", name, res.Documents)
		}
		for text, n := range server.Served() {
			if n != 1 {
				t.Errorf("%s: %q was embedded %d times", name, text, n)
			}
		}
		server.Storm(0, nil)
		r.exact()
	}
}

// The service refuses a request with a blank text in it.
func TestBlankTextsAreNotSent(t *testing.T) {
	r, server := withService(t, "")
	r.write("blank.txt", " \n\t\n\u00a0\u3000\u200b\n")
	r.write("empty.txt", "")
	r.write("gaps.txt", "One.\n\n \u3000 \n\n\n\n\u00a0\n\nTwo.\n")
	r.write("table.md", "# T\n\n|  |  |\n|--|--|\n|  |  |\n\n---\n\n```\n\n```\n")
	if res := r.sync(); res.Documents.Failed != 0 || res.Documents.Added+res.Documents.Skipped != 4 {
		t.Fatalf("%+v", res)
	}
	for text := range server.Served() {
		if strings.TrimSpace(text) == "" {
			t.Errorf("%q was sent", text)
		}
	}
	r.exact()
}

// limited refuses, as the services do, a text of more tokens than its model takes.
type limited struct {
	connector.Embedder
	counter connector.Counter
	longest int
}

func (l *limited) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	for _, text := range texts {
		n := l.counter.Count(text)
		if n > l.Model().MaxInputTokens {
			return nil, connector.Errorf(connector.ClassInvalid, "this model's maximum context length is %d tokens, you requested %d", l.Model().MaxInputTokens, n)
		}
		l.longest = max(l.longest, n)
	}
	return l.Embedder.Embed(ctx, texts)
}

// Rules that ask for larger chunks than the model takes get what it takes: counted in its tokens, of which a Chinese sentence without a
// space has as many as characters.
func TestModelLimitBindsChunks(t *testing.T) {
	counter, err := counters.Named("cl100k")
	if err != nil {
		t.Fatal(err)
	}
	for name, document := range map[string]string{
		"english":                 strings.Repeat("The committee will meet again before the end of the quarter. ", 2000),
		"chinese":                 strings.Repeat("委员会将在本季度末之前再次开会讨论预算草案与人员安排事宜。", 900),
		"one line without an end": strings.Repeat("龘靐齉爩鱻麤龗灪", 600),
	} {
		for _, rule := range []string{"recursive: { max_tokens: 100000 }", "recursive: { max_chars: 1000000 }"} {
			server := providerstest.Start(t, providerstest.OpenAI(serviceDims, ""))
			r := newRig(t, "", serviceLine(server, "text-embedding-3-small", serviceDims, "")+"\nrules: [{ strategy: { "+rule+" } }]")
			service := &limited{counter: counter}
			r.opts.WrapEmbedder = func(e connector.Embedder) connector.Embedder {
				service.Embedder = e
				return service
			}
			r.write("a.txt", document)
			res := r.sync()
			if limit := service.Model().MaxInputTokens; limit != 8191 && limit != 8192 || service.longest > limit || service.longest < limit/4 || res.Chunks.Upserted < 2 {
				t.Errorf("%s, %s: the longest of %d chunks has %d tokens, the model takes %d", name, rule, res.Chunks.Upserted, service.longest, limit)
			}
			for _, call := range server.Calls() {
				sum := 0
				for _, text := range call.Texts {
					sum += counter.Count(text)
				}
				if sum > 300_000 {
					t.Errorf("%s: a request of %d tokens", name, sum)
				}
			}
		}
	}
}

// A service that gives other vectors than the collection has: nothing of it is stored, and the configuration is named.
func TestOtherDimensions(t *testing.T) {
	r, server := withService(t, "")
	r.write("a.txt", paragraphs("a", 10))
	r.sync()
	before := r.vectors()
	for i := range 5 { // the fault hits the second text of a request
		r.write(fmt.Sprintf("b%d.txt", i), paragraphs(fmt.Sprint("b", i), 10))
	}
	server.Fail(fault(t, "other dimensions"), always)
	for range 2 {
		_, err := r.trySync(pipeline.SyncOptions{})
		if err == nil || !strings.Contains(err.Error(), "dimensions") {
			t.Fatalf("vectors of another length were taken: %v", err)
		}
		sameVectors(t, r.vectors(), before)
	}
	server.Fail(nil, 0)
	r.sync()
	r.exact()

	r.yaml = strings.Replace(r.yaml, fmt.Sprint("dimensions: ", serviceDims), "dimensions: 48", 1)
	if _, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitRefused || !strings.Contains(err.Error(), "--allow-rebuild") {
		t.Errorf("other dimensions were configured: %v", err)
	}
	if res, err := r.trySync(pipeline.SyncOptions{AllowRebuild: true}); err != nil || res.Embeddings.Cached != 0 {
		t.Errorf("%v, %+v", err, res.Embeddings)
	}
	r.exact()
}

// Two models of the same dimensions: the vectors of one are never stored, found in the store or asked as those of the other.
func TestEqualDimensions(t *testing.T) {
	r, server := withService(t, "")
	r.write("a.txt", paragraphs("a", 10))
	n := r.sync().Embeddings.Computed
	r.yaml = strings.Replace(r.yaml, "home-made", "home-baked", 1)
	if _, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitRefused || !strings.Contains(err.Error(), "home-made") || !strings.Contains(err.Error(), "home-baked") {
		t.Fatalf("another model of the same dimensions: %v", err)
	}
	p := r.open()
	if _, err := p.Query(t.Context(), pipeline.QueryOptions{Text: "paragraph", Mode: connector.ModeDense}); pipeline.ExitCode(err) != pipeline.ExitRefused {
		t.Errorf("a question to the vectors of another model: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	asked := len(server.Calls())
	res, err := r.trySync(pipeline.SyncOptions{AllowRebuild: true})
	if err != nil || res.Embeddings.Computed != n || res.Embeddings.Cached != 0 {
		t.Errorf("%v, %+v, want %d embedded", err, res.Embeddings, n)
	}
	for _, call := range server.Calls()[asked:] {
		if call.Model != "home-baked" {
			t.Errorf("%s was asked", call.Model)
		}
	}
	// And back: what the first model made is still in the store.
	r.yaml = strings.Replace(r.yaml, "home-baked", "home-made", 1)
	if res, err := r.trySync(pipeline.SyncOptions{AllowRebuild: true}); err != nil || res.Embeddings.Computed != 0 {
		t.Errorf("%v, %+v", err, res.Embeddings)
	}
	r.exact()
}

// The service answers with the key, or with parts of it: no error, log, report or file has it.
func TestKeyIsNeverPrinted(t *testing.T) {
	for _, name := range []string{"401 echoes the key", "403 shows the key's ends", "400 for a bad key", "502 with a web page", "redirect", "400 of another kind"} {
		r, server := withService(t, "")
		var log bytes.Buffer
		r.opts.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		r.yaml += "sync: { retries: 1 }\n"
		r.write("a.txt", paragraphs("a", 3))
		server.Fail(fault(t, name), always)
		res, err := r.trySync(pipeline.SyncOptions{})
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		p := r.open()
		status, serr := p.Status(t.Context())
		if cerr := p.Close(); serr != nil || cerr != nil {
			t.Fatal(serr, cerr)
		}
		secretFree(t, name, []byte(fmt.Sprintf("%v %+v %#v %+v %+v %+v", err, err, err, res, status, p.Model())), log.Bytes())
		for _, b := range stateFiles(t, r.dir) {
			secretFree(t, name+": a state file", b)
		}
	}
}

// stateFiles are the contents of what a run leaves beside its configuration.
func stateFiles(t *testing.T, dir string) (out [][]byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(path) == "kbsync.yaml" {
			return err
		}
		b, err := os.ReadFile(path)
		out = append(out, b)
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatal(len(out), err)
	}
	return out
}

func secretFree(t *testing.T, what string, texts ...[]byte) {
	t.Helper()
	for _, b := range texts {
		for _, part := range []string{providerstest.Key, providerstest.Key[:8], providerstest.Key[len(providerstest.Key)-4:]} {
			if bytes.Contains(b, []byte(part)) {
				t.Errorf("%s: %.500s", what, b)
			}
		}
	}
}

// A service that refuses whatever it is asked, as for the name of a model that it does not admit to: the run ends after as many requests as
// a batch can be halved, and blames no document.
func TestEmbedderThatTakesNothing(t *testing.T) {
	r, server := withService(t, ", batch: 128")
	r.yaml += "sync: { concurrency: 2 }\n"
	for i := range 600 {
		r.write(fmt.Sprintf("%d.txt", i), fmt.Sprintf("Document %d of many.", i))
	}
	server.Fail(fault(t, "400 of another kind"), always)
	res, err := r.trySync(pipeline.SyncOptions{})
	if pipeline.ExitCode(err) != pipeline.ExitUsage || !strings.Contains(err.Error(), "home-made") || !strings.Contains(err.Error(), "invalid request") {
		t.Errorf("%v (exit %d)", err, pipeline.ExitCode(err))
	}
	if res.Documents.Failed != 0 || len(res.Errors) != 0 {
		t.Errorf("documents were blamed: %+v", res)
	}
	// Each of the two workers halves its batch of 128 seven times; one word is asked for; the other worker may be a step ahead.
	if n := len(server.Calls()); n > 2*9+1 {
		t.Errorf("%d requests for 600 texts", n)
	}
	server.Fail(nil, 0)
	if res := r.sync(); res.Documents.Added != 600 {
		t.Errorf("%+v", res.Documents)
	}
	r.exact()
}

// Of many bad texts each is named, and every good one has its vector, although the service took nothing before.
func TestBadTextsAmongGood(t *testing.T) {
	const bad, good = 40, 3
	r := newRig(t, "", "sync: { concurrency: 1 }")
	calls := 0
	wrap := r.opts.WrapEmbedder
	r.opts.WrapEmbedder = func(e connector.Embedder) connector.Embedder {
		return &picky{wrap(e), func(texts []string) error {
			calls++
			if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "POISON") }) {
				return connector.Errorf(connector.ClassInvalid, "a text is not acceptable")
			}
			return nil
		}}
	}
	for i := range bad {
		r.write(fmt.Sprintf("a%02d.txt", i), fmt.Sprintf("POISON number %d.", i))
	}
	for i := range good {
		r.write(fmt.Sprintf("b%d.txt", i), fmt.Sprintf("Good number %d.", i))
	}
	res, err := r.trySync(pipeline.SyncOptions{})
	if pipeline.ExitCode(err) != pipeline.ExitFailed || res.Documents.Failed != bad || res.Documents.Added != good {
		t.Errorf("%v, %+v", err, res.Documents)
	}
	for _, row := range res.Errors {
		if !strings.HasPrefix(row.Path, "a") || !strings.Contains(row.Error, "not acceptable") {
			t.Errorf("%+v", row)
		}
	}
	// A tree over n texts, every node of which is refused, and the one word.
	if calls > 2*(bad+good)+8 {
		t.Errorf("%d requests for %d texts", calls, bad+good)
	}
}

// breaking fails for good at the text that says so, once another request is under way; that one's answer comes later.
type breaking struct {
	connector.Embedder
	sent, failed chan struct{}
	mu           sync.Mutex
	paid         map[string]int
}

func (b *breaking) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if b.failed != nil {
		if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "the key runs out here") }) {
			<-b.sent                                                              // another one is under way
			defer time.AfterFunc(50*time.Millisecond, func() { close(b.failed) }) // the run learns of it first
			return nil, connector.Errorf(connector.ClassDenied, "the key ran out")
		}
		b.sent <- struct{}{}
		select {
		case <-b.failed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	b.mu.Lock()
	for _, text := range texts {
		b.paid[text]++
	}
	b.mu.Unlock()
	return b.Embedder.Embed(ctx, texts)
}

// TestPaidIsKept: an answer that is under way when another request ends the run is waited for and stored, so that the next run does
// not pay for it again.
func TestPaidIsKept(t *testing.T) {
	for _, kind := range []string{"lexical: { dimensions: 32 }", "contextual: {}"} {
		r := newRig(t, "", "embedder: { "+kind+" }\nsync: { concurrency: 2 }\nrules: [{ match: { path: '**' }, strategy: { paragraph: { max_chars: 120 } } }]\n")
		b := &breaking{sent: make(chan struct{}, 1), failed: make(chan struct{}), paid: map[string]int{}}
		r.opts.WrapEmbedder = func(e connector.Embedder) connector.Embedder {
			b.Embedder = &items{e, 1}
			return b
		}
		r.write("a.txt", "Here "+strings.Repeat("and ", 20)+"the key runs out here.\n\n"+paragraphs("a", 4)) // one document: its requests are sent together
		_, err := r.trySync(pipeline.SyncOptions{})
		if pipeline.ExitCode(err) != pipeline.ExitUnreachable || !strings.Contains(err.Error(), "the key ran out") {
			t.Fatalf("%s: got %v, want the refusal", kind, err)
		}
		if len(b.paid) == 0 {
			t.Fatalf("%s: the request that was under way was given up", kind)
		}
		b.failed = nil
		r.sync()
		for text, n := range b.paid {
			if n != 1 {
				t.Errorf("%s: paid %d times for %.40q", kind, n, text)
			}
		}
	}
}

// items lowers the number of texts in a request.
type items struct {
	connector.Embedder
	most int
}

func (i *items) Model() connector.Model {
	m := i.Embedder.Model()
	m.MaxItems = i.most
	return m
}
