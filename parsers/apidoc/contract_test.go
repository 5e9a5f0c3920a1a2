package apidoc

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

func TestContract(t *testing.T) {
	cases := []parsertest.Case{
		{Name: "bom and crlf", Path: "a.yaml", Input: "\ufeffopenapi: 3.0.0\r\n# sentinelone\r\npaths:\r\n  /a:\r\n    get: {summary: \"sentineltwo\"}\r\n", Sentinels: []string{"sentinelone", "sentineltwo"}},
		{Name: "minified", Path: "a.json", Input: `{"openapi":"3.1.0","paths":{"/a":{"get":{"tags":["sentinelone"]},"post":{}}},"components":{"schemas":{"sentineltwo":{}}}}`, Sentinels: []string{"sentinelone", "sentineltwo"}},
		{Name: "two documents", Path: "a.yml", Input: "---\nswagger: '2.0'\n...\nsentinelone\n---\nsentineltwo: 1\n", Sentinels: []string{"sentinelone", "sentineltwo"}},
		{Name: "no description", Path: "a.yaml", Input: "a: sentinelone\n", Sentinels: []string{"sentinelone"}},
		{Name: "only comments", Path: "a.proto", Input: "// sentinelone\n/* sentineltwo", Sentinels: []string{"sentinelone", "sentineltwo"}},
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		in := string(a.Files[0].Data)
		cases = append(cases, parsertest.Case{Name: file, Path: a.Files[0].Name, Input: in, Sentinels: strings.Fields(in)})
	}
	parsertest.Run(t, func() connector.Parser { return New() }, cases)
}

func FuzzParse(f *testing.F) {
	names := []string{"a.yaml", "a.json", "a.graphql", "a.proto"}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for i, name := range names {
			if filepath.Ext(name) == filepath.Ext(a.Files[0].Name) {
				f.Add(string(a.Files[0].Data), uint8(i))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		name := names[int(kind)%len(names)]
		if kind%2 == 0 && name == "a.yaml" {
			text = "openapi: 3.0.0\npaths:\n" + text
		}
		if err := parsertest.CheckSound(New(), name, text); err != nil {
			t.Error(err)
		}
	})
}

// TestPlainText: what does not parse is text, and Check says why and where.
func TestPlainText(t *testing.T) {
	for name, c := range map[string]struct{ file, text, why string }{
		"tab":             {"a.yaml", "openapi: 3.0.0\npaths:\n\t/a:\n", "line 3: indented with a tab"},
		"colon":           {"a.yaml", "openapi: 3.0.0\ninfo:\n  title: a: b\n", `line 3: ": " inside a value`},
		"indent":          {"a.yaml", "openapi: 3.0.0\ninfo:\n    title: a\n  version: b\n", "line 4"},
		"deeper":          {"a.yaml", "openapi: 3.0.0\ninfo:\n  title: {a: b}\n    version: b\n", "line 4: indented deeper"},
		"quote":           {"a.yaml", "openapi: 3.0.0\ninfo: \"x\n", "line 2: a quotation mark is not closed"},
		"bracket":         {"a.yaml", "openapi: 3.0.0\ninfo: {a: [b}\n", "line 2"},
		"complex key":     {"a.yaml", "openapi: 3.0.0\n? a\n: b\n", "line 2"},
		"cut json":        {"a.json", "{\"openapi\": \"3.0.0\",\n \"paths\": {", "line 2: a bracket is not closed"},
		"after json":      {"a.json", `{"openapi": "3.0.0"} x`, "line 1: text follows"},
		"deep json":       {"a.json", `{"openapi": "3.0.0", "a": ` + strings.Repeat("[", 1e6), "nested too deep"},
		"deep yaml":       {"a.yaml", "openapi: 3.0.0\na:\n " + strings.Repeat("- ", 1e5) + "b\n", "nested too deep"},
		"no description":  {"a.yaml", "a: b\n", "no description of an interface"},
		"another version": {"a.txt", "openapi: 3.0.0\n", "no description of an interface"},
	} {
		err := Check(c.file, c.text)
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want %q", name, err, c.why)
		}
		els := parse(t, c.file, c.text)
		if len(els) == 0 || els[0].Kind != connector.KindText || parsertest.Text(els) != c.text {
			t.Errorf("%s: no plain text: %v", name, els)
		}
	}
}

// names lists symbols by kind and name, those inside others too.
func names(els []connector.Element, kinds string) string {
	var out []string
	var walk func(els []connector.Element)
	walk = func(els []connector.Element) {
		for i := range els {
			if s := els[i].Symbol; s != nil {
				if strings.Contains(kinds, s.Kind) {
					out = append(out, s.Kind+" "+s.Name)
				}
				walk(els[i].Children)
			}
		}
	}
	walk(els)
	return strings.Join(out, ", ")
}

// TestForms are the ways to write the same thing.
func TestForms(t *testing.T) {
	const want = "operation GET /a, operation POST /a, schema A"
	for name, text := range map[string]string{
		"block":       "openapi: 3.0.0\npaths:\n  /a:\n    get:\n      summary: x\n    post:\ncomponents:\n  schemas:\n    A:\n      type: object\n",
		"flow":        "openapi: 3.0.0\npaths: {/a: {get: {summary: x}, post: {}}}\ncomponents: {schemas: {A: {type: object}}}\n",
		"flow root":   "{openapi: 3.0.0,\n paths: {/a: {get: {summary: 'x }'}, post: {}}},\n components: {schemas: {A: {}}}}\n",
		"anchors":     "openapi: 3.0.0\npaths:\n  /a: &p\n    get: &x !!map\n      summary: x\n    post: *x\ncomponents:\n  schemas: !!map\n    A: {type: object}\n",
		"literals":    "openapi: 3.0.0\npaths:\n  /a:\n    get:\n      description: |-\n        delete:\n          put:\n\n       # text\n    post:\n      description: >2\n       put:\ncomponents:\n  schemas:\n    A:\n      description: 'a\n        put: it''s\n        b'\n",
		"plain lines": "openapi: 3.0.0\npaths:\n  /a:\n    get:\n      summary: one\n        two three\n\n        four\n    post: # none\n      x: http://a:80/b#c\ncomponents:\n  schemas:\n    A:\n",
		"seq margin":  "openapi: 3.0.0\nservers:\n- url: a\n  b: c\n-\n  url: d\npaths:\n  '/a':\n    \"get\":\n      tags:\n      - x\n    post : {}\ncomponents:\n  schemas:\n    A:\n      allOf:\n      - - b\n        - c\n",
		"directive":   "%YAML 1.2\n--- # here\nopenapi: 3.0.0\npaths:\n  /a:\n    get:\n    post:\ncomponents:\n  schemas:\n    A:\n...\n",
		"minified":    `{"openapi":"3.0.0","paths":{"/a":{"get":{"x":"\"},{"},"post":{}}},"components":{"schemas":{"A":{}}}}`,
	} {
		file := "a.yaml"
		if err := Check(file, text); err != nil && name != "flow root" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "flow root" {
			text = strings.Replace(text, "{openapi: 3.0.0", `{"openapi": "3.0.0"`, 1)
		}
		if got := names(parse(t, file, text), "operation schema"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestBrokenBraces: what is not closed ends where the next declaration starts.
func TestBrokenBraces(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"graphql":        {"a.graphql", "type A {\n  b: [C\n\n# of B\ntype B { c: C }\n}}\nscalar C", "type A, type B, scalar C"},
		"block string":   {"a.graphql", "type A { b: C }\n\"\"\" open\ntype B { c: C }", "type A"},
		"proto":          {"a.proto", "message A {\n  string b = 1\n\n// of B\nmessage B { string c = 1; }\nenum C { D = 0; }", "message A, message B, enum C"},
		"proto comment":  {"a.proto", "message A {} /* open\nmessage B {}", "message A"},
		"proto no value": {"a.proto", "message A { int32 = ; ; = }\nmessage B {}", "message A, message B"},
	} {
		if got := names(parse(t, c.file, c.text), "type message enum scalar"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestLarge: linear time, and nothing that grows faster than the text.
func TestLarge(t *testing.T) {
	var y, j strings.Builder
	y.WriteString("openapi: 3.0.0\ninfo: {title: 大}\npaths:\n")
	j.WriteString(`{"openapi": "3.0.0", "paths": {`)
	for i := range 6000 {
		p := strings.Repeat("x", 1+i%7)
		y.WriteString("  /" + p + ":\n    get:\n      description: |\n" + strings.Repeat("        说明文字, some words here\n", 20) + "      responses:\n        '200': {$ref: '#/components/responses/A'}\n")
		if i > 0 {
			j.WriteString(",")
		}
		j.WriteString(`"/` + p + `":{"get":{"description":"` + strings.Repeat("说明文字, some words here ", 20) + `"}}`)
	}
	j.WriteString("}}")
	for file, text := range map[string]string{"a.yaml": y.String(), "a.json": j.String()} {
		if err := Check(file, text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if got := strings.Count(names(parse(t, file, text), "operation"), ","); got != 5999 {
			t.Errorf("%s: %d operations", file, got+1)
		}
	}
	for _, hostile := range []string{"type ", "{", "\"", "\"\"\"", "# \n", "type A {", "( ", "a:", "message A {", "message ", "/*", "option x = {", "= ", "} ", "[]"} {
		for _, file := range []string{"a.graphql", "a.proto"} {
			parse(t, file, strings.Repeat(hostile, 1<<17/len(hostile)))
		}
	}
	for _, hostile := range []string{"#\n", " #\n", "a:\n", "- ", "- a\n", "  - &a !b\n", "{", "a: |\n", "'", "  \n", "a: b\n  c\n", "? ", "\"a\" "} {
		parse(t, "a.yaml", "openapi: 3.0.0\npaths:\n"+strings.Repeat(hostile, 1<<17/len(hostile)))
	}
}
