package paths

import (
	"testing"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for given, want := range map[string]string{
		"":                   "",
		"a/é手册😀.md":          "a/é手册😀.md",
		"a\xff/é":            `a\xff/é`,
		"\x80\x0a.md\xc3":    `\x80` + "\n" + `.md\xc3`,
		"cut 手\xe6\x89":      `cut 手\xe6\x89`,
		"surrogate \xed\xa0": `surrogate \xed\xa0`,
		"a real \uFFFD\xfe":  "a real \uFFFD" + `\xfe`,
		`written \xff`:       `written \xff`,
	} {
		if got := Printable(given); got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\xff/é")
	f.Fuzz(func(t *testing.T, path string) {
		got := Printable(path)
		if !utf8.ValidString(got) || utf8.ValidString(path) && got != path {
			t.Errorf("%q becomes %q", path, got)
		}
	})
}
