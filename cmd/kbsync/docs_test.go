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

// TestPluginPages compares the tables of keys and of mappings in the page of each source, embedder and sink with the code; -update
// writes them. Each of them has a page.
func TestPluginPages(t *testing.T) {
	reg := registry(t)
	for _, kind := range reg.Sources.Kinds() {
		plugin, _ := reg.Sources.Get(kind)
		t.Run("sources/"+kind, func(t *testing.T) {
			checkPage(t, "sources", kind, map[string]func([]byte) string{
				"keys": func([]byte) string { return config.KeyTable(plugin.Config()) },
			})
		})
	}
	for _, kind := range reg.Embedders.Kinds() {
		plugin, _ := reg.Embedders.Get(kind)
		t.Run("embedders/"+kind, func(t *testing.T) {
			checkPage(t, "embedders", kind, map[string]func([]byte) string{
				"keys": func([]byte) string { return config.KeyTable(plugin.Config()) },
			})
		})
	}
	for _, kind := range reg.Sinks.Kinds() {
		plugin, _ := reg.Sinks.Get(kind)
		t.Run("sinks/"+kind, func(t *testing.T) {
			checkPage(t, "sinks", kind, map[string]func([]byte) string{
				"keys":    func([]byte) string { return config.KeyTable(plugin.Config()) },
				"mapping": func(page []byte) string { return mappingTable(t, reg, kind, page) },
			})
		})
	}
}

// checkPage compares the generated parts of a page with what makes them; each must be there.
func checkPage(t *testing.T, folder, kind string, parts map[string]func(page []byte) string) {
	t.Helper()
	path := filepath.Join(repository, "docs", folder, kind+".md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	fresh := generated.ReplaceAllStringFunc(string(page), func(part string) string {
		m := generated.FindStringSubmatch(part)
		if m[3] != kind || parts[m[2]] == nil {
			t.Errorf("%s holds a part of %s: %s", path, m[3], m[2])
			return part
		}
		found[m[2]] = true
		return m[1] + "\n" + parts[m[2]](page) + "\n" + m[4]
	})
	for part := range parts {
		if !found[part] {
			t.Errorf("%s lacks <!-- %s: %s -->", path, part, kind)
		}
	}
	if fresh == string(page) {
		return
	}
	if !*update {
		t.Errorf("%s is out of date: run go test ./cmd/kbsync -update", path)
	} else if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
		t.Fatal(err)
	}
}

// mappingTable is the mapping of a sink, as configured by its page's first example.
func mappingTable(t *testing.T, reg *connector.Registry, kind string, page []byte) string {
	t.Helper()
	plugin, _ := reg.Sinks.Get(kind)
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
