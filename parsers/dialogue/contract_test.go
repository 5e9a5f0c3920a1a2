package dialogue

import (
	"context"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

func TestContract(t *testing.T) {
	cases := []parsertest.Case{
		{Name: "lines", Input: "sentinelzero\n\nAnn: sentinelone\nmore\n\n张三：sentineltwo\n[12:30] Bob: sentinelthree\n", Sentinels: []string{"sentinelzero", "sentinelone", "sentineltwo", "sentinelthree"}},
		{Name: "webvtt", Input: "WEBVTT sentinelhead\n\nNOTE sentinelnote\nmore sentinelnotes\n\nSTYLE\n::cue { color: sentinelstyle }\n\nsentinelid\n00:01.000 --> 00:02.000 align:sentinelset\n<v.loud sentinelvoice>- sentinelone <i>two</i>\nand <c.sentinelclass>three</c>\n\n00:01.500 --> 00:03.000\n\nsentinelorphan\n", Sentinels: []string{"sentinelhead", "sentinelnote", "sentinelnotes", "sentinelstyle", "sentinelid", "sentinelset", "sentinelvoice", "sentinelone", "sentinelclass", "sentinelorphan"}},
		{Name: "srt", Input: "1\n00:00:01,000 --> 00:00:02,000\nsentinelone\n\n00:00:02,000 --> 00:00:03,000\nsentineltwo\n3\n00:00:04,000 --> 00:00:05,000\n{\\an8}<font color=\"sentinelred\">x</font> sentinelthree <3\n", Sentinels: []string{"sentinelone", "sentineltwo", "sentinelred", "sentinelthree", "<3"}},
		{Name: "jsonl", Input: "{\"role\":\"user\",\"content\":\"sentinelone\",\"id\":\"sentinelid\"}\nsentineltwo\n{\"messages\":[{\"role\":\"a\",\"content\":[{\"type\":\"text\",\"text\":\"sentinelthree\"}]}],\"title\":\"the sentinelfour\"}\n", Sentinels: []string{"sentinelone", "sentinelid", "sentineltwo", "sentinelthree", "sentinelfour"}},
		{Name: "json", Input: `[{"messages": [{"message": "sentinelone", "attrs": [{"x": "the sentineltwo"}]}], "name": "sentinelthree", "odd": {"a": "sentinelfour"}}, "sentinelfive", {"text": "sentinelsix"}] sentinelseven`, Sentinels: []string{"sentinelone", "sentineltwo", "sentinelthree", "sentinelfour", "sentinelfive", "sentinelsix", "sentinelseven"}},
	}
	for _, format := range []string{"auto", "lines", "webvtt", "srt", "jsonl", "json"} {
		t.Run(format, func(t *testing.T) {
			parsertest.Run(t, func() connector.Parser { return open(t, format) }, cases)
		})
	}
}

func open(tb testing.TB, format string) connector.Parser {
	tb.Helper()
	p, err := Plugin().Open(context.Background(), &Config{Format: format}, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// show writes what matters of the elements, one a line.
func show(tb testing.TB, p connector.Parser, name, input string) string {
	tb.Helper()
	els, err := parsertest.Collect(context.Background(), p, name, strings.NewReader(input))
	if err != nil {
		tb.Fatal(err)
	}
	if err := parsertest.CheckElements(els); err != nil {
		tb.Error(err)
	}
	var b strings.Builder
	for i := range els {
		el := &els[i]
		b.WriteString(string(el.Kind))
		if el.Kind == connector.KindDropped {
			b.WriteString(" (" + string(el.Reason) + ")")
		}
		if el.Table != nil {
			b.WriteString(" [" + strings.Join(el.Table.Rows[0].Cells, "|") + "]")
		}
		b.WriteString(" " + strings.ReplaceAll(el.Text, "\n", "⏎") + "\n")
	}
	return b.String()
}
