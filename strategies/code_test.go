package strategies

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/internal/shareddata"
)

func openCode(tb testing.TB, maxChars int) connector.Strategy {
	tb.Helper()
	return mustOpen(tb, Code(), &CodeConfig{Sizing: Sizing{MaxChars: maxChars, MinChars: 20}})
}

// symbols makes elements of one class by hand, so that the test does not depend on a grammar.
func symbols() []connector.Element {
	const text = "import a\n\n# about C\n@deco\nclass C(B):\n    \"\"\"What C is.\n\n    At length.\n    \"\"\"\n\n    def one(self):\n        return 1\n\n    def two(self):\n        x = 1\n        y = 2\n        return x + y\n\n\ndef f():\n\treturn '\u00a0'\n"
	span := func(from, to string) connector.Span {
		start := strings.Index(text, from)
		return connector.Span{Start: start, End: start + strings.Index(text[start:], to) + len(to)}
	}
	element := func(s connector.Span, sym connector.Symbol, children ...connector.Element) connector.Element {
		return connector.Element{Kind: connector.KindSymbol, Language: "python", Text: text[s.Start:s.End], Span: s, Symbol: &sym, Children: children}
	}
	one := element(span("    def one", "1\n\n"), connector.Symbol{Kind: "method", Name: "one", Path: []string{"C", "one"}, Header: span("def one", "):")})
	two := element(span("    def two", "+ y\n"), connector.Symbol{Kind: "method", Name: "two", Path: []string{"C", "two"}, Header: span("def two", "):")})
	class := element(span("# about", "+ y\n\n\n"), connector.Symbol{Kind: "class", Name: "C", Path: []string{"C"}, Header: span("class C", "B):"), Doc: span("\"\"\"What", "    \"\"\"")}, one, two)
	return []connector.Element{
		element(span("import", "\n\n"), connector.Symbol{Kind: "import"}),
		class,
		element(span("def f", "\u00a0'\n"), connector.Symbol{Kind: "function", Name: "f", Path: []string{"f"}, Header: span("def f", "):")}),
	}
}

func TestCodeSplitClass(t *testing.T) {
	chunks := lawful(t, openCode(t, 130), symbols())
	type row struct{ symbol, context, text string }
	want := []row{
		{"C", "", "import a\n\n# about C\n@deco\nclass C(B):\n    \"\"\"What C is.\n\n    At length.\n    \"\"\"\n\n    def one(self):\n        return 1"},
		{"C.two", "class C(B):\n    \"\"\"What C is.\n", "    def two(self):\n        x = 1\n        y = 2\n        return x + y"},
		{"f", "", "def f():\n\treturn '\u00a0'"},
	}
	for i, c := range chunks {
		symbol, _ := c.Metadata["symbol"].(string)
		if got := (row{symbol, c.Context, c.Text}); i >= len(want) || got != want[i] {
			t.Errorf("chunk %d: %q", i, got)
		}
		if c.Language != "python" {
			t.Errorf("language %q", c.Language)
		}
	}
}

func TestCodeSplitMethod(t *testing.T) {
	seen := false
	for _, c := range lawful(t, openCode(t, 60), symbols()) {
		if c.Metadata["symbol"] == "C.two" && !strings.Contains(c.Text, "def two") {
			seen = true
			if !strings.Contains(c.Context, "class C") || !strings.Contains(c.Context, "two") {
				t.Errorf("context %q", c.Context)
			}
		}
	}
	if !seen {
		t.Error("the method was not cut")
	}
}

func TestCodeWholeFile(t *testing.T) {
	if chunks := lawful(t, openCode(t, 1000), symbols()); len(chunks) != 1 || chunks[0].Context != "" {
		t.Errorf("%+v", chunks)
	}
}

// A leaf over the cap is cut as text, and all of it is kept: a literal of 281 KB, a minified file.
func TestCodeLongLeaf(t *testing.T) {
	literal := "x = \"" + strings.Repeat("a long literal ", 281<<10/15) + "\"\n\ny = 2\n"
	minified := strings.Repeat("function a(b){var c=b+1;return c?a(c-1):{d:[1,2,3],e:\"f\"}}", 2000)
	for _, file := range []struct{ name, text string }{
		{"x.go", "package x\n\nvar " + literal}, {"x.py", literal}, {"x.rb", literal}, {"x.unknown", literal}, {"x.min.js", minified},
		{"x.js", "const " + literal}, {"small.go", "x = \"" + strings.Repeat("a", 800) + "\"\n"},
	} {
		s := openCode(t, 800)
		chunks := lawfulChunks(t, s, codeElements(t, file.name, file.text))
		if most := 3 * len(file.text) / 800 * 2; len(chunks) > most+8 {
			t.Errorf("%s: %d chunks of %d bytes", file.name, len(chunks), len(file.text))
		}
	}
}

// meteredCounter counts the bytes that are counted.
type meteredCounter struct {
	connector.Counter
	bytes *int
}

func (c meteredCounter) Count(text string) int {
	*c.bytes += len(text)
	return c.Counter.Count(text)
}

// TestCodeIsLinear: four times the text costs about four times the work and makes about four times the chunks, whatever stands in it.
func TestCodeIsLinear(t *testing.T) {
	nest := func(n int) string {
		var b strings.Builder
		for i := range 24 {
			b.WriteString(strings.Repeat(" ", i) + "class C" + strings.Repeat("x", n/60) + sprint(i) + "(B):\n")
		}
		for i := range n / 40 {
			b.WriteString(strings.Repeat(" ", 24) + "def m" + sprint(i) + "(self):\n" + strings.Repeat(" ", 25) + "pass\n")
		}
		return b.String()
	}
	wideHeader := func(n int) string {
		return "class C(" + strings.Repeat("Base, ", n/12) + "B):\n" + strings.Repeat("    def m(self):\n        return compute(1, 2, 3, 4)\n\n", n/110)
	}
	for name, build := range map[string]func(int) string{
		"nested.py":   nest,
		"header.py":   wideHeader,
		"brackets.js": func(n int) string { return strings.Repeat("f(", n/2) },
		"blank.py":    func(n int) string { return strings.Repeat(" \n", n/2) + "x" },
		"comment.go":  func(n int) string { return "package x\n" + strings.Repeat("// *****\n", n/9) + "func f() {}\n" },
		"scripts.vue": func(n int) string { return strings.Repeat("<script>f(</script>", n/19) },
		"line.css":    func(n int) string { return strings.Repeat("a{b:c}", n/6) },
	} {
		work := func(n int) (bytes, chunks int) {
			e := env(t)
			inner := e.Counter
			e.Counter = func(name string) (connector.Counter, error) {
				c, err := inner(name)
				return meteredCounter{c, &bytes}, err
			}
			plugin := Code()
			s, err := plugin.Open(t.Context(), &CodeConfig{Sizing: Sizing{MaxTokens: 100, MinChars: 20}}, e)
			if err != nil {
				t.Fatal(err)
			}
			chunks = len(lawfulChunks(t, s, codeElements(t, name, build(n))))
			return bytes, chunks
		}
		b1, c1 := work(20_000)
		b4, c4 := work(80_000)
		t.Logf("%s: %d → %d bytes counted, %d → %d chunks", name, b1, b4, c1, c4)
		if b4 > 6*b1+200_000 || c4 > 6*c1+8 {
			t.Errorf("%s: the work grows from %d to %d, the chunks from %d to %d", name, b1, b4, c1, c4)
		}
	}
}

// What does not parse degrades node by node; nothing is lost.
func TestCodeSyntaxErrors(t *testing.T) {
	text := "def good():\n    return 1\n\nclass Broken(:\n    def m(self\n        return ((\n\ndef after():\n    return 2\n"
	for _, size := range []int{0, 40} {
		lawful(t, openCode(t, size), codeElements(t, "x.py", text))
		lawful(t, openCode(t, size), codeElements(t, "x.go", text))
	}
}

// Text of no known language is cut where the indentation is least.
func TestCodeIndentation(t *testing.T) {
	var b strings.Builder
	for range 6 {
		b.WriteString("block first\n    inner line one\n    inner line two\n        deeper line\n    inner line three\n")
	}
	els := []connector.Element{{Kind: connector.KindText, Text: b.String(), Span: connector.Span{End: b.Len()}}}
	for _, c := range lawful(t, openCode(t, 250), els) {
		if !strings.HasPrefix(c.Text, "block first") {
			t.Errorf("starts %q", c.Text[:20])
		}
	}
}

func TestCodeEdits(t *testing.T) {
	var b strings.Builder
	b.WriteString("package x\n\n")
	for i := range 800 {
		b.WriteString("// F does " + strings.Repeat("something ", i%7) + "useful.\nfunc F" + strings.Repeat("x", i%5) + sprint(i) + "() int {\n" + strings.Repeat("\tcall("+sprint(i)+")\n", 1+i%11) + "}\n\n")
	}
	s := openCode(t, 800)
	before := codeElements(t, "x.go", b.String())
	after := codeElements(t, "x.go", strings.Replace(b.String(), "package x\n\n", "package x\n\nvar added = 1\n\n", 1))
	if n := freshChunks(t, s, before, after); n > 5 {
		t.Errorf("%d new chunks after one declaration at the top", n)
	}
}

func TestCodeData(t *testing.T) {
	root := filepath.Join(shareddata.Dir(t), "fixtures", "code_pygments_BSD2")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		els := codeElements(t, path, string(b[:min(len(b), 60_000)]))
		t.Run(filepath.Base(path), func(t *testing.T) {
			for _, sizing := range []Sizing{{MinChars: 20}, {MaxTokens: 100, MinChars: 20}, {MaxChars: 100, MinChars: 20}} {
				s := mustOpen(t, Code(), &CodeConfig{Sizing: sizing})
				for _, err := range strategytest.Check(s, strategytest.Input{Elements: els}) {
					t.Errorf("%+v: %v", sizing, err)
				}
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
