package tokens

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// alphabet are the pieces of random texts, chosen to meet each other's rules.
var alphabet = []string{
	"a", "b", "the", "The", "THE", " ", "  ", "\n", "\r\n", "\t", "\r", "'", "'s", "'LL", "'ſ", "1", "12", "12345", "½", "中", "文", "日本",
	"知识库", ",", "。", "\u3000", "\u00a0", "\u0085", "é", "e\u0301", "\u0301", "ʰ", "ǅ", "À", "😀", "👩‍👧", "🇨🇳", "\xff", "\xe4\xb8", "\x80", "\xf0\x9f",
	"/", "//", "!", "...", "==", "<|endoftext|>", "_", "-", "camelCase", "aaaaaaaa", "        ", "xyz", "ing", "tion",
}

// randomText joins n pieces; some of them many times.
func randomText(rnd *rand.Rand, n int) string {
	var b strings.Builder
	few := 1 + rnd.IntN(len(alphabet))
	for range n {
		piece := alphabet[rnd.IntN(few)]
		if rnd.IntN(3) == 0 {
			piece = alphabet[rnd.IntN(len(alphabet))]
		}
		times := 1
		if rnd.IntN(40) == 0 {
			times = 1 + rnd.IntN(300)
		}
		b.WriteString(strings.Repeat(piece, times))
	}
	return b.String()
}

// checkRuler compares a ruler with counts of its own, for the given ranges.
func checkRuler(t testing.TB, e *Encoding, text string, ranges [][2]int) {
	t.Helper()
	r := e.Ruler(text)
	for _, ij := range ranges {
		i, j := ij[0], ij[1]
		want := e.Count(text[i:j])
		if got := r.Count(i, j); got != want {
			t.Fatalf("%s: Count(%d, %d) = %d, want %d of %q in %q", e.Name(), i, j, got, want, text[i:j], text)
		}
		for _, max := range []int{want - 1, want, want + 1} {
			if got := r.Fits(i, j, max); got != (want <= max) {
				t.Fatalf("%s: Fits(%d, %d, %d) = %v with %d tokens", e.Name(), i, j, max, got, want)
			}
		}
		max := 1 + (want*3)/4
		to := r.Furthest(i, j, max)
		if to < i || to > j || e.Count(text[i:to]) > max {
			t.Fatalf("%s: Furthest(%d, %d, %d) = %d, which has %d tokens", e.Name(), i, j, max, to, e.Count(text[i:to]))
		}
		if want <= max && to != j {
			t.Fatalf("%s: Furthest(%d, %d, %d) = %d, but all fits", e.Name(), i, j, max, to)
		}
	}
}

func randomRanges(rnd *rand.Rand, n, length int) [][2]int {
	ranges := [][2]int{{0, length}}
	for range n {
		i := rnd.IntN(length + 1)
		j := i + rnd.IntN(length-i+1)
		if rnd.IntN(2) == 0 {
			j = min(length, i+rnd.IntN(40))
		}
		ranges = append(ranges, [2]int{i, j})
	}
	return ranges
}

func TestRulerRandom(t *testing.T) {
	for _, name := range encodings {
		e := get(t, name)
		for seed := range uint64(200) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			text := randomText(rnd, 1+rnd.IntN(120))
			checkRuler(t, e, text, randomRanges(rnd, 50, len(text)))
		}
	}
}

func TestRulerEveryRange(t *testing.T) {
	for _, name := range encodings {
		e := get(t, name)
		for _, text := range texts {
			var ranges [][2]int
			for i := range len(text) + 1 {
				for j := i; j <= len(text); j++ {
					ranges = append(ranges, [2]int{i, j})
				}
			}
			checkRuler(t, e, text, ranges)
		}
	}
}

func FuzzRuler(f *testing.F) {
	for _, text := range texts {
		f.Add(text, uint16(1), uint16(7))
	}
	for seed := range uint64(20) {
		f.Add(randomText(rand.New(rand.NewPCG(seed, 2)), 60), uint16(seed*31), uint16(seed*57))
	}
	f.Fuzz(func(t *testing.T, text string, a, b uint16) {
		if len(text) > 1<<14 {
			return
		}
		i, j := int(a)%(len(text)+1), int(b)%(len(text)+1)
		ranges := [][2]int{{min(i, j), max(i, j)}}
		rnd := rand.New(rand.NewPCG(uint64(a), uint64(b)))
		ranges = append(ranges, randomRanges(rnd, 10, len(text))...)
		for _, name := range encodings {
			checkRuler(t, get(t, name), text, ranges)
		}
	})
}

// TestFurthest compares with a search through all places.
func TestFurthest(t *testing.T) {
	prose := strings.Repeat("Words of the usual kind, and 中文的句子。Numbers 12345 too.\r\n\r\n", 20)
	long := strings.Repeat("没有标点的长句子", 100) + strings.Repeat("👩‍👧e\u0301", 50) + strings.Repeat("aGVsbG8gd29ybGQ", 100)
	for _, name := range encodings {
		e := get(t, name)
		for _, text := range []string{prose, long, prose + long + prose} {
			r := e.Ruler(text)
			for _, max := range []int{1, 2, 3, 7, 30, 200} {
				for i := 0; i < len(text); {
					j := r.Furthest(i, len(text), max)
					if j == i {
						i = nextCluster(text, i) // one cluster is more than max
						continue
					}
					if n := e.Count(text[i:j]); n > max {
						t.Fatalf("%s: %d tokens in %q, want at most %d", name, n, text[i:j], max)
					}
					next := nextCluster(text, j)
					if r.pre.has(j) && r.pre.ceil(j+1, len(text)) <= j+cutLonger {
						next = r.pre.ceil(j+1, len(text))
					}
					if j < len(text) && next > j && e.Count(text[i:next]) <= max && r.clusterStart(i, next) {
						t.Fatalf("%s: Furthest(%d, max %d) = %d, but %d fits: %q", name, i, max, j, next, text[i:next])
					}
					i = j
				}
			}
		}
	}
}

// nextCluster returns the end of the grapheme cluster at p.
func nextCluster(text string, p int) int {
	it := graphemes.FromString(text[p:])
	if !it.Next() {
		return p
	}
	return p + it.End()
}
