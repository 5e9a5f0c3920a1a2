package latex

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

// folder is a source of files for a parser.
type folder struct {
	files map[string]string
	asked []string
}

func (f *folder) document(path string) *connector.Document {
	text := f.files[path]
	return &connector.Document{
		Path: path, Size: int64(len(text)),
		Open:    func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
		Sibling: f.sibling,
	}
}

func (f *folder) sibling(_ context.Context, path string) (*connector.Document, error) {
	f.asked = append(f.asked, path)
	if _, ok := f.files[path]; !ok {
		return nil, connector.Errorf(connector.ClassNotFound, "no %s", path)
	}
	return f.document(path), nil
}

func (f *folder) parse(t *testing.T, path string) []connector.Element {
	t.Helper()
	p := &Parser{maxTree: 4096, follow: true}
	var els []connector.Element
	for el, err := range p.Parse(t.Context(), f.document(path), strings.NewReader(f.files[path])) {
		if err != nil {
			t.Fatal(err)
		}
		els = append(els, el)
	}
	if err := parsertest.CheckElements(els); err != nil {
		t.Error(err)
	}
	return els
}

func textOf(els []connector.Element) string {
	var b strings.Builder
	for _, el := range els {
		if el.Kind != connector.KindDropped {
			b.WriteString(el.Text)
		}
	}
	return b.String()
}

func TestInputs(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"in its place", map[string]string{"a/main.tex": "A \\input{one} B\n\\include{ch/two}\n", "a/one.tex": "\\section{One}\nfirst", "a/ch/two.tex": "第二章。\n"},
			"A \\section{One}\nfirst\n B\n第二章。\n\n"},
		{"of what was taken in", map[string]string{"main.tex": "\\input{ch/one}", "ch/one.tex": "1\\input{ch/two}\\input{three}", "ch/two.tex": "2\n", "ch/three.tex": "3\n"}, "12\n3\n"},
		{"import", map[string]string{"main.tex": "\\import{ch/}{one}\\subimport{ch}{two.tex}", "ch/one.tex": "1\n", "ch/two.tex": "2\n"}, "1\n2\n"},
		{"in a comment, verbatim, a definition", map[string]string{"main.tex": "% \\input{one}\n\\begin{verbatim}\n\\input{one}\n\\end{verbatim}\n\\verb|\\input{one}|\n", "one.tex": "1"},
			"% \\input{one}\n\\begin{verbatim}\n\\input{one}\n\\end{verbatim}\n\\verb|\\input{one}|\n"},
		{"not there, out of the source, by a macro", map[string]string{"a/main.tex": "\\input{none}\\input{../../x}\\input{/etc/passwd}\\input{\\jobname}\\input\n"},
			"\\input{none}\\input{../../x}\\input{/etc/passwd}\\input{\\jobname}\\input\n"},
		{"itself", map[string]string{"main.tex": "M\\input{one}", "one.tex": "1\\input{main}\\input{one}\n"}, "M1\\input{main}\\input{one}\n"},
		{"too large", map[string]string{"main.tex": "M\\input{one}\\input{two}", "one.tex": strings.Repeat("x", 5000), "two.tex": "2\n"}, "M\\input{one}2\n"},
		{"without .tex, and with another ending", map[string]string{"main.tex": "\\input{one.txt}\\include{one.txt}", "one.txt": "1\n"}, "1\n\\include{one.txt}"},
	} {
		main := "main.tex"
		if _, ok := c.files[main]; !ok {
			main = "a/main.tex"
		}
		f := &folder{files: c.files}
		if got := textOf(f.parse(t, main)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if i := slices.IndexFunc(f.asked, func(p string) bool { return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "..") }); i >= 0 {
			t.Errorf("%s: asked for %s", c.name, f.asked[i])
		}
	}
}

// Sections that a file brings stand under those before the command.
func TestInputsKeepTheirSections(t *testing.T) {
	f := &folder{files: map[string]string{"main.tex": "\\documentclass{book}\n\\begin{document}\n\\chapter{C}\n\\input{one}\n\\end{document}\n", "one.tex": "\\section{S}\nText.\n"}}
	var levels []string
	for _, el := range f.parse(t, "main.tex") {
		if el.Kind == connector.KindHeading {
			levels = append(levels, strings.Repeat("#", el.Level)+el.Title)
		}
	}
	if got := strings.Join(levels, " "); got != "#C ##S" {
		t.Error(got)
	}
}

// Files that take each other in, by tens, end.
func TestInputsEnd(t *testing.T) {
	f := &folder{files: map[string]string{"main.tex": "\\input{0}"}}
	for i := range 20 {
		f.files[string(rune('a'+i))+".tex"] = strings.Repeat("\\input{"+string(rune('a'+i+1))+"}", 3)
	}
	f.files["0.tex"] = "\\input{a}\\input{a}"
	f.parse(t, "main.tex")
	if len(f.asked) > 200_000 {
		t.Errorf("asked %d times", len(f.asked))
	}
	if p := New(100); textOf(func() (els []connector.Element) {
		for el, err := range p.Parse(t.Context(), f.document("main.tex"), strings.NewReader(f.files["main.tex"])) {
			if err != nil {
				t.Fatal(err)
			}
			els = append(els, el)
		}
		return els
	}()) != "\\input{0}" {
		t.Error("followed without being asked")
	}
}
