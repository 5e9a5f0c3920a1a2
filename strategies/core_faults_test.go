package strategies

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/internal/counters"
)

func textsOf(chunks []connector.Chunk) []string {
	var out []string
	for _, c := range chunks {
		out = append(out, c.Text)
	}
	return out
}

func recursiveOf(tb testing.TB, s Sizing) connector.Strategy {
	tb.Helper()
	return mustOpen(tb, Recursive(), &RecursiveConfig{Sizing: s})
}

func TestConfigurationErrors(t *testing.T) {
	for name, c := range map[string]any{
		"overlap over the size":    &RecursiveConfig{Sizing: Sizing{MaxChars: 100, Overlap: Amount{N: 100}}},
		"overlap over the default": &RecursiveConfig{Sizing: Sizing{Overlap: Amount{N: 600}}},
		"overlap of 100%":          &RecursiveConfig{Sizing: Sizing{Overlap: Amount{N: 100, Percent: true}}},
		"negative size":            &RecursiveConfig{Sizing: Sizing{MaxTokens: -1}},
		"negative overlap":         &RecursiveConfig{Sizing: Sizing{Overlap: Amount{N: -1}}},
		"unit without its size":    &RecursiveConfig{Sizing: Sizing{MaxChars: 100, Unit: "tokens"}},
		"unknown unit":             &RecursiveConfig{Sizing: Sizing{Unit: "bytes"}},
		"unknown tokenizer":        &RecursiveConfig{Sizing: Sizing{Tokenizer: "gpt"}},
		"unknown compat":           &RecursiveConfig{Compat: "chonkie"},
		"unknown language":         &RecursiveConfig{Language: "klingon"},
		"two lists":                &RecursiveConfig{Language: "go", Separators: []string{"\n"}},
	} {
		if _, err := Recursive().Open(context.Background(), c, env(t)); err == nil {
			t.Errorf("%s is no error", name)
		} else if len(err.Error()) < 30 {
			t.Errorf("%s: %q says too little", name, err)
		}
	}
	tooSmall := env(t)
	tooSmall.ModelCap = connector.Cap{Max: 50, Counter: counters.Chars{}}
	if _, err := Recursive().Open(context.Background(), &RecursiveConfig{Sizing: Sizing{MaxChars: 100, Overlap: Amount{N: 60}}}, tooSmall); err == nil {
		t.Error("an overlap over the embedder's limit is no error")
	}
}

func TestModelCap(t *testing.T) {
	e := env(t)
	e.ModelCap = connector.Cap{Max: 30, Counter: counters.Chars{}}
	for _, p := range []connector.StrategyPlugin{Recursive(), Sentence(), Paragraph(), Fixed(), Whole()} {
		s, err := p.Open(context.Background(), p.Config(), e)
		if err != nil {
			t.Fatal(err)
		}
		chunks := chunksOf(t, s, textElements(strings.Repeat("A sentence of some length stands here. ", 20)))
		for _, c := range chunks {
			if n := utf8.RuneCountInString(c.Text); n > 30 {
				t.Errorf("%s: %d characters, the embedder takes 30", p.Kind, n)
			}
		}
		if len(chunks) < 20 {
			t.Errorf("%s: %d chunks", p.Kind, len(chunks))
		}
	}
}

func TestSizingYAML(t *testing.T) {
	for text, want := range map[string]Amount{"64": {N: 64}, "10%": {N: 10, Percent: true}, " 5 % ": {N: 5, Percent: true}} {
		var a Amount
		if err := a.UnmarshalText([]byte(text)); err != nil || a != want {
			t.Errorf("%q: %v, %v", text, a, err)
		}
	}
	for _, text := range []string{"", "ten", "1.5", "%"} {
		var a Amount
		if a.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is no error", text)
		}
	}
}

func TestOneChunkIsNotCut(t *testing.T) {
	text := "# Title\n\nOne. Two.\n\nThree.\n"
	for _, p := range []connector.StrategyPlugin{Recursive(), Sentence(), Fixed(), Whole()} {
		if got := textsOf(chunksOf(t, mustOpen(t, p, p.Config()), textElements(text))); len(got) != 1 || got[0] != strings.TrimSpace(text) {
			t.Errorf("%s: %q", p.Kind, got)
		}
		if got := chunksOf(t, mustOpen(t, p, p.Config()), textElements(" \n\n\t ")); len(got) != 0 {
			t.Errorf("%s: a blank document gives %d chunks", p.Kind, len(got))
		}
	}
}

func TestRepeatedSentence(t *testing.T) {
	chunks := chunksOf(t, recursiveOf(t, Sizing{MaxChars: 40, MinChars: 20}), textElements(strings.Repeat("The same sentence comes again now. ", 6)))
	if len(chunks) != 6 {
		t.Fatalf("%d chunks, want 6", len(chunks))
	}
	for k := 1; k < 6; k++ {
		if chunks[k].Spans[0].Start <= chunks[k-1].Spans[0].Start {
			t.Errorf("chunk %d starts at %d, the one before at %d", k, chunks[k].Spans[0].Start, chunks[k-1].Spans[0].Start)
		}
	}
}

// A first piece nearly as large as the cap leaves room for little: the overlap shrinks, and nothing is lost or over the cap.
func TestOverlapBesideLargePiece(t *testing.T) {
	text := strings.Repeat("word ", 18) + "end. Short one. " + strings.Repeat("more ", 17) + "stop. And the last sentence."
	chunks := chunksOf(t, recursiveOf(t, Sizing{MaxChars: 100, Overlap: Amount{N: 40}, MinChars: 5}), textElements(text))
	repeated := 0
	for k := 1; k < len(chunks); k++ {
		if chunks[k].Spans[0].Start < chunks[k-1].Spans[0].End {
			repeated++
		}
	}
	if repeated == 0 {
		t.Errorf("no overlap at all: %q", textsOf(chunks))
	}
}

func TestOverlapIsWholeSentences(t *testing.T) {
	text := strings.Repeat("这是第一句话。那是第二句话，稍长一些。", 20)
	chunks := chunksOf(t, recursiveOf(t, Sizing{MaxChars: 60, Overlap: Amount{N: 20}, MinChars: 5}), textElements(text))
	for k := 1; k < len(chunks); k++ {
		from := chunks[k].Spans[0].Start
		if from >= chunks[k-1].Spans[0].End {
			t.Errorf("chunk %d repeats nothing", k)
		}
		if !strings.HasSuffix(text[:from], "。") {
			t.Errorf("chunk %d starts inside a sentence: %q", k, chunks[k].Text)
		}
	}
	s := mustOpen(t, Sentence(), &SentenceConfig{Sizing: Sizing{MaxChars: 60}, OverlapSentences: 2})
	chunks = chunksOf(t, s, textElements(text))
	for k := 1; k < len(chunks); k++ {
		if got := text[chunks[k].Spans[0].Start:chunks[k-1].Spans[0].End]; strings.Count(got, "。") != 2 {
			t.Errorf("chunk %d repeats %q, want two sentences", k, got)
		}
	}
}

func TestChineseEnds(t *testing.T) {
	text := strings.Repeat("他说：“圆周率是3.14，版本是v1.2.3。”她问：“例如e.g.和https://a.cn/b.html?c=1吗？”然后他们都走了；", 10)
	for _, c := range chunksOf(t, recursiveOf(t, Sizing{MaxChars: 70, MinChars: 5}), textElements(text)) {
		last, _ := utf8.DecodeLastRuneInString(c.Text)
		if !strings.ContainsRune("。！？；”", last) {
			t.Errorf("ends in mid-sentence: %q", c.Text)
		}
		if first, _ := utf8.DecodeRuneInString(c.Text); first == '”' {
			t.Errorf("starts with the quote of the sentence before: %q", c.Text)
		}
	}
}

func TestFixedKeepsCharactersWhole(t *testing.T) {
	text := strings.Repeat("范围内产生的二氧化碳😀👨‍👩‍👧‍👦", 50)
	for _, size := range []Sizing{{MaxTokens: 7}, {MaxTokens: 30, Overlap: Amount{N: 9}}, {MaxChars: 9, Overlap: Amount{N: 3}}} {
		for _, c := range chunksOf(t, mustOpen(t, Fixed(), &FixedConfig{Sizing: size}), textElements(text)) {
			if strings.ContainsRune(c.Text, utf8.RuneError) || c.Text != text[c.Spans[0].Start:c.Spans[0].End] {
				t.Errorf("broken: %q", c.Text)
			}
		}
	}
}

func TestHeadingsAndPages(t *testing.T) {
	elements := strategytest.Blocks(
		strategytest.Heading(1, "A"), connector.Element{Kind: connector.KindText, Text: strings.Repeat("Under A. ", 9) + "\n\n", Page: 1},
		strategytest.Heading(3, "C"), connector.Element{Kind: connector.KindText, Text: strings.Repeat("Under C. ", 9) + "\n\n", Page: 2},
		strategytest.Heading(2, "B"), connector.Element{Kind: connector.KindText, Text: strings.Repeat("Under B. ", 9), Page: 3},
	)
	in := strategytest.Input{Elements: elements}
	var got []string
	for _, c := range chunksOf(t, recursiveOf(t, Sizing{MaxChars: 90, MinChars: 20}), in.Sequence()) {
		got = append(got, fmt.Sprintf("%s %d", strings.Join(c.Headings, ">"), c.Page))
	}
	for _, want := range []string{"A", "A>C", "A>B"} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want+" ") }) {
			t.Errorf("no chunk under %s: %q", want, got)
		}
	}
}

// TestLinear cuts large inputs without structure. It has no clock but the test's deadline: what is quadratic takes hours.
func TestLinear(t *testing.T) {
	for name, text := range map[string]string{
		"one character": strings.Repeat("x", 4<<20),
		"one Han":       strings.Repeat("中", 1<<20),
		"blank":         "a" + strings.Repeat(" ", 4<<20) + "b" + strings.Repeat("\n", 1<<20),
		"flags":         strings.Repeat("🇨🇳", 1<<18),
		"marks":         "a" + strings.Repeat("\u0301", 1<<20),
		"dots":          strings.Repeat(".", 1<<20) + "x",
		"quotes":        "x." + strings.Repeat("”", 1<<20),
		"lines":         strings.Repeat("line\n", 1<<19),
	} {
		for _, c := range []struct {
			plugin connector.StrategyPlugin
			config any
		}{
			{Recursive(), &RecursiveConfig{Sizing: Sizing{MaxChars: 1000, Overlap: Amount{N: 100}, MinChars: 20}}},
			{Sentence(), &SentenceConfig{Sizing: Sizing{MaxChars: 1000, MinChars: 20}, OverlapSentences: 1}},
			{Fixed(), &FixedConfig{Sizing: Sizing{MaxChars: 1000, Overlap: Amount{N: 100}}}},
		} {
			begun := time.Now()
			chunks := chunksOf(t, mustOpen(t, c.plugin, c.config), textElements(text))
			t.Logf("%s, %s: %d chunks in %v", name, c.plugin.Kind, len(chunks), time.Since(begun).Round(time.Millisecond))
		}
	}
	for name, text := range map[string]string{
		"base64":  strings.Repeat("QUJDREVGR0hJSktMTU5PUFFSU1RVVldY", 3200),
		"Chinese": strings.Repeat("天地玄黄宇宙洪荒日月盈昃", 2800),
	} {
		in := strategytest.Input{Name: name, Elements: strategytest.Blocks(connector.Element{Kind: connector.KindText, Text: text})}
		s := recursiveOf(t, Sizing{MaxTokens: 512, Overlap: Amount{N: 51}, MinChars: 20})
		for _, err := range strategytest.Check(s, in) {
			t.Errorf("100 KB of %s: %v", name, err)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, in := range strategytest.Inputs() {
		if text := in.Text(); len(text) < 2000 {
			f.Add(text, uint8(40), uint8(10), false)
		}
	}
	f.Fuzz(func(t *testing.T, text string, size, overlap uint8, tokens bool) {
		if !utf8.ValidString(text) || size < 8 || overlap >= size || len(text) > 4000 {
			return
		}
		sizing := Sizing{MaxChars: int(size), Overlap: Amount{N: int(overlap)}, MinChars: int(size) % 30}
		if tokens {
			sizing.MaxTokens, sizing.MaxChars, sizing.Tokenizer = int(size), 0, "cl100k"
		}
		in := strategytest.Input{Name: "fuzz", Elements: strategytest.Prose(text)}
		for _, s := range []connector.Strategy{
			mustOpen(t, Recursive(), &RecursiveConfig{Sizing: sizing}),
			mustOpen(t, Sentence(), &SentenceConfig{Sizing: sizing, OverlapSentences: int(size) % 3}),
			mustOpen(t, Paragraph(), &ParagraphConfig{Sizing: sizing, Pack: size%2 == 0}),
			mustOpen(t, Fixed(), &FixedConfig{Sizing: sizing}),
		} {
			chunks, err := strategytest.Collect(s, in)
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range strategytest.Laws(s.Info(), in, chunks) {
				t.Errorf("%s: %v", s.Info().Name, fault)
			}
		}
	})
}
