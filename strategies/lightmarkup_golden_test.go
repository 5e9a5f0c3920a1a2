package strategies

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/parsers/asciidoc"
	"github.com/kbsync/kbsync/parsers/org"
	"github.com/kbsync/kbsync/parsers/rst"
)

// TestLightMarkupGolden compares chunks with testdata/lightmarkup: each archive holds a document and the chunks that markdown, the default
// strategy for these formats, makes of it with a cap of 200 characters.
func TestLightMarkupGolden(t *testing.T) {
	plugins := map[string]connector.ParserPlugin{".rst": rst.Plugin(), ".adoc": asciidoc.Plugin(), ".org": org.Plugin()}
	files, err := filepath.Glob("testdata/lightmarkup/*.txtar")
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
			md := markdownDefaults()
			md.Sizing = Sizing{MaxChars: 200, MinChars: 20}
			got := showChunks(lawful(t, mustOpen(t, Markdown(), &md), parsedBy(t, plugins[filepath.Ext(in.Name)], in.Name, string(in.Data))))
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
