package delimited_test

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return open(t, nil) }, []parsertest.Case{
		{Name: "quoted", Path: "a.csv", Input: "id,sentinelone\n1,\"sentineltwo\nsentinelthree\"\n2,x\n", Sentinels: []string{"sentinelone", "sentineltwo", "sentinelthree"}},
		{Name: "titles", Path: "a.csv", Input: "sentinelone\n\na;b\n1;sentineltwo\n2;3\n", Sentinels: []string{"sentinelone", "sentineltwo"}},
		{Name: "old line ends", Path: "a.tsv", Input: "a\tb\r1\tsentinelone\r", Sentinels: []string{"sentinelone"}},
		{Name: "unclosed", Path: "a.csv", Input: "a,b\n1,\"sentinelone\n2,sentineltwo\n", Sentinels: []string{"sentinelone", "sentineltwo"}},
		{Name: "many", Path: "a.csv", Input: "id,text\n" + strings.Repeat("1,\"two\nlines\"\n", 6000) + "2,sentinelone\n", Sentinels: []string{"sentinelone"}},
	})
}
