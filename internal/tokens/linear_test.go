package tokens

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// hostile are pieces to repeat, most of them into one endless pre-token.
var hostile = []string{
	"a", "A", "ab", "aA", "abcde", " ", "\n", " \n", "\t ", "1", "12a", "中", "中文", "日D", "=", "-=", "/", "'", "'s", "x'", "\xff", "\xe4", "😀",
	"\u0301", "e\u0301", "\u00a0", "the", "ing", "知识库同步", "abcabd", "\r\n", "_a", "ſ", "ʰ",
}

func hostileTexts(size int) []string {
	var list []string
	for _, piece := range hostile {
		list = append(list, strings.Repeat(piece, size/len(piece)))
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	letters := make([]byte, size)
	for i := range letters {
		letters[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[rnd.IntN(52)]
	}
	few := make([]byte, size)
	for i := range few {
		few[i] = "ab"[rnd.IntN(2)]
	}
	return append(list, string(letters), string(few), "日"+strings.Repeat("D", size), strings.Repeat("D", size)+"d")
}

// steps returns how many tokens were tried to count text.
func steps(e *Encoding, text string) int {
	s := new(search)
	for p := 0; p < len(text); {
		q := e.scan(e.classes, text, p)
		s.count(e.vocab, text, p, q)
		p = q
	}
	return s.steps
}

func TestCountIsLinear(t *testing.T) {
	small, large := hostileTexts(50_000), hostileTexts(100_000)
	for _, name := range encodings {
		e := get(t, name)
		for i := range small {
			n, m := steps(e, small[i]), steps(e, large[i])
			if n > 20*len(small[i]) || m > 2*n+n/20+1000 {
				t.Errorf("%s: %d steps for %d bytes of %.20q, %d for twice as many", name, n, len(small[i]), small[i], m)
			}
		}
	}
}

func TestLongRuns(t *testing.T) {
	for _, name := range encodings {
		e := get(t, name)
		for _, piece := range []string{"a", " ", "中"} {
			n := steps(e, strings.Repeat(piece, 200_000))
			if m := steps(e, strings.Repeat(piece, 400_000)); m > 2*n+n/20+1000 {
				t.Errorf("%s: %d steps for 200,000 of %q, %d for twice as many", name, n, piece, m)
			}
		}
	}
}

// TestRulerIsLinear cuts long texts without good places to cut.
func TestRulerIsLinear(t *testing.T) {
	for _, name := range encodings {
		e := get(t, name)
		for _, text := range hostileTexts(20_000) {
			r := e.Ruler(text)
			s := new(search)
			for _, max := range []int{100, 512} {
				s.steps = 0
				for i := 0; i < len(text); {
					j := r.furthest(s, i, len(text), max)
					if j == i && strings.HasPrefix(text, "\u0301") {
						break // one grapheme cluster
					}
					if j == i {
						t.Fatalf("%s: no step from %d with %d tokens in %.20q", name, i, max, text)
					}
					if n := e.Count(text[i:j]); n > max {
						t.Fatalf("%s: %d tokens from %d to %d in %.20q, want %d", name, n, i, j, text, max)
					}
					i = j
				}
				if s.steps > 40*len(text) {
					t.Errorf("%s: %d steps for %d bytes of %.20q in ranges of %d tokens", name, s.steps, len(text), text, max)
				}
			}
		}
	}
}

// TestRulerOfOnePiece measures parts of endless pre-tokens.
func TestRulerOfOnePiece(t *testing.T) {
	for _, name := range encodings {
		for k, text := range hostileTexts(3000) {
			checkRuler(t, get(t, name), text, randomRanges(rand.New(rand.NewPCG(uint64(k), 7)), 60, len(text)))
		}
	}
}

func TestRulerIsSmall(t *testing.T) {
	text := strings.Repeat("Some words, and 中文. ", 10_000)
	r := get(t, "cl100k").Ruler(text)
	if size := 8*len(r.tok) + 8*len(r.pre) + 4*len(r.before); size > len(text)/3+100 {
		t.Errorf("%d bytes for a text of %d", size, len(text))
	}
}
