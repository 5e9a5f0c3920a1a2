package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
)

const (
	repository = "../.."
	schemaFile = repository + "/configs/kbsync.schema.json"
)

func registry(t *testing.T) *connector.Registry {
	t.Helper()
	reg, err := Registry()
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func schema(t *testing.T) []byte {
	t.Helper()
	b, err := config.Schema(registry(t))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSchemaIsCurrent compares the committed schema with the one that this program prints.
func TestSchemaIsCurrent(t *testing.T) {
	want := schema(t)
	if *update {
		if err := os.MkdirAll(filepath.Dir(schemaFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is out of date: run go test ./cmd/kbsync -update", schemaFile)
	}
}

// TestConfigs loads every example configuration and checks it against the schema.
func TestConfigs(t *testing.T) {
	files, err := filepath.Glob(repository + "/configs/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			if _, err := config.Parse(file, data, registry(t), config.Options{Getenv: anyValue}); err != nil {
				t.Error(err)
			}
			fits(t, data)
		})
	}
}

// TestDocumentedYAML checks every YAML block of the documentation. A block with a top-level key of the configuration is read as a
// configuration, or as a part of one; a block whose first line is a comment with the word "fragment" may be anything.
func TestDocumentedYAML(t *testing.T) {
	n := 0
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && path != repository || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, b := range yamlBlocks(data) {
			n++
			checkBlock(t, path, b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d blocks", n)
}

type block struct {
	line int
	text string
}

// yamlBlocks are the fenced blocks of a Markdown file that are marked as YAML.
func yamlBlocks(data []byte) []block {
	var out []block
	var now *block
	fence := ""
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, len(data)+1)
	for line := 1; scan.Scan(); line++ {
		text := strings.TrimSpace(scan.Text())
		switch {
		case fence == "" && strings.HasPrefix(text, "```"):
			fence = text[:len(text)-len(strings.TrimLeft(text, "`"))]
			if lang := strings.ToLower(strings.TrimLeft(text, "`")); lang == "yaml" || lang == "yml" {
				now = &block{line: line}
			}
		case fence != "" && text == fence:
			if now != nil {
				out = append(out, *now)
			}
			now, fence = nil, ""
		case now != nil:
			now.text += scan.Text() + "\n"
		}
	}
	return out
}

func checkBlock(t *testing.T, path string, b block) {
	t.Helper()
	if first, _, _ := strings.Cut(b.text, "\n"); strings.HasPrefix(first, "#") && strings.Contains(first, "fragment") {
		return
	}
	file, err := config.Parse(path, []byte(b.text), registry(t), config.Options{Partial: true, Getenv: anyValue})
	if err != nil {
		t.Errorf("%s: block in line %d: %v", path, b.line, err)
		return
	}
	if len(file.Sources) > 0 {
		fits(t, []byte(b.text))
	}
}

func anyValue(string) (string, bool) { return "1", true }

// fits checks a configuration against the JSON Schema.
func fits(t *testing.T, data []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("kbsync.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("kbsync.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(inst); err != nil {
		t.Errorf("does not fit the schema: %v", err)
	}
}

// TestInitText: what init writes is a configuration that fits the schema, whatever the names.
func TestInitText(t *testing.T) {
	for _, root := range []string{".", "./docs", "./my docs: {x}", "./a#b", `./'q"`, "./$HOME", "./文档", "/abs/- x", "./*"} {
		text := initText("name", root, "kbsync.yaml")
		file, err := config.Parse("kbsync.yaml", []byte(text), registry(t), config.Options{})
		if err != nil {
			t.Errorf("%s: %v", root, err)
			continue
		}
		b, err := yaml.Marshal(file.Sources[0].Config)
		if err != nil {
			t.Fatal(err)
		}
		var c struct{ Root string }
		if err := yaml.Unmarshal(b, &c); err != nil || c.Root != root {
			t.Errorf("root is %q, want %q (%v)", c.Root, root, err)
		}
		fits(t, []byte(text))
	}
}
