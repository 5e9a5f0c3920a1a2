package xlsx

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/shareddata"
)

func fresh(tb testing.TB, c Config) connector.Parser {
	tb.Helper()
	p, err := Plugin().Open(context.Background(), &c, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// Every real workbook keeps the contract.
func TestFixtures(t *testing.T) {
	dir := filepath.Join(shareddata.Dir(t), "fixtures")
	names, _ := filepath.Glob(dir + "/docling/xlsx/sources/*.xls?")
	more, _ := filepath.Glob(dir + "/unstructured/*.xlsx")
	if names = append(names, more...); len(names) < 14 {
		t.Fatalf("only %d workbooks", len(names))
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := parsertest.CheckAll(fresh(t, defaults()), name, string(data)); err != nil {
				t.Error(err)
			}
			els, _ := parsertest.Collect(context.Background(), fresh(t, defaults()), name, strings.NewReader(string(data)))
			if os.Getenv("DUMP") != "" {
				for _, e := range els {
					head := 0
					if e.Table != nil {
						head = len(e.Table.Header)
					}
					t.Logf("%s L%d cap=%q head=%d props=%v\n%.500s", e.Kind, e.Level, e.Title, head, e.Properties, e.Text)
				}
			}
		})
	}
}
