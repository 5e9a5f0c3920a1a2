package local

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/embedtest"
	"github.com/kbsync/kbsync/embedders/local/e5small"
	"github.com/kbsync/kbsync/internal/testweights"
)

func open(t *testing.T, c Config) *Embedder {
	t.Helper()
	weights := e5small.Weights()
	if weights == nil {
		t.Fatal("the model is not in this build: run the tests without the tag nomodel")
	}
	e, err := Open(c, weights)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func TestConformance(t *testing.T) {
	embedtest.Run(t, func(t *testing.T) connector.Embedder { t.Helper(); return open(t, Config{}) }, embedtest.Options{})
}

// TestConformanceOfAFolder runs the suite over a model that a configuration names.
func TestConformanceOfAFolder(t *testing.T) {
	folder := testweights.Path(t, testweights.MiniLM)
	embedtest.Run(t, func(t *testing.T) connector.Embedder { t.Helper(); return open(t, Config{Model: folder}) }, embedtest.Options{})
}

// TestMeaning asks, in two languages, what shares no word with its answer.
func TestMeaning(t *testing.T) {
	e := open(t, Config{})
	passages := []string{
		"Employees may take twenty-five days of paid leave each year.",
		"员工每年享有二十五天带薪年假。",
		"The pump must be switched off before the filter is replaced.",
		"更换滤芯之前必须先关闭水泵。",
		"Paris has been the seat of the French government since the Middle Ages.",
		"自中世纪以来，巴黎一直是法国政府的所在地。",
	}
	vectors, err := e.Embed(t.Context(), passages)
	if err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string][2]int{
		"How long can staff go on vacation?":        {0, 1},
		"放假能放多久？":                                   {0, 1},
		"capital city of France":                    {4, 5},
		"How do I change a cartridge safely?":       {2, 3},
		"法国的首都":                                     {4, 5},
		"Wie viele Urlaubstage hat ein Mitarbeiter": {0, 1},
	} {
		q, err := e.EmbedQuery(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		best, score := -1, math.Inf(-1)
		for i, v := range vectors {
			if s := dot(v, q); s > score {
				best, score = i, s
			}
		}
		if best != want[0] && best != want[1] {
			t.Errorf("%s: found %q", question, passages[best])
		}
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// TestTooLong refuses what the model cannot take whole, alone.
func TestTooLong(t *testing.T) {
	e := open(t, Config{})
	long := strings.Repeat("word ", 600)
	got, err := e.Embed(t.Context(), []string{"one", long, " \n", "four"})
	var be *connector.BatchError
	if !errors.As(err, &be) || len(be.Items) != 2 {
		t.Fatalf("got %v, want a refusal of two texts", err)
	}
	if connector.ClassOf(be.Items[1]) != connector.ClassTooLarge || connector.ClassOf(be.Items[2]) != connector.ClassInvalid {
		t.Errorf("classes of %v", be.Items)
	}
	if got[0] == nil || got[3] == nil || got[1] != nil || got[2] != nil {
		t.Error("the other texts did not get their vectors")
	}
	if _, err := e.EmbedQuery(t.Context(), long); connector.ClassOf(err) != connector.ClassTooLarge {
		t.Errorf("a long question: %v", err)
	}
	// At the limit by the model's own counter it is taken.
	fits := strings.Repeat("word ", 600)
	for e.Model().Counter.Count(fits) > e.Model().MaxInputTokens {
		fits = fits[:len(fits)-len("word ")]
	}
	if e.Model().Counter.Count(fits) != e.Model().MaxInputTokens {
		t.Fatalf("no text has %d tokens", e.Model().MaxInputTokens)
	}
	if _, err := e.Embed(t.Context(), []string{fits}); err != nil {
		t.Errorf("a text of as many tokens as the model takes: %v", err)
	}
}

// TestIdentity tells apart whatever gives a text another vector.
func TestIdentity(t *testing.T) {
	none, other := "", "search_document: "
	no := false
	seen := map[string]string{}
	for name, c := range map[string]Config{
		"default": {}, "no passage prefix": {DocumentPrefix: &none}, "another": {DocumentPrefix: &other}, "no query prefix": {QueryPrefix: &none},
		"cls": {Pooling: "cls"}, "not normalised": {Normalize: &no},
	} {
		id := open(t, c).Model().Identity()
		if was, taken := seen[id]; taken {
			t.Errorf("%s and %s are both %s", name, was, id)
		}
		seen[id] = name
	}
	if a, b := open(t, Config{}).Model().Identity(), open(t, Config{Threads: 1}).Model().Identity(); a != b {
		t.Errorf("threads change the identity: %s, %s", a, b)
	}
	const built = "local/multilingual-e5-small@"
	if id := open(t, Config{}).Model().Identity(); !strings.HasPrefix(id, built) {
		t.Errorf("identity %s, want %s…", id, built)
	}
}

// TestTokens: their mean is the vector of the text, and their places are right.
func TestTokens(t *testing.T) {
	e := open(t, Config{})
	const text = "Die Wärmepumpe 热泵 läuft."
	vectors, spans, err := e.EmbedTokens(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	if len(vectors) != len(spans) || len(vectors) != e.Model().Counter.Count(text) {
		t.Fatalf("%d vectors, %d spans, %d tokens", len(vectors), len(spans), e.Model().Counter.Count(text))
	}
	whole, err := e.Embed(t.Context(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	mean := make([]float32, len(whole[0]))
	for _, v := range vectors {
		for i, x := range v {
			mean[i] += x
		}
	}
	if cos := dot(mean, whole[0]) / math.Sqrt(dot(mean, mean)); cos < 0.9999 {
		t.Errorf("the mean of the tokens has cosine %f to the vector of the text", cos)
	}
	seen := ""
	for _, s := range spans {
		seen += text[s.Start:s.End]
	}
	if strings.ReplaceAll(seen, " ", "") != strings.ReplaceAll(text, " ", "") {
		t.Errorf("the tokens stand for %q", seen)
	}
}

// TestFaults names what is wrong with a model.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	cut := filepath.Join(dir, "cut.kbm")
	if err := os.WriteFile(cut, e5small.Weights()[:1<<20], 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Config{
		"no such file":                  {Model: filepath.Join(dir, "nothing")},
		"cut.kbm":                       {Model: cut},
		"config.json":                   {Model: dir},
		"want mean or cls":              {Pooling: "max"},
		"has places for 512":            {MaxTokens: 513},
		"threads -1: want 0 to":         {Threads: -1},
		"max_tokens -1: want 0 or more": {MaxTokens: -1},
	} {
		if _, err := Open(c, e5small.Weights()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", c, err, want)
		}
	}
	if _, err := Open(Config{}, nil); err == nil || !strings.Contains(err.Error(), "nomodel") {
		t.Errorf("without weights: %v", err)
	}
}
