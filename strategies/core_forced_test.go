package strategies

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
)

// TestForcedCuts holds small texts, each of which was once cut against a law, to the laws at several sizes.
func TestForcedCuts(t *testing.T) {
	url := "https://example.com/a/b-c/" + strings.Repeat("f00d-", 4) + "#L564-L602"
	record := func(text string) connector.Element {
		return connector.Element{Kind: connector.KindRecord, Text: text, Table: &connector.Table{Header: [][]string{{"a", "b"}}, Rows: []connector.Row{{Cells: []string{"x", "y"}}}}}
	}
	inputs := map[string][]connector.Element{
		"marks that are clusters inside a word": strategytest.Prose(strings.Repeat("ᨾᩣᨯᩨᨠᩮ᩠ᨿᩉᩖᩣ᩠ᨦᩢ", 30)),
		"full-width marks in numbers":           strategytest.Prose(strings.Repeat("获得5，500元；在2004，2007年；第3；4页；A．Ｌ先生", 20)),
		"word and number before Han":            strategytest.Prose("\"Stam1na是芬兰南卡累利阿区莱米的一支本土金属乐团成立于一九九六年\"" + strings.Repeat("好", 200)),
		"joined emoji over the cap":             strategytest.Prose("a " + strings.Repeat("👩‍❤️‍💋‍👨", 40) + " b"),
		"address behind a word":                 strategytest.Prose("visité" + url + " fin, visité" + strings.Repeat("x", 60) + url + " fin"),
		"address in marks":                      strategytest.Prose(strings.Repeat("[text", 9) + "](" + url + ")). And more (see foo://bar|" + url + ")."),
		"address below a long path": strategytest.Blocks(strategytest.Heading(1, "A chapter with a long title"), strategytest.Heading(2, "A section with a longer title"),
			connector.Element{Kind: connector.KindText, Text: strings.Repeat("Some words before it, and a few more. ", 9) + "[" + url + "](" + url + ") after.\n"}),
		"records": strategytest.Blocks(record("[{\"a\": \""+strings.Repeat("some text. ", 60)+"\", \"b\": 1},\n   "), record("{\"a\": \"short\"}]\n")),
		"closing fence": strategytest.Blocks(connector.Element{Kind: connector.KindCode, Atom: true,
			Text: "````````````````\n" + strings.Repeat("<p><a href=\"/url\" title=\"the title\">foo</a></p>\n", 8) + "````````````````\n"}),
		"indented code": strategytest.Blocks(connector.Element{Kind: connector.KindCode, Atom: true,
			Text: strings.Repeat(" ", 33) + "Apache License\n" + strings.Repeat(" ", 27) + "Version 2.0, January 2004\n\n"}, connector.Element{Kind: connector.KindText, Text: "End.\n"}),
	}
	for name, els := range inputs {
		for i := range els {
			if els[i].Kind == connector.KindRecord {
				els[i].Table.Rows[0].Span = els[i].Span
			}
		}
		for _, size := range []Sizing{
			{MaxTokens: 8}, {MaxTokens: 30, MinChars: 20}, {MaxTokens: 40, Overlap: Amount{N: 20, Percent: true}}, {MaxChars: 80, MinChars: 20}, {MaxTokens: 200},
		} {
			md, tab := markdownDefaults(), tableDefaults()
			md.Sizing, tab.Sizing = size, size
			tab.Mode = "json"
			for _, s := range []connector.Strategy{
				mustOpen(t, Recursive(), &RecursiveConfig{Sizing: size}), mustOpen(t, Sentence(), &SentenceConfig{Sizing: size}),
				mustOpen(t, Paragraph(), &ParagraphConfig{Sizing: size}), mustOpen(t, Markdown(), &md),
				mustOpen(t, Code(), &CodeConfig{Sizing: size}), mustOpen(t, Table(), &tab),
			} {
				for _, err := range strategytest.Check(s, strategytest.Input{Name: name, Elements: els}) {
					t.Errorf("%s, %s, %+v: %v", name, s.Info().Name, size, err)
				}
			}
		}
	}
}

// TestTokensBroughtAlong: where a strategy measured a chunk it says so, below a breadcrumb too.
func TestTokensBroughtAlong(t *testing.T) {
	text := "# Title\n\n## Section\n\n" + strings.Repeat("A sentence of some words. 一句中文。\n\n", 60)
	n := 0
	for _, c := range mdChunks(t, text, func(c *MarkdownConfig) { c.MaxTokens = 60 }) {
		if c.TokenUnit == "cl100k" && c.Tokens > 0 && c.Context != "" {
			n++
		}
	}
	if n < 10 {
		t.Errorf("%d chunks with a context bring their count", n)
	}
}
