package strategies

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
)

// TestSemanticGolden compares the chunks of an English and a Chinese text with testdata/semantic-*.txtar; KBSYNC_UPDATE=1 writes them anew.
func TestSemanticGolden(t *testing.T) {
	small := Sizing{MaxChars: 240, MinChars: 20}
	for _, c := range []struct {
		name   string
		plugin connector.StrategyPlugin
		config any
	}{
		{"semantic-percentile", Semantic(), &SemanticConfig{Sizing: small, Buffer: 1, Amount: 85}},
		{"semantic-enhanced", Semantic(), &SemanticConfig{Sizing: small, Breakpoint: breakEnhanced, Buffer: 1}},
		{"cluster-dynamic", Cluster(), &ClusterConfig{Sizing: small, Piece: 60, Method: clusterDynamic}},
		{"cluster-agglomerative", Cluster(), &ClusterConfig{Sizing: small, Piece: 60, Method: clusterAgglomerative}},
		{"late", Late(), &LateConfig{Of: &connector.Choice{Kind: "sentence", Config: &SentenceConfig{Sizing: small}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join("testdata", c.name+".txtar")
			want := &txtar.Archive{Comment: []byte(c.name + " over the two texts of testdata/semantic.txtar\n")}
			texts, err := txtar.ParseFile(filepath.Join("testdata", "semantic.txtar"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range texts.Files {
				var b strings.Builder
				for _, chunk := range chunksOf(t, openHashed(t, c.plugin, c.config), textElements(string(f.Data))) {
					fmt.Fprintf(&b, "[%d, %d)", chunk.Spans[0].Start, chunk.Spans[len(chunk.Spans)-1].End)
					if chunk.Late {
						b.WriteString(" late")
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
