package wordpieces

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestFurthest holds the ruler's shortcuts against counting.
func TestFurthest(t *testing.T) {
	parts := strings.Split(odd, "|")
	r := rand.New(rand.NewPCG(9, 10))
	for _, tok := range []Tokenizer{small(t), uncased(t), Prefixed(small(t), "hello: "), Prefixed(uncased(t), "hello: ")} {
		for range 10000 {
			var b strings.Builder
			for range r.IntN(30) {
				b.WriteString(parts[r.IntN(len(parts))])
			}
			text, limit := b.String(), r.IntN(20)
			i := r.IntN(len(text) + 1)
			hi := i + r.IntN(len(text)-i+1)
			ruler := tok.Ruler(text).(*ruler)
			if got, want := ruler.Fits(i, hi, limit), tok.Count(text[i:hi]) <= limit; got != want {
				t.Fatalf("%q: that %d:%d fits %d is %t", text, i, hi, limit, got)
			}
			j := ruler.Furthest(i, hi, limit)
			if j < i || j > hi || j > i && tok.Count(text[i:j]) > limit || j < hi && tok.Count(text[i:hi]) <= limit && j == i {
				t.Fatalf("%q: from %d to %d, %d fit up to %d", text, i, hi, limit, j)
			}
			// Beyond the first two words, of which one may follow half a character, counts only grow from word to word.
			seen := 0
			for _, at := range ruler.at {
				if at < i {
					continue
				}
				if seen++; seen > 2 && at > j && at <= hi && tok.Count(text[i:at]) <= limit {
					t.Fatalf("%q: from %d to %d, %d fit up to %d, not %d", text, i, hi, limit, at, j)
				}
			}
		}
	}
}
