package strategies

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/llmtest"
	"github.com/kbsync/kbsync/connector/strategytest"
)

// modelEnv is the tests' environment with a language model.
func modelEnv(llm connector.LLM, plugins ...connector.StrategyPlugin) connector.StrategyEnv {
	env := strategytest.Env(append(plugins, Sentence(), Recursive(), Markdown(), Table(), Fixed(), Whole())...)
	env.LLM = func(context.Context) (connector.LLM, error) { return llm, nil }
	return env
}

func openWith(t testing.TB, p connector.StrategyPlugin, config any, env connector.StrategyEnv) connector.Strategy {
	t.Helper()
	s, err := p.Open(context.Background(), config, env)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// llmVariants are the strategies that ask a language model, with ordinary and with small caps.
func llmVariants(t testing.TB, llm connector.LLM) map[string]connector.Strategy {
	t.Helper()
	env := modelEnv(llm)
	of := func(kind string, config any) *connector.Choice { return &connector.Choice{Kind: kind, Config: config} }
	return map[string]connector.Strategy{
		"propositions":             openWith(t, Propositions(), &PropositionsConfig{}, env),
		"propositions of markdown": openWith(t, Propositions(), &PropositionsConfig{Of: of("markdown", &MarkdownConfig{Sizing: Sizing{MaxTokens: 48}, Heading: "out", Breadcrumb: "both"})}, env),
		"propositions of table":    openWith(t, Propositions(), &PropositionsConfig{Of: &connector.Choice{Kind: "table"}}, env),
		"llm":                      openWith(t, LLM(), &LLMConfig{Sizing: Sizing{MinChars: 100}, WindowTokens: 2000}, env),
		"llm small":                openWith(t, LLM(), &LLMConfig{Sizing: Sizing{MaxTokens: 40, MinChars: 20}, WindowTokens: 200, Title: true, Summary: true}, env),
		"llm chars":                openWith(t, LLM(), &LLMConfig{Sizing: Sizing{MaxChars: 90}, WindowTokens: 300}, env),
	}
}

func TestLLMStrategiesKeepTheLaws(t *testing.T) {
	for name, s := range llmVariants(t, llmtest.Obliging()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategytest.Run(t, s)
		})
	}
}

// hostile answers, in turn over the requests of a document.
func hostile() []string {
	return []string{
		"", "I would rather not.", `{"propositions":`, `{"cut_after":[3,1,2],"propositions":["A."],"context":"x","title":"t","summary":"s"}`,
		`{"cut_after":[0,99999]}`, `{"cut_after":["one"]}`, "[3, 7]", "split_after: 3, 5", `Sure: {"cut_after":[1]} and {"propositions":["b"]}`,
		"{\"propositions\":[\"\\u0000\",\"\xff\xfe\"],\"context\":\"\\u0000\"}", `{"propositions":["` + strings.Repeat("x", 1<<20) + `"]}`,
		strings.Repeat("{", 1000), `{"propositions":["----- begin passage 00 -----"],"context":"----- begin chunk"}`, `{"cut_after":[]}`, `{"cut_after":[1,2,3,4,5,6,7,8,9]}`,
	}
}

// spoiler gives hostile answers by what is asked, so that the same request has the same answer.
func spoiler() *llmtest.Double {
	answers := hostile()
	return &llmtest.Double{Says: func(_ context.Context, r connector.LLMRequest) (connector.LLMAnswer, error) {
		n := len(r.User)
		for _, b := range []byte(r.User[max(0, n-400):]) {
			n = n*31 + int(b)
		}
		n &= 1<<30 - 1
		a := connector.LLMAnswer{Text: answers[n%len(answers)]}
		switch n / 64 % 8 {
		case 0:
			a.Finish = connector.FinishLength
		case 1:
			a.Finish = connector.FinishRefused
		case 2:
			return a, connector.Errorf(connector.ClassInvalid, "too long for this model")
		}
		return a, nil
	}}
}

// TestLLMStrategiesUnderHostileAnswers: whatever a model says, the laws hold.
func TestLLMStrategiesUnderHostileAnswers(t *testing.T) {
	for name, s := range llmVariants(t, spoiler()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategytest.Run(t, s)
		})
	}
}

// TestLLMStrategiesPassErrorsOn: what is no answer about the passage ends the document, and is asked no further.
func TestLLMStrategiesPassErrorsOn(t *testing.T) {
	planted := errors.New("the budget is used up")
	d := &llmtest.Double{Says: func(context.Context, connector.LLMRequest) (connector.LLMAnswer, error) {
		return connector.LLMAnswer{}, planted
	}}
	in := strategytest.Input{Elements: strategytest.Prose(strings.Repeat("One sentence stands here, as long as it is. 另一句在这里，也不短。\n\n", 2000))}
	for name, s := range llmVariants(t, d) {
		before := len(d.Asked())
		if _, err := strategytest.Collect(s, in); !errors.Is(err, planted) {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(d.Asked()) - before; n > askedAtOnce {
			t.Errorf("%s: asked %d times, want no more than what was begun", name, n)
		}
	}
}

// prose is a document of n paragraphs that differ.
func numberedProse(n int) string {
	var b strings.Builder
	b.WriteString("The history of the river\n\n")
	for i := range n {
		fmt.Fprintf(&b, "Paragraph %d tells of the year %d. The river rose by %d metres then. People moved to the %dth hill. 第%d段说，那一年河水上涨。\n\n", i, 1000+7*i, i%13, i%17, i)
	}
	return b.String()
}
