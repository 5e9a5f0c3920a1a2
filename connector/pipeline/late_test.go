package pipeline

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// wordCounter counts words.
type wordCounter struct{}

func (wordCounter) Name() string                      { return "words" }
func (wordCounter) Count(text string) int             { return len(strings.Fields(text)) }
func (wordCounter) Ruler(text string) connector.Ruler { return wordRuler(text) }

type wordRuler string

func (r wordRuler) Count(i, j int) int { return len(strings.Fields(string(r[i:j]))) }

// latePieces are chunks of a text at these spans.
func latePieces(text string, spans ...connector.Span) []*piece {
	var out []*piece
	for _, s := range spans {
		content := text[s.Start:s.End]
		sum := sha256.Sum256([]byte(content))
		out = append(out, &piece{Content: content, Hash: sum[:], Spans: []connector.Span{s}, Late: true, Tokens: len(strings.Fields(content))})
	}
	return out
}

// sized is a text of chunks of these numbers of words, in sentences of five.
func sized(words ...int) []*piece {
	var b strings.Builder
	var spans []connector.Span
	for i, n := range words {
		start := b.Len()
		for k := range n {
			fmt.Fprintf(&b, "w%d-%d", i, k)
			if k%5 == 4 || k == n-1 {
				b.WriteByte('.')
			}
			if k < n-1 {
				b.WriteByte(' ')
			}
		}
		spans = append(spans, connector.Span{Start: start, End: b.Len()})
		b.WriteByte('\n')
	}
	return latePieces(b.String(), spans...)
}

// Every member stands whole in the window that its vector is taken from, no window is larger than the model takes, and of those that hold
// a member none holds it more centrally.
func TestLateWindows(t *testing.T) {
	for name, words := range map[string][]int{
		"small": {5, 6, 7, 8, 9, 10, 3, 4, 5, 30, 12, 13, 14, 15, 16, 17, 5, 5, 5, 5, 8, 9}, "one": {12}, "large": {38, 40, 39, 40, 37}, "mixed": {40, 3, 3, 40, 3, 3, 3, 3, 3, 40},
	} {
		how := &lateReading{counter: wordCounter{}, tokens: 40}
		g := newLateGroup(sized(words...), how)
		windows, of := g.windows()
		covered := 0
		for i, win := range windows {
			text := g.text[win.Start:win.End]
			if n := len(strings.Fields(text)); n > 40 {
				t.Errorf("%s: window %d has %d words", name, i, n)
			}
			if win.Start <= covered {
				covered = max(covered, win.End)
			}
		}
		if covered != len(g.text) || len(of) != len(words) {
			t.Errorf("%s: windows cover %d of %d bytes, %d members of %d", name, covered, len(g.text), len(of), len(words))
		}
		for k, s := range g.at {
			mine := windows[of[k]]
			if s.Start < mine.Start || s.End > mine.End {
				t.Fatalf("%s: member %d at %v is not in its window %v", name, k, s, mine)
			}
			for _, win := range windows {
				if s.Start >= win.Start && s.End <= win.End && g.room(s, win) > g.room(s, mine) {
					t.Errorf("%s: member %d stands more centrally in %v than in %v", name, k, win, mine)
				}
			}
		}
		if name == "small" && (len(windows) < 6 || len(windows) > 16) {
			t.Errorf("%d windows for 5 times a window's text", len(windows))
		}
	}
}

// The text of a group has what chunks share once, and a line end where text was left out.
func TestLateText(t *testing.T) {
	text := "One. Two. Three.\n\nFour. Five."
	pieces := latePieces(text, connector.Span{Start: 0, End: 9}, connector.Span{Start: 5, End: 16}, connector.Span{Start: 18, End: 23}, connector.Span{Start: 23, End: 29})
	pieces = append(pieces, &piece{Context: "A > B\n", Content: "Five.", Spans: []connector.Span{{Start: 24, End: 29}}})
	g := newLateGroup(pieces, &lateReading{counter: wordCounter{}, tokens: 40})
	if want := "One. Two. Three.\nFour. Five.\nA > B\nFive."; g.text != want {
		t.Errorf("%q, want %q", g.text, want)
	}
	for i, pc := range pieces {
		if got := g.text[g.at[i].Start:g.at[i].End]; got != pc.embedText() {
			t.Errorf("member %d stands at %q, want %q", i, got, pc.embedText())
		}
	}
}

// The address of a vector changes with all that the vector depends on.
func TestLateAddress(t *testing.T) {
	how := &lateReading{counter: wordCounter{}, tokens: 40}
	base := newGroup(sized(5, 6, 7), how)
	seen := map[[32]byte]string{base.address(1): "the group", base.contents[1]: "the text alone", newGroup(sized(5, 6, 7), nil).address(1): "of a contextual model"}
	if len(seen) != 3 || newGroup(sized(5, 6, 7), how).address(1) != base.address(1) {
		t.Fatal("addresses meet, or differ for the same group")
	}
	cut := sized(5, 6, 7)
	other := latePieces(strings.Repeat("x ", 30), connector.Span{Start: 0, End: 9})
	for name, g := range map[string]*group{
		"another neighbour": newGroup(append(sized(5, 6), other...), how), "no neighbour behind": newGroup(cut[:2], how),
		"a larger window": newGroup(sized(5, 6, 7), &lateReading{counter: wordCounter{}, tokens: 41}),
	} {
		if was, ok := seen[g.address(1)]; ok {
			t.Errorf("%s has the address of %s", name, was)
		}
		seen[g.address(1)] = name
	}
}

func TestLatePooled(t *testing.T) {
	vectors := [][]float32{{9, 9}, {1, 0}, {0, 1}, {3, 4}}
	spans := []connector.Span{{}, {Start: 0, End: 2}, {Start: 2, End: 4}, {Start: 4, End: 9}}
	if got := pooled(vectors, spans, connector.Span{Start: 0, End: 4}, false); got[0] != 0.5 || got[1] != 0.5 {
		t.Errorf("%v", got)
	}
	got := pooled(vectors, spans, connector.Span{Start: 3, End: 5}, true)
	if length := math.Hypot(float64(got[0]), float64(got[1])); math.Abs(length-1) > 1e-6 || math.Abs(float64(got[1]/got[0])-5.0/3) > 1e-5 {
		t.Errorf("%v of length %v", got, length)
	}
	if pooled(vectors, spans, connector.Span{Start: 20, End: 24}, true) != nil {
		t.Error("a vector of no tokens")
	}
}
