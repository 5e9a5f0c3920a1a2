package pipeline

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What is copied into the metadata of every chunk has bounds, and stays text.
func TestClipped(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("x", maxSaid), "文" + strings.Repeat("字", maxSaid), strings.Repeat("x", maxSaid-1) + "é"} {
		got := clip(s)
		if len(got) > maxSaid || !utf8.ValidString(got) || len(s) <= maxSaid && got != s || len(s) > maxSaid && !strings.HasSuffix(got, "…") {
			t.Errorf("%d bytes became %d: %.20q", len(s), len(got), got)
		}
	}
	list, ok := clipped(append(make([]any, 3*maxSaidItems), "x")).([]any)
	if !ok || len(list) != maxSaidItems {
		t.Errorf("a list has %d items", len(list))
	}
	headings := []string{"a", strings.Repeat("b", 2*maxSaid)}
	if got := clippedAll(headings); len(got[1]) > maxSaid || got[0] != "a" || len(headings[1]) != 2*maxSaid {
		t.Errorf("%.30q of %.30q", got, headings)
	}
}
