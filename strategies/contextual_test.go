package strategies

import (
	"context"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/connector/strategytest"
)

func contextualVariants(t testing.TB, llm connector.LLM) map[string]connector.Strategy {
	t.Helper()
	env := modelEnv(llm)
	of := func(kind string, config any) *connector.Choice { return &connector.Choice{Kind: kind, Config: config} }
	c := func(of *connector.Choice, document int) connector.Strategy {
		return openWith(t, Contextual(), &ContextualConfig{Of: of, ContextTokens: 100, DocumentTokens: document}, env)
	}
	return map[string]connector.Strategy{
		"contextual":          c(nil, 2000),
		"contextual markdown": c(of("markdown", &MarkdownConfig{Sizing: Sizing{MaxTokens: 120, MinChars: 20}, Heading: "in", Breadcrumb: "both"}), 400),
		"contextual sentence": c(of("sentence", &SentenceConfig{Sizing: Sizing{MaxTokens: 60, MinChars: 20}, OverlapSentences: 1}), 300),
		"contextual chars":    c(of("recursive", &RecursiveConfig{Sizing: Sizing{MaxChars: 120, MinChars: 10}}), 300),
		"contextual table":    c(of("table", nil), 400),
		"contextual whole":    c(of("whole", nil), 400),
	}
}

func TestContextualKeepsTheLaws(t *testing.T) {
	for name, s := range contextualVariants(t, llmtest.Obliging()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategytest.Run(t, s)
		})
	}
}

func TestContextualUnderHostileAnswers(t *testing.T) {
	for name, s := range contextualVariants(t, spoiler()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategytest.Run(t, s)
		})
	}
}

// TestContextual: the context stands first, above the breadcrumb, is counted in the cap, and each way in which there is none leaves the chunk as
// it is.
func TestContextual(t *testing.T) {
	text := "# Report\n\n## Rivers\n\n" + strings.Repeat("The river rose. ", 40) + "\n\n## Hills\n\n" + strings.Repeat("The hill stood. ", 40) + "\n"
	for name, c := range map[string]struct {
		answer  connector.LLMAnswer
		context string
		missing any
	}{
		"good":      {connector.LLMAnswer{Text: `{"context":"From the report of 1910 on the Elbe."}`}, "From the report of 1910 on the Elbe.", nil},
		"too long":  {connector.LLMAnswer{Text: `{"context":"Short one. ` + strings.Repeat("And a very long one ", 25) + `."}`}, "Short one.", nil},
		"nothing":   {connector.LLMAnswer{}, "", "no usable answer"},
		"refused":   {connector.LLMAnswer{Finish: connector.FinishRefused}, "", "refused"},
		"not taken": {connector.LLMAnswer{Text: "not taken"}, "", "not taken"},
	} {
		d := &llmtest.Double{Says: func(context.Context, connector.LLMRequest) (connector.LLMAnswer, error) {
			if c.answer.Text == "not taken" {
				return connector.LLMAnswer{}, connector.Errorf(connector.ClassInvalid, "no")
			}
			return c.answer, nil
		}}
		s := openWith(t, Contextual(), &ContextualConfig{Of: &connector.Choice{Kind: "sentence", Config: &SentenceConfig{Sizing: Sizing{MaxTokens: 150}}}, ContextTokens: 30, DocumentTokens: 1000}, modelEnv(d))
		chunks, err := strategytest.Collect(s, strategytest.Input{Elements: strategytest.Prose(text)})
		if err != nil || len(chunks) < 2 {
			t.Fatalf("%s: %d chunks, %v", name, len(chunks), err)
		}
		for _, chunk := range chunks {
			want := c.context
			if want != "" {
				want += "\n"
			}
			if chunk.Context != want || chunk.Metadata["context_missing"] != c.missing {
				t.Errorf("%s: context %q, missing %v", name, chunk.Context, chunk.Metadata["context_missing"])
			}
		}
		if max := s.Info().Caps[0].Max; max != 150 {
			t.Errorf("%s: the cap is %d, want that of the strategy below", name, max)
		}
	}
}

// TestContextualShowsTheDocumentFirst: all chunks of a window are shown with the same words first, and a document of one chunk is not asked about.
func TestContextualShowsTheDocumentFirst(t *testing.T) {
	d := llmtest.Obliging()
	s := openWith(t, Contextual(), &ContextualConfig{ContextTokens: 100, DocumentTokens: 1500}, modelEnv(d))
	if _, err := strategytest.Collect(s, strategytest.Input{Elements: strategytest.Prose(numberedProse(150))}); err != nil {
		t.Fatal(err)
	}
	beginnings := map[string]int{}
	for _, r := range d.Asked() {
		document, _, _ := strings.Cut(r.User, "----- begin chunk ")
		beginnings[document]++
	}
	n := len(d.Asked())
	if n < 10 || len(beginnings) > n/2 {
		t.Errorf("%d questions with %d beginnings", n, len(beginnings))
	}
	if _, err := strategytest.Collect(s, strategytest.Input{Elements: strategytest.Prose("One short text.")}); err != nil || len(d.Asked()) != n {
		t.Errorf("%v, %d questions about one chunk", err, len(d.Asked())-n)
	}
}

func TestContextualAfterAnEdit(t *testing.T) {
	text := numberedProse(400)
	edited := strings.Replace(text, "Paragraph 200 tells", "Paragraph 200, as corrected, tells", 1)
	open := func(env connector.StrategyEnv) connector.Strategy {
		return openWith(t, Contextual(), &ContextualConfig{ContextTokens: 100, DocumentTokens: 1500}, env)
	}
	askedTwice(t, text, edited, open, 12)
	// What the document is shown by, 1,500 tokens at a time, holds some 14 chunks; a line on top may move the end of the first such part.
	askedTwice(t, text, "A new line stands at the top.\n\n"+text, open, 2*14)
}

// TestContextualKeepsAtomsWhole: what is over the smaller cap alone, and not over the whole one, is one chunk.
func TestContextualKeepsAtomsWhole(t *testing.T) {
	d := llmtest.Obliging()
	s := openWith(t, Contextual(), &ContextualConfig{Of: &connector.Choice{Kind: "recursive", Config: &RecursiveConfig{Sizing: Sizing{MaxChars: 300}}}, ContextTokens: 25, DocumentTokens: 500}, modelEnv(d))
	fence := "```\n" + strings.Repeat("a b c d e f g h i\n", 14) + "```\n"
	before, after := strings.Repeat("Words stand before it. ", 9)+"\n\n", "\n"+strings.Repeat("Words stand behind it. ", 9)+"\n"
	in := strategytest.Input{Elements: strategytest.Blocks(connector.Element{Kind: connector.KindText, Text: before},
		connector.Element{Kind: connector.KindCode, Text: fence, Atom: true}, connector.Element{Kind: connector.KindText, Text: after})}
	for _, err := range strategytest.Check(s, in) {
		t.Error(err)
	}
	chunks, err := strategytest.Collect(s, in)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, c := range chunks {
		found = found || strings.TrimSpace(c.Text) == strings.TrimSpace(fence) && !c.ForcedSplit
	}
	if !found {
		t.Errorf("the fence of %d characters, with a cap of 300, is in no chunk whole: %+v", len(fence), chunks)
	}
}
