//go:build cgo

package code

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/shareddata"
)

// Real files: each tiles, and the functions that a plain pattern finds in well-formed ones are found.
func TestSharedFiles(t *testing.T) {
	root := filepath.Join(shareddata.Dir(t), "fixtures", "code_pygments_BSD2")
	patterns := map[string]*regexp.Regexp{
		"c/example.c":       regexp.MustCompile(`(?m)^(?:static )?(?:\w+ )+\*?(\w+)\([^;]*?\)\s*\{`),
		"go/generics.go":    regexp.MustCompile(`(?m)^func (\w+)`),
		"lua/example.lua":   regexp.MustCompile(`(?m)^\s*(?:local )?function (?:\w+[.:])*(\w+)`),
		"java/test.java":    regexp.MustCompile(`(?m)^    (?:public|protected|private) [\w<>\[\], ]*?(\w+)\([^;]*?\)[^;]*?\{`),
		"csharp/test.cs":    regexp.MustCompile(`(?m)^\s+(?:public |protected |private |static |override )*(?:void|bool|string) (\w+) \(.*\)$`),
		"php/test.php":      regexp.MustCompile(`(?m)^\s*(?:public |private |protected |static )*function &?(\w+)`),
		"rust/eval.rs":      regexp.MustCompile(`(?m)^ *(?:pub )?fn (\w+)`),
		"rb/test.rb":        regexp.MustCompile(`(?m)^  def (\w+)$`),
		"cpp/functions.cpp": nil,
	}
	p := open(t)
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		name, _ := filepath.Rel(root, path)
		elements := parse(t, p, path, string(data))
		text := tiled(t, name, elements)
		if pattern := patterns[name]; pattern != nil {
			found := map[string]bool{}
			collect(found, elements)
			want := 0
			for _, m := range pattern.FindAllStringSubmatch(text, -1) {
				want++
				if !found[m[1]] && m[1] != "if" && m[1] != "switch" && m[1] != "ReadHeader" { // ReadHeader is in a comment
					t.Errorf("%s: %s was not found", name, m[1])
				}
			}
			if want == 0 {
				t.Errorf("%s: the pattern finds nothing", name)
			}
		}
		return nil
	})
	if err != nil || files < 60 {
		t.Fatal(files, err)
	}
}

func collect(found map[string]bool, elements []connector.Element) {
	for _, e := range elements {
		if s := e.Symbol; s != nil {
			name := s.Name[strings.LastIndexAny(s.Name, ".:")+1:]
			found[name] = true
			collect(found, e.Children)
		}
	}
}
