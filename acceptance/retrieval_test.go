package acceptance

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// The bounds that retrieval keeps.
const (
	leastEnglish = 0.90  // recall@5 of local on the three corpora
	leastChinese = 0.98  // and on CMRC2018
	hybridSlack  = 0.005 // by which a hybrid query may be worse than the better of its halves
)

// retriever is a way to ask.
type retriever struct {
	name, embedder string
	mode           connector.SearchMode
}

const (
	embedLocal = "{ local: {} }"
	embed384   = "{ lexical: { dimensions: 384 } }"
	embed1024  = "{ lexical: { dimensions: 1024 } }"
)

// retrievers are the columns of the tables.
func retrievers() []retriever {
	return []retriever{
		{"BM25", embedLocal, connector.ModeLexical},
		{"`local`", embedLocal, connector.ModeDense},
		{"`local`, hybrid", embedLocal, connector.ModeHybrid},
		{"`lexical` 384", embed384, connector.ModeDense},
		{"384, hybrid", embed384, connector.ModeHybrid},
		{"`lexical` 1,024", embed1024, connector.ModeDense},
		{"1,024, hybrid", embed1024, connector.ModeHybrid},
	}
}

// TestRetrieval measures what queries find, through a sync into sqlite and the engine's query. It keeps the bounds, and the figures that
// docs/benchmarks.md records, for the collections that take a few minutes; with -update it measures all of them and writes the page.
func TestRetrieval(t *testing.T) {
	collections := []corpusSet{chroma(t, "three corpora", threeCorpora()...), cmrc(t)}
	if *update {
		collections = append([]corpusSet{chroma(t, "Chroma, five corpora", fiveCorpora()...)}, collections...)
	}
	var all []measured
	for _, c := range collections {
		all = append(all, c.measure(t)...)
	}
	for i := range all {
		t.Logf("%s:\n%s", all[i].name, all[i])
		all[i].keepsBounds(t)
	}
	if *update {
		writeRetrieval(t, all)
	} else {
		compareRetrieval(t, all)
	}
}

// measured is one row: the mean quality of each retriever's answers to a set of questions.
type measured struct {
	name    string
	corpus  bool // of a collection that has a row of its own
	asked   int
	quality map[string]quality
}

// keepsBounds fails where local, or joining vectors with BM25, is worse than promised.
func (m *measured) keepsBounds(t *testing.T) {
	t.Helper()
	least := map[string]float64{"three corpora": leastEnglish, "CMRC2018": leastChinese}[m.name]
	if got := m.quality["`local`"][0]; got < least {
		t.Errorf("%s: recall@5 of local is %.3f, want %.2f", m.name, got, least)
	}
	for vectors, hybrid := range map[string]string{"`local`": "`local`, hybrid", "`lexical` 384": "384, hybrid", "`lexical` 1,024": "1,024, hybrid"} {
		for i, metric := range metrics()[:2] {
			better, both := max(m.quality["BM25"][i], m.quality[vectors][i]), m.quality[hybrid][i]
			slack := hybridSlack
			if m.corpus { // one question of a hundred is a hundredth
				slack += 1 / float64(m.asked)
			}
			if both < better-slack && !(m.corpus && metric == "nDCG@10") {
				t.Errorf("%s: %s of %s is %.3f, that of the better half %.3f", m.name, metric, hybrid, both, better)
			}
			if vectors == "`local`" && !m.corpus && both <= better {
				t.Errorf("%s: %s of %s is %.3f, no better than %.3f", m.name, metric, hybrid, both, better)
			}
		}
	}
}

func (m measured) String() string {
	var b strings.Builder
	for _, r := range retrievers() {
		fmt.Fprintf(&b, "%18s %.4f\n", r.name, m.quality[r.name])
	}
	return b.String()
}

// measure asks all questions in every way: a row for the set, and one for each document of a collection that is all there is.
func (c corpusSet) measure(t *testing.T) []measured {
	t.Helper()
	rows := []measured{{name: c.name, asked: len(c.questions), quality: map[string]quality{}}}
	for _, path := range c.rows {
		n := 0
		for _, q := range c.questions {
			if q.path == path {
				n++
			}
		}
		rows = append(rows, measured{name: strings.TrimSuffix(path, ".txt"), corpus: true, asked: n, quality: map[string]quality{}})
	}
	in := map[string]*searched{}
	for _, r := range retrievers() {
		if in[r.embedder] == nil {
			in[r.embedder] = c.search(t, r.embedder)
		}
		got := in[r.embedder].ask(t, r.mode)
		for i := range rows {
			var mean quality
			for k, q := range c.questions {
				if i > 0 && q.path != c.rows[i-1] {
					continue
				}
				for m := range mean {
					mean[m] += got[k][m] / float64(rows[i].asked)
				}
			}
			rows[i].quality[r.name] = mean
		}
	}
	return rows
}

// searched is a collection in a sink.
type searched struct {
	corpusSet
	pipeline *pipeline.Pipeline
	chunks   map[string]*connector.Record
}

// search syncs a collection. With KBSYNC_RETRIEVAL_STORE, the file of a shared store, vectors that are in it are not computed again.
func (c corpusSet) search(t *testing.T, embedder string) *searched {
	t.Helper()
	conf := fmt.Sprintf("embedder: %s\nrules: [{ match: {}, strategy: %s }]\nsink: { sqlite: { path: ./kb.sqlite } }\n", embedder, c.strategy)
	if file := os.Getenv("KBSYNC_RETRIEVAL_STORE"); file != "" {
		conf += fmt.Sprintf("store: %q\n", file)
	}
	r := newRig(t, "", conf)
	r.build(t, true)
	for path, text := range c.documents {
		r.write(path, text)
	}
	known := &sync.Map{}
	r.opts.WrapEmbedder = func(e connector.Embedder) connector.Embedder {
		if tokens, ok := e.(connector.TokenEmbedder); ok {
			return rememberedTokens{tokens, remembered{e, known}}
		}
		return remembered{e, known}
	}
	r.sync()
	s := &searched{corpusSet: c, pipeline: r.open(), chunks: map[string]*connector.Record{}}
	t.Cleanup(func() { _ = s.pipeline.Close() })
	for p, err := range s.pipeline.Export(t.Context(), false) {
		if err != nil {
			t.Fatal(err)
		}
		s.chunks[p.ChunkID] = &p.Record
	}
	return s
}

// ask answers the questions in one mode.
func (s *searched) ask(t *testing.T, mode connector.SearchMode) []quality {
	t.Helper()
	out := make([]quality, len(s.questions))
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, q := range s.questions {
		group.Go(func() error {
			answers, err := s.pipeline.Query(ctx, pipeline.QueryOptions{Text: q.text, K: depth, Mode: mode})
			if err != nil {
				return err
			}
			ids := make([]string, len(answers))
			for k, a := range answers {
				ids[k] = a.ChunkID
			}
			out[i] = s.judge(q, ids)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return out
}

// rememberedTokens is remembered over an embedder that gives tokens' vectors too, which late chunking asks for.
type rememberedTokens struct {
	connector.TokenEmbedder
	questions remembered
}

func (r rememberedTokens) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	return r.questions.EmbedQuery(ctx, text)
}

// remembered embeds each question once.
type remembered struct {
	connector.Embedder
	known *sync.Map
}

func (r remembered) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if v, ok := r.known.Load(text); ok {
		return v.([]float32), nil //nolint:forcetypeassert // nothing else is stored
	}
	v, err := r.Embedder.EmbedQuery(ctx, text)
	if err == nil {
		r.known.Store(text, v)
	}
	return v, err
}
