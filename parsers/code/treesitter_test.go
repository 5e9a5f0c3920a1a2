//go:build cgo

package code

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// flatten.h declares the runtime's types by hand; here its walk is compared with the Go API's, for every grammar.
func TestRuntime(t *testing.T) {
	inputs := map[string]string{"go": "package a\n\nfunc f() {\n\tg(1)\n}\n", "python": "def f(x):\n  return x\n", "json": "{\"a\": [1, 2]}"}
	for name, g := range grammars() {
		in := inputs[name]
		if in == "" {
			in = "x { y } ( \"z\" ) \n\n a = 1 ; 汉字\n"
		}
		l := g.load()
		for i := range l.descend {
			l.descend[i] = 1
		}
		got, err := l.parse(context.Background(), in)
		if err != nil || got == nil {
			t.Fatal(name, err)
		}
		want := reference(t, sitter.NewLanguage(g.pointer()), in)
		var nodes []string
		for _, n := range got.nodes {
			nodes = append(nodes, fmt.Sprintf("%s %s %t %d-%d", n.kind, n.field, n.named, n.start, n.end))
		}
		if !slices.Equal(nodes, want) {
			t.Errorf("%s:\n%s\nwant:\n%s", name, strings.Join(nodes, "\n"), strings.Join(want, "\n"))
		}
	}
}

func reference(t *testing.T, language *sitter.Language, in string) []string {
	p := sitter.NewParser()
	defer p.Close()
	if err := p.SetLanguage(language); err != nil {
		t.Fatal(err)
	}
	tr := p.Parse([]byte(in), nil)
	defer tr.Close()
	cursor := tr.Walk()
	defer cursor.Close()
	var out []string
	for {
		n := cursor.Node()
		out = append(out, fmt.Sprintf("%s %s %t %d-%d", n.Kind(), cursor.FieldName(), n.IsNamed(), n.StartByte(), n.EndByte()))
		if cursor.GotoFirstChild() {
			continue
		}
		for !cursor.GotoNextSibling() {
			if !cursor.GotoParent() {
				return out
			}
		}
	}
}

// Hostile text ends in bounded work and keeps every byte, whatever the language.
func TestHostile(t *testing.T) {
	p := open(t)
	long := strings.Repeat
	check := func(language, in string) {
		if got := tiled(t, language, parse(t, p, fileNames[language], in)); got != in {
			t.Errorf("%s: %.20q: text changed", language, in)
		}
	}
	for language := range fileNames {
		check(language, long("(", 1<<18))
		for _, in := range []string{"{[(", "<a>", "/* ", "\"", "if x:\n ", "a.b?c:", "\n"} {
			check(language, long(in, 1<<7))
		}
		check(language, long("f(", 1<<8)+long(")", 1<<8))
	}
	check("javascript", "f(\n"+long("if (x) { ", 1<<12)+long("}", 1<<12)+")")
	check("yaml", long("- ", 1<<10))
	check("c", long("(", 1<<22))
	check("yaml", "a: "+long("- |\n   ? ", 1<<10))
	check("shell", "cat <<"+long("A", 1014)+"\nx\n")
	check("shell", long("cat <<EOF\n", 200))
	check("ruby", "x = <<"+long("A", 1018)+"\nx\n")
}

// A long literal is kept, and an object of many lines can be cut between them.
func TestLongLiteral(t *testing.T) {
	p := open(t)
	in := "package a\n\nconst s = \"" + strings.Repeat("x", 800) + "\"\n\nvar m = []int{\n" + strings.Repeat("\t1234567890,\n", 500) + "}\n"
	elements := parse(t, p, "a.go", in)
	if tiled(t, "a.go", elements) != in || len(elements) != 3 {
		t.Fatalf("%d elements", len(elements))
	}
	if n := len(elements[2].Children); n != 500 && (n != 1 || len(elements[2].Children[0].Children) != 500) {
		t.Errorf("the list has %d parts", n)
	}
}

// fileNames are paths of each language.
var fileNames = map[string]string{
	"go": "a.go", "python": "a.py", "javascript": "a.js", "typescript": "a.ts", "tsx": "a.tsx", "java": "a.java", "c": "a.c", "c++": "a.cpp", "c#": "a.cs", "rust": "a.rs",
	"ruby": "a.rb", "php": "a.php", "kotlin": "a.kt", "scala": "a.scala", "shell": "a.sh", "lua": "a.lua", "css": "a.css", "html": "a.html", "json": "a.json", "yaml": "a.yaml", "toml": "a.toml", "haskell": "a.hs",
}

func TestLanguages(t *testing.T) {
	if got, want := Languages(), slices.Sorted(maps.Keys(fileNames)); !slices.Equal(got, want) {
		t.Errorf("languages are %q, want %q", got, want)
	}
	for language, name := range fileNames {
		head := map[string]string{"a.php": "<?php\n", "a.ts": "let x: number = 1\n", "a.rs": "fn main() {}\n", "a.cs": "using System;\n"}[name]
		if got := LanguageOf("x/"+name, []byte(head)); got != language {
			t.Errorf("%s is %q, want %q", name, got, language)
		}
	}
}

func TestBudget(t *testing.T) {
	in := strings.Repeat("(", 1<<16)
	l := grammars()["javascript"].load()
	tr, err := l.parseWithin(context.Background(), in, 1000, 1<<30)
	if tr != nil || err != nil {
		t.Errorf("a parse over its steps gave %v, %v", tr, err)
	}
	tr, err = l.parseWithin(context.Background(), strings.Repeat("a;", 1<<16), 1<<30, 1<<16)
	if tr != nil || err != nil {
		t.Errorf("a parse over its reads gave %v, %v", tr, err)
	}
}

// dumpNodes shows a tree, for those who write rules: KBSYNC_DUMP=file go test -run TestDumpNodes -v
func TestDumpNodes(t *testing.T) {
	file := os.Getenv("KBSYNC_DUMP")
	if file == "" {
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := newEngine().grammars[LanguageOf(file, data)]().parse(context.Background(), string(data))
	if err != nil {
		t.Fatal(err)
	}
	var open []int
	for i, n := range tr.nodes {
		for len(open) > 0 && open[len(open)-1] <= i {
			open = open[:len(open)-1]
		}
		open = append(open, n.next)
		if n.named {
			fmt.Printf("%s%s:%s %.40q\n", strings.Repeat("  ", len(open)), n.field, n.kind, tr.text[n.start:n.end])
		}
	}
}

// The yardstick of BenchmarkParse: the grammar alone, through the runtime's Go API.
func BenchmarkBareTreeSitter(b *testing.B) {
	in := []byte("package a\n" + strings.Repeat("\n// F does things.\nfunc F(x int) (int, error) {\n\tif x > 1 {\n\t\treturn g(x, \"text\"), nil\n\t}\n\tfor i := range 10 {\n\t\tx += i * 2\n\t}\n\treturn x, nil\n}\n", 1000))
	p := sitter.NewParser()
	defer p.Close()
	if err := p.SetLanguage(sitter.NewLanguage(grammars()["go"].pointer())); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		p.Parse(in, nil).Close()
	}
}
