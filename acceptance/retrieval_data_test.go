package acceptance

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/shareddata"
)

// asked is a question and what answers it: the references in the document at path, or where there are none all of it.
type asked struct {
	text, path string
	references []connector.Span // bytes, in order, apart
}

// gain is how much of the answer a chunk holds, 0 to 1.
func (q asked) gain(c *connector.Record) float64 {
	if c.Path != q.path {
		return 0
	}
	if len(q.references) == 0 {
		return 1
	}
	covered, total := 0, 0
	for _, r := range q.references {
		total += r.Len()
		for _, s := range c.Spans {
			covered += max(0, min(s.End, r.End)-max(s.Start, r.Start))
		}
	}
	return float64(covered) / float64(total)
}

// corpusSet is documents that are searched together, and the questions on them.
type corpusSet struct {
	name      string
	strategy  string
	documents map[string]string // by path
	questions []asked
	rows      []string // documents whose questions are rated for themselves too
}

func fiveCorpora() []string {
	return []string{"chatlogs", "finance", "pubmed", "state_of_the_union", "wikitexts"}
}

func threeCorpora() []string { return []string{"chatlogs", "state_of_the_union", "wikitexts"} }

// chroma is corpora of Chroma's chunking evaluation (Smith and Troynikov 2024) in chunks of at most 1,000 characters, as LangChain
// cuts them: what compares embedders must not move with the packing of chunks.
func chroma(t *testing.T, name string, corpora ...string) corpusSet {
	t.Helper()
	dir := filepath.Join(shareddata.Dir(t), "chroma_chunking_evaluation")
	c := corpusSet{name: name, strategy: "{ recursive: { max_chars: 1000, overlap: 0, compat: langchain } }", documents: map[string]string{}}
	offsets := map[string][]int{} // in bytes, by character
	for _, corpus := range corpora {
		raw, err := os.ReadFile(filepath.Join(dir, "corpora", corpus+".md"))
		if err != nil {
			t.Fatal(err)
		}
		path, text := corpus+".txt", string(raw)
		c.documents[path] = text
		for at := range text {
			offsets[path] = append(offsets[path], at)
		}
		offsets[path] = append(offsets[path], len(text))
		if len(corpora) == len(fiveCorpora()) {
			c.rows = append(c.rows, path)
		}
	}
	f, err := os.Open(filepath.Join(dir, "questions_df.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		path := row[2] + ".txt"
		at, ok := offsets[path]
		if !ok {
			continue
		}
		var references []struct {
			Start int `json:"start_index"`
			End   int `json:"end_index"`
		}
		if err := json.Unmarshal([]byte(row[1]), &references); err != nil {
			t.Fatal(err)
		}
		q := asked{text: row[0], path: path}
		for _, r := range references {
			q.references = append(q.references, connector.Span{Start: at[r.Start], End: at[r.End]})
		}
		q.references = union(q.references)
		c.questions = append(c.questions, q)
	}
	if want := map[int]int{3: 276, 5: 472}[len(corpora)]; len(c.questions) != want {
		t.Fatalf("%d questions, want %d", len(c.questions), want)
	}
	return c
}

// union joins spans that meet.
func union(spans []connector.Span) (out []connector.Span) {
	slices.SortFunc(spans, func(a, b connector.Span) int { return a.Start - b.Start })
	for _, s := range spans {
		if n := len(out); n > 0 && s.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

// cmrcPassage is a passage of CMRC 2018 dev (Cui et al. 2019) with its questions.
type cmrcPassage struct {
	Context string
	QAs     []struct {
		Question string
		Answers  []struct{ Text string }
	}
}

func cmrcPassages(t *testing.T) (out []cmrcPassage) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(shareddata.Dir(t), "zh_cmrc2018_cc-by-sa", "cmrc2018_dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Data []struct{ Paragraphs []cmrcPassage }
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Data {
		out = append(out, d.Paragraphs...)
	}
	return out
}

// cmrc is the 848 passages of CMRC 2018 dev, each a document, and the first 1,500 questions.
func cmrc(t *testing.T) corpusSet {
	t.Helper()
	c := corpusSet{name: "CMRC2018", strategy: "{ whole: {} }", documents: map[string]string{}}
	for _, p := range cmrcPassages(t) {
		path := fmt.Sprintf("%04d.txt", len(c.documents))
		c.documents[path] = p.Context
		for _, q := range p.QAs {
			if len(c.questions) < 1500 {
				c.questions = append(c.questions, asked{text: q.Question, path: path})
			}
		}
	}
	if len(c.documents) != 848 || len(c.questions) != 1500 {
		t.Fatalf("%d passages and %d questions, want 848 and 1500", len(c.documents), len(c.questions))
	}
	return c
}

const (
	benchmarksPage  = "../docs/benchmarks.md"
	retrievalBegins = "<!-- retrieval -->\n"
	retrievalEnds   = "<!-- end -->"
)

// recorded is the page around the generated part, and that part.
func recorded(t *testing.T) (before, tables, after string) {
	t.Helper()
	page, err := os.ReadFile(benchmarksPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), retrievalBegins)
	tables, after, ends := strings.Cut(rest, retrievalEnds)
	if !ok || !ends {
		t.Fatalf("%s has no part between %s and %s", benchmarksPage, strings.TrimSpace(retrievalBegins), retrievalEnds)
	}
	return before, tables, after
}

// writeRetrieval puts one table for each metric into the page.
func writeRetrieval(t *testing.T, all []measured) {
	t.Helper()
	before, _, after := recorded(t)
	var b strings.Builder
	for i, metric := range metrics() {
		fmt.Fprintf(&b, "\n%s:\n\n| questions on |", metric)
		for _, r := range retrievers() {
			fmt.Fprintf(&b, " %s |", r.name)
		}
		b.WriteString("\n|---" + strings.Repeat("|---", len(retrievers())) + "|\n")
		for _, m := range all {
			b.WriteString("| " + m.label())
			for _, r := range retrievers() {
				fmt.Fprintf(&b, " | %.3f", m.quality[r.name][i])
			}
			b.WriteString(" |\n")
		}
	}
	if err := os.WriteFile(benchmarksPage, []byte(before+retrievalBegins+b.String()+"\n"+retrievalEnds+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (m *measured) label() string {
	if m.corpus {
		return fmt.Sprintf("… of them %s (%d)", m.name, m.asked)
	}
	return fmt.Sprintf("%s (%d)", m.name, m.asked)
}

// compareRetrieval fails where the page records other figures than were measured; processors round differently.
func compareRetrieval(t *testing.T, all []measured) {
	t.Helper()
	const apart = 0.002 + 0.0005 // and what the page's three digits leave out
	_, tables, _ := recorded(t)
	for i, metric := range metrics() {
		_, table, _ := strings.Cut(tables, "\n"+metric+":\n")
		for _, m := range all {
			_, row, ok := strings.Cut(table, "| "+m.label()+" |")
			row, _, _ = strings.Cut(row, "\n")
			cells := strings.Split(row, "|")
			if !ok || len(cells) <= len(retrievers()) {
				t.Errorf("%s has no %s of %s: run with -update", benchmarksPage, metric, m.label())
				continue
			}
			for k, r := range retrievers() {
				var was float64
				if _, err := fmt.Sscan(cells[k], &was); err != nil || max(was-m.quality[r.name][i], m.quality[r.name][i]-was) > apart {
					t.Errorf("%s of %s on %s: the page has %s, measured was %.4f: run with -update", metric, r.name, m.name, strings.TrimSpace(cells[k]), m.quality[r.name][i])
				}
			}
		}
	}
}
