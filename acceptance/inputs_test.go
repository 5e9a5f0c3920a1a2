package acceptance

import (
	"strings"
	"testing"
)

// A document that takes in others is in step with them: it is read again when one of them changes, goes or comes, and is not opened while none does.
func TestInputsAreFollowed(t *testing.T) {
	r := newRig(t, "", "rules:\n- { match: { path: book/main.tex }, parser: { latex: { follow_inputs: true } } }\n")
	r.write("book/main.tex", "\\documentclass{book}\n\\begin{document}\n\\chapter{Opening}\nWords of the main file.\n\n\\input{one}\n\n\\input{two}\n\\end{document}\n")
	r.write("book/one.tex", "\\section{First}\nThe first part speaks of apples.\n")
	r.write("other.md", "# Other\n\nNothing to do with it.\n")
	whole := func() string {
		var b strings.Builder
		for _, p := range r.export() {
			if p.Path == "book/main.tex" {
				b.WriteString(p.Content)
			}
		}
		return b.String()
	}
	quiet := func(when string) {
		t.Helper()
		if res := r.sync(); res.BytesRead != 0 || res.Documents.Updated != 0 || res.Documents.Unchanged != 3 && res.Documents.Unchanged != 2 && res.Documents.Unchanged != 4 {
			t.Errorf("%s, a sync with nothing changed: %+v", when, res)
		}
	}
	r.settle()
	r.sync()
	if got := whole(); !strings.Contains(got, "apples") || !strings.Contains(got, "\\input{two}") || !strings.Contains(got, "main file") {
		t.Fatalf("at first: %q", got)
	}
	quiet("at first")

	r.write("book/one.tex", "\\section{First}\nThe first part speaks of pears.\n")
	r.settle()
	if res := r.sync(); res.Documents.Updated != 2 {
		t.Errorf("a part was edited: %+v", res.Documents)
	}
	if got := whole(); !strings.Contains(got, "pears") || strings.Contains(got, "apples") {
		t.Errorf("a part was edited: %q", got)
	}
	quiet("after an edit")

	r.write("book/two.tex", "第二部分说的是橘子。\n")
	r.settle()
	r.sync()
	if got := whole(); !strings.Contains(got, "橘子") {
		t.Errorf("a part came: %q", got)
	}
	quiet("after a part came")

	r.remove("book/one.tex")
	r.sync()
	if got := whole(); strings.Contains(got, "pears") || !strings.Contains(got, "\\input{one}") {
		t.Errorf("a part went: %q", got)
	}
	quiet("after a part went")
	r.exact()
}

// A part that is edited again a moment after a sync, before its version can be trusted, is followed too.
func TestInputsEditedAtOnce(t *testing.T) {
	r := newRig(t, "", "rules:\n- { match: { path: main.tex }, parser: { latex: { follow_inputs: true } } }\n")
	r.write("main.tex", "\\section{A}\n\\input{one}\n")
	for _, word := range []string{"apples", "pears", "plums"} {
		r.write("one.tex", "The part speaks of "+word+".\n")
		r.sync()
		held := false
		for _, p := range r.export() {
			held = held || p.Path == "main.tex" && strings.Contains(p.Content, word)
		}
		if !held {
			t.Errorf("the main file does not speak of %s", word)
		}
	}
	r.exact()
}
