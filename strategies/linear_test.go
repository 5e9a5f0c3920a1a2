package strategies

import (
	"context"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	dialogueparser "github.com/kbsync/kbsync/parsers/dialogue"
	"github.com/kbsync/kbsync/parsers/latex"
	"github.com/kbsync/kbsync/parsers/markdown"
	"github.com/kbsync/kbsync/parsers/text"
)

// TestModelFreeStrategiesAreLinear: whatever a text is made of, four times as much of it costs about four times the work (bytes that are counted, and ranges)
// and gives about four times the chunks; the work is a bounded multiple of the text.
func TestModelFreeStrategiesAreLinear(t *testing.T) {
	plain, md := text.Plugin(), markdown.Plugin()
	worst := 0
	cases := []struct {
		plugin connector.StrategyPlugin
		parser connector.ParserPlugin
		path   string
	}{
		{Fixed(), plain, "x.txt"}, {Recursive(), plain, "x.txt"}, {Sentence(), plain, "x.txt"}, {Paragraph(), plain, "x.txt"}, {Adaptive(), plain, "x.txt"},
		{Auto(), plain, "x.txt"}, {Auto(), md, "x.md"}, {Sliding(), plain, "x.txt"}, {Markdown(), md, "x.md"}, {HTML(), md, "x.md"}, {Layout(), md, "x.md"},
		{Latex(), latex.Plugin(), "x.tex"}, {Dialogue(), dialogueparser.Plugin(), "x.txt"}, {ParentChild(), md, "x.md"}, {Hierarchical(), md, "x.md"},
	}
	for name, piece := range map[string]string{
		"one word": "x", "rare Han": "龘靐齉爩", "one Han": "中", "families": "👩‍👩‍👧‍👦", "marks": "a\u0301\u0301\u0301", "line ends": "\n", "blank lines": "a\n\n", "dots": ".", "quotes": "> ",
		"brackets": "([{", "sentences": "A few words here. ", "中文": "一句话，说得很短。", "rows": "| a | b |\n", "fences": "```\n", "headings": "# A\n", "items": "- i\n  - j\n", "turns": "Ann: yes\nBob: no\n",
		"commands": "\\section{A}", "math": "$x$", "open braces": "\\a{", "addresses": "http://example.com/a?b=",
	} {
		for _, c := range cases {
			b1, c1 := workOf(t, c.plugin, c.parser, c.path, piece, 16_000)
			b4, c4 := workOf(t, c.plugin, c.parser, c.path, piece, 64_000)
			worst = max(worst, b4/64_000)
			if b4 > 6*b1+700_000 || c4 > 6*c1+8 || b4 > 40*64_000 { // windows of a fixed size are not full at first
				t.Errorf("%s of %s: the work grows from %d to %d, the chunks from %d to %d", name, c.plugin.Kind, b1, b4, c1, c4)
			}
		}
	}
	t.Logf("at most %d for each byte", worst)
}

// callsOf counts like worked, but for ranges of a measured text, which take a ruler about the same time however long they are.
type callsOf struct{ worked }

func (c callsOf) Ruler(text string) connector.Ruler {
	*c.bytes += len(text)
	return callsOfRuler{workedRuler{c.Counter.Ruler(text), c.bytes}}
}

type callsOfRuler struct{ workedRuler }

func (r callsOfRuler) Count(i, j int) int {
	*r.bytes += 8
	return r.Ruler.Count(i, j)
}

// workOf cuts n bytes of a repeated piece and counts.
func workOf(t *testing.T, plugin connector.StrategyPlugin, parser connector.ParserPlugin, path, piece string, n int) (bytes, chunks int) {
	t.Helper()
	e := strategytest.Env()
	inner := e.Counter
	e.Counter = func(name string) (connector.Counter, error) {
		c, err := inner(name)
		return callsOf{worked{c, &bytes}}, err
	}
	e.Strategy = func(ctx context.Context, c connector.Choice) (connector.Strategy, error) {
		for _, p := range []connector.StrategyPlugin{Fixed(), Recursive(), Sentence(), Paragraph(), Markdown(), Whole(), Table(), Code(), Dialogue(), Layout(), Adaptive(), HTML(), ParentChild(), Latex(), API()} {
			if p.Kind == c.Kind {
				if c.Config == nil {
					c.Config = p.Config()
				}
				return p.Open(ctx, c.Config, e)
			}
		}
		return nil, connector.Errorf(connector.ClassUnsupported, "no strategy %s", c.Kind)
	}
	s, err := plugin.Open(t.Context(), plugin.Config(), e)
	if err != nil {
		t.Fatal(err)
	}
	els := parsedBy(t, parser, path, strings.Repeat(piece, n/len(piece)))
	got, err := strategytest.Collect(s, strategytest.Input{Elements: els})
	if err != nil {
		t.Fatal(err)
	}
	return bytes, len(got)
}
