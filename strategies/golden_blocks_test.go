package strategies

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/parsers/delimited"
	"github.com/kbsync/kbsync/parsers/html"
)

var _ = flag.Bool("update", false, "write golden files anew")

// TestStructuredGolden compares chunks with testdata/structured: each archive holds a document, whose name tells the
// strategy, and the chunks that a cap of 200 characters makes of it.
func TestStructuredGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/structured/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil || len(ar.Files) == 0 {
				t.Fatal(err)
			}
			in := ar.Files[0]
			got := showChunks(goldenChunks(t, in.Name, string(in.Data)))
			if updating() {
				ar.Files = append(ar.Files[:1], txtar.File{Name: "chunks", Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(ar.Files) < 2 || got != string(ar.Files[1].Data) {
				t.Errorf("run with -update after a look at\n%s", got)
			}
		})
	}
}

func goldenChunks(t *testing.T, name, text string) []connector.Chunk {
	t.Helper()
	sizing := Sizing{MaxChars: 200, MinChars: 20}
	md := markdownDefaults()
	md.Sizing = sizing
	switch ext := filepath.Ext(name); ext {
	case ".md":
		return lawful(t, mustOpen(t, Markdown(), &md), markdownElements(t, text))
	case ".html":
		return lawful(t, mustOpen(t, HTML(), &md), parsedBy(t, html.Plugin(), name, text))
	case ".csv":
		table := tableDefaults()
		table.Sizing, table.Mode = sizing, strings.TrimSuffix(name, ext)
		return lawful(t, mustOpen(t, Table(), &table), parsedBy(t, delimited.Plugin(), name, text))
	}
	return lawful(t, mustOpen(t, Code(), &CodeConfig{Sizing: sizing}), codeElements(t, name, text))
}
