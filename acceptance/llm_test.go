package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// llmYAML configures a language model at a server that speaks a wire, with further keys of it, and a strategy for every document.
func llmYAML(server *llmtest.Server, wire llmtest.Wire, keys, strategy string) string {
	if wire.Name == "openai" {
		keys += ", service: compatible, json: schema"
	}
	return fmt.Sprintf("llm: { %s: { base_url: %q, api_key: %q, model: test-model%s } }\nrules: [{ strategy: %s }]", wire.Name, server.URL, llmtest.Key, keys, strategy)
}

func llmRig(t *testing.T, wire llmtest.Wire, reply func(llmtest.Call) llmtest.Reply, keys, strategy string) (*rig, *llmtest.Server) {
	t.Helper()
	if reply == nil {
		reply = llmtest.Oblige
	}
	server := llmtest.Start(t, wire, reply)
	r := newRig(t, "", llmYAML(server, wire, keys, strategy))
	for _, name := range []string{"a", "b", "c"} {
		r.write(name+".md", "# Book "+name+"\n\n"+paragraphs(name, 80))
	}
	return r, server
}

const (
	propositionsOf = "{ propositions: { of: { sentence: { max_tokens: 120, overlap_sentences: 0 } } } }"
	llmOf          = "{ llm: { max_tokens: 200, window_tokens: 500, title: true, summary: true } }"
	contextualOf   = "{ contextual: { of: { recursive: { max_tokens: 200, overlap: 0 } }, document_tokens: 600 } }"
)

// TestLLMStrategiesAskOnce: over every wire and with every strategy, a document is asked about once: not by a second run, nor where the sink is
// lost, nor where it is cut again; after an edit little is asked.
func TestLLMStrategiesAskOnce(t *testing.T) {
	for _, c := range []struct {
		wire     llmtest.Wire
		strategy string
	}{{llmtest.OpenAI(), propositionsOf}, {llmtest.Anthropic(), llmOf}, {llmtest.Gemini(), contextualOf}, {llmtest.OpenAI(), contextualOf}, {llmtest.Gemini(), propositionsOf}, {llmtest.OpenAI(), llmOf}} {
		t.Run(c.wire.Name+c.strategy[:6], func(t *testing.T) {
			r, server := llmRig(t, c.wire, nil, "", c.strategy)
			first := r.sync()
			n := len(server.Calls())
			if first.LLM == nil || first.LLM.Calls != n || n < 6 || first.LLM.Tokens == 0 {
				t.Fatalf("%+v after %d calls", first.LLM, n)
			}
			asked := func(what string) int {
				t.Helper()
				res := r.sync()
				fresh := len(server.Calls()) - n
				n += fresh
				if res.LLM.Calls != fresh {
					t.Errorf("%s: %+v after %d calls", what, res.LLM, fresh)
				}
				return fresh
			}
			if k := asked("again"); k != 0 {
				t.Errorf("a second run asked %d times", k)
			}
			r.exact() // a fresh ledger: it asks everything once more
			n = len(server.Calls())
			r.yaml = strings.Replace(r.yaml, "rules: [{ strategy", "rules: [{ metadata: { team: docs }, strategy", 1)
			if k := asked("cut again"); k != 0 {
				t.Errorf("cut again, it asked %d times", k)
			}
			r.yaml = strings.Replace(r.yaml, "sink: { memory: {} }", "sink: { memory: { name: other } }", 1)
			if k := asked("another sink"); k != 0 {
				t.Errorf("for another sink it asked %d times", k)
			}
			r.write("b.md", "# Book b\n\n"+strings.Replace(paragraphs("b", 80), "Paragraph 20 of b tells", "Paragraph 20 of b, as corrected, tells", 1))
			most := first.LLM.Calls / 4
			if c.strategy == contextualOf { // a document this short is shown whole, so it is asked about whole; the two others are not
				most = first.LLM.Calls/3 + 1
			}
			if k := asked("edited"); k == 0 || k > most {
				t.Errorf("after an edit of one paragraph of three documents it asked %d times, at first %d", k, first.LLM.Calls)
			}
		})
	}
}

// TestPropositionsInTheSink: facts are found, passages are stored once, and each fact names its own.
func TestPropositionsInTheSink(t *testing.T) {
	r, _ := llmRig(t, llmtest.OpenAI(), nil, "", propositionsOf)
	r.sync()
	byID := map[string]connector.Record{}
	records := r.export()
	for _, rec := range records {
		byID[rec.ChunkID] = rec
	}
	facts := 0
	for _, rec := range records {
		if rec.Metadata["generated"] != true {
			continue
		}
		facts++
		parent, ok := byID[rec.ParentID]
		if !ok || !slices.Equal(parent.Spans, rec.Spans) || parent.Path != rec.Path {
			t.Errorf("the fact %q has the parent %+v", rec.Content, parent)
		}
	}
	if facts < 100 {
		t.Errorf("%d facts", facts)
	}
}

// TestLLMBudget: a run stops before it is over the budget, with what is done kept; nothing is deleted meanwhile, and with more the next run goes on.
func TestLLMBudget(t *testing.T) {
	r, server := llmRig(t, llmtest.OpenAI(), nil, ", max_calls: 3", propositionsOf)
	res, err := r.trySync(pipeline.SyncOptions{})
	if pipeline.ExitCode(err) != pipeline.ExitRefused || !strings.Contains(err.Error(), "raise llm.openai.max_calls") {
		t.Fatalf("exit %d: %v", pipeline.ExitCode(err), err)
	}
	if len(server.Calls()) != 3 || res.LLM.Calls != 3 || res.LLM.Waiting != 3 || res.Documents.Failed != 0 {
		t.Fatalf("%d calls: %+v, %+v", len(server.Calls()), res.LLM, res.Documents)
	}
	res, err = r.trySync(pipeline.SyncOptions{})
	if pipeline.ExitCode(err) != pipeline.ExitRefused || len(server.Calls()) != 6 || res.LLM.Kept != 3 {
		t.Fatalf("the second run: %v, %d calls, %+v", err, len(server.Calls()), res.LLM)
	}
	r.yaml = strings.Replace(r.yaml, "max_calls: 3", "max_calls: 1000", 1)
	res = r.sync()
	users := map[string]int{}
	for _, c := range server.Calls() {
		users[c.User]++
	}
	if len(users) != len(server.Calls()) || res.Documents.Added != 3 || res.LLM.Waiting != 0 {
		t.Errorf("%d calls, %d of them different, %+v", len(server.Calls()), len(users), res.Documents)
	}
	// A document that waits keeps what the sink has of it, and one that vanished stays until the others are there.
	r.write("b.md", "# Another\n\n"+paragraphs("another", 40))
	r.remove("c.md")
	before := len(r.export())
	r.yaml = strings.Replace(r.yaml, "max_calls: 1000", "max_calls: 1", 1)
	if _, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitRefused || len(r.export()) != before {
		t.Errorf("%v, %d records, want %d", err, len(r.export()), before)
	}
	r.yaml = strings.Replace(r.yaml, "max_calls: 1", "max_calls: 1000", 1)
	r.sync()
	r.exact()
}

// TestLLMTimeStands: the time of a document does not run while the model is asked.
func TestLLMTimeStands(t *testing.T) {
	const limit = 2 * time.Second
	slow := func(c llmtest.Call) llmtest.Reply {
		time.Sleep(limit / 2)
		return llmtest.Oblige(c)
	}
	r, server := llmRig(t, llmtest.OpenAI(), slow, "", llmOf)
	r.yaml += fmt.Sprintf("\nsync: { document_timeout: %s }\n", limit)
	r.sync()
	if n := len(server.Calls()); n < 3*3 {
		t.Fatalf("%d calls for three documents take no longer than the limit", n)
	}
}

// TestLLMDiesBetweenAnswerAndWrite: an answer is kept before anything is made of it.
func TestLLMDiesBetweenAnswerAndWrite(t *testing.T) {
	r, server := llmRig(t, llmtest.OpenAI(), nil, "", propositionsOf)
	died := errors.New("the power went")
	r.opts.LedgerHook = func(op string) error {
		if op == "intend:before" {
			return died
		}
		return nil
	}
	if _, err := r.trySync(pipeline.SyncOptions{}); !errors.Is(err, died) {
		t.Fatal(err)
	}
	r.opts.LedgerHook = nil
	r.sync()
	users := map[string]int{}
	for _, c := range server.Calls() {
		if users[c.User]++; users[c.User] > 1 {
			t.Errorf("asked twice: %.200q", c.User)
		}
	}
	if len(users) < 6 {
		t.Errorf("%d calls", len(users))
	}
	r.exact()
}

// TestLLMRefusals: a passage that is refused stays as it is; a model that refuses everything ends the run as a fault of the configuration; one
// that is overloaded is asked again; none of them shows the key.
func TestLLMRefusals(t *testing.T) {
	fault := func(name string) *llmtest.Fault {
		for _, f := range llmtest.Faults() {
			if f.Name == name {
				return &f
			}
		}
		t.Fatalf("no fault %q", name)
		return nil
	}
	t.Run("one passage", func(t *testing.T) {
		r, _ := llmRig(t, llmtest.Anthropic(), func(c llmtest.Call) llmtest.Reply {
			if strings.Contains(c.User, "item 140.") {
				return llmtest.Reply{Text: "I will not.", Finish: connector.FinishRefused}
			}
			return llmtest.Oblige(c)
		}, "", propositionsOf)
		r.sync()
		kept := 0
		for _, rec := range r.export() {
			if rec.Metadata["kept_whole"] == "refused" {
				kept++
				if !strings.Contains(rec.Content, "item 140.") || rec.Metadata["generated"] == true {
					t.Errorf("kept whole: %+v", rec)
				}
			}
		}
		if kept != 3 {
			t.Errorf("%d passages are kept whole, want one of each document", kept)
		}
	})
	for name, c := range map[string]struct {
		fault string
		times int
		exit  int
	}{
		"everything invalid": {"too long", 1000, pipeline.ExitUsage},
		"no such model":      {"no such model", 1000, pipeline.ExitUsage},
		"another manner":     {"no such key of a request", 1000, pipeline.ExitUsage},
		"wrong key":          {"a wrong key, echoed", 1000, pipeline.ExitUnreachable},
		"overloaded":         {"overloaded", 2, pipeline.ExitDone},
		"throttled":          {"429", 2, pipeline.ExitDone},
		"for ever":           {"500", 1000, pipeline.ExitUnreachable},
		"broken":             {"truncated JSON", 1, pipeline.ExitDone},
	} {
		t.Run(name, func(t *testing.T) {
			r, server := llmRig(t, llmtest.OpenAI(), nil, "", propositionsOf)
			server.Fail(fault(c.fault), c.times)
			res, err := r.trySync(pipeline.SyncOptions{})
			if got := pipeline.ExitCode(err); got != c.exit || res.Documents.Failed != 0 {
				t.Errorf("exit %d, want %d: %v (%+v)", got, c.exit, err, res.Errors)
			}
			if err != nil && (strings.Contains(err.Error(), llmtest.Key) || strings.Contains(err.Error(), llmtest.Key[:8])) {
				t.Errorf("the key shows: %v", err)
			}
			server.Fail(nil, 0)
			r.sync()
			r.exact()
		})
	}
}

// TestLLMPlan: a plan asks nothing, names what it does not know, and counts from above; what is kept it cuts.
func TestLLMPlan(t *testing.T) {
	var calls atomic.Int64
	r, server := llmRig(t, llmtest.OpenAI(), func(c llmtest.Call) llmtest.Reply { calls.Add(1); return llmtest.Oblige(c) }, "", propositionsOf)
	plan := func() *pipeline.Plan {
		t.Helper()
		p := r.open()
		defer func() { _ = p.Close() }()
		pl, err := p.Plan(context.Background(), pipeline.SyncOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pl
	}
	pl := plan()
	if len(server.Calls()) != 0 || pl.Calls == 0 || len(pl.Steps) != 3 || pl.Chunks != 0 {
		t.Fatalf("%d calls, %+v", len(server.Calls()), pl)
	}
	for _, s := range pl.Steps {
		if s.Calls == 0 || !strings.Contains(s.Reason, "calls of the language model") || s.Action != pipeline.ActionAdd {
			t.Errorf("%+v", s)
		}
	}
	if res := r.sync(); res.LLM.Calls > pl.Calls {
		t.Errorf("the plan said up to %d calls, and there were %d", pl.Calls, res.LLM.Calls)
	}
	r.yaml = strings.Replace(r.yaml, "rules: [{ strategy", "rules: [{ metadata: { team: docs }, strategy", 1)
	r.write("b.md", "# Another\n\n"+paragraphs("another", 40))
	n := len(server.Calls())
	pl = plan()
	for _, s := range pl.Steps {
		if waits := s.Path == "b.md"; (s.Calls > 0) != waits || (s.Chunks > 0) == waits {
			t.Errorf("%+v", s)
		}
	}
	if len(pl.Steps) != 3 || len(server.Calls()) != n {
		t.Errorf("%d steps after %d calls", len(pl.Steps), len(server.Calls())-n)
	}
}

// TestLLMAnswersTravel: what cache export prints, cache import takes into the ledger of another pipeline, which then asks nothing; and what is
// pruned is asked again.
func TestLLMAnswersTravel(t *testing.T) {
	ctx := context.Background()
	r, server := llmRig(t, llmtest.OpenAI(), nil, "", llmOf)
	r.sync()
	n := len(server.Calls())
	store := pipeline.OpenStore(r.config())
	st, err := store.Stats(ctx)
	if err != nil || len(st.Answers) != 1 {
		t.Fatalf("%+v, %v", st, err)
	}
	var lines bytes.Buffer
	if _, err := store.Export(ctx, &lines); err != nil {
		t.Fatal(err)
	}
	r.loseLedger()
	again := pipeline.OpenStore(r.config())
	if report, err := again.Import(ctx, "lines", bytes.NewReader(lines.Bytes())); err != nil || report.Bad != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	if res := r.sync(); len(server.Calls()) != n || res.LLM.Calls != 0 {
		t.Errorf("%d calls after an import", len(server.Calls())-n)
	}
	bad := `{"hash":"00","model":"m","answer":{"prompt":"p/1","text":"x"}}` + "\n" + `{"hash":"` + strings.Repeat("0", 64) + `","model":"","answer":{"prompt":"p/1"}}` + "\n" +
		`{"hash":"` + strings.Repeat("0", 64) + `","model":"m","answer":{"prompt":"p/1","finish":9}}` + "\n"
	if report, err := again.Import(ctx, "bad", strings.NewReader(bad)); err == nil || report.Bad != 3 || report.Imported != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	for model, count := range st.Answers {
		if dry, err := again.PruneModel(ctx, model, true); dry != count || err != nil {
			t.Errorf("%d, %v", dry, err)
		}
		if gone, err := again.PruneModel(ctx, model, false); gone != count || err != nil {
			t.Errorf("%d, %v", gone, err)
		}
	}
	r.yaml = strings.Replace(r.yaml, "rules: [{ strategy", "rules: [{ metadata: { team: docs }, strategy", 1)
	if res := r.sync(); res.LLM.Calls == 0 {
		t.Error("nothing was asked after the answers were removed")
	}
}

// TestNoLLM: without a language model nothing is said of one, and a strategy that needs it says what is missing.
func TestNoLLM(t *testing.T) {
	r := newRig(t, "", "")
	r.write("a.md", "Some text stands here.")
	raw, err := json.Marshal(r.sync())
	if err != nil || strings.Contains(string(raw), `"llm"`) {
		t.Errorf("%s, %v", raw, err)
	}
	r = newRig(t, "", "rules: [{ strategy: { propositions: {} } }]")
	if _, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitUsage || !strings.Contains(err.Error(), "add llm:") {
		t.Errorf("exit %d: %v", pipeline.ExitCode(err), err)
	}
}
