package apidoc

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

var update = flag.Bool("update", false, "rewrite golden files")

// parse reads text and checks what holds for all elements.
func parse(tb testing.TB, name, text string) []connector.Element {
	tb.Helper()
	els, err := parsertest.Collect(context.Background(), New(), name, strings.NewReader(text))
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	if err := parsertest.CheckElements(els); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return els
}

// dump shows elements: kind, name, path, and the first line of the header and of the text.
func dump(b *strings.Builder, el *connector.Element, indent string) {
	line, _, more := strings.Cut(el.Text, "\n")
	if line == "" || strings.HasPrefix(line, " ") && strings.TrimSpace(line) == "" {
		line, more = "", true
	}
	if el.Symbol == nil {
		fmt.Fprintf(b, "%s%s: %s\n", indent, el.Kind, line)
		return
	}
	at := func(s connector.Span) string { return el.Text[s.Start-el.Span.Start : s.End-el.Span.Start] }
	fmt.Fprintf(b, "%s%s %q in %q", indent, el.Symbol.Kind, el.Symbol.Name, el.Symbol.Path)
	if el.Symbol.Header.Len() > 0 {
		fmt.Fprintf(b, " header %q", at(el.Symbol.Header))
	}
	if el.Symbol.Doc.Len() > 0 {
		fmt.Fprintf(b, " doc %q", at(el.Symbol.Doc))
	}
	fmt.Fprintf(b, "\n%s  | %s", indent, line)
	if more {
		b.WriteString(" …")
	}
	b.WriteString("\n")
	for i := range el.Children {
		dump(b, &el.Children[i], indent+"    ")
	}
}

func dumpAll(els []connector.Element) string {
	var b strings.Builder
	for i := range els {
		dump(&b, &els[i], "")
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, in := a.Files[0].Name, string(a.Files[0].Data)
		if err := Check(name, in); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		got := dumpAll(parse(t, name, in))
		if *update {
			a.Files = append(a.Files[:1], txtar.File{Name: "elements", Data: []byte(got)})
			if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if len(a.Files) < 2 || got != string(a.Files[1].Data) {
			t.Errorf("%s: run with -update after a look at\n%s", file, got)
		}
	}
}
