package acceptance

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/embedders/lexical"
	"github.com/kbsync/kbsync/internal/counters"
	"github.com/kbsync/kbsync/internal/sentences"
	"github.com/kbsync/kbsync/strategies"
)

// packer cuts a text into chunks of at most so many tokens of cl100k.
type packer func(t *testing.T, text string, most int) []connector.Span

// TestPackingBeatsFirstFit: where a chunk ends is chosen by a dynamic programme over the whole text, in place of filling each chunk as far as it goes.
// At the same mean size, chunks hold what is asked for more purely (PrecisionΩ), and so do the five best of a search (IoU@5; lexical vectors).
// With -update the figures are written to docs/benchmarks.md.
func TestPackingBeatsFirstFit(t *testing.T) {
	sets := []corpusSet{chroma(t, "Chroma", threeCorpora()...), cmrcSentences(t)}
	caps := []int{150, 300}
	var rows []string
	for _, set := range sets {
		var sums [2]packed
		for _, most := range caps {
			own := set.pack(t, recursivePacker, most)
			fit := set.pack(t, firstFit, set.capFor(t, firstFit, own.mean))
			if off := fit.mean/own.mean - 1; off < -0.02 || off > 0.02 {
				t.Fatalf("%s: mean sizes of %.1f and %.1f tokens do not compare", set.name, own.mean, fit.mean)
			}
			sums[0].omega, sums[0].iou = sums[0].omega+own.omega, sums[0].iou+own.iou
			sums[1].omega, sums[1].iou = sums[1].omega+fit.omega, sums[1].iou+fit.iou
			rows = append(rows, fmt.Sprintf("| %s | %.0f | %.1f | %.1f | %.2f | %.2f |\n", set.name, own.mean, 100*fit.omega, 100*own.omega, 100*fit.iou, 100*own.iou))
			t.Logf("%s at %d: first fit %+v, programme %+v", set.name, most, fit, own)
		}
		if sums[0].omega <= sums[1].omega || sums[0].iou <= sums[1].iou {
			t.Errorf("%s: the programme has PrecisionΩ %.4f and IoU %.4f, first fit %.4f and %.4f, in sum", set.name, sums[0].omega, sums[0].iou, sums[1].omega, sums[1].iou)
		}
	}
	if *update {
		writePacking(t, rows)
	}
}

// packed is how a packing did on a collection.
type packed struct{ mean, omega, iou float64 }

// recursivePacker is the strategy recursive.
func recursivePacker(t *testing.T, text string, most int) (spans []connector.Span) {
	t.Helper()
	conf := &strategies.RecursiveConfig{Sizing: strategies.Sizing{MaxTokens: most, MinChars: 20, Tokenizer: "cl100k"}}
	s, err := strategies.Recursive().Open(t.Context(), conf, connector.StrategyEnv{Counter: counters.Named})
	if err != nil {
		t.Fatal(err)
	}
	for chunk, err := range s.Chunks(t.Context(), &connector.Document{Path: "a.txt"}, oneText(text)) {
		if err != nil {
			t.Fatal(err)
		}
		spans = append(spans, connector.Span{Start: chunk.Spans[0].Start, End: chunk.Spans[len(chunk.Spans)-1].End})
	}
	return spans
}

func oneText(text string) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		yield(connector.Element{Kind: connector.KindText, Text: text, Span: connector.Span{End: len(text)}}, nil)
	}
}

// firstFit takes sentence after sentence as long as the chunk takes them; a sentence that is too long alone is cut at spaces, or between
// characters where there are none.
func firstFit(t *testing.T, text string, most int) (spans []connector.Span) {
	t.Helper()
	cl100k, err := counters.Named("cl100k")
	if err != nil {
		t.Fatal(err)
	}
	var pieces []connector.Span
	var split func(lo, hi int)
	split = func(lo, hi int) {
		if cl100k.Count(text[lo:hi]) <= most {
			pieces = append(pieces, connector.Span{Start: lo, End: hi})
			return
		}
		mid := lo + strings.LastIndexByte(text[lo:(lo+hi)/2], ' ') + 1
		if mid <= lo {
			for mid = (lo + hi) / 2; text[mid]&0xC0 == 0x80; mid++ {
			}
		}
		split(lo, mid)
		split(mid, hi)
	}
	for at := 0; at < len(text); {
		next := max(sentences.Next(text, at), at+1)
		split(at, next)
		at = next
	}
	tokens := 0
	for _, p := range pieces {
		n := cl100k.Count(text[p.Start:p.End])
		if len(spans) > 0 && tokens+n <= most {
			spans[len(spans)-1].End = p.End
			tokens += n
			continue
		}
		spans, tokens = append(spans, p), n
	}
	return spans
}

// pack cuts a collection and rates the chunks.
func (c *corpusSet) pack(t *testing.T, by packer, most int) (out packed) {
	t.Helper()
	cuts := map[string][]connector.Span{}
	mean := c.cut(t, by, most, cuts)
	out.mean = mean
	ranked := c.best(t, cuts, 5)
	for i, q := range c.questions {
		out.omega += omega(slices.Clone(cuts[q.path]), slices.Clone(q.references)) / float64(len(c.questions))
		retrieved, total := 0, extent(slices.Clone(q.references))
		var found []connector.Span
		for _, hit := range ranked[i] {
			retrieved += hit.span.Len()
			for _, ref := range q.references {
				if both := (connector.Span{Start: max(hit.span.Start, ref.Start), End: min(hit.span.End, ref.End)}); hit.path == q.path && both.Start < both.End {
					found = append(found, both)
				}
			}
		}
		covered := extent(found)
		out.iou += float64(covered) / float64(retrieved+total-covered) / float64(len(c.questions))
	}
	return out
}

// cut fills cuts, if it is not nil, and gives the mean size of a chunk.
func (c *corpusSet) cut(t *testing.T, by packer, most int, cuts map[string][]connector.Span) float64 {
	t.Helper()
	cl100k, err := counters.Named("cl100k")
	if err != nil {
		t.Fatal(err)
	}
	tokens, n := 0, 0
	for path, text := range c.documents {
		spans := by(t, text, most)
		for _, s := range spans {
			tokens += cl100k.Count(text[s.Start:s.End])
		}
		n += len(spans)
		if cuts != nil {
			cuts[path] = spans
		}
	}
	return float64(tokens) / float64(n)
}

// capFor is the cap at which the mean size is nearest to a given one.
func (c *corpusSet) capFor(t *testing.T, by packer, mean float64) int {
	t.Helper()
	lo, hi := int(mean), int(2*mean)
	for lo < hi {
		mid := (lo + hi) / 2
		if c.cut(t, by, mid, nil) < mean {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if above, below := c.cut(t, by, lo, nil)-mean, mean-c.cut(t, by, lo-1, nil); below < above {
		return lo - 1
	}
	return lo
}

// cutAt is a chunk by its place.
type cutAt struct {
	path string
	span connector.Span
}

// best ranks the chunks for every question by lexical vectors.
func (c *corpusSet) best(t *testing.T, cuts map[string][]connector.Span, k int) [][]cutAt {
	t.Helper()
	e, err := lexical.Open(lexical.Config{Dimensions: 1024})
	if err != nil {
		t.Fatal(err)
	}
	var all []cutAt
	var vectors [][]float32
	for path, spans := range cuts {
		texts := make([]string, len(spans))
		for i, s := range spans {
			texts[i] = c.documents[path][s.Start:s.End]
			all = append(all, cutAt{path, s})
		}
		got, err := e.Embed(context.Background(), texts)
		if err != nil {
			t.Fatal(err)
		}
		vectors = append(vectors, got...)
	}
	out := make([][]cutAt, len(c.questions))
	for i, q := range c.questions {
		v, err := e.EmbedQuery(context.Background(), q.text)
		if err != nil {
			t.Fatal(err)
		}
		scores := make([]float32, len(all))
		order := make([]int, len(all))
		for n := range all {
			order[n] = n
			for d := range v {
				scores[n] += v[d] * vectors[n][d]
			}
		}
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(all[a].path, all[b].path), all[a].span.Start-all[b].span.Start)
		})
		for _, n := range order[:min(k, len(order))] {
			out[i] = append(out[i], all[n])
		}
	}
	return out
}

// The section of the page that TestPackingBeatsFirstFit writes stands between these lines.
const packingStart, packingEnd = "<!-- packing: start -->\n", "<!-- packing: end -->\n"

func writePacking(t *testing.T, rows []string) {
	t.Helper()
	const page = "../docs/benchmarks.md"
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(old), packingStart)
	_, tail, ok2 := strings.Cut(rest, packingEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the lines %q and %q", page, packingStart, packingEnd)
	}
	table := "| set | mean size, tokens | PrecisionΩ, first fit | PrecisionΩ, `recursive` | IoU@5, first fit | IoU@5, `recursive` |\n|---|--:|--:|--:|--:|--:|\n" + strings.Join(rows, "")
	if err := os.WriteFile(page, []byte(head+packingStart+table+packingEnd+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
