package counters

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCharsRuler(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("ab é中文。😀\n")
	var b strings.Builder
	for range 300 {
		b.WriteRune(alphabet[rng.IntN(len(alphabet))])
	}
	text := b.String()
	type ruler interface {
		Count(i, j int) int
		Fits(i, j, limit int) bool
		Furthest(i, hi, limit int) int
		Rearmost(lo, j, limit int) int
	}
	r := Chars{}.Ruler(text).(ruler)
	var at []int
	for i := range text {
		at = append(at, i)
	}
	at = append(at, len(text))
	for k, i := range at {
		for l, j := range at[k:] {
			if got := r.Count(i, j); got != l || got != utf8.RuneCountInString(text[i:j]) {
				t.Fatalf("Count(%d, %d) = %d, want %d", i, j, got, l)
			}
			if !r.Fits(i, j, l) || l > 0 && r.Fits(i, j, l-1) {
				t.Fatalf("Fits(%d, %d) is wrong about %d", i, j, l)
			}
			if got := r.Rearmost(0, j, l); got != i {
				t.Fatalf("Rearmost(%d, %d) = %d, want %d", j, l, got, i)
			}
			if got := r.Furthest(i, len(text), l); got != j {
				t.Fatalf("Furthest(%d, %d) = %d, want %d", i, l, got, j)
			}
		}
	}
}

func TestNamed(t *testing.T) {
	for name, want := range map[string]int{"chars": 7, "cl100k": 3, "o200k": 3} {
		c, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		if c.Name() != name || c.Count("Hi 你好吗。") > 8 {
			t.Errorf("%s: %s counts %d", name, c.Name(), c.Count("Hi 你好吗。"))
		}
		if got := c.Ruler("Hi 你好吗。").Count(0, 3); got > want {
			t.Errorf("%s: %d", name, got)
		}
	}
	if _, err := Named("pounds"); err == nil {
		t.Error("an unknown unit is no error")
	}
}
