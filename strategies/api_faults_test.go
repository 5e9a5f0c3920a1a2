package strategies

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
)

func apiChunks(t *testing.T, name, text string, sizing Sizing) []connector.Chunk {
	t.Helper()
	return lawful(t, openAPICutter(t, sizing), apiElements(t, name, text))
}

// chunkOf is the first chunk of that symbol.
func chunkOf(t *testing.T, chunks []connector.Chunk, symbol string) connector.Chunk {
	t.Helper()
	for _, c := range chunks {
		if c.Metadata["symbol"] == symbol {
			return c
		}
	}
	t.Fatalf("no chunk of %s", symbol)
	return connector.Chunk{}
}

// TestAPIOneEach: however small they are, operations and types do not share a chunk.
func TestAPIOneEach(t *testing.T) {
	for name, a := range apiFiles(t) {
		in := a.Files[0]
		seen := map[string]bool{}
		for _, c := range apiChunks(t, in.Name, string(in.Data), Sizing{MinChars: 20}) {
			s := fmt.Sprint(c.Metadata["symbol"], c.Metadata["endpoint"], c.Metadata["method"], c.Metadata["symbol_kind"])
			if kind := c.Metadata["symbol_kind"]; seen[s] && kind != "member" {
				t.Errorf("%s: two chunks of %s", name, s)
			}
			seen[s] = true
		}
	}
}

// TestAPICircles: references in circles end after one level.
func TestAPICircles(t *testing.T) {
	const text = "openapi: 3.0.0\ninfo: {title: T}\npaths:\n  /a:\n    get:\n      schema: {$ref: '#/components/schemas/A'}\n" +
		"components:\n  schemas:\n    A:\n      x: {$ref: '#/components/schemas/B'}\n    B:\n      y: {$ref: '#/components/schemas/C'}\n" +
		"    C:\n      z: {$ref: '#/components/schemas/A'}\n    D:\n      $ref: '#/components/schemas/D'\n"
	chunks := apiChunks(t, "a.yaml", text, Sizing{MinChars: 20})
	get := chunkOf(t, chunks, "GET /a")
	if !strings.Contains(get.Context, "    A:\n") || strings.Contains(get.Context, "    B:\n") {
		t.Errorf("not one level of references: %q", get.Context)
	}
	if c := chunkOf(t, chunks, "C"); !strings.Contains(c.Context, "    A:\n") || strings.Contains(c.Context, "    C:\n") {
		t.Errorf("C in a circle: %q", c.Context)
	}
	if c := chunkOf(t, chunks, "D"); c.Context != "T > schemas > D\n" {
		t.Errorf("D refers to itself: %q", c.Context)
	}
}

// TestAPIUnresolved: what a file does not hold is named, and never opened.
func TestAPIUnresolved(t *testing.T) {
	const text = `{"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "x", "a": {"$ref": "#/components/schemas/None"},
"b": {"$ref": "../other.yaml#/A"}, "c": {"$ref": "https://example.com/s.json"}, "d": {"$ref": "#/%zz~1"}, "example": {"$ref": "#/no"}}}, "/b": {"get": {"operationId": "x"}}}}`
	chunks := apiChunks(t, "a.json", text, Sizing{MinChars: 20})
	want := []any{"#/components/schemas/None", "../other.yaml#/A", "https://example.com/s.json", "#/%zz~1"}
	if c := chunkOf(t, chunks, "x"); !slices.Equal(c.Metadata["unresolved_references"].([]any), want) {
		t.Errorf("unresolved: %v", c.Metadata["unresolved_references"])
	}
	n := 0
	for _, c := range chunks {
		if c.Metadata["operation_id"] == "x" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d chunks of the operations that share an id", n)
	}
}

// TestAPICutByProperty: a large schema is cut between properties, each piece below its name.
func TestAPICutByProperty(t *testing.T) {
	var b strings.Builder
	b.WriteString("openapi: 3.0.0\ninfo:\n  title: 接口\npaths: {}\ncomponents:\n  schemas:\n    订单:\n      type: object\n      properties:\n")
	for i := range 60 {
		fmt.Fprintf(&b, "        字段%d:\n          type: string\n          description: 第%d个字段的说明，见文档。\n", i, i)
	}
	n := 0
	for _, c := range apiChunks(t, "a.yaml", b.String(), Sizing{MaxChars: 400, MinChars: 20}) {
		if c.Metadata["symbol"] != "订单" {
			continue
		}
		n++
		if c.ForcedSplit || !strings.HasPrefix(c.Context, "接口 > schemas > 订单\n") {
			t.Errorf("context %q, forced %v", c.Context, c.ForcedSplit)
		}
		if first := strings.TrimSpace(c.Text); n > 2 && !strings.HasPrefix(first, "字段") || !strings.HasSuffix(first, "。") && n > 1 && n < 10 {
			t.Errorf("a property is cut: %q", c.Text)
		}
	}
	if n < 5 {
		t.Errorf("%d pieces", n)
	}
}

// TestAPILarge: 5 MB of operations that refer to each other's schemas.
func TestAPILarge(t *testing.T) {
	var b strings.Builder
	b.WriteString("openapi: 3.0.0\ninfo: {title: T}\npaths:\n")
	const n = 4000
	for i := range n {
		fmt.Fprintf(&b, "  /p%d:\n    get:\n      operationId: op%d\n      description: >\n%s      x: {$ref: '#/components/schemas/S%d'}\n", i, i, strings.Repeat("        words of a description 说明。\n", 20), (i*7)%n)
	}
	b.WriteString("components:\n  schemas:\n")
	for i := range n {
		fmt.Fprintf(&b, "    S%d:\n      type: object\n      properties:\n        next: {$ref: '#/components/schemas/S%d'}\n%s", i, (i+1)%n, strings.Repeat("        # a comment of some length\n", 8))
	}
	if b.Len() < 5_000_000 {
		t.Fatal(b.Len())
	}
	els := apiElements(t, "a.yaml", b.String())
	s := openAPICutter(t, Sizing{MinChars: 20})
	chunks := lawfulChunks(t, s, els)
	ops, shown := 0, 0
	for _, c := range chunks {
		if c.Metadata["symbol_kind"] == "operation" {
			if ops++; strings.Contains(c.Context, "next: {$ref") {
				shown++
			}
		}
	}
	if ops != n || shown != n {
		t.Errorf("%d chunks of %d operations, %d with their schema", ops, n, shown)
	}
}

// TestAPIAddresses: an address that a format's comment or bracket ends in the middle is not cut there.
func TestAPIAddresses(t *testing.T) {
	for _, text := range []string{
		"http://example.com/draft-07/schema#\ntype A { b: C }", "type A{b:C}type B{c:D}", "x http://example.com/{type A{b:C}}type B {c:D}",
	} {
		for size := 6; size < 60; size += 3 {
			lawful(t, openAPICutter(t, Sizing{MaxChars: size}), apiElements(t, "a.graphql", text))
		}
	}
	chunks := apiChunks(t, "a.graphql", "type Article{title:String}type Author{name:String articles:[Article]}", Sizing{MinChars: 20})
	if len(chunks) != 2 || !strings.Contains(chunks[1].Context, "type Article{") {
		t.Errorf("%d chunks of two types on one line", len(chunks))
	}
}

// TestAPIOfOtherText: what no parser of descriptions read is cut like a document.
func TestAPIOfOtherText(t *testing.T) {
	chunks := lawful(t, openAPICutter(t, Sizing{MaxChars: 100}), markdownElements(t, "# A\n\n## B\n\n"+strings.Repeat("Some words here. ", 20)))
	if len(chunks) < 3 || chunks[1].Context != "A > B\n" {
		t.Errorf("%d chunks, the second below %q", len(chunks), chunks[1].Context)
	}
	code := codeElements(t, "a.go", "package a\n\n// F is.\nfunc F() {\n}\n\ntype T struct {\n\tx int\n}\n")
	lawful(t, openAPICutter(t, Sizing{MaxChars: 30}), code)
	mixed := append(slices.Clone(apiElements(t, "a.proto", "message A {}\n")), connector.Element{Kind: connector.KindText, Text: "text\n"}, strategytest.Table(9))
	lawful(t, openAPICutter(t, Sizing{MaxChars: 60}), strategytest.Blocks(mixed...))
}

// FuzzAPI cuts any text, read as each kind of description.
func FuzzAPI(f *testing.F) {
	names := []string{"a.yaml", "a.json", "a.graphql", "a.proto"}
	for _, a := range apiFiles(f) {
		for i, name := range names {
			if strings.HasSuffix(a.Files[0].Name, name[1:]) {
				f.Add(string(a.Files[0].Data), uint8(i), uint8(100))
				f.Add(string(a.Files[0].Data), uint8(i), uint8(30))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string, kind, size uint8) {
		if len(text) > 4096 || size < 4 {
			return
		}
		els := apiElements(t, names[int(kind)%len(names)], text)
		if len(els) == 0 || els[0].Symbol == nil || edgeOfText(text) {
			return
		}
		s := openAPICutter(t, Sizing{MaxChars: int(size), MinChars: int(kind) % 24})
		in := strategytest.Input{Elements: els}
		chunks, err := strategytest.Collect(s, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range strategytest.Laws(s.Info(), in, chunks) {
			t.Error(err)
		}
	})
}

// edgeOfText tells text whose fuzzing is for the cutting of prose, not for that of symbols: joiners after a space, and
// addresses that run into letters beyond ASCII.
func edgeOfText(text string) bool {
	address := strings.Contains(text, "://")
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.M, unicode.Cf, unicode.Sk) || address && r >= utf8.RuneSelf && unicode.IsLetter(r) && !unicode.Is(unicode.Han, r)
	})
}
