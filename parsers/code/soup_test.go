//go:build cgo

package code

import (
	"math/rand"
	"strings"
	"testing"
)

// soupWords are tokens that open, close and nest something in one language or another.
func soupWords() []string {
	return []string{
		"- ", "? ", ": ", "a: ", "|\n", ">-\n", "\n", "  ", "    ", "[", "]", "{", "}", "(", ")", "<<EOF", "<<-'A B'", "<<~X", "EOF\n", "\"", "'", "`", "#{", "${", "$(", "%w(", "%Q[",
		"/*", "*/", "//", "#", "<a>", "</a>", "<script>", "R\"x(", "$\"{", "@\"", "\"\"\"", "'''", "f'", "def f", "end\n", "class A", "if x:", "where\n", "let ", "do\n", "=>", "=", ";", "\\",
		"&a ", "*b ", "!t ", "---\n", "é", "汉",
	}
}

// Soups of each language's own tokens: no scanner may overrun its buffer, whatever the parser's state.
func FuzzSoup(f *testing.F) {
	for seed := range int64(20) {
		f.Add(seed)
	}
	p := open(f)
	f.Fuzz(func(t *testing.T, seed int64) {
		rng := rand.New(rand.NewSource(seed))
		words := soupWords()
		if rng.Intn(2) == 0 { // a few tokens over and over pile up state
			rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
			words = words[:1+rng.Intn(5)]
		}
		var b strings.Builder
		for range rng.Intn(500) {
			b.WriteString(words[rng.Intn(len(words))])
		}
		for language, name := range fileNames {
			if got := tiled(t, language, parse(t, p, name, b.String())); got != b.String() {
				t.Fatalf("%s: text changed", language)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for language, name := range fileNames {
		f.Add(name, "def f(x):\n  return 1 # "+language)
	}
	f.Add("a.swift", "// Doc\nfunc f() {\n}\n\n}\n")
	p := open(f)
	f.Fuzz(func(t *testing.T, name, text string) {
		if len(text) > 1<<12 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r > 0x7e }) {
			return // what decode changes is its own affair
		}
		if got := tiled(t, name, parse(t, p, name, text)); got != text {
			t.Fatal("text changed")
		}
	})
}
