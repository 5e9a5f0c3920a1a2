package strategies

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector/strategytest"
)

// TestSemanticAsLangChain: on the same vectors, every threshold ends chunks behind the same sentences as langchain-experimental's
// SemanticChunker, in English and in Chinese. testdata/semantic-langchain.py wrote what that gives, with the library itself.
func TestSemanticAsLangChain(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "semantic-langchain.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Text, Method string
		Buffer       int
		Amount       float64
		Sentences    []string
		Distances    []float64
		Ends         []int
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"percentile": breakPercentile, "standard_deviation": breakStddev, "interquartile": breakInterquartile, "gradient": breakGradient}
	broken := map[string]int{}
	for i, c := range cases {
		windows := make([]string, len(c.Sentences))
		for k := range windows {
			windows[k] = strings.Join(c.Sentences[max(0, k-c.Buffer):min(len(c.Sentences), k+c.Buffer+1)], " ")
		}
		vectors, err := strategytest.Hashed{}.Vectors(context.Background(), windows)
		if err != nil {
			t.Fatal(err)
		}
		distances := make([]float64, len(vectors)-1)
		for k := range distances {
			if distances[k] = 1 - cosine(vectors[k], vectors[k+1]); math.Abs(distances[k]-c.Distances[k]) > 1e-6 {
				t.Fatalf("case %d: distance %d is %v, LangChain's %v", i, k, distances[k], c.Distances[k])
			}
		}
		ends := []int{}
		for k, end := range breaks(distances, names[c.Method], c.Amount) {
			if end {
				ends = append(ends, k)
			}
		}
		if !slices.Equal(ends, c.Ends) {
			t.Errorf("case %d, %s, buffer %d, %s %g: chunks end behind %v, LangChain's behind %v", i, c.Text, c.Buffer, c.Method, c.Amount, ends, c.Ends)
		}
		broken[c.Text+" "+c.Method] += len(ends)
	}
	if len(cases) != 96 || len(broken) != 8 {
		t.Errorf("%d cases", len(cases))
	}
	for name, n := range broken {
		if n == 0 && !strings.HasSuffix(name, "standard_deviation") {
			t.Errorf("%s ends no chunk anywhere: nothing is compared", name)
		}
	}
}

// The defaults are LangChain's.
func TestSemanticDefaults(t *testing.T) {
	values := []float64{0.1, 0.2, 0.15, 0.9, 0.12, 0.3, 0.05, 0.4, 0.22, 0.18}
	for method, amount := range map[string]float64{breakPercentile: 95, breakStddev: 3, breakInterquartile: 1.5, breakGradient: 95, breakEnhanced: 1} {
		if got, want := threshold(values, method, 0), threshold(values, method, amount); got != want {
			t.Errorf("%s: %v without an amount, %v with %v", method, got, want, amount)
		}
	}
	for n := range 3 {
		for _, method := range []string{breakPercentile, breakStddev, breakInterquartile, breakGradient, breakThreshold, breakEnhanced} {
			if got := breaks(values[:n], method, 0.5); len(got) != n || slices.Contains(got, true) && method != breakEnhanced && method != breakGradient && method != breakPercentile && n < 2 {
				t.Errorf("%s of %d: %v", method, n, got)
			}
		}
	}
}
