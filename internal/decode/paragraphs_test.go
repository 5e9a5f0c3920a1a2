package decode

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func pieces(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	p := NewParagraphs(strings.NewReader(text))
	for {
		s, err := p.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
}

func TestParagraphs(t *testing.T) {
	got := pieces(t, "\n\na\nb\n\n \nc\n　\nd")
	if want := []string{"\n\na\nb\n\n \n", "c\n　\n", "d"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	if got := pieces(t, " \n\n"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestLongParagraphs(t *testing.T) {
	for name, text := range map[string]string{
		"lines":   strings.Repeat("a line of text\n", 20_000),
		"words":   strings.Repeat("word ", 60_000),
		"base64":  strings.Repeat("QUJD", 100_000),
		"chinese": strings.Repeat("知识库", 50_000),
		"emoji":   strings.Repeat("👩\u200d💻", 30_000),
		"flags":   strings.Repeat("🇩🇪", 30_000),
	} {
		got := pieces(t, text)
		if strings.Join(got, "") != text {
			t.Errorf("%s: not the text", name)
		}
		for i, s := range got {
			if s == "" || len(s) > ParagraphMax || !utf8.ValidString(s) || strings.HasPrefix(s, "\u200d") || strings.HasSuffix(s, "\u200d") {
				t.Errorf("%s: piece of %d bytes", name, len(s))
			}
			if name == "words" && i+1 < len(got) && !strings.HasSuffix(s, " ") {
				t.Errorf("cut within a word")
			}
		}
	}
}
