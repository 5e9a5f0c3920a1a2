package jsondoc_test

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

func TestContract(t *testing.T) {
	cases := []parsertest.Case{
		{Name: "lines", Input: "{\"a\":\"sentinelone\"}\n\nsentineltwo\n[\"sentinelthree\"]\n", Sentinels: []string{"sentinelone", "sentineltwo", "sentinelthree"}},
		{Name: "document", Input: "{\"a\": [{\"b\": \"sentinelone\"}],\n \"sentineltwo\": {}}\n", Sentinels: []string{"sentinelone", "sentineltwo"}},
		{Name: "broken", Input: "{\"a\": \"sentinelone\"", Sentinels: []string{"sentinelone"}},
		{Name: "many", Input: "[" + strings.Repeat("{\"a\": 1}, ", 3000) + "\"sentinelone\"]", Sentinels: []string{"sentinelone"}},
	}
	for _, kind := range []string{"json", "jsonl"} {
		t.Run(kind, func(t *testing.T) {
			parsertest.Run(t, func() connector.Parser { return open(t, kind) }, cases)
		})
	}
}
