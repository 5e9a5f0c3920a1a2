package acceptance

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// tokenDouble is an embedder that gives vectors of tokens, which are words and characters: each is that of the token alone, with something
// of the whole text.
type tokenDouble struct {
	connector.Embedder
	most int

	mu    sync.Mutex
	read  []string
	alone []string
}

func (e *tokenDouble) Model() connector.Model {
	m := e.Embedder.Model()
	m.Version += " read"
	m.MaxInputTokens, m.Normalized, m.Counter = e.most, true, tokenCounter{}
	return m
}

func (e *tokenDouble) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	e.alone = append(e.alone, texts...)
	e.mu.Unlock()
	return e.Embedder.Embed(ctx, texts)
}

func (e *tokenDouble) EmbedTokens(ctx context.Context, text string) (vectors [][]float32, spans []connector.Span, err error) {
	e.mu.Lock()
	e.read = append(e.read, text)
	e.mu.Unlock()
	spans = tokensOf(text)
	if len(spans) > e.most {
		return nil, nil, connector.Errorf(connector.ClassTooLarge, "%d tokens", len(spans))
	}
	texts := []string{text}
	for _, s := range spans {
		texts = append(texts, text[s.Start:s.End])
	}
	all, err := e.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range all[1:] {
		for d := range v {
			v[d] += 0.5 * all[0][d]
		}
	}
	return all[1:], spans, nil
}

// windows and texts since the last call.
func (e *tokenDouble) asked() (windows, texts []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	windows, texts = e.read, e.alone
	e.read, e.alone = nil, nil
	return windows, texts
}

// tokensOf are the words, and the characters of Chinese.
func tokensOf(text string) (out []connector.Span) {
	start := -1
	for i, r := range text + " " {
		word := unicode.IsLetter(r) && r < 0x2E80 || unicode.IsDigit(r)
		if start >= 0 && !word {
			out = append(out, connector.Span{Start: start, End: i})
			start = -1
		}
		if word && start < 0 {
			start = i
		}
		if !word && !unicode.IsSpace(r) {
			out = append(out, connector.Span{Start: i, End: i + len(string(r))})
		}
	}
	return out
}

type tokenCounter struct{}

func (tokenCounter) Name() string                      { return "words" }
func (tokenCounter) Count(text string) int             { return len(tokensOf(text)) }
func (tokenCounter) Ruler(text string) connector.Ruler { return tokenRuler(text) }

type tokenRuler string

func (r tokenRuler) Count(i, j int) int { return len(tokensOf(string(r[i:j]))) }

const lateRule = "rules: [{ strategy: { late: { of: { sentence: { max_tokens: 40, overlap_sentences: 0 } } } } }]"

func newLate(t *testing.T, extra string) (*rig, *tokenDouble) {
	t.Helper()
	if !strings.Contains(extra, "rules:") {
		extra += "\n" + lateRule
	}
	r := newRig(t, "", extra)
	e := &tokenDouble{most: 150}
	r.opts.WrapEmbedder = func(inner connector.Embedder) connector.Embedder {
		e.Embedder = inner
		return e
	}
	return r, e
}

// lateExact fails unless the sink holds what a fresh sync gives, vectors included.
func lateExact(t *testing.T, r *rig) {
	t.Helper()
	fresh, _ := newLate(t, "")
	fresh.docs, fresh.yaml = r.docs, rest(r.yaml)
	fresh.sync()
	if diff := firstDifference(canonical(t, r.export()), canonical(t, fresh.export())); diff != "" {
		t.Fatalf("the sink differs from a fresh sync: %.2000s", diff)
	}
	sameVectors(t, r.vectors(), fresh.vectors())
}

// Late chunks are read together: a second sync reads nothing, an edit reads the groups near it, a lost ledger costs nothing, and what comes
// back is still there.
func TestLateSync(t *testing.T) {
	for _, sink := range []string{"sink: { memory: {} }", "sink: { sqlite: {} }"} {
		t.Run(sink, func(t *testing.T) {
			r, e := newLate(t, sink)
			long := strings.Split(strings.TrimSpace(paragraphs("long", 200)), "\n\n")
			r.write("long.txt", strings.Join(long, "\n\n"))
			r.write("short.txt", "One line alone.")
			plan := r.planned()
			if windows, texts := e.asked(); len(windows)+len(texts) != 0 {
				t.Errorf("a plan read %d windows and embedded %d texts", len(windows), len(texts))
			}
			res := r.sync()
			windows, alone := e.asked()
			if len(alone) != 0 || res.Embeddings.Computed != res.Chunks.Upserted || plan.Embeddings != res.Embeddings.Computed {
				t.Errorf("%d texts were embedded alone, %+v, %+v, planned %d", len(alone), res.Embeddings, res.Chunks, plan.Embeddings)
			}
			whole := len(windows)
			lateExact(t, r)
			r.settle()
			if res := r.sync(); res.Embeddings.Computed+res.Chunks.Upserted+res.Chunks.Repositioned != 0 {
				t.Errorf("a second sync: %+v %+v", res.Embeddings, res.Chunks)
			}
			edited := append([]string(nil), long...)
			edited[100] = "Another paragraph stands in the middle. 中间换了一段。"
			r.write("long.txt", strings.Join(edited, "\n\n"))
			res = r.sync()
			if windows, alone := e.asked(); len(windows) == 0 || len(windows) > whole/4 || len(alone) != 0 {
				t.Errorf("an edit read %d of %d windows, and %d texts alone: %+v", len(windows), whole, len(alone), res.Embeddings)
			}
			lateExact(t, r)
			r.write("long.txt", strings.Join(long, "\n\n"))
			if res := r.sync(); res.Embeddings.Computed != 0 {
				t.Errorf("what came back was read again: %+v", res.Embeddings)
			}
			lateExact(t, r)
			r.settle()
			e.asked()
			r.loseLedger()
			if res := r.sync(); res.Embeddings.Computed+res.Chunks.Upserted+res.Chunks.Repositioned != 0 {
				t.Errorf("after the ledger was lost: %+v %+v", res.Embeddings, res.Chunks)
			}
			lateExact(t, r)
		})
	}
}

// Vectors of chunks that are read together and of those that are embedded alone never mix, though their texts are the same.
func TestLateAndAlone(t *testing.T) {
	r, e := newLate(t, "")
	r.write("a.txt", paragraphs("a", 30))
	n := r.sync().Chunks.Upserted
	late := r.vectors()
	e.asked()
	of := strings.Replace(r.yaml, lateRule, "rules: [{ strategy: { sentence: { max_tokens: 40, overlap_sentences: 0 } } }]", 1)
	r.yaml, of = of, r.yaml
	if res := r.sync(); res.Embeddings.Computed != n || res.Chunks.Upserted != n {
		t.Errorf("the same chunks, alone: %+v %+v", res.Embeddings, res.Chunks)
	}
	lateExact(t, r)
	for id, v := range r.vectors() {
		if cosineOf(v, late[id]) > 0.9999 {
			t.Fatalf("chunk %s has the vector that it had among its neighbours", id)
		}
	}
	r.yaml = of
	e.asked()
	if res := r.sync(); res.Embeddings.Computed != 0 {
		t.Errorf("late again: %+v", res.Embeddings)
	}
	lateExact(t, r)
	p := r.open()
	defer func() { _ = p.Close() }()
	if v, err := p.Verify(context.Background(), false); err != nil {
		t.Errorf("%v: %+v", err, v)
	}
}

// Migration copies the vectors that know their neighbours.
func TestLateMigrate(t *testing.T) {
	const other = "sink: { memory: { name: other } }"
	r, e := newLate(t, "")
	r.write("a.txt", paragraphs("a", 30))
	r.sync()
	e.asked()
	r.settle()
	if rep, err := r.migrate(other, pipeline.MigrateOptions{}); err != nil || rep.Verified == nil || rep.Written == 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	r.use(other)
	r.quiet("after the migration")
	if windows, alone := e.asked(); len(windows)+len(alone) != 0 {
		t.Errorf("%d windows were read, %d texts embedded", len(windows), len(alone))
	}
	lateExact(t, r)
}

// Beside a model that cannot read chunks together they are embedded alone, and that is said once.
func TestLateWithoutTokens(t *testing.T) {
	r := newRig(t, "", lateRule)
	var log bytes.Buffer
	r.opts.Log = slog.New(slog.NewTextHandler(&log, nil))
	r.write("a.txt", paragraphs("a", 30))
	r.write("b.txt", paragraphs("b", 30))
	res := r.sync()
	if n := strings.Count(log.String(), "gives no vectors of tokens"); n != 1 || res.Embeddings.Computed != res.Chunks.Upserted {
		t.Errorf("said %d times, %+v %+v:\n%s", n, res.Embeddings, res.Chunks, log.String())
	}
	r.exact()
}

// TestLateKnowsItsSubject: with the model in the program, a sentence that says "its" comes nearer to a question that names what it
// is about than the same sentence embedded alone.
func TestLateKnowsItsSubject(t *testing.T) {
	for name, c := range map[string]struct {
		text, question, sentence string
	}{
		"en": {
			"Berlin is the capital and largest city of Germany, both by area and by population. Its more than 3.85 million inhabitants make it the most populous city of the union. " +
				"The city is also one of the states of Germany, and the third smallest of them by area.",
			"How many people live in Berlin?", "Its more than",
		},
		"zh": {
			"北京是中华人民共和国的首都，位于华北平原的北部，历史悠久。它的常住人口超过两千一百万，是世界上人口最多的首都之一。这座城市还是全国的文化中心，有许多博物馆和大学。",
			"北京有多少人口？", "它的常住人口",
		},
	} {
		t.Run(name, func(t *testing.T) {
			near := map[string]float64{}
			for kind, rule := range map[string]string{
				"late":  "{ late: { of: { sentence: { max_chars: 95, min_chars: 0, overlap_sentences: 0 } } } }",
				"alone": "{ sentence: { max_chars: 95, min_chars: 0, overlap_sentences: 0 } }",
			} {
				if name == "zh" {
					rule = strings.Replace(rule, "95", "35", 1)
				}
				r := newRig(t, "", "embedder: { local: {} }\nrules: [{ strategy: "+rule+" }]")
				r.opts.WrapEmbedder = nil
				r.build(t, true)
				r.write("a.txt", c.text)
				r.sync()
				p := r.open()
				hits, err := p.Query(t.Context(), pipeline.QueryOptions{Text: c.question, K: 3, Mode: connector.ModeDense})
				if err != nil || len(hits) != 3 {
					t.Fatalf("%v, %d hits", err, len(hits))
				}
				for _, h := range hits {
					if strings.HasPrefix(h.Content, c.sentence) {
						near[kind] = float64(h.Score)
					}
				}
				if err := p.Close(); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("nearness of %q to %q: %.4f late, %.4f alone", c.sentence, c.question, near["late"], near["alone"])
			if near["late"] <= near["alone"] || near["alone"] == 0 {
				t.Errorf("late %v, alone %v", near["late"], near["alone"])
			}
		})
	}
}

func cosineOf(a, b []float32) float64 {
	var dot, x, y float64
	for i := range a {
		dot, x, y = dot+float64(a[i])*float64(b[i]), x+float64(a[i])*float64(a[i]), y+float64(b[i])*float64(b[i])
	}
	return dot / math.Sqrt(x*y)
}
