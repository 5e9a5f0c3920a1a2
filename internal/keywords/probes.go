package keywords

import "unicode/utf8"

// maxProbe is how much of a question is looked at by [Probes], in bytes.
const maxProbe = 16 << 10

// Probes are the keys, each once and in order, under which an index may have a keyword that text holds: its words, and every string of two to four
// characters of a script that does not separate words. A question is too short to teach which of those are words; the index knows.
func Probes(text string) []string {
	text = fold(text)
	if len(text) > maxProbe {
		text = text[:boundary(text, maxProbe)]
	}
	var out []string
	seen := map[string]bool{}
	add := func(w string) {
		if key := Key(w); !seen[key] {
			seen[key] = true
			out = append(out, key)
		}
	}
	stop := stopWords()
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case isPacked(r):
			j := runEnd(text, i, isPacked)
			probeRun(text[i:j], func(w string) {
				if !stop[w] {
					add(w)
				}
			})
			i = j
		case isKatakana(r), isLetter(r):
			in := isLetter
			if isKatakana(r) {
				in = isKatakana
			}
			j := runEnd(text, i, in)
			if w := text[i:j]; telling(w) && !stop[w] {
				add(w)
			}
			i = j
		default:
			i += n
		}
	}
	return out
}

func probeRun(run string, add func(string)) {
	var at []int
	for i := range run {
		at = append(at, i)
	}
	at = append(at, len(run))
	for i := range at {
		for n := 2; n <= wordMax && i+n < len(at); n++ {
			add(run[at[i]:at[i+n]])
		}
	}
}
