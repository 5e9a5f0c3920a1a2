//go:build !cgo

package code

import "testing"

func TestGo(t *testing.T) {
	in := "// Doc.\npackage a\n\nimport \"fmt\"\n\n// Alone.\n\n// T is a type.\ntype T struct {\n\tx int // x\n}\n\n// M is a method.\nfunc (t *T[K]) M() {\n\tfmt.Println()\n} // after\n\nvar a, b = 1,\n\t2\n\nfunc f() {}\n// end\n"
	elements := parse(t, open(t), "a.go", in)
	if tiled(t, "a.go", elements) != in {
		t.Fatal("text changed")
	}
	want := `import  "// Doc.\npackage a\n\nimport \"fmt\"\n\n"
statement  "// Alone.\n\n"
struct a/T "// T is a type.\ntype T struct {\n\tx int // x\n}\n\n"
  header "type T struct {"
  doc "// T is a type."
method a/T/M "// M is a method.\nfunc (t *T[K]) M() {\n\tfmt.Println()\n} // after\n\n"
  header "func (t *T[K]) M() {"
  doc "// M is a method."
variable a/a "var a, b = 1,\n\t2\n\n"
  header "var a, b = 1,"
function a/f "func f() {}\n"
  header "func f() {"
statement  "// end\n"
`
	if got := dump(elements, in); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if Backend() != "go/ast+indent" || len(Languages()) != 1 {
		t.Error(Backend(), Languages())
	}
}

func TestBrokenGo(t *testing.T) {
	in := "package a\n\nfunc f() {\n\tif (\n}\n\nfunc g() {\n}\n"
	elements := parse(t, open(t), "a.go", in)
	if tiled(t, "a.go", elements) != in || len(elements) != 3 {
		t.Errorf("%d elements", len(elements))
	}
}
