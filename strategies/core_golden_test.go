package strategies

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
)

func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true" || os.Getenv("KBSYNC_UPDATE") == "1"
}

// TestTextGolden compares the chunks of an English and a Chinese text with testdata/text-*.txtar; KBSYNC_UPDATE=1 writes them anew.
func TestTextGolden(t *testing.T) {
	small := Sizing{MaxChars: 120, MinChars: 20, Overlap: Amount{N: 30}}
	for _, c := range []struct {
		name   string
		plugin connector.StrategyPlugin
		config any
	}{
		{"recursive", Recursive(), &RecursiveConfig{Sizing: small}},
		{"recursive-tokens", Recursive(), &RecursiveConfig{Sizing: Sizing{MaxTokens: 40, MinChars: 20}}},
		{"recursive-langchain", Recursive(), &RecursiveConfig{Sizing: small, Compat: "langchain"}},
		{"sentence", Sentence(), &SentenceConfig{Sizing: small, OverlapSentences: 1}},
		{"paragraph", Paragraph(), &ParagraphConfig{Sizing: Sizing{MaxChars: 120, MinChars: 20}}},
		{"fixed", Fixed(), &FixedConfig{Sizing: small}},
		{"whole", Whole(), &WholeConfig{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join("testdata", "text-"+c.name+".txtar")
			want := &txtar.Archive{Comment: []byte(c.name + " over the two texts of testdata/text.txtar\n")}
			texts, err := txtar.ParseFile(filepath.Join("testdata", "text.txtar"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range texts.Files {
				var b strings.Builder
				for _, chunk := range chunksOf(t, mustOpen(t, c.plugin, c.config), textElements(string(f.Data))) {
					fmt.Fprintf(&b, "[%d, %d)", chunk.Spans[0].Start, chunk.Spans[len(chunk.Spans)-1].End)
					if chunk.ForcedSplit {
						b.WriteString(" forced")
					}
					fmt.Fprintf(&b, "\n    %s\n", strings.ReplaceAll(chunk.Text, "\n", "\n    "))
				}
				want.Files = append(want.Files, txtar.File{Name: f.Name, Data: []byte(b.String())})
			}
			got := txtar.Format(want)
			if updating() {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			old, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(old) != string(got) {
				t.Errorf("%s differs (KBSYNC_UPDATE=1 writes it anew):\n%s", path, got)
			}
		})
	}
}
