package config

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// validator compiles the schema of the test plugins.
func validator(t *testing.T) func(text string) error {
	t.Helper()
	data, err := Schema(testRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("kbsync.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("kbsync.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) error {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return err
		}
		return schema.Validate(value)
	}
}

// TestSchemaAgrees: the schema takes what Parse takes, and refuses what Parse refuses for its shape.
func TestSchemaAgrees(t *testing.T) {
	validate := validator(t)
	const fs = "sources: [{fs: {root: x}}]\n"
	good := []string{
		fs, "version: 1\nname: a\nids: position\nstate: s\n" + fs, fs + "x-anything: {a: 1}\n",
		fs + "sink: {db: {address: a, password: 'env:API_KEY', port: '${PORT}', ratio: 1, mode: '${MODE}', labels: {a: b}, limits: {items: 3}, tenant: x}}\n",
		fs + "embedder: {lexical: {}}\n", fs + "embedder: {lexical: }\n", fs + "sync: {max_delete: 5, memory: 1GiB, document_timeout: 1h30m}\n",
		fs + "sync: {max_delete: 50%, memory: '${SIZE}', document_timeout: 0, schedule: '@every 15m', on_error: stop}\n",
		fs + "rules: [{match: {path: '*.md', language: [go], min_size: 5kB, front_matter: {a: [1, b]}}, strategy: {code: {overlap: 1}}, metadata: {a: {b: c}}}]\n",
		"sources: [{name: a, fs: {root: x, include: a, hidden: '${ON}', max_size: 5 MB}}, {git: {root: y}}]\nfront_matter: [a, b]\n",
	}
	for _, text := range good {
		if _, err := Parse("kbsync.yaml", []byte(text), testRegistry(t), opts); err != nil {
			t.Errorf("Parse refuses\n%s%v", text, err)
		}
		if err := validate(text); err != nil {
			t.Errorf("the schema refuses\n%s%v", text, err)
		}
	}
	bad := []string{
		"name: a\n", "sources: []\n", "sources: [{name: a}]\n", "sources: [{fs: {root: x}, git: {root: y}}]\n", "sources: [{ftp: {}}]\n", "sources: [{fs: {}}]\n",
		fs + "nmae: a\n", fs + "ids: x\n", fs + "sink: {}\n", fs + "sink: {db: {}, sqlite: {}}\n", fs + "sink: {db: {port: x}}\n", fs + "sink: {db: {mode: slow}}\n",
		fs + "sink: {db: {limits: {itmes: 1}}}\n", fs + "sync: {memory: lots}\n", fs + "sync: {document_timeout: 5 minutes}\n", fs + "sync: {max_delete: half}\n",
		fs + "rules: [{strategy: {markdown: {}, code: {}}}]\n", fs + "rules: {}\n", fs + "front_matter: [1]\n", "sources: [{fs: {root: 5}}]\n", "sources: [{fs: {root: x, hidden: 'yes'}}]\n",
	}
	for _, text := range bad {
		if _, err := Parse("kbsync.yaml", []byte(text), testRegistry(t), opts); err == nil {
			t.Errorf("Parse takes\n%s", text)
		}
		if err := validate(text); err == nil {
			t.Errorf("the schema takes\n%s", text)
		}
	}
}

// TestSchemaDescribes: descriptions and defaults come from the structs and plugins, and no secret has a default.
func TestSchemaDescribes(t *testing.T) {
	data, err := Schema(testRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Schema(testRegistry(t))
	if err != nil || !bytes.Equal(data, again) {
		t.Error("the schema is not the same twice")
	}
	for _, want := range []string{`"description": "host:port"`, `"default": "512MiB"`, `"description": "A db for tests."`, `"default": "fast"`, `"default": 512`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestBlocks(t *testing.T) {
	md := "# Doc\n\n```yaml\nsources: []\n```\n\n<!-- yaml: part -->\n```yml\nsync: {retries: 1}\n```\n\n<!-- yaml: source -->\n\n  ~~~yaml\n  fs: { root: a }\n  git:\n    root: b\n  ~~~\n" +
		"<!-- yaml: other -->\ntext between\n```yaml\nname: x\n```\n```go\nname: y\n```\n"
	got := Blocks([]byte(md))
	want := []Block{
		{4, "", "sources: []\n"}, {9, "part", "sync: {retries: 1}\n"}, {15, "source", "fs: { root: a }\ngit:\n  root: b\n"}, {22, "", "name: x\n"},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	validate := validator(t)
	texts := got[2].Configurations()
	if len(texts) != 2 {
		t.Fatalf("%q", texts)
	}
	for _, b := range []Block{got[2], {1, "strategy", "markdown: {max_tokens: 3}\ncode: {}\n"}, {1, "sink", "sqlite: {}\n"}, {1, "embedder", "lexical:\n"}} {
		for _, text := range b.Configurations() {
			if _, err := Parse("doc.md", []byte(text), testRegistry(t), Options{Partial: true}); err != nil {
				t.Errorf("%s\n%v", text, err)
			}
			if err := validate(text); err != nil && b.Scope == "source" {
				t.Errorf("%s\n%v", text, err)
			}
		}
	}
}
