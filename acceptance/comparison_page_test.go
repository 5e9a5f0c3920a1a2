package acceptance

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// comparisonPage is where the comparison is written.
const comparisonPage = "../docs/comparison.md"

// askIDs asks every question by vectors alone and gives the five best chunks of each.
func (s *searched) askIDs(t *testing.T) [][]string {
	t.Helper()
	out := make([][]string, len(s.questions))
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, q := range s.questions {
		group.Go(func() error {
			answers, err := s.pipeline.Query(ctx, pipeline.QueryOptions{Text: q.text, K: 5, Mode: connector.ModeDense, Expand: "none"})
			for _, a := range answers {
				out[i] = append(out[i], a.ChunkID)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return out
}

// labVectors is the embedder of a lab for strategies that are cut outside of a sync.
type labVectors struct {
	connector.Embedder
	known *sync.Map
}

func (l *lab) vectors(t *testing.T, reg *connector.Registry, file *config.File) *labVectors {
	t.Helper()
	plugin, _ := reg.Embedders.Get(file.Embedder.Kind)
	e, err := plugin.Open(t.Context(), file.Embedder.Config, connector.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return &labVectors{e, l.known}
}

// Identity implements connector.Vectorizer.
func (v *labVectors) Identity() string {
	m := v.Model()
	return m.Identity()
}

// Vectors implements connector.Vectorizer.
func (v *labVectors) Vectors(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var missing []string
	var at []int
	for i, text := range texts {
		if known, ok := v.known.Load(text); ok {
			out[i] = known.([]float32) //nolint:forcetypeassert // nothing else is stored
			continue
		}
		missing, at = append(missing, text), append(at, i)
	}
	for len(missing) > 0 {
		n := min(64, len(missing))
		got, err := v.Embed(ctx, missing[:n])
		if err != nil {
			return nil, err
		}
		for k, vector := range got {
			out[at[k]] = vector
			v.known.Store(missing[k], vector)
		}
		missing, at = missing[n:], at[n:]
	}
	return out, nil
}

// writeComparison writes the page and the data of the test.
func writeComparison(t *testing.T, sets []corpusSet, embedders []string, got map[string]figures) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `# Strategies compared

Written by `+"`go test ./acceptance -run 'TestComparison$' -update -timeout 3h`"+`; do not edit. Each strategy is set so that a chunk has about %d tokens of cl100k on average, since recall grows with the
size of chunks; the second column says by which number. Texts are read as plain text, so `+"`markdown`"+` sees no headings.

*Mid-sentence* is the share of chunks whose text goes on in the same line without a mark that ends a sentence or a clause (. ! ? … ; :). *PrecisionΩ*, *Recall@5* and *IoU@5* are those of Chroma's evaluation
(Smith and Troynikov 2024), in bytes: the share that is asked for in the chunks that touch it; how much of it the five best chunks hold; and how much of what they hold it is. Questions are asked by vectors alone.

`, meanSize)
	for _, set := range sets {
		fmt.Fprintf(&b, "## %s\n\n%d documents, %d questions.\n\n", map[string]string{
			"Chroma": "English: the smaller three corpora of Chroma's evaluation", "CMRC2018": "Chinese: CMRC 2018 dev, passages by tens, the answer's sentences",
		}[set.name], len(set.documents), len(set.questions))
		b.WriteString("| strategy | `max_tokens` | mean | mid-sentence | PrecisionΩ |")
		for _, e := range embedders {
			fmt.Fprintf(&b, " Recall@5, %[1]s | IoU@5, %[1]s |", embedderName(e))
		}
		b.WriteString("\n|---|--:|--:|--:|--:|" + strings.Repeat("--:|--:|", len(embedders)) + "\n")
		for _, c := range contestants() {
			f := got[set.name+"|"+embedders[0]+"|"+c.name]
			mark := ""
			if f.Mean < 0.95*meanSize || f.Mean > 1.05*meanSize {
				mark = " †"
			}
			fmt.Fprintf(&b, "| %s%s | %d | %.0f | %.1f %% | %.1f |", c.name, mark, f.Number, f.Mean, 100*f.MidSentence, 100*f.Omega)
			for _, e := range embedders {
				f := got[set.name+"|"+e+"|"+c.name]
				fmt.Fprintf(&b, " %.1f | %.1f |", 100*f.Recall, 100*f.Overlap)
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	b.WriteString("† No setting comes nearer to the size (`paragraph` leaves each paragraph a chunk of its own), so its figures do not compare.\n\nA strategy whose cuts depend on the embedder is cut by each column's own; the columns before are those of the first.\n\n## Without a row\n\n| strategy | why |\n|---|---|\n")
	why := notCompared()
	for _, kind := range slices.Sorted(maps.Keys(why)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", kind, why[kind])
	}
	if err := os.WriteFile(comparisonPage, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func embedderName(settings string) string {
	if settings == embedLocal {
		return "`local`"
	}
	return "`lexical`"
}
