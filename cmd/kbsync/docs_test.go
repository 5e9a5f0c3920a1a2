package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
)

// generated is a part of a page that is made from the code: <!-- keys: qdrant --> … <!-- end -->, or mapping in place of keys.
var generated = regexp.MustCompile(`(?s)(<!-- (keys|mapping): (\w+) -->\n).*?(<!-- end -->)`)

// TestSinkPages compares the tables of keys and of mappings in each sink's page with the code; -update writes them. Every sink has a page.
func TestSinkPages(t *testing.T) {
	reg := registry(t)
	for _, kind := range reg.Sinks.Kinds() {
		t.Run(kind, func(t *testing.T) {
			path := filepath.Join(repository, "docs", "sinks", kind+".md")
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			fresh := generated.ReplaceAllStringFunc(string(page), func(part string) string {
				m := generated.FindStringSubmatch(part)
				if m[3] != kind {
					t.Errorf("%s holds a part of %s", path, m[3])
				}
				found[m[2]] = true
				return m[1] + "\n" + pageTable(t, reg, m[2], kind, page) + "\n" + m[4]
			})
			if !found["keys"] || !found["mapping"] {
				t.Errorf("%s lacks <!-- keys: %s --> or <!-- mapping: %s -->", path, kind, kind)
			}
			if fresh == string(page) {
				return
			}
			if !*update {
				t.Errorf("%s is out of date: run go test ./cmd/kbsync -update", path)
			} else if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func pageTable(t *testing.T, reg *connector.Registry, part, kind string, page []byte) string {
	t.Helper()
	plugin, _ := reg.Sinks.Get(kind)
	if part == "keys" {
		return config.KeyTable(plugin.Config())
	}
	// The mapping is that of the page's first example.
	for _, b := range config.Blocks(page) {
		for _, text := range b.Configurations() {
			file, err := config.Parse(filepath.Join(t.TempDir(), "kbsync.yaml"), []byte(text), reg, config.Options{Partial: true, Getenv: anyValue})
			if err != nil || file.Sink == nil || file.Sink.Kind != kind {
				continue
			}
			sink, err := plugin.Open(t.Context(), file.Sink.Config, connector.Env{Name: file.Name, Dir: file.Dir})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = sink.Close() }()
			return sink.Capabilities().Mapping.Markdown()
		}
	}
	t.Fatalf("the page has no example of %s", kind)
	return ""
}
