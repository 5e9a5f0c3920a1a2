package markdown

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// Every form of front matter: read, and whole in one element with the text behind it untouched.
func TestFrontMatterForms(t *testing.T) {
	want := map[string]any{"title": "你好: x", "n": int64(3), "x": 1.5, "tags": []any{"a", "b"}, "deep": map[string]any{"k": true}}
	ints := map[string]any{"title": "你好: x", "n": 3, "x": 1.5, "tags": []any{"a", "b"}, "deep": map[string]any{"k": true}}
	const (
		yaml   = "title: '你好: x'\nn: 3\nx: 1.5\ntags: [a, b]\ndeep:\n  k: true\n"
		toml   = "title = \"你好: x\"\nn = 3\nx = 1.5\ntags = [\"a\", \"b\"]\n[deep]\nk = true\n"
		object = "\"title\": \"你好: x\",\n\"n\": 3, \"x\": 1.5,\n\"tags\": [\"a\", \"b\"],\n\"deep\": {\"k\": true}\n"
	)
	for front, want := range map[string]map[string]any{
		"---\n" + yaml + "---\n":             ints,
		"---yaml\n" + yaml + "...\n":         ints,
		"+++\n" + toml + "+++\n":             want,
		"---toml\n" + toml + "---\n":         want,
		";;;\n" + object + ";;;\n":           want,
		";;;\n{\n" + object + "}\n;;;\n":     want,
		"---json\n{\n" + object + "}\n---\n": want,
		"{\n" + object + "}\n":               want,
		"---\n- no\n- mapping\n---\n":        nil,
		"+++\ntitle = {\n+++\n":              nil,
		";;;\n\"title\": \n;;;\n":            nil,
		"---\n" + yaml + "---  \n\n \n":      ints,
	} {
		els := parse(t, front+"# Heading\n\ntext\n")
		if els[0].Kind != connector.KindFrontMatter || !els[0].Atom || !reflect.DeepEqual(els[0].Front, want) {
			t.Errorf("%q: %s %#v", front, els[0].Kind, els[0].Front)
		}
		if len(els) != 3 || els[1].Title != "Heading" || strings.TrimSpace(els[0].Text) != strings.TrimSpace(front) {
			t.Errorf("%q: %q", front, els[0].Text)
		}
	}
	for _, text := range []string{"{\"a\": 1}\n", "{\n}\n\ntext\n", "{\"a\": 1} and text\n", "{% raw %}\ntext\n", ";;;\nno key\n;;;\ntext\n", "----\na: b\n----\ntext\n", "---\nno key here\n\n---\n", "---\na: b\n"} {
		if els := parse(t, text); els[0].Kind == connector.KindFrontMatter {
			t.Errorf("%q is front matter", text)
		}
	}
}

// The parts of TOML that Hugo's front matter has.
func TestFrontMatterTOML(t *testing.T) {
	els := parse(t, "+++\nmenu = { main = { weight = 1, name = 'x' } }\n[[resources]]\nsrc = \"a\"\n[[resources]]\nsrc = \"b\"\n[resources.params]\nk = [ {a = 1}, ]\n+++\ntext\n")
	want := map[string]any{
		"menu":      map[string]any{"main": map[string]any{"weight": int64(1), "name": "x"}},
		"resources": []any{map[string]any{"src": "a"}, map[string]any{"src": "b", "params": map[string]any{"k": []any{map[string]any{"a": int64(1)}}}}},
	}
	if !reflect.DeepEqual(els[0].Front, want) {
		t.Errorf("%#v", els[0].Front)
	}
	for _, bad := range []string{"a = 1\n[[a]]", "[[a]\n", "a = {b}", "a = {b = 1", "a = " + strings.Repeat("{a=", 50_000)} {
		if els := parse(t, "+++\n"+bad+"\n+++\ntext\n"); els[0].Front != nil {
			t.Errorf("%.40q: %v", bad, els[0].Front)
		}
	}
}

// FuzzFrontMatter: whatever it holds, front matter ends where a line ends, and what is read of it can be kept as JSON.
func FuzzFrontMatter(f *testing.F) {
	f.Add("---\na: b\n---\nx")
	f.Add("+++\na = {b = [1, 2.5]}\n[[c]]\nd = 'e'\n+++\n\nx")
	f.Add(";;;\n\"a\": {\"b\": 1e400}\n;;;\nx")
	f.Add("{\"a\": [1, {}]}\n\nx")
	f.Fuzz(func(t *testing.T, text string) {
		front, size := cutFrontMatter(text)
		if size < 0 || size > len(text) || front != nil && size == 0 {
			t.Fatalf("%d of %d, %v", size, len(text), front)
		}
		if size > 0 && size < len(text) && text[size-1] != '\n' {
			t.Errorf("front matter ends in a line: %q", text[:size])
		}
		if _, err := json.Marshal(front); err != nil {
			t.Error(err)
		}
	})
}
