package pipeline

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestLineIndex compares with counting line ends.
func TestLineIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	var x lineIndex
	for range 500 {
		part := strings.Repeat("x", rng.IntN(300)) + strings.Repeat("\n", rng.IntN(4))
		x.add(part)
		b.WriteString(part)
	}
	text := b.String()
	for range 2000 {
		at := rng.IntN(len(text))
		if got, want := x.line(at), strings.Count(text[:at], "\n")+1; got != want {
			t.Fatalf("byte %d is on line %d, want %d", at, got, want)
		}
	}
}
