//go:build cgo

package strategies

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/parsers/code"
	"github.com/kbsync/kbsync/parsers/markdown"
)

// fencedClass is a class in a fence of Markdown, each line after prefix.
func fencedClass(prefix string) string {
	var b strings.Builder
	b.WriteString("```python\nclass Account(Base):\n    \"\"\"账户。\"\"\"\n")
	for i := range 9 {
		fmt.Fprintf(&b, "    def method%d(self, a):\n        value = compute(a)\n        return value + %d\n", i, i)
	}
	b.WriteString("def last():\n    return 1\n```\n")
	return prefix + strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", "\n"+strings.Repeat(" ", len(prefix))) + "\n"
}

// TestFenceByDeclaration: a fence that must be cut is cut between the declarations of its code, below the line that opens it and the type around it.
func TestFenceByDeclaration(t *testing.T) {
	for _, doc := range []string{
		"# 账户\n\ntext before\n\n" + fencedClass("") + "\ntext after, which is long enough to stand alone\n",
		"- item\n\n  text\n\n" + "  " + strings.ReplaceAll(fencedClass(""), "\n", "\n  ") + "\n",
		"---\ntitle: x\n---\n\n" + fencedClass("") + "\nmore\n",
	} {
		els := parsedBy(t, markdown.Plugin(code.NewDivider()), "x.md", doc)
		c := markdownDefaults()
		c.Sizing = Sizing{MaxChars: 260, MinChars: 20}
		defs := 0
		for _, chunk := range lawful(t, mustOpen(t, Markdown(), &c), els) {
			if !strings.Contains(chunk.Text, "def ") {
				continue
			}
			first := strings.TrimSpace(chunk.Text)
			if n := strings.Count(chunk.Text, "def "); n != strings.Count(chunk.Text, "return") {
				t.Errorf("a function is cut: %q", chunk.Text)
			} else {
				defs += n
			}
			if strings.HasPrefix(first, "def method") && (!strings.Contains(chunk.Context, "```python\n") || !strings.Contains(chunk.Context, "class Account(Base):")) {
				t.Errorf("context %q of %q", chunk.Context, chunk.Text)
			}
			if strings.HasPrefix(first, "def last") && strings.Contains(chunk.Context, "class Account") {
				t.Errorf("a function of the file stands below a class: %q %q", chunk.Context, chunk.Text)
			}
		}
		if defs != 10 {
			t.Errorf("%d functions of 10 are whole", defs)
		}
	}
}

// TestFenceLongFunction: a function in a fence that does not fit is cut between lines below its signature; nothing is lost.
func TestFenceLongFunction(t *testing.T) {
	doc := "```go\npackage x\n\n// F 求和。\nfunc (t *T) F(a int) int {\n" + strings.Repeat("\tcompute(a)\n", 60) + "}\n```\n"
	c := markdownDefaults()
	c.Sizing = Sizing{MaxChars: 200, MinChars: 20}
	n := 0
	for i, chunk := range lawful(t, mustOpen(t, Markdown(), &c), parsedBy(t, markdown.Plugin(code.NewDivider()), "x.md", doc)) {
		if i > 0 && strings.Contains(chunk.Text, "compute") {
			n++
			if !strings.Contains(chunk.Context, "```go\n") || !strings.Contains(chunk.Context, "func (t *T) F(a int) int {") && !strings.Contains(chunk.Text, "func (t *T)") {
				t.Errorf("context %q", chunk.Context)
			}
		}
	}
	if n < 3 {
		t.Errorf("%d pieces", n)
	}
}

// FuzzFence cuts fences of any code below the laws.
func FuzzFence(f *testing.F) {
	f.Add("python", "class A(B):\n    def m(self):\n        return 1\n\n    def n(self):\n        return 2\n", uint8(40), uint8(0))
	f.Add("go", "package x\n\n// F 文档。\nfunc F() {\n\tg()\n}\n\nvar s = \"long long long\"\n", uint8(50), uint8(2))
	f.Add("vue", "<script lang=\"ts\">\nclass A { m() { return 1 } }\n</script>\n<style>.a{}</style>\n", uint8(60), uint8(4))
	f.Add("go", "p722agC Z\n\ny/ B 文档。0func A()A000000070000000000!0000000000000000", uint8('2'), uint8(2)) // a declaration that begins in a word
	p := markdown.Plugin(code.NewDivider())
	f.Fuzz(func(t *testing.T, language, text string, size, indent uint8) {
		if len(text) > 4096 || size < 4 || strings.ContainsAny(language, "\r\n") {
			return
		}
		text = strings.Repeat(text, 1+300/(len(text)+1)) // fences under 256 bytes are not divided
		prefix := strings.Repeat(" ", int(indent)%5)
		doc := "# 标题\n\n- item\n\n" + prefix + "```" + language + "\n" + prefix + strings.ReplaceAll(text, "\n", "\n"+prefix) + "\n" + prefix + "```\n"
		c := markdownDefaults()
		c.Sizing = Sizing{MaxChars: int(size), MinChars: int(indent) % 24}
		lawful(t, mustOpen(t, Markdown(), &c), parsedBy(t, p, "x.md", doc))
		lawful(t, openCode(t, int(size)), codeElements(t, "x."+language, text))
	})
}
