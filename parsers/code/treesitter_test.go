//go:build cgo

package code

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
)

// dumpNodes shows a tree, for those who write rules: KBSYNC_DUMP=file go test -run TestDumpNodes -v
func TestDumpNodes(t *testing.T) {
	file := os.Getenv("KBSYNC_DUMP")
	if file == "" {
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := newEngine().grammars[LanguageOf(file, data)]().parse(context.Background(), string(data))
	if err != nil {
		t.Fatal(err)
	}
	var open []int
	for i, n := range tr.nodes {
		for len(open) > 0 && open[len(open)-1] <= i {
			open = open[:len(open)-1]
		}
		open = append(open, n.next)
		if n.named {
			fmt.Printf("%s%s:%s %.40q\n", strings.Repeat("  ", len(open)), n.field, n.kind, tr.text[n.start:n.end])
		}
	}
}
