package pagelayout

import (
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// TestGoesOn: which paragraph at the top of a column is the rest of the one at the foot of the column before.
func TestGoesOn(t *testing.T) {
	para := func(column int, text string, short, indented bool) block {
		l := line{text: text, size: 10, page: 1, box: connector.Box{X0: 0, X1: 200}}
		return block{kind: connector.KindText, lines: []line{l, l}, page: 1, end: 1, column: column, region: column, right: 300, short: short, indented: indented, marker: marker(text)}
	}
	for _, c := range []struct {
		name    string
		a, b    block
		indents bool
		want    bool
	}{
		{"in the middle of a sentence", para(1, "the words go", false, false), para(2, "on here", false, false), false, true},
		{"before a capital", para(1, "the words of", false, false), para(2, "Paris go on", false, false), false, true},
		{"Han", para(1, "这句话还没有", false, false), para(2, "结束。", false, false), false, true},
		{"a short last line", para(1, "A label", true, false), para(2, "Another text", false, false), false, false},
		{"a short last line before a small letter", para(1, "ragged text that", true, false), para(2, "goes on", false, false), false, false},
		{"an end", para(1, "It ends.", false, false), para(2, "Another.", false, false), false, false},
		{"an end that fills the line, where paragraphs are indented", para(1, "It ends.", false, false), para(2, "The same paragraph.", false, false), true, true},
		{"an indented line", para(1, "the words go", false, false), para(2, "on here", false, true), true, false},
		{"an item", para(1, "the words go", false, false), para(2, "• on here", false, false), false, false},
	} {
		if got := goesOn(&c.a, &c.b, c.indents); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestDrawnTwice: text that is drawn again at the same place, to look bold, stands once.
func TestDrawnTwice(t *testing.T) {
	p := &press{size: 10}
	p.page()
	p.put(50, 100, "Bold by hand.")
	p.put(50.3, 100, "Bold by hand.")
	p.put(50, 300, "Bold by hand.")
	want(t, p, "dropped (repeated text) Bold by hand.\ntext (1) Bold by hand.\ntext (1) Bold by hand.\n")
}

// TestMarker: how items of lists start.
func TestMarker(t *testing.T) {
	for text, want := range map[string]string{
		"• a thing": "•", "– a thing": "–", "-5 degrees": "", "1. a thing": "1.", "(a) a thing": "(a)", "（三）事项": "（三）", "一、事项": "一、", "①事项": "①",
		"1.5 metres": "", "2024. Then": "", "iv) a thing": "iv)", "word) a thing": "", "a word": "", "3": "", "[12] A. Author": "[12]", "": "",
	} {
		if got := marker(text); got != want {
			t.Errorf("marker(%q) = %q, want %q", text, got, want)
		}
	}
}
