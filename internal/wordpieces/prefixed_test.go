package wordpieces

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// prefixes end in white space, in words, in halves of characters and in what marks can follow.
var prefixes = []string{"hello: ", "hello", "e", "中", "中\xe4\xb8", " ", "\x01", "hello 中\n\n", "a\u3000", "\xff", "´", "﷽", "x \u0301", "か"}

// prefixedLaws checks a tokenizer behind a prefix against the texts put together.
func prefixedLaws(tb testing.TB, tok Tokenizer, prefix, text string, i, j int) {
	tb.Helper()
	p := Prefixed(tok, prefix)
	laws(tb, p, text, i, j)
	// As many bytes as the prefix has in UTF-8, half characters being U+FFFD.
	all := whole(prefix) + text
	want, wantSpans := tok.Encode(all, 0)
	got, spans := p.Encode(text, 0)
	if !slices.Equal(got, want) || !slices.Equal(p.AppendIDs(nil, text, 0), want) || p.Count(text) != len(want) {
		tb.Fatalf("%q+%q: %v, counted %d, want %v", prefix, text, got, p.Count(text), want)
	}
	for k, s := range spans {
		w := wantSpans[k]
		if s.Start != max(0, w.Start-len(all)+len(text)) || s.End != max(0, w.End-len(all)+len(text)) {
			tb.Fatalf("%q+%q: piece %d is at %v, want %v", prefix, text, k, s, w)
		}
	}
}

// TestPrefixedAlone counts what stands behind white space as what it is alone.
func TestPrefixedAlone(t *testing.T) {
	parts := strings.Split(odd, "|")
	r := rand.New(rand.NewPCG(7, 8))
	for _, tok := range []Tokenizer{small(t), uncased(t)} {
		for _, prefix := range []string{"hello: ", "hello 中\n"} {
			p, head := Prefixed(tok, prefix), tok.Count(strings.TrimSpace(prefix))-tok.Specials()
			for range 10000 {
				var b strings.Builder
				for range r.IntN(10) {
					b.WriteString(parts[r.IntN(len(parts))])
				}
				want := head + tok.Count(b.String())
				if got := p.Count(b.String()); got != want && (want > head+tok.Specials() || got > want+1) {
					t.Fatalf("%q+%q: %d pieces, alone %d", prefix, b.String(), got, want)
				}
			}
		}
	}
}

func TestPrefixedLaws(t *testing.T) {
	parts := strings.Split(odd, "|")
	r := rand.New(rand.NewPCG(5, 6))
	for _, tok := range []Tokenizer{small(t), uncased(t)} {
		for range 20000 {
			var b strings.Builder
			for range r.IntN(10) {
				b.WriteString(parts[r.IntN(len(parts))])
			}
			i := r.IntN(b.Len() + 1)
			prefixedLaws(t, tok, prefixes[r.IntN(len(prefixes))], b.String(), i, i+r.IntN(b.Len()-i+1))
		}
	}
}

func FuzzPrefixed(f *testing.F) {
	for i, s := range strings.Split(odd, "|") {
		f.Add(prefixes[i%len(prefixes)], s+" hello"+s, uint16(i), uint16(3))
	}
	all := []Tokenizer{small(f), uncased(f)}
	f.Fuzz(func(t *testing.T, prefix, text string, i, n uint16) {
		from := int(i) % (len(text) + 1)
		for _, tok := range all {
			prefixedLaws(t, tok, prefix, text, from, from+int(n)%(len(text)-from+1))
		}
	})
}

func TestPrefixed(t *testing.T) {
	tok := small(t)
	if Prefixed(tok, "") != tok {
		t.Error("an empty prefix makes another tokenizer")
	}
	p := Prefixed(tok, "hello ")
	ids, spans := p.Encode("  wor x", 0)
	if want := []connector.Span{{}, {}, {Start: 2, End: 5}, {Start: 5, End: 6}, {Start: 6, End: 7}, {Start: 7, End: 7}}; !slices.Equal(spans, want) {
		t.Errorf("%v at %v, want %v", ids, spans, want)
	}
	if ids, spans = p.Encode("wor", 2); len(ids) != 2 || spans[1] != (connector.Span{}) {
		t.Errorf("cut in the prefix: %v at %v", ids, spans)
	}
	if n := p.Count(""); n != 4 { // the prefix and its white space
		t.Errorf("%d pieces of nothing", n)
	}
	for _, q := range []Tokenizer{Prefixed(p, "wor "), Prefixed(tok, "hello wor ")} {
		if name := q.Name(); name != `small+"hello wor "` {
			t.Errorf("the name is %s", name)
		}
	}
}

// TestPrefixedOthers has a tokenizer that this package doesn't know.
func TestPrefixedOthers(t *testing.T) {
	type other struct{ Tokenizer }
	tok := small(t)
	for _, prefix := range prefixes {
		prefixedLaws(t, other{tok}, prefix, "a 中 hello", 1, 6)
	}
}
