package acceptance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// noting is an embedder that notes what it is asked, and may fail.
type noting struct {
	connector.Embedder
	mu    sync.Mutex
	texts []string
	calls int
	fail  func(call int, texts []string) error
	price float64
	spend float64
}

func (e *noting) Model() connector.Model {
	m := e.Embedder.Model()
	m.PricePerMillion, m.Currency, m.Budget, m.MaxItems = e.price, "USD", e.spend, 16
	return m
}

func (e *noting) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	e.calls++
	fail := e.fail
	call := e.calls
	e.mu.Unlock()
	if fail != nil {
		if err := fail(call, texts); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	e.texts = append(e.texts, texts...)
	e.mu.Unlock()
	return e.Embedder.Embed(ctx, texts)
}

// asked are the texts since the last call.
func (e *noting) asked() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.texts
	e.texts = nil
	return out
}

const semanticRule = "rules: [{ strategy: { semantic: { max_tokens: 60, min_size: 20% } } }]"

// newSemantic is a rig whose documents are cut by the vectors of their sentences.
func newSemantic(t *testing.T, extra string) (*rig, *noting) {
	t.Helper()
	r := newRig(t, "", extra+"\n"+semanticRule)
	e := &noting{}
	r.opts.WrapEmbedder = func(inner connector.Embedder) connector.Embedder { // one for all runs: it remembers what was asked
		e.Embedder = inner
		return e
	}
	return r, e
}

func repeated(texts []string) (twice []string) {
	seen := map[string]bool{}
	for _, text := range texts {
		if seen[text] {
			twice = append(twice, text)
		}
		seen[text] = true
	}
	return twice
}

// What decides where a document is cut is embedded once: by whatever documents at once, after edits, and under another rule.
func TestSemanticVectorsAreKept(t *testing.T) {
	r, e := newSemantic(t, "")
	for i := range 6 {
		r.write(fmt.Sprintf("twin%d.txt", i), paragraphs("twins", 30))
	}
	r.write("a.txt", paragraphs("a", 40))
	res := r.sync()
	all := e.asked()
	if twice := repeated(all); len(twice) > 0 || len(all) == 0 {
		t.Errorf("%d of %d texts were asked for twice: %.200q", len(twice), len(all), twice)
	}
	if res.Embeddings.Computed != len(all) {
		t.Errorf("%d texts were embedded, and counted as %+v", len(all), res.Embeddings)
	}
	r.exact()
	e.asked()
	r.settle()
	if res := r.sync(); len(e.asked()) != 0 || res.Chunks.Upserted != 0 {
		t.Errorf("a second sync: %+v %+v", res.Embeddings, res.Chunks)
	}

	edited := strings.Replace(paragraphs("a", 40), "item 140.", "another item. It was put in.", 1)
	r.write("a.txt", edited)
	r.sync()
	edit := e.asked()
	if len(edit) == 0 || len(edit) > 25 || len(repeated(append(slices.Clone(all), edit...))) > 0 {
		t.Errorf("an edit of one sentence embedded %d texts, known ones among them: %v", len(edit), repeated(append(all, edit...)))
	}
	r.exact()
	e.asked()

	r.yaml = strings.Replace(r.yaml, "max_tokens: 60", "max_tokens: 60, breakpoint: stddev, amount: 0.8", 1)
	res = r.sync()
	again := e.asked()
	if res.Documents.Updated != 7 || len(repeated(append(append(all, edit...), again...))) > 0 {
		t.Errorf("another threshold: %+v, asked again for %v", res.Documents, repeated(append(append(all, edit...), again...)))
	}
	r.exact()
}

// A run that ends early keeps what was paid for, and no document is blamed.
func TestSemanticRunThatEndsEarly(t *testing.T) {
	for name, c := range map[string]struct {
		fail func(call int, _ []string) error
		code int
	}{
		"denied":  {func(call int, _ []string) error { return failFrom(call, connector.ClassDenied) }, pipeline.ExitUnreachable},
		"away":    {func(call int, _ []string) error { return failFrom(call, connector.ClassTransient) }, pipeline.ExitUnreachable},
		"invalid": {func(_ int, _ []string) error { return connector.Errorf(connector.ClassInvalid, "no") }, pipeline.ExitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			r, e := newSemantic(t, "sync: { retries: 1, concurrency: 1 }")
			r.write("a.txt", paragraphs("a", 60))
			e.fail = c.fail
			res, err := r.trySync(pipeline.SyncOptions{})
			if pipeline.ExitCode(err) != c.code || res.Documents.Failed != 0 {
				t.Fatalf("%v (%d), %+v", err, pipeline.ExitCode(err), res.Documents)
			}
			before := e.asked()
			e.fail = nil
			r.sync()
			if twice := repeated(append(before, e.asked()...)); len(twice) > 0 {
				t.Errorf("%d texts were paid twice", len(twice))
			}
			r.exact()
		})
	}
}

func failFrom(call int, class connector.Class) error {
	if call <= 3 {
		return nil
	}
	return connector.Errorf(class, "planted")
}

// The budget bounds what is embedded to find out where to cut, too.
func TestSemanticBudget(t *testing.T) {
	r, e := newSemantic(t, "sync: { concurrency: 1 }")
	r.write("a.txt", paragraphs("a", 60))
	e.price, e.spend = 1000, 3
	res, err := r.trySync(pipeline.SyncOptions{})
	if pipeline.ExitCode(err) != pipeline.ExitRefused || res.Documents.Failed != 0 || res.Embeddings.Computed == 0 {
		t.Fatalf("%v, %+v %+v", err, res.Documents, res.Embeddings)
	}
	before := e.asked()
	e.spend = 1000
	r.sync()
	if twice := repeated(append(before, e.asked()...)); len(twice) > 0 {
		t.Errorf("%d texts were paid twice", len(twice))
	}
}

// A refused sentence fails its document alone.
func TestSemanticRefusedSentence(t *testing.T) {
	r, e := newSemantic(t, "")
	r.write("a.txt", paragraphs("a", 30))
	r.write("b.txt", paragraphs("b", 30)+"A sentence with POISON in it.")
	e.fail = func(_ int, texts []string) error {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "POISON") }) {
			return connector.Errorf(connector.ClassInvalid, "no such text, please")
		}
		return nil
	}
	res, err := r.trySync(pipeline.SyncOptions{})
	if pipeline.ExitCode(err) != pipeline.ExitFailed || res.Documents.Added != 1 || len(res.Errors) != 1 || res.Errors[0].Stage != "embed" || res.Errors[0].Path != "b.txt" {
		t.Fatalf("%v, %+v %+v", err, res.Documents, res.Errors)
	}
}

// A plan embeds nothing: where vectors are missing it says that its chunks are estimated, and counts what the cut will cost.
func TestSemanticPlanEmbedsNothing(t *testing.T) {
	r, e := newSemantic(t, "")
	r.write("a.txt", paragraphs("a", 40))
	plan := r.planned()
	if n := len(e.asked()); n != 0 {
		t.Fatalf("a plan embedded %d texts", n)
	}
	step := plan.Steps[0]
	if !strings.Contains(step.Reason, "estimated") || step.Chunks == 0 || step.Embeddings < 80 {
		t.Errorf("%+v", step)
	}
	res, err := r.trySync(pipeline.SyncOptions{Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	if n := res.Embeddings.Computed; n < step.Embeddings*3/4 || n > step.Embeddings*4/3 {
		t.Errorf("planned %d texts, embedded %d", step.Embeddings, n)
	}
	e.asked()
	r.write("b.txt", paragraphs("a", 40)) // every vector is there: no estimate
	plan = r.planned()
	if len(plan.Steps) != 1 || plan.Steps[0].Reason != "" || plan.Embeddings != 0 || plan.Steps[0].Chunks != res.Chunks.Upserted || len(e.asked()) != 0 {
		t.Errorf("of a twin: %+v", plan.Steps)
	}
	r.sync()
	if n := len(e.asked()); n != 0 {
		t.Errorf("the twin embedded %d texts", n)
	}
	r.exact()
}

// Pruning takes the vectors of sentences, which no chunk uses; what is cut later is as it would have been.
func TestSemanticAfterPrune(t *testing.T) {
	r, e := newSemantic(t, "")
	r.write("a.txt", paragraphs("a", 40))
	r.sync()
	all := e.asked()
	r.settle()
	r.sync()
	removed, err := pipeline.OpenStore(r.config()).Prune(context.Background(), false)
	if err != nil || removed < 60 {
		t.Fatalf("%d removed, %v", removed, err)
	}
	if res := r.sync(); len(e.asked()) != 0 || res.Chunks.Upserted != 0 {
		t.Errorf("after pruning: %+v %+v", res.Embeddings, res.Chunks)
	}
	r.write("a.txt", strings.Replace(paragraphs("a", 40), "item 140.", "another item. It was put in.", 1))
	r.sync()
	if n := len(e.asked()); n < 60 || n > len(all)+25 {
		t.Errorf("after pruning an edit embedded %d texts", n)
	}
	r.exact()
}

// A contextual model gives each sentence a vector that depends on nothing else.
func TestSemanticBesideAContextualModel(t *testing.T) {
	r := newRig(t, "", fmt.Sprintf("embedder: { contextual: { max_tokens: %d } }\n%s", groupTokens, semanticRule))
	r.write("a.txt", paragraphs("a", 30))
	r.write("b.txt", "A line on top.\n\n"+paragraphs("a", 30))
	r.sync()
	alone, groups := 0, r.groups()
	for _, g := range groups {
		if len(g) == 1 {
			alone++
		}
	}
	if alone < 60 || alone > 80 || len(groups)-alone == 0 {
		t.Errorf("%d texts alone, %d groups", alone, len(groups)-alone)
	}
	r.exact()
}
