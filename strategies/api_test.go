package strategies

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/parsers/apidoc"
)

// apiElements parses a description of an interface.
func apiElements(tb testing.TB, name, text string) []connector.Element {
	tb.Helper()
	return parsed(tb, apidoc.New(), name, text)
}

// openAPICutter opens the strategy with a sizing.
func openAPICutter(tb testing.TB, sizing Sizing) connector.Strategy {
	tb.Helper()
	c := apiDefaults()
	c.Sizing = sizing
	return mustOpen(tb, API(), &c)
}

func apiFiles(tb testing.TB) map[string]*txtar.Archive {
	tb.Helper()
	files, err := filepath.Glob("testdata/api/*.txtar")
	if err != nil || len(files) < 8 {
		tb.Fatal(err, len(files))
	}
	out := map[string]*txtar.Archive{}
	for _, path := range files {
		if out[path], err = txtar.ParseFile(path); err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

// apiSizings are caps from the usual to the absurd.
func apiSizings() map[string]Sizing {
	return map[string]Sizing{
		"default": {MinChars: 20}, "600 chars": {MaxChars: 600, MinChars: 20}, "100 chars": {MaxChars: 100, MinChars: 20},
		"40 tokens": {MaxTokens: 40, MinChars: 20}, "8 chars": {MaxChars: 8},
	}
}

func TestAPILaws(t *testing.T) {
	for name, sizing := range apiSizings() {
		t.Run(name, func(t *testing.T) {
			s := openAPICutter(t, sizing)
			var more []strategytest.Input
			for path, a := range apiFiles(t) {
				in := a.Files[0]
				more = append(more, strategytest.Input{Name: filepath.Base(path), Elements: apiElements(t, in.Name, string(in.Data))})
			}
			strategytest.Run(t, s, more...)
		})
	}
}

// TestAPIGolden compares chunks with testdata/api: of at most 400 characters, and of the usual size.
func TestAPIGolden(t *testing.T) {
	for path, a := range apiFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			in := a.Files[0]
			els := apiElements(t, in.Name, string(in.Data))
			got := []txtar.File{
				{Name: "chunks", Data: []byte(showAPI(lawful(t, openAPICutter(t, Sizing{MinChars: 20}), els)))},
				{Name: "chunks of 240 characters", Data: []byte(showAPI(lawful(t, openAPICutter(t, Sizing{MaxChars: 240, MinChars: 20}), els)))},
			}
			if updating() {
				a.Files = append(a.Files[:1], got...)
				if err := os.WriteFile(path, txtar.Format(a), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) != 3 || string(a.Files[1].Data) != string(got[0].Data) || string(a.Files[2].Data) != string(got[1].Data) {
				t.Errorf("run with -update after a look at\n%s\n%s", got[0].Data, got[1].Data)
			}
		})
	}
}

// showAPI prints chunks with their metadata.
func showAPI(chunks []connector.Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString("== chunk ==\nheadings: " + strings.Join(c.Headings, " > ") + "\n")
		keys := []string{}
		for k := range c.Metadata {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			fmt.Fprintf(&b, "%s: %v\n", k, c.Metadata[k])
		}
		if c.Context != "" {
			b.WriteString("context:\n" + indent(c.Context))
		}
		b.WriteString("text:\n" + indent(c.Text))
	}
	return b.String()
}
