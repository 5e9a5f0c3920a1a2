package code

import (
	"strings"
	"sync"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

// These hold in every build.
func TestContract(t *testing.T) {
	goSource := "// Package a is sentinelone.\npackage a\n\nimport \"fmt\"\n\n// F sentineltwo.\nfunc F() {\n\tfmt.Println(\"汉字\") // sentinelthree\n}\n"
	parsertest.Run(t, func() connector.Parser { return open(t) }, []parsertest.Case{
		{Name: "go", Path: "a.go", Input: goSource, Sentinels: []string{"sentinelone", "sentineltwo", "sentinelthree"}},
		{Name: "python", Path: "a.py", Input: "import a\n\n@b\nclass C:\n    \"\"\"sentinelone\"\"\"\n    def m(self):\n        return 'sentineltwo'\n", Sentinels: []string{"sentinelone", "sentineltwo"}},
		{Name: "swift", Path: "a.swift", Input: "// sentinelone\nclass C {\n    func m() {\n    }\n}\n", Sentinels: []string{"sentinelone"}},
		{Name: "old line ends", Path: "a.rb", Input: "# sentinelone\rdef a\r  1\rend\r", Sentinels: []string{"sentinelone"}},
		{Name: "marked", Path: "a.js", Input: "\ufeffvar sentinelone = 1;\r\n\x00", Sentinels: []string{"sentinelone"}},
		{Name: "blank", Path: "a.go", Input: "\n\n \n"},
	})
}

func TestConcurrent(t *testing.T) {
	p := open(t)
	in := strings.Repeat("def f(x):\n    return x\n\n", 200)
	want := dump(parse(t, p, "a.py", in), in)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if dump(parse(t, p, "a.py", in), in) != want {
					t.Error("other elements at another time")
				}
			}
		})
	}
	wg.Wait()
}

func TestIndented(t *testing.T) {
	in := "# Doc of a\n@attr\nfunc a(x) {\n  one\n\n  two\n}\n\nb\nc\nclass D\n  sub m\n    " + strings.Repeat("x ", 600) + "\n\n  sub n\n    y\nend\n"
	elements := parse(t, open(t), "a.unknownlanguage", in)
	if tiled(t, "a", elements) != in {
		t.Fatal("text changed")
	}
	if len(elements) != 2 || elements[0].Symbol.Name != "a" || elements[0].Symbol.Kind != "function" {
		t.Errorf("%s", dump(elements, in))
	}
}

func BenchmarkParse(b *testing.B) {
	for _, name := range []string{"a.go", "a.py"} {
		in := map[string]string{
			"a.go": "package a\n" + strings.Repeat("\n// F does things.\nfunc F(x int) (int, error) {\n\tif x > 1 {\n\t\treturn g(x, \"text\"), nil\n\t}\n\tfor i := range 10 {\n\t\tx += i * 2\n\t}\n\treturn x, nil\n}\n", 1000),
			"a.py": strings.Repeat("\nclass C(B):\n    \"\"\"Doc.\"\"\"\n\n    def m(self, x):\n        if x > 1:\n            return self.g(x, 'text')\n        for i in range(10):\n            x += i * 2\n        return x\n", 1000),
		}[name]
		b.Run(name, func(b *testing.B) {
			p := open(b)
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				parse(b, p, name, in)
			}
		})
	}
}
