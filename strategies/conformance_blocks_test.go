package strategies

import (
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
)

// structured are the strategies for structure, in several sizes.
func structured(tb testing.TB) map[string]connector.Strategy {
	tb.Helper()
	out := map[string]connector.Strategy{}
	for size, sizing := range map[string]Sizing{
		"default": {MinChars: 20}, "100 chars": {MaxChars: 100, MinChars: 20}, "40 tokens": {MaxTokens: 40, MinChars: 20},
		"overlap": {MaxChars: 300, Overlap: Amount{N: 60}}, "8 chars": {MaxChars: 8},
	} {
		md := markdownDefaults()
		md.Sizing = sizing
		out["markdown, "+size] = mustOpen(tb, Markdown(), &md)
		out["html, "+size] = mustOpen(tb, HTML(), &md)
		headless := md
		headless.Heading = "out"
		out["markdown out, "+size] = mustOpen(tb, Markdown(), &headless)
		out["code, "+size] = mustOpen(tb, Code(), &CodeConfig{Sizing: sizing})
		for _, mode := range []string{"rows", "markdown", "html", "json"} {
			table := tableDefaults()
			table.Sizing, table.Mode = sizing, mode
			out["table "+mode+", "+size] = mustOpen(tb, Table(), &table)
		}
	}
	return out
}

func TestStructuredLaws(t *testing.T) {
	for name, s := range structured(t) {
		t.Run(name, func(t *testing.T) { strategytest.Run(t, s) })
	}
}
