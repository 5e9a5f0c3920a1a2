package acceptance

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/internal/counters"
	"github.com/kbsync/kbsync/internal/sentences"
	"github.com/kbsync/kbsync/internal/shareddata"
)

// meanSize is the mean size of a chunk, in cl100k tokens of its content, that strategies are compared at: recall grows with it.
const meanSize = 200

// contestant is a strategy, set up so that its mean size follows one number.
type contestant struct {
	name     string
	kind     string
	settings string // as YAML; %d is the number
}

// contestants are the strategies that cut running text.
func contestants() []contestant {
	return []contestant{
		{name: "`fixed`", kind: "fixed", settings: "{ max_tokens: %d, tokenizer: cl100k }"},
		{name: "`recursive`", kind: "recursive", settings: "{ max_tokens: %d, overlap: 0, tokenizer: cl100k }"},
		{name: "`recursive`, `compat: langchain`", kind: "recursive", settings: "{ max_tokens: %d, overlap: 0, compat: langchain, tokenizer: cl100k }"},
		{name: "`sentence`", kind: "sentence", settings: "{ max_tokens: %d, overlap_sentences: 0, tokenizer: cl100k }"},
		{name: "`paragraph`", kind: "paragraph", settings: "{ max_tokens: %d, tokenizer: cl100k }"},
		{name: "`markdown`", kind: "markdown", settings: "{ max_tokens: %d, tokenizer: cl100k }"},
		{name: "`layout`", kind: "layout", settings: "{ max_tokens: %d, overlap: 0, tokenizer: cl100k }"},
		{name: "`adaptive`", kind: "adaptive", settings: "{ max_tokens: %d, overlap: 0, tokenizer: cl100k }"},
		{name: "`auto`", kind: "auto", settings: "{ max_tokens: %d, overlap: 0, tokenizer: cl100k }"},
		{name: "`late` of `sentence`", kind: "late", settings: "{ of: { sentence: { max_tokens: %d, overlap_sentences: 0, tokenizer: cl100k } } }"},
		{name: "`parent_child`, its children", kind: "parent_child", settings: "{ of: { recursive: { max_tokens: %d, overlap: 0, tokenizer: cl100k } } }"},
		{name: "`semantic`", kind: "semantic", settings: "{ max_tokens: %d, tokenizer: cl100k }"},
		{name: "`cluster`", kind: "cluster", settings: "{ max_tokens: %d, tokenizer: cl100k }"},
	}
}

// notCompared says why the others have no row.
func notCompared() map[string]string {
	return map[string]string{
		"whole": "does not cut", "html": "for the elements of HTML; it shares the cutter of `markdown`", "code": "for source code",
		"table": "for tables", "latex": "for LaTeX; it shares the cutter of `markdown`", "api": "for descriptions of interfaces", "dialogue": "for conversations",
		"hierarchical": "its smallest level is cut as that of `parent_child`",
		"sliding":      "its windows overlap, so that sizes do not compare", "agentic": "asks a language model, else as `auto`", "propositions": "needs a language model", "llm": "needs a language model", "contextual": "needs a language model",
	}
}

// TestComparisonIsComplete: every strategy of the program has a row, or a reason why it has none, on the page too.
func TestComparisonIsComplete(t *testing.T) {
	rows := map[string]bool{}
	for _, c := range contestants() {
		rows[c.kind] = true
	}
	why := notCompared()
	page, err := os.ReadFile(comparisonPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range registryWith(t, newRig(t, "", ""), nil).Strategies.Kinds() {
		if rows[kind] == (why[kind] != "") {
			t.Errorf("strategy %s needs a row in the comparison, or a reason why it has none", kind)
		}
		if !strings.Contains(string(page), "`"+kind+"`") {
			t.Errorf("strategy %s is not on %s: run TestComparison with -update", kind, comparisonPage)
		}
	}
}

// figures of a contestant on one collection with one embedder.
type figures struct {
	Number                                    int
	Mean, MidSentence, Omega, Recall, Overlap float64
}

// TestComparison writes docs/comparison.md, with -update alone: it takes an hour on two cores.
func TestComparison(t *testing.T) {
	if !*update {
		return
	}
	shareddata.Dir(t)
	sets := []corpusSet{chroma(t, "Chroma", threeCorpora()...), cmrcSentences(t)}
	embedders := []string{embedLocal, embed1024}
	got := map[string]figures{}
	for _, set := range sets {
		for _, embedder := range embedders {
			l := &lab{corpusSet: set, embedder: embedder, known: &sync.Map{}}
			for _, c := range contestants() {
				key := set.name + "|" + embedder + "|" + c.name
				got[key] = l.compare(t, c)
				t.Logf("%s: %+v", key, got[key])
			}
		}
	}
	writeComparison(t, sets, embedders, got)
}

func everyNth(questions []asked, n int) (out []asked) {
	for i := 0; i < len(questions); i += n {
		out = append(out, questions[i])
	}
	return out
}

// cmrcSentences is the passages of CMRC 2018 dev (Cui et al. 2019), gathered by tens into documents, with every fifth of the first 1,500
// questions: a question's reference is the sentence, or the sentences, that its first answer stands in.
func cmrcSentences(t *testing.T) corpusSet {
	t.Helper()
	c := corpusSet{name: "CMRC2018", documents: map[string]string{}}
	for n, p := range cmrcPassages(t) {
		path := fmt.Sprintf("%04d.txt", n/10)
		base := len(c.documents[path])
		text := strings.TrimSpace(p.Context)
		for _, q := range p.QAs {
			at := strings.Index(text, q.Answers[0].Text)
			if at < 0 || len(c.questions) >= 1500 {
				continue
			}
			ref := around(text, at, at+len(q.Answers[0].Text))
			c.questions = append(c.questions, asked{text: q.Question, path: path, references: []connector.Span{{Start: base + ref.Start, End: base + ref.End}}})
		}
		c.documents[path] += text + "\n\n"
	}
	c.questions = everyNth(c.questions, 5)
	return c
}

// around is the sentences that text[lo:hi] stands in, blank space at the end left out.
func around(text string, lo, hi int) connector.Span {
	start, at := 0, 0
	for at < hi {
		next := sentences.Next(text, at)
		if next <= lo {
			start = next
		}
		at = max(next, at+1)
	}
	return connector.Span{Start: start, End: start + len(strings.TrimRightFunc(text[start:min(at, len(text))], unicode.IsSpace))}
}

// lab is a collection with an embedder, whose vectors it remembers.
type lab struct {
	corpusSet
	embedder string
	known    *sync.Map
}

// compare finds the number that gives the mean size, syncs, asks every question, and rates.
func (l *lab) compare(t *testing.T, who contestant) figures {
	t.Helper()
	f := figures{Number: l.number(t, who)}
	c := l.corpusSet
	c.strategy = fmt.Sprintf("{ %s: "+who.settings+" }", who.kind, f.Number)
	s := c.search(t, l.embedder)
	cl100k, err := counters.Named("cl100k")
	if err != nil {
		t.Fatal(err)
	}
	parents := map[string]bool{}
	for _, r := range s.chunks {
		parents[r.ParentID] = true
	}
	by := map[string][]connector.Span{}
	tokens, n, mid := 0, 0, 0
	for id, r := range s.chunks {
		if parents[id] {
			continue
		}
		n++
		tokens += cl100k.Count(r.Content)
		span := connector.Span{Start: r.Spans[0].Start, End: r.Spans[len(r.Spans)-1].End}
		by[r.Path] = append(by[r.Path], span)
		if midSentence(c.documents[r.Path], span) {
			mid++
		}
	}
	f.Mean, f.MidSentence = float64(tokens)/float64(n), float64(mid)/float64(n)
	hits := s.askIDs(t)
	for i, q := range c.questions {
		f.Omega += omega(slices.Clone(by[q.path]), slices.Clone(q.references)) / float64(len(c.questions))
		recall, overlap := s.overlap(q, hits[i])
		f.Recall += recall / float64(len(c.questions))
		f.Overlap += overlap / float64(len(c.questions))
	}
	return f
}

// overlap is the share of the references that the hits hold, and the intersection over union as Chroma's evaluation has it: repeated text counts
// each time below the line. In bytes.
func (s *searched) overlap(q asked, ids []string) (recall, iou float64) {
	var found []connector.Span
	retrieved, total := 0, extent(slices.Clone(q.references))
	for _, id := range ids {
		r := s.chunks[id]
		for _, span := range r.Spans {
			retrieved += span.Len()
			for _, ref := range q.references {
				if both := (connector.Span{Start: max(span.Start, ref.Start), End: min(span.End, ref.End)}); r.Path == q.path && both.Start < both.End {
					found = append(found, both)
				}
			}
		}
	}
	covered := extent(found)
	return float64(covered) / float64(total), float64(covered) / float64(retrieved+total-covered)
}

// midSentence tells that a chunk's text goes on in the same line, and that no mark which ends a sentence, or part of one, stands at its end.
func midSentence(text string, span connector.Span) bool {
	chunk := strings.TrimRightFunc(text[span.Start:span.End], unicode.IsSpace)
	rest := text[span.Start+len(chunk):]
	line, _, _ := strings.Cut(rest, "\n")
	if strings.TrimSpace(line) == "" {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(chunk, "\"'”’)]）」』》】*_`"))
	return !strings.ContainsRune(".!?。！？…；;:：", last)
}

// number is the setting at which the mean size is nearest to meanSize, found by halving.
func (l *lab) number(t *testing.T, who contestant) int {
	t.Helper()
	lo, hi := meanSize/2, 4*meanSize
	best, distance := hi, 1e9
	for lo < hi {
		mid := (lo + hi) / 2
		mean := l.meanOf(t, who, mid)
		if d := max(mean-meanSize, meanSize-mean); d < distance {
			best, distance = mid, d
		}
		if mean < meanSize {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return best
}

// meanOf cuts the documents and gives the mean size of what is embedded.
func (l *lab) meanOf(t *testing.T, who contestant, number int) float64 {
	t.Helper()
	yaml := fmt.Sprintf("sources: [{ fs: { root: . } }]\nembedder: %s\nrules: [{ strategy: { %s: "+who.settings+" } }]", l.embedder, who.kind, number)
	r := newRig(t, "", "")
	r.build(t, true)
	reg := r.reg
	file, err := config.Parse("comparison.yaml", []byte(yaml), reg, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plugin, _ := reg.Strategies.Get(who.kind)
	var all []connector.StrategyPlugin
	for _, kind := range reg.Strategies.Kinds() {
		p, _ := reg.Strategies.Get(kind)
		all = append(all, p)
	}
	env := strategytest.Env(all...)
	v := l.vectors(t, reg, file)
	env.Vectors = func(context.Context) (connector.Vectorizer, error) { return v, nil }
	if m := v.Model(); m.MaxInputTokens > 0 {
		env.ModelCap = connector.Cap{Max: m.MaxInputTokens, Counter: m.Counter}
	}
	s, err := plugin.Open(t.Context(), file.Rules[0].Strategy.Config, env)
	if err != nil {
		t.Fatal(err)
	}
	cl100k, err := env.Counter("cl100k")
	if err != nil {
		t.Fatal(err)
	}
	tokens, n := 0, 0
	for _, path := range slices.Sorted(maps.Keys(l.documents)) {
		text := l.documents[path]
		elements := func(yield func(connector.Element, error) bool) {
			yield(connector.Element{Kind: connector.KindText, Text: text, Span: connector.Span{End: len(text)}}, nil)
		}
		for chunk, err := range s.Chunks(t.Context(), &connector.Document{Path: path}, elements) {
			if err != nil {
				t.Fatal(err)
			}
			if !chunk.StoreOnly {
				n++
				tokens += cl100k.Count(chunk.Text)
			}
		}
	}
	return float64(tokens) / float64(n)
}
