package strategies

import (
	"context"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/connector/strategytest"
)

// TestPropositions: a passage is stored once, before its facts, which name it; each way in which there is no answer leaves it as it is.
func TestPropositions(t *testing.T) {
	text := "Ada Lovelace met Babbage in 1833. Ten years later she wrote the first program."
	for name, c := range map[string]struct {
		answer connector.LLMAnswer
		err    error
		facts  []string
		kept   string
		asked  int
	}{
		"good":      {connector.LLMAnswer{Text: `{"propositions":["Ada Lovelace met Babbage in 1833.","Ada Lovelace wrote the first program in 1843."]}`}, nil, []string{"Ada Lovelace met Babbage in 1833.", "Ada Lovelace wrote the first program in 1843."}, "", 1},
		"prose":     {connector.LLMAnswer{Text: "Of course!\n```json\n{\"propositions\":[\"Ada met Babbage.\"]}\n```\nAnything {else}?"}, nil, []string{"Ada met Babbage."}, "", 1},
		"nothing":   {connector.LLMAnswer{}, nil, nil, "no usable answer", 2},
		"no facts":  {connector.LLMAnswer{Text: `{"propositions":[]}`}, nil, nil, "no usable answer", 2},
		"refused":   {connector.LLMAnswer{Finish: connector.FinishRefused}, nil, nil, "refused", 1},
		"cut off":   {connector.LLMAnswer{Text: `{"propositions":["Ada`, Finish: connector.FinishLength}, nil, nil, "cut off", 2},
		"not taken": {connector.LLMAnswer{}, connector.Errorf(connector.ClassTooLarge, "too long"), nil, "not taken", 1},
		"too long":  {connector.LLMAnswer{Text: `{"propositions":["Ada.","` + strings.Repeat("word ", 150) + `"]}`}, nil, nil, "a fact over the cap", 1},
		"1 MB":      {connector.LLMAnswer{Text: `{"propositions":["` + strings.Repeat("w ", 1<<19) + `"]}`}, nil, nil, "no usable answer", 2},
	} {
		d := &llmtest.Double{Says: func(context.Context, connector.LLMRequest) (connector.LLMAnswer, error) { return c.answer, c.err }}
		s := openWith(t, Propositions(), &PropositionsConfig{Of: &connector.Choice{Kind: "sentence", Config: &SentenceConfig{Sizing: Sizing{MaxTokens: 100}}}}, modelEnv(d))
		chunks, err := strategytest.Collect(s, strategytest.Input{Elements: strategytest.Prose(text)})
		if err != nil || len(chunks) != 1+len(c.facts) {
			t.Fatalf("%s: %d chunks, %v", name, len(chunks), err)
		}
		passage := chunks[0]
		if passage.Text != text || passage.StoreOnly != (len(c.facts) > 0) || passage.Metadata["kept_whole"] != map[bool]any{true: nil, false: c.kept}[c.kept == ""] {
			t.Errorf("%s: %+v", name, passage)
		}
		for i, want := range c.facts {
			f := chunks[i+1]
			if f.Text != want || !f.Generated || f.StoreOnly || f.ParentKey == "" || f.ParentKey != passage.Key || f.Spans[0] != passage.Spans[0] {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if n := len(d.Asked()); n != c.asked {
			t.Errorf("%s: asked %d times, want %d", name, n, c.asked)
		}
	}
}

// TestPropositionsAfterAnEdit: what is asked again after an edit is what stands near it.
func TestPropositionsAfterAnEdit(t *testing.T) {
	text := numberedProse(200)
	edited := strings.Replace(text, "Paragraph 100 tells", "Paragraph 100, as corrected, tells", 1)
	s := openWith(t, Propositions(), &PropositionsConfig{}, modelEnv(askedTwice(t, text, edited, func(env connector.StrategyEnv) connector.Strategy {
		return openWith(t, Propositions(), &PropositionsConfig{}, env)
	}, 6)))
	info := s.Info()
	if len(info.Models) != 1 || !strings.HasSuffix(info.Models[0], " propositions/1") || !strings.HasPrefix(info.Models[0], "double/") {
		t.Errorf("models %q", info.Models)
	}
}

// askedTwice cuts two versions of a document and fails where the second asks more than most new questions.
func askedTwice(t *testing.T, before, after string, open func(connector.StrategyEnv) connector.Strategy, most int) *llmtest.Double {
	t.Helper()
	d := llmtest.Obliging()
	s := open(modelEnv(d))
	seen := map[string]bool{}
	count := func(text string) (fresh int) {
		from := len(d.Asked())
		if _, err := strategytest.Collect(s, strategytest.Input{Elements: strategytest.Prose(text)}); err != nil {
			t.Fatal(err)
		}
		for _, r := range d.Asked()[from:] {
			if !seen[r.User] {
				seen[r.User] = true
				fresh++
			}
		}
		return fresh
	}
	first := count(before)
	if again := count(before); again != 0 {
		t.Errorf("the same document asked %d new questions", again)
	}
	second := count(after)
	t.Logf("%d questions, %d after the edit", first, second)
	if second == 0 || second > most {
		t.Errorf("%d questions after an edit (%d at first), want 1 to %d", second, first, most)
	}
	return d
}
