package strategies

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/connector/strategytest"
)

func llmCut(t *testing.T, d *llmtest.Double, c LLMConfig, text string) []string {
	t.Helper()
	if c.WindowTokens == 0 {
		c.WindowTokens = 2000
	}
	s := openWith(t, LLM(), &c, modelEnv(d))
	chunks, err := strategytest.Collect(s, strategytest.Input{Elements: strategytest.Prose(text)})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range chunks {
		out = append(out, chunks[i].Text)
	}
	return out
}

// TestLLMBoundaries: answers as they come, and what is made of them.
func TestLLMBoundaries(t *testing.T) {
	sentences := []string{"One is first.", "Two is second.", "三在这里。", "Four follows.", "Five ends."}
	text := strings.Join(sentences, " ")
	whole := []string{text}
	for name, c := range map[string]struct {
		says  []string
		want  []string
		asked int
	}{
		"in order":       {[]string{`{"cut_after":[2,3]}`}, []string{"One is first. Two is second.", "三在这里。", "Four follows. Five ends."}, 1},
		"out of order":   {[]string{`{"cut_after":[3,2,3]}`}, []string{"One is first. Two is second.", "三在这里。", "Four follows. Five ends."}, 1},
		"out of range":   {[]string{`{"cut_after":[2,77]}`, `{"cut_after":[2]}`}, []string{"One is first. Two is second.", "三在这里。 Four follows. Five ends."}, 2},
		"always out":     {[]string{`{"cut_after":[0,77]}`}, whole, 2},
		"missing":        {[]string{`{}`}, whole, 2},
		"none":           {[]string{`{"cut_after":[]}`}, whole, 1},
		"nothing at all": {[]string{""}, whole, 2},
		"prose":          {[]string{"I'd cut {here}:\n{\"cut_after\":[4]}\nGood luck."}, []string{"One is first. Two is second. 三在这里。 Four follows.", "Five ends."}, 1},
		"prose alone":    {[]string{"split_after: 3, 5"}, whole, 2},
	} {
		d := llmtest.Texts(c.says...)
		if got := llmCut(t, d, LLMConfig{Sizing: Sizing{MaxTokens: 200}}, text); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if n := len(d.Asked()); n != c.asked {
			t.Errorf("%s: asked %d times, want %d", name, n, c.asked)
		}
	}
}

// TestLLMSizes: the caps and the minimum hold whatever the model says: nothing, or everything.
func TestLLMSizes(t *testing.T) {
	text := numberedProse(60)
	for name, answer := range map[string]string{"no cut": `{"cut_after":[]}`, "every cut": "", "refused": "no"} {
		d := llmtest.Texts(answer)
		if answer == "" {
			d = &llmtest.Double{Says: func(_ context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
				n := strings.Count(r.User, "\n[")
				list := make([]string, n)
				for i := range list {
					list[i] = strings.Repeat("1", 0) + itoa(i+1)
				}
				return connector.LLMAnswer{Text: `{"cut_after":[` + strings.Join(list, ",") + `]}`}, nil
			}}
		}
		got := llmCut(t, d, LLMConfig{Sizing: Sizing{MaxChars: 400, MinChars: 150}, WindowTokens: 500}, text)
		for i, c := range got {
			if n := len([]rune(c)); n > 400 || n < 150 {
				t.Errorf("%s: chunk %d of %d has %d characters, want 150 to 400: %q", name, i, len(got), n, c)
			}
		}
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// TestLLMAfterAnEdit: windows far from an edit are asked about with the same words.
func TestLLMAfterAnEdit(t *testing.T) {
	text := numberedProse(400)
	edited := strings.Replace(text, "Paragraph 200 tells", "Paragraph 200, as corrected, tells", 1)
	open := func(env connector.StrategyEnv) connector.Strategy {
		return openWith(t, LLM(), &LLMConfig{Sizing: Sizing{MinChars: 100}, WindowTokens: 1000}, env)
	}
	askedTwice(t, text, edited, open, 4)
	askedTwice(t, text, "A new line stands at the top.\n\n"+text, open, 4)
}

// TestLLMTitles: title and summary go into the metadata, those alone that were asked for, and never into the text.
func TestLLMTitles(t *testing.T) {
	d := llmtest.Obliging()
	for _, c := range []LLMConfig{{Title: true}, {Summary: true}, {Title: true, Summary: true}} {
		c.WindowTokens = 2000
		s := openWith(t, LLM(), &c, modelEnv(d))
		chunks, err := strategytest.Collect(s, strategytest.Input{Elements: strategytest.Prose(numberedProse(30))})
		if err != nil {
			t.Fatal(err)
		}
		for _, chunk := range chunks {
			title, summary := chunk.Metadata["title_generated"], chunk.Metadata["summary"]
			if (title != nil) != c.Title || (summary != nil) != c.Summary || chunk.Context != "" {
				t.Errorf("%+v: %v, %v", c, title, summary)
			}
		}
	}
}
