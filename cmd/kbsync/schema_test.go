package main

import (
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
	"github.com/kbsync/kbsync/plugins"
)

const (
	repository = "../.."
	schemaFile = repository + "/configs/kbsync.schema.json"
)

func registry(t *testing.T) *connector.Registry {
	t.Helper()
	reg, err := plugins.Registry(nil)
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

// TestDocumentedYAML checks every YAML block of the documentation: see [config.Blocks].
func TestDocumentedYAML(t *testing.T) {
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != repository && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, b := range config.Blocks(data) {
			checkBlock(t, path, b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkBlock(t *testing.T, path string, b config.Block) {
	t.Helper()
	texts := b.Configurations()
	if len(texts) == 0 && b.Scope != "other" {
		t.Errorf("%s:%d: a block of YAML of no known scope: %q", path, b.Line, b.Scope)
	}
	whole := b.Scope == "" || b.Scope == "source"
	for _, text := range texts {
		if _, err := config.Parse(path, []byte(text), registry(t), config.Options{Partial: !whole, Getenv: anyValue}); err != nil {
			t.Errorf("%s: block in line %d: %v", path, b.Line, err)
			continue
		}
		if whole {
			fits(t, []byte(text))
		}
	}
}

func anyValue(name string) (string, bool) {
	if strings.HasSuffix(name, "CONNECTION_STRING") {
		return "AccountName=acme;AccountKey=MQ==", true
	}
	return "1", true
}

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
