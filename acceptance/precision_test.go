package acceptance

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/counters"
	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/strategies"
)

// TestPrecisionOmega reproduces Chroma's chunking evaluation (Smith and Troynikov 2024): the mean and deviation of PrecisionΩ over 472
// questions on five corpora, to the published digit, for LangChain's two splitters; and shows that the default mode of
// recursive does better at the same sizes.
func TestPrecisionOmega(t *testing.T) {
	eval := loadEvaluation(t)
	for _, c := range []struct {
		size, overlap        int
		recursive, tokenText string
	}{
		{800, 400, "6.7±5.2", "4.7±3.1"},
		{400, 200, "13.9±10.4", "8.4±5.1"},
		{400, 0, "17.7±14.0", "12.5±8.1"},
		{200, 0, "29.9±18.4", "21.0±11.9"},
	} {
		t.Run(fmt.Sprintf("%d over %d", c.size, c.overlap), func(t *testing.T) {
			sizing := strategies.Sizing{MaxTokens: c.size, Overlap: strategies.Amount{N: c.overlap}, MinChars: 20, Tokenizer: "cl100k"}
			compat := eval.score(t, strategies.Recursive(), &strategies.RecursiveConfig{Sizing: sizing, Compat: "langchain", Separators: chromaSeparators()})
			if got := compat.String(); got != c.recursive {
				t.Errorf("recursive, compat: langchain: %s, published %s", got, c.recursive)
			}
			windows := eval.score(t, strategies.Fixed(), &strategies.FixedConfig{Sizing: sizing, Compat: "tokentext"})
			if got := windows.String(); got != c.tokenText {
				t.Errorf("fixed, compat: tokentext: %s, published %s", got, c.tokenText)
			}
			own := eval.score(t, strategies.Recursive(), &strategies.RecursiveConfig{Sizing: sizing})
			if own.mean <= compat.mean {
				t.Errorf("recursive: %s, no better than LangChain's %s", own, compat)
			}
			t.Logf("recursive %s (%.0f tokens a chunk), LangChain %s (%.0f), windows %s (%.0f)", own, own.size, compat, compat.size, windows, windows.size)
		})
	}
}

// chromaSeparators is the list of the evaluation's RecursiveTokenChunker: LangChain's with the ends of sentences added. With LangChain's own
// defaults the means are 6.6, 13.8, 17.2 and 29.2.
func chromaSeparators() []string { return []string{"\n\n", "\n", ".", "?", "!", " ", ""} }

// stats is a mean with its population deviation, in percent, and the mean size of a chunk in tokens.
type stats struct{ mean, deviation, size float64 }

func (s stats) String() string { return fmt.Sprintf("%.1f±%.1f", 100*s.mean, 100*s.deviation) }

// evaluation holds the corpora, and the questions by corpus.
type evaluation struct {
	corpora   map[string]string
	questions map[string][][]connector.Span // the references of each question, in characters
}

func loadEvaluation(t *testing.T) *evaluation {
	t.Helper()
	dir := filepath.Join(shareddata.Dir(t), "chroma_chunking_evaluation")
	f, err := os.Open(filepath.Join(dir, "questions_df.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	e := &evaluation{corpora: map[string]string{}, questions: map[string][][]connector.Span{}}
	for _, row := range rows[1:] {
		var references []struct {
			Start int `json:"start_index"`
			End   int `json:"end_index"`
		}
		if err := json.Unmarshal([]byte(row[1]), &references); err != nil {
			t.Fatal(err)
		}
		var spans []connector.Span
		for _, r := range references {
			spans = append(spans, connector.Span{Start: r.Start, End: r.End})
		}
		name := row[2]
		e.questions[name] = append(e.questions[name], spans)
		if _, ok := e.corpora[name]; !ok {
			text, err := os.ReadFile(filepath.Join(dir, "corpora", name+".md"))
			if err != nil {
				t.Fatal(err)
			}
			e.corpora[name] = string(text)
		}
	}
	if len(rows)-1 != 472 || len(e.corpora) != 5 {
		t.Fatalf("%d questions on %d corpora, want 472 on 5", len(rows)-1, len(e.corpora))
	}
	return e
}

// score cuts the corpora and scores every question.
func (e *evaluation) score(t *testing.T, p connector.StrategyPlugin, config any) stats {
	t.Helper()
	cl100k, err := counters.Named("cl100k")
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Open(context.Background(), config, connector.StrategyEnv{Counter: counters.Named})
	if err != nil {
		t.Fatal(err)
	}
	var scores []float64
	tokens, n := 0, 0
	for name, text := range e.corpora {
		elements := func(yield func(connector.Element, error) bool) {
			yield(connector.Element{Kind: connector.KindText, Text: text, Span: connector.Span{End: len(text)}}, nil)
		}
		var places []connector.Span
		for chunk, err := range s.Chunks(context.Background(), &connector.Document{Path: name}, elements) {
			if err != nil {
				t.Fatal(err)
			}
			places = append(places, place(text, chunk.Text))
			tokens += cl100k.Count(chunk.Text)
			n++
		}
		characters(text, places)
		for _, references := range e.questions[name] {
			scores = append(scores, omega(places, references))
		}
	}
	out := stats{size: float64(tokens) / float64(n)}
	for _, x := range scores {
		out.mean += x / float64(len(scores))
	}
	for _, x := range scores {
		out.deviation += (x - out.mean) * (x - out.mean) / float64(len(scores))
	}
	out.deviation = math.Sqrt(out.deviation)
	return out
}

// place is where the evaluation takes a chunk to be: where its text, less one dot at the end, occurs first.
func place(text, chunk string) connector.Span {
	chunk = strings.TrimSuffix(chunk, ".")
	at := strings.Index(text, chunk)
	return connector.Span{Start: at, End: at + len(chunk)}
}

// characters turns byte offsets into those of characters.
func characters(text string, spans []connector.Span) {
	at := make([]int, len(text)+1)
	n := 0
	for i := range len(text) {
		at[i] = n
		if i+1 == len(text) || utf8.RuneStart(text[i+1]) {
			n++
		}
	}
	at[len(text)] = n
	for k := range spans {
		spans[k].Start, spans[k].End = at[spans[k].Start], at[spans[k].End]
	}
}

// omega is PrecisionΩ of one question: of all the text in chunks that touch a reference, and in references that no chunk covers, the
// share that is asked for. Chunks that only meet a reference's end touch it too.
func omega(chunks, references []connector.Span) float64 {
	var hits, around []connector.Span
	for _, c := range chunks {
		for _, r := range references {
			if both := (connector.Span{Start: max(c.Start, r.Start), End: min(c.End, r.End)}); both.Start <= both.End {
				hits = append(hits, both)
				around = append(around, c)
			}
		}
	}
	return float64(extent(hits)) / float64(extent(append(around, references...)))
}

// extent is the size of the union of ranges.
func extent(spans []connector.Span) int {
	slices.SortFunc(spans, func(a, b connector.Span) int { return a.Start - b.Start })
	n, end := 0, 0
	for _, s := range spans {
		if s.End > end {
			n += s.End - max(s.Start, end)
			end = s.End
		}
	}
	return n
}
