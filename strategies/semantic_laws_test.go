package strategies

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/parsers/markdown"
)

// semanticVariants are the strategies that cut by meaning, at several sizes and with every method.
func semanticVariants(tb testing.TB) map[string]connector.Strategy {
	tb.Helper()
	out := map[string]connector.Strategy{}
	for k, size := range []Sizing{
		{MaxTokens: 40, MinChars: 20},
		{MaxTokens: 64, MinChars: 20, Overlap: Amount{N: 20}},
		{MaxChars: 33, Overlap: Amount{N: 50, Percent: true}},
		{MaxTokens: 30, MaxChars: 60, Unit: "chars", MinChars: 20, Tokenizer: "o200k", Overlap: Amount{N: 20}},
	} {
		methods := []string{breakPercentile, breakStddev, breakInterquartile, breakGradient, breakThreshold, breakEnhanced}
		for i, method := range methods {
			if i%3 != k%3 {
				continue
			}
			c := SemanticConfig{Sizing: size, Breakpoint: method, Buffer: (i + k) % 3}
			if method == breakThreshold {
				c.Amount = 0.5
			}
			if (i+k)%2 == 0 {
				c.MinSize = Amount{N: 30, Percent: true}
			}
			out[fmt.Sprintf("semantic %d %s", k, method)] = openHashed(tb, Semantic(), &c)
		}
		for _, method := range []string{clusterDynamic, clusterAgglomerative} {
			c := ClusterConfig{Sizing: size, Method: method, Piece: 5 + 7*k, MinSize: Amount{N: 5 * k}}
			out[fmt.Sprintf("cluster %d %s", k, method)] = openHashed(tb, Cluster(), &c)
		}
	}
	return out
}

func openHashed(tb testing.TB, p connector.StrategyPlugin, config any) connector.Strategy {
	tb.Helper()
	s, err := p.Open(context.Background(), config, strategytest.Env(Sentence(), Markdown(), Recursive()))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestSemanticLaws(t *testing.T) {
	for name, s := range semanticVariants(t) {
		t.Run(name, func(t *testing.T) { strategytest.Run(t, s) })
	}
	t.Run("late", func(t *testing.T) { strategytest.Run(t, openHashed(t, Late(), &LateConfig{})) })
}

// A stretch that is ended early, in the middle of anything, loses nothing and breaks no law.
func TestSemanticStretches(t *testing.T) {
	text := strings.Repeat("# Part\n\nOne sentence of it stands here. 另一句在这里，比较长一些。\n\n```go\nfunc f() {\n\treturn\n}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nA fence that is over every cap:\n\n```txt\n"+strings.Repeat("one line, of many\n", 30)+"```\n\nA longer paragraph, "+
		strings.Repeat("with words and words ", 30)+".\n\n", 40)
	in := strategytest.Input{Name: "stretches", Elements: markdownElements(t, text)}
	for name, s := range semanticVariants(t) {
		small := func(p *stretches) { p.limit = 700 }
		switch s := s.(type) {
		case *semantic:
			small(s.p)
		case *cluster:
			small(s.p)
		}
		for _, err := range strategytest.Check(s, in) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzSemantic(f *testing.F) {
	f.Add([]byte("# A\n\nText. More text! 中文。另一句？\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nx\n\ty\n```\n- i\n  - j\n"), uint8(30), uint8(5), uint8(7))
	f.Add([]byte(strings.Repeat("long word ", 60)+"https://example.com/"+strings.Repeat("x", 90)), uint8(50), uint8(0), uint8(2))
	f.Add([]byte("\n \n\t\n"), uint8(9), uint8(3), uint8(1))
	f.Add([]byte(" "+strings.Repeat("0", 50)), uint8(50), uint8(0), uint8(2)) // an indentation that does not fit
	p := markdown.New(1 << 20)
	f.Fuzz(func(t *testing.T, text []byte, size, overlap, piece uint8) {
		if len(text) > 4096 || size < 4 {
			return
		}
		els := parsed(t, p, "x.md", string(text))
		sizing := Sizing{MaxChars: int(size), Overlap: Amount{N: int(overlap) % int(size)}, MinChars: int(overlap) % 24}
		for k, s := range []connector.Strategy{
			openHashed(t, Semantic(), &SemanticConfig{Sizing: sizing, Breakpoint: breakEnhanced, Buffer: int(piece) % 4}),
			openHashed(t, Semantic(), &SemanticConfig{Sizing: sizing, Breakpoint: breakPercentile, Amount: 60, MinSize: Amount{N: int(piece) % (1 + int(size)/2)}}),
			openHashed(t, Cluster(), &ClusterConfig{Sizing: sizing, Piece: 1 + int(size)/8 + int(piece)%64}),
			openHashed(t, Cluster(), &ClusterConfig{Sizing: sizing, Piece: 1 + int(size)/8 + int(piece)%64, Method: clusterAgglomerative}),
		} {
			if s, ok := s.(*semantic); ok && piece%2 == 0 {
				s.p.limit = 300
			}
			chunks, err := strategytest.Collect(s, strategytest.Input{Elements: els})
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range strategytest.Laws(s.Info(), strategytest.Input{Elements: els}, chunks) {
				t.Errorf("%d %s %+v: %v", k, s.Info().Name, sizing, err)
			}
		}
	})
}

// asked counts what is embedded.
type asked struct {
	strategytest.Hashed
	texts []string
	calls int
}

func (a *asked) Vectors(ctx context.Context, texts []string) ([][]float32, error) {
	a.calls++
	a.texts = append(a.texts, texts...)
	for _, text := range texts {
		if strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("a blank text was asked for")
		}
	}
	return a.Hashed.Vectors(ctx, texts)
}

func openAsked(tb testing.TB, p connector.StrategyPlugin, config any) (connector.Strategy, *asked) {
	tb.Helper()
	a := &asked{}
	env := strategytest.Env()
	env.Vectors = func(context.Context) (connector.Vectorizer, error) { return a, nil }
	s, err := p.Open(context.Background(), config, env)
	if err != nil {
		tb.Fatal(err)
	}
	return s, a
}

// What peers crash on or let grow: nothing, blank space, one sentence, two, 20 KB without the end of one. The bounds hold for all.
func TestSemanticFewSentences(t *testing.T) {
	long := strings.Repeat("word and word ", 20<<10/14)
	wide := strings.Repeat("没有句号的长文本，", 20<<10/27)
	for name, c := range map[string]struct {
		text  string
		least int
	}{
		"nothing": {"", 0}, "blank": {" \n\n\t ", 0}, "one": {"One sentence.", 1}, "two": {"One sentence. And another.", 1}, "zh": {"一句话。两句话。", 1},
		"two long": {strings.Repeat("The first of two sentences is longer than what fits, ", 8) + "really. " + strings.Repeat("The second one is no shorter than the first one, ", 8) + "and so it is parted.", 2},
		"20 KB":    {long, 40}, "20 KB zh": {wide, 40}, "one word": {strings.Repeat("x", 20<<10), 40},
	} {
		for variant, s := range semanticVariants(t) {
			in := strategytest.Input{Name: name, Elements: strategytest.Prose(c.text)}
			chunks, err := strategytest.Collect(s, in)
			if err != nil || len(chunks) < c.least || c.least <= 1 && len(chunks) > 4 {
				t.Errorf("%s, %s: %d chunks, %v", name, variant, len(chunks), err)
			}
			for _, err := range strategytest.Laws(s.Info(), in, chunks) {
				t.Errorf("%s, %s: %v", name, variant, err)
			}
		}
	}
}

// A document that fits one chunk is not cut, and nothing is asked for; else each sentence is asked for once, in few calls.
func TestSemanticAsks(t *testing.T) {
	s, a := openAsked(t, Semantic(), &SemanticConfig{Sizing: Sizing{MaxTokens: 60, MinChars: 20}, Buffer: 1})
	chunksOf(t, s, textElements("A short text. It has three sentences. They are about nothing."))
	if a.calls != 0 {
		t.Errorf("%d calls for a text that is one chunk", a.calls)
	}
	var b strings.Builder
	for i := range 600 {
		fmt.Fprintf(&b, "Sentence %d stands here. ", i)
	}
	chunksOf(t, s, textElements(b.String()))
	if len(a.texts) != 600 || a.calls != 3 {
		t.Errorf("%d texts in %d calls, want 600 in 3", len(a.texts), a.calls)
	}
	if got := a.texts[7]; got != "Sentence 6 stands here. Sentence 7 stands here. Sentence 8 stands here." {
		t.Errorf("the window of sentence 7 is %q", got)
	}
}

// No window is larger than the model takes.
func TestSemanticWindowsFitTheModel(t *testing.T) {
	env := strategytest.Env()
	a := &asked{}
	env.Vectors = func(context.Context) (connector.Vectorizer, error) { return a, nil }
	counter, err := env.Counter("cl100k")
	if err != nil {
		t.Fatal(err)
	}
	env.ModelCap = connector.Cap{Max: 30, Counter: counter}
	s, err := Semantic().Open(context.Background(), &SemanticConfig{Sizing: Sizing{MaxTokens: 400}, Buffer: 2}, env)
	if err != nil {
		t.Fatal(err)
	}
	for c := range s.Chunks(context.Background(), &connector.Document{}, given(strategytest.Prose(strings.Repeat("A sentence of about a dozen tokens stands here, no more. 短句。 ", 60)+strings.Repeat("endless ", 400)))) {
		_ = c
	}
	if len(a.texts) < 100 {
		t.Fatalf("%d texts", len(a.texts))
	}
	for _, text := range a.texts {
		if n := counter.Count(text); n > 30 {
			t.Fatalf("a window of %d tokens: %q", n, text)
		}
	}
}

// Tables, fences and headings: kept whole while they fit, and no heading ends a chunk.
func TestSemanticKeepsBlocks(t *testing.T) {
	fence := "```go\nfunc f() int {\n\t// One. Two. Three.\n\treturn 1\n}\n```\n"
	table := "| Name | Wert |\n|---|---|\n| eins. | 1 |\n| zwei. | 2 |\n"
	text := strings.Repeat("Birds sing at dawn. They wake the village.\n\n## Next part\n\nTaxes are due in May. The office is closed then.\n\n"+fence+"\n"+table+"\n", 12)
	for name, s := range map[string]connector.Strategy{
		"semantic": openHashed(t, Semantic(), &SemanticConfig{Sizing: Sizing{MaxChars: 130, MinChars: 20}, Buffer: 1, Amount: 50}),
		"cluster":  openHashed(t, Cluster(), &ClusterConfig{Sizing: Sizing{MaxChars: 130, MinChars: 20}, Piece: 30}),
	} {
		chunks := chunksOf(t, s, given(markdownElements(t, text)))
		for _, c := range chunks {
			if strings.Count(c.Text, "```")%2 != 0 {
				t.Errorf("%s cuts a fence: %q", name, c.Text)
			}
			if strings.Contains(c.Text, "| zwei. |") != strings.Contains(c.Text, "| Name |") {
				t.Errorf("%s cuts a table: %q", name, c.Text)
			}
			if strings.HasSuffix(c.Text, "## Next part") {
				t.Errorf("%s ends a chunk with a heading: %q", name, c.Text)
			}
		}
	}
}

// The least size holds wherever the cap allows.
func TestSemanticLeastSize(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "%s %d. ", []string{"Cats sleep", "The moon is far from the earth and", "税务局在五月", "Rust has no collector"}[i/3%4], i)
	}
	for _, c := range []SemanticConfig{
		{Sizing: Sizing{MaxChars: 200}, Breakpoint: breakThreshold, Amount: 0.01, MinSize: Amount{N: 40, Percent: true}},
		{Sizing: Sizing{MaxChars: 200}, Breakpoint: breakPercentile, Amount: 10, MinSize: Amount{N: 80}},
		{Sizing: Sizing{MaxChars: 200}, Breakpoint: breakStddev, MinSize: Amount{N: 80}},
	} {
		chunks := chunksOf(t, openHashed(t, Semantic(), &c), textElements(b.String()))
		for i, chunk := range chunks {
			if n := len([]rune(chunk.Text)); n < 75 || n > 200 { // blank space between units counts for none of them
				t.Errorf("%s: chunk %d of %d has %d characters: %q", c.Breakpoint, i, len(chunks), n, chunk.Text)
			}
		}
	}
}

// Texts about two things are parted where the thing changes.
func TestSemanticPartsTopics(t *testing.T) {
	for name, topics := range map[string][2]string{
		"en": {"The cat sleeps on the warm mat. The cat likes the warm sun. The cat drinks warm milk. ", "Interest rates rose in March. Interest rates hurt bond prices. Bond prices fell in April. "},
		"zh": {"小猫在垫子上睡觉。小猫喜欢晒太阳。小猫爱喝温牛奶。", "央行三月上调利率。上调利率令债券下跌。债券四月继续下跌。"},
	} {
		most := map[string]int{"en": 140, "zh": 40}[name]
		for kind, s := range map[string]connector.Strategy{
			"semantic":      openHashed(t, Semantic(), &SemanticConfig{Sizing: Sizing{MaxChars: most, MinChars: 5}, Breakpoint: breakPercentile, Amount: 80}),
			"dynamic":       openHashed(t, Cluster(), &ClusterConfig{Sizing: Sizing{MaxChars: most, MinChars: 5}, Piece: 12}),
			"agglomerative": openHashed(t, Cluster(), &ClusterConfig{Sizing: Sizing{MaxChars: most, MinChars: 5}, Piece: 12, Method: clusterAgglomerative}),
		} {
			chunks := chunksOf(t, s, textElements(topics[0]+topics[1]))
			found := false
			for _, c := range chunks {
				found = found || c.Spans[0].Start == len(topics[0])
			}
			if !found {
				t.Errorf("%s %s: no chunk starts with the second topic: %d chunks", kind, name, len(chunks))
			}
		}
	}
}
