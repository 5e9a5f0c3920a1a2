package lexical

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/internal/shareddata"
)

// TestRetrieval measures what the vectors find. Chinese: CMRC 2018 dev, the share of 1,500 questions whose passage, of
// 848, is among the first 5. English: Chroma's chunking evaluation, the share of the references' characters
// that the first 5 pieces of at most 1,000 characters cover, mean over 472 questions.
func TestRetrieval(t *testing.T) {
	dir := shareddata.Dir(t)
	passages, questions := chinese(t, dir)
	pieces, asked := english(t, dir)
	for _, dims := range []int{DefaultDimensions, 1024} {
		e := open(t, dims)
		zh := recallAt5(t, e, passages, questions)
		en := coverageAt5(t, e, pieces, asked)
		t.Logf("%d dimensions: zh recall@5 %.3f, en recall@5 %.3f", dims, zh, en)
		if zh < 0.84 || en < 0.66 {
			t.Errorf("%d dimensions: recall fell to %.3f (zh) and %.3f (en)", dims, zh, en)
		}
	}
}

type question struct {
	text string
	want int
}

func chinese(t *testing.T, dir string) (passages []string, questions []question) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "zh_cmrc2018_cc-by-sa", "cmrc2018_dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Data []struct {
			Paragraphs []struct {
				Context string
				QAs     []struct{ Question string }
			}
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Data {
		for _, p := range d.Paragraphs {
			for _, q := range p.QAs {
				if len(questions) < 1500 {
					questions = append(questions, question{q.Question, len(passages)})
				}
			}
			passages = append(passages, p.Context)
		}
	}
	return passages, questions
}

type piece struct {
	corpus     string
	start, end int // in characters
	text       string
}

type reference struct {
	Start int `json:"start_index"`
	End   int `json:"end_index"`
}

type englishQuestion struct {
	text, corpus string
	refs         []reference
}

func english(t *testing.T, dir string) (pieces []piece, questions []englishQuestion) {
	t.Helper()
	root := filepath.Join(dir, "chroma_chunking_evaluation")
	files, err := filepath.Glob(filepath.Join(root, "corpora", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, cut(strings.TrimSuffix(filepath.Base(file), ".md"), []rune(string(raw)))...)
	}
	f, err := os.Open(filepath.Join(root, "questions_df.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		q := englishQuestion{text: row[0], corpus: row[2]}
		if err := json.Unmarshal([]byte(row[1]), &q.refs); err != nil {
			t.Fatal(err)
		}
		questions = append(questions, q)
	}
	return pieces, questions
}

// cut makes pieces of at most 1,000 characters that end after a line or a sentence where one ends in the second half.
func cut(corpus string, text []rune) (out []piece) {
	for start := 0; start < len(text); {
		end := min(start+1000, len(text))
		for at := end; end < len(text) && at > start+500; at-- {
			if text[at-1] == '\n' || text[at-1] == ' ' && text[at-2] == '.' {
				end = at
				break
			}
		}
		out = append(out, piece{corpus, start, end, string(text[start:end])})
		start = end
	}
	return out
}

func vectors(t *testing.T, e *Embedder, texts []string) [][]float32 {
	t.Helper()
	v, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func nearest(all [][]float32, q []float32, skip func(int) bool) []int {
	var order []int
	scores := make([]float64, len(all))
	for i, v := range all {
		if skip == nil || !skip(i) {
			scores[i] = cosine(v, q)
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	return order[:min(5, len(order))]
}

func recallAt5(t *testing.T, e *Embedder, passages []string, questions []question) float64 {
	t.Helper()
	all := vectors(t, e, passages)
	found := 0
	for _, q := range questions {
		if slices.Contains(nearest(all, embed(t, e, q.text), nil), q.want) {
			found++
		}
	}
	return float64(found) / float64(len(questions))
}

func coverageAt5(t *testing.T, e *Embedder, pieces []piece, questions []englishQuestion) float64 {
	t.Helper()
	texts := make([]string, len(pieces))
	for i, p := range pieces {
		texts[i] = p.text
	}
	all := vectors(t, e, texts)
	sum := 0.0
	for _, q := range questions {
		best := nearest(all, embed(t, e, q.text), nil)
		covered, total := 0, 0
		for _, ref := range q.refs {
			total += ref.End - ref.Start
			for _, i := range best {
				if p := pieces[i]; p.corpus == q.corpus {
					covered += max(0, min(p.end, ref.End)-max(p.start, ref.Start))
				}
			}
		}
		sum += float64(covered) / float64(total)
	}
	return sum / float64(len(questions))
}
