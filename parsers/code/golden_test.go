//go:build cgo

package code

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	p := open(t)
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, in := a.Files[0].Name, string(a.Files[0].Data)
		elements := parse(t, p, name, in)
		if got := tiled(t, name, elements); got != in {
			t.Errorf("%s: parsed text %q", name, got)
		}
		got := dump(elements, in)
		if *update {
			a.Files[1].Data = []byte(got)
			if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if got != string(a.Files[1].Data) {
			t.Errorf("%s:\ngot:\n%s\nwant:\n%s", name, got, a.Files[1].Data)
		}
	}
}
