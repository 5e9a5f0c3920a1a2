//go:build unix && cgo

package strategies

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	sitter "github.com/tree-sitter/go-tree-sitter"
	c "github.com/tree-sitter/tree-sitter-c/bindings/go"
	cpp "github.com/tree-sitter/tree-sitter-cpp/bindings/go"
	golang "github.com/tree-sitter/tree-sitter-go/bindings/go"
	java "github.com/tree-sitter/tree-sitter-java/bindings/go"
	javascript "github.com/tree-sitter/tree-sitter-javascript/bindings/go"
	python "github.com/tree-sitter/tree-sitter-python/bindings/go"
	rust "github.com/tree-sitter/tree-sitter-rust/bindings/go"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/parsers/code"
)

// BenchmarkCodePeer compares, in one run over the source files of the fixtures, kbsync's parser and strategy with the bare parse
// by tree-sitter through its Go API. The figures to compare are cpuMB/s.
func BenchmarkCodePeer(b *testing.B) {
	languages := map[string]*sitter.Language{
		".c": sitter.NewLanguage(c.Language()), ".cpp": sitter.NewLanguage(cpp.Language()), ".go": sitter.NewLanguage(golang.Language()),
		".java": sitter.NewLanguage(java.Language()), ".js": sitter.NewLanguage(javascript.Language()),
		".py": sitter.NewLanguage(python.Language()), ".rs": sitter.NewLanguage(rust.Language()),
	}
	files := map[string][]byte{}
	size := 0
	err := filepath.WalkDir(filepath.Join(shareddata.Dir(b), "fixtures"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || languages[filepath.Ext(path)] == nil {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = text
		size += len(text)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	plugin := code.Plugin()
	parser, err := plugin.Open(context.Background(), plugin.Config(), connector.Env{})
	if err != nil {
		b.Fatal(err)
	}
	cut := func(b *testing.B, s connector.Strategy) {
		for path, text := range files {
			doc := &connector.Document{Path: path}
			for _, err := range s.Chunks(context.Background(), doc, parser.Parse(context.Background(), doc, bytes.NewReader(text))) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("tree-sitter", func(b *testing.B) {
		reportRate(b, size, func() {
			for path, text := range files {
				p := sitter.NewParser()
				if err := p.SetLanguage(languages[filepath.Ext(path)]); err != nil {
					b.Fatal(err)
				}
				p.Parse(text, nil).Close()
				p.Close()
			}
		})
	})
	chars := mustOpen(b, Code(), &CodeConfig{Sizing: Sizing{MaxChars: 2000, MinChars: 20}})
	b.Run("chars", func(b *testing.B) { reportRate(b, size, func() { cut(b, chars) }) })
	tokens := mustOpen(b, Code(), &CodeConfig{Sizing: Sizing{MinChars: 20}})
	b.Run("default", func(b *testing.B) { reportRate(b, size, func() { cut(b, tokens) }) })
}
