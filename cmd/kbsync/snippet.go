package main

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// painter colours text for a terminal, or leaves it alone.
type painter struct{ on bool }

func (p painter) paint(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p painter) bold(s string) string { return p.paint("1", s) }
func (p painter) dim(s string) string  { return p.paint("2", s) }
func (p painter) mark(s string) string { return p.paint("1;33", s) }

// terms are the words of a question that are worth marking: words of letters and digits in lower case, and of scripts that are written
// without spaces every two neighbours.
func terms(question string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 1 {
			out = append(out, string(word))
		}
		word = word[:0]
	}
	var before rune
	for _, r := range strings.ToLower(question) {
		switch {
		case unspaced(r):
			flush()
			if before != 0 {
				out = append(out, string([]rune{before, r}))
			}
			before = r
			continue
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			word = append(word, r)
		default:
			flush()
		}
		before = 0
	}
	flush()
	return out
}

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Khmer, unicode.Lao)
}

// snippet is the part of a text, at most so many characters, that holds the most of the words, on one line.
func snippet(text string, words []string, limit int, p painter) string {
	text = plainLine(text)
	marks := find(text, words)
	from, to := window(text, marks, limit)
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
	}
	at := from
	for _, m := range marks {
		if m[0] < at || m[1] > to {
			continue
		}
		b.WriteString(text[at:m[0]])
		b.WriteString(p.mark(text[m[0]:m[1]]))
		at = m[1]
	}
	b.WriteString(text[at:to])
	if to < len(text) {
		b.WriteString("…")
	}
	return b.String()
}

// plainLine joins lines and takes out what a terminal would obey.
func plainLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// find gives the places of the words in text, ascending and apart, as byte ranges. A word matches where one begins.
func find(text string, words []string) [][2]int {
	lower := strings.ToLower(text)
	if len(lower) != len(text) { // a letter whose lower case has another length: places would not agree
		lower = text
	}
	var all [][2]int
	for _, w := range words {
		for i := 0; ; {
			j := strings.Index(lower[i:], w)
			if j < 0 {
				break
			}
			from := i + j
			i = from + len(w)
			if begins(lower, from, w) {
				all = append(all, [2]int{from, i})
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i][0] < all[j][0] })
	out := all[:0]
	for _, m := range all {
		if n := len(out); n > 0 && m[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], m[1])
			continue
		}
		out = append(out, m)
	}
	return out
}

// begins says whether the word at i is not the inner part of a longer one.
func begins(text string, i int, word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	if unspaced(first) {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	return unspaced(before) || !unicode.IsLetter(before) && !unicode.IsDigit(before)
}

// window is the byte range of at most limit characters that holds the most marks; it starts a little before the first of them.
func window(text string, marks [][2]int, limit int) (from, to int) {
	if utf8.RuneCountInString(text) <= limit {
		return 0, len(text)
	}
	best := -1
	for i := range marks {
		start := back(text, marks[i][0], limit/6)
		end := forward(text, start, limit)
		n := 0
		for _, m := range marks[i:] {
			if m[1] <= end {
				n++
			}
		}
		if n > best {
			best, from = n, start
		}
	}
	return from, forward(text, from, limit)
}

// back goes n characters back, then on to where a word begins.
func back(text string, at, n int) int {
	start := at
	for ; n > 0 && start > 0; n-- {
		_, w := utf8.DecodeLastRuneInString(text[:start])
		start -= w
	}
	if start == 0 {
		return 0
	}
	if i := strings.IndexByte(text[start:at], ' '); i >= 0 {
		return start + i + 1
	}
	return start
}

func forward(text string, at, n int) int {
	for ; n > 0 && at < len(text); n-- {
		_, w := utf8.DecodeRuneInString(text[at:])
		at += w
	}
	return at
}
