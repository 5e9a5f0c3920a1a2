package strategies

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/clipperhouse/uax29/v2/words"

	"github.com/kbsync/kbsync/connector"
)

// trimSpan drops blank space at the end of text[lo:hi] and blank lines at its start; the first line keeps its
// indentation, unless the range starts in mid-line. The result is empty if the range is blank.
func trimSpan(text string, lo, hi int) (int, int) {
	for hi > lo {
		c := text[hi-1]
		if c > ' ' && c < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeLastRuneInString(text[lo:hi])
		if !unicode.IsSpace(r) {
			break
		}
		hi -= n
	}
	start := lo
	if lo > 0 && lo < len(text) && text[lo-1] != '\n' && text[lo-1] != '\r' { // in mid-line: no indentation to keep
		start = skipBlank(text, lo, hi)
	}
	for p := start; p < hi; p++ {
		switch text[p] {
		case '\n':
			start = p + 1
		case ' ', '\t', '\r', '\v', '\f':
			if text[p] == '\r' && (p+1 == hi || text[p+1] != '\n') {
				start = p + 1
			}
		default:
			return start, hi
		}
	}
	return start, hi
}

// skipBlank is the position of the first character at or after p that is no blank space, at most hi. A blank with a mark on it is none,
// nor are the blanks that make one word with it (UAX #29, WB3d).
func skipBlank(text string, p, hi int) int {
	for run := p; p < hi; {
		c := text[p]
		n := 1
		if c != ' ' && c < utf8.RuneSelf {
			run = p
		}
		if c >= utf8.RuneSelf {
			var r rune
			if r, n = utf8.DecodeRuneInString(text[p:hi]); !unicode.IsSpace(r) {
				return p
			}
		} else if !asciiSpace(c) && c != '\v' && c != '\f' {
			return p
		}
		if q := p + n; q < hi && text[q] >= 0xCC && c != '\n' && c != '\r' && markAt(text, q) {
			return run
		}
		if p += n; c != ' ' && c < utf8.RuneSelf {
			run = p
		}
	}
	return min(p, hi)
}

// cutting is how a range is cut.
type cutting struct {
	seps  *separators
	fill  int      // a piece takes this percentage of what fits before a better separator may end it
	atoms *atomSet // may be nil
}

// atomSet holds the atoms of a text in order: those that fit the cap, which are not cut, and those that do not.
type atomSet struct{ keep, big []connector.Span }

// inside finds the span that position p is strictly inside of.
func inside(spans []connector.Span, p int) (connector.Span, bool) {
	k := sort.Search(len(spans), func(k int) bool { return spans[k].End > p })
	if k < len(spans) && spans[k].Start < p {
		return spans[k], true
	}
	return connector.Span{}, false
}

// cut is the end of a piece: where, what kind of separator ended it (0 also where everything fitted), and whether it goes
// through a word.
type cut struct {
	at     int
	level  uint8
	forced bool
}

// next finds the end of the piece that starts at lo: the last separator of the best level for which the trimmed piece
// fits, hi if everything fits. If a word alone is too long the cut is between grapheme clusters.
func (m *measure) next(lo, hi int, room []int, c cutting) cut {
	got, ok := m.nextFrom(lo, lo, hi, room, c)
	if ok {
		return got
	}
	start, end := trimSpan(m.text, lo, hi)
	return m.forcedCut(start, end, room)
}

// nextFrom is next for a piece that also repeats text[from:lo]. It fails if nothing behind lo fits without cutting a word.
func (m *measure) nextFrom(from, lo, hi int, room []int, c cutting) (cut, bool) {
	start, end := trimSpan(m.text, from, hi)
	if start == end {
		return cut{at: hi}, true
	}
	fresh := max(start, lo)
	reach := m.furthest(start, end, room)
	if reach >= end && (m.additive || m.fits(start, end, room)) {
		return cut{at: hi}, true
	}
	if !m.additive {
		reach = m.overMarks(start, reach, end, room)
	}
	if c.atoms != nil {
		if a, ok := inside(c.atoms.keep, reach); ok {
			if a.Start <= lo {
				return m.wholeAtom(start, a, hi, room)
			}
			reach = a.Start
		}
	}
	for reach > fresh {
		stop := skipBlank(m.text, reach, hi)
		at, level := c.seps.last(m.text, fresh, m.floor(fresh, reach, c.fill), stop)
		if level == levelNone {
			if at = lastWord(m.text, fresh, reach); at <= fresh {
				return cut{}, false
			}
			level = c.seps.word
		}
		at = c.besideAtom(at, fresh, stop)
		_, to := trimSpan(m.text, start, at)
		if to <= fresh && at > fresh { // blank so far: an indentation that does not fit
			return cut{at: at, level: level}, from == lo
		}
		if at > fresh && (m.additive && to <= reach || m.fits(start, to, room)) {
			return cut{at: at, level: level}, true
		}
		reach = min(to-1, reach-1) // a token that reaches over the cut: try the separator before it
	}
	return cut{}, false
}

// overMarks moves reach behind the closing marks that stand there, if they fit: a tokenizer may count "。" to the words after it,
// and the sentence that ends there would seem not to fit.
func (m *measure) overMarks(start, reach, end int, room []int) int {
	const most = 4 // "。」" and the like
	at := reach
	for range most {
		if at >= end || m.text[at] < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeRuneInString(m.text[at:end])
		if !closes(r) {
			break
		}
		at += n
	}
	if at > reach && m.fits(start, at, room) {
		return at
	}
	return reach
}

// floor is where a piece is full enough to end: behind fill percent of what fits, and min_chars.
func (m *measure) floor(lo, reach, fill int) int {
	p := lo
	for n := m.b.minChars; n > 0 && p < reach; n-- {
		for p++; p < reach && m.text[p]&0xC0 == 0x80; p++ {
		}
	}
	return max(min(p, reach-1), lo+(reach-lo)*fill/100)
}

// wholeAtom ends a piece behind the atom that it starts in, which fits by itself.
func (m *measure) wholeAtom(start int, a connector.Span, hi int, room []int) (cut, bool) {
	at := min(a.End, hi)
	_, to := trimSpan(m.text, start, at)
	return cut{at: at}, m.fits(start, to, room)
}

// besideAtom moves a cut out of an atom that is to be kept: behind it if that is within stop, else before it.
func (c cutting) besideAtom(at, lo, stop int) int {
	if c.atoms == nil {
		return at
	}
	a, ok := inside(c.atoms.keep, at)
	switch {
	case !ok:
		return at
	case a.End <= stop:
		return a.End
	}
	return max(a.Start, lo)
}

// forcedCut cuts text in which no separator fits: between two words of Unicode (UAX #29) if the one that is too much fits a
// piece of its own; else at the last grapheme boundary up to which text[lo:] fits; inside a cluster that alone is too
// long, at the last character boundary; and after one character in any case. It is forced if it goes through a word or an address.
//
// A word or an address that fits the caps though not room is a piece of its own, at the cost of the context above it.
func (m *measure) forcedCut(lo, hi int, room []int) cut {
	reach := m.furthest(lo, hi, room)
	look := reach
	if !m.additive {
		look += pretokenSight // furthest may stop before a pre-token of which a part fits
	}
	ends := wordEnds(m.text, lo, look, hi)
	k := len(ends) - 1 // counts do not always grow with the text: find the last end that fits
	for k >= 0 && (graphemeFloor(m.text, lo, ends[k]) < ends[k] || !m.fits(lo, ends[k], room)) {
		k--
	}
	if k >= 0 {
		reach = max(reach, ends[k])
	}
	link, end := urlAround(m.text, lo, reach, hi)
	if link < end && m.fits(link, end, nil) {
		if link > lo && m.fits(lo, link, room) {
			return cut{at: link, level: levelNone}
		} else if link == lo {
			return cut{at: end, level: levelNone}
		}
	}
	if k >= 0 {
		from, to := ends[k], hi
		if k+1 < len(ends) {
			to = ends[k+1]
		}
		if from, to := trimSpan(m.text, from, to); from == to || m.fits(from, to, nil) {
			return cut{at: ends[k], level: levelNone, forced: insideURL(m.text, lo, ends[k], hi)}
		}
	} else if len(ends) > 0 && m.fits(lo, ends[0], nil) {
		return cut{at: ends[0], level: levelNone, forced: insideURL(m.text, lo, ends[0], hi)}
	}
	at, _ := m.clusterCut(lo, hi, reach, room)
	return cut{at: at, level: levelNone, forced: !slices.Contains(ends, at) || insideURL(m.text, lo, at, hi)}
}

// clusterCut is the last grapheme boundary in [lo, reach] up to which text[lo:] fits. If there is none but lo it is the last character
// boundary, or the end of the first character, and whole is false.
func (m *measure) clusterCut(lo, hi, reach int, room []int) (at int, whole bool) {
	at = graphemeFloor(m.text, lo, reach)
	for at > lo && !m.fits(lo, at, room) {
		at = graphemeFloor(m.text, lo, at-1)
	}
	if at > lo {
		return at, true
	}
	for at = runeFloor(m.text, lo, reach); at > lo && !m.fits(lo, at, room); {
		at = runeFloor(m.text, lo, at-1)
	}
	if at == lo {
		_, n := utf8.DecodeRuneInString(m.text[lo:hi])
		at = lo + n
	}
	return at, false
}

// urlAround is the web address of text[lo:hi) that holds position p, inside or before lo where an earlier cut went through
// it; empty if there is none. What is far from p is out of sight.
func urlAround(text string, lo, p, hi int) (from, to int) {
	from, to = p, p
	for from > 0 && p-from < 16*wordSight && urlByte(text[from-1]) {
		from--
	}
	for run := text[from:min(len(text), p+len("https://"))]; ; {
		scheme := strings.Index(run, "://")
		if scheme < 0 {
			return 0, 0
		}
		if name := schemeOf(run[:scheme]); name != "" {
			from += scheme - len(name)
			break
		}
		from += scheme + 1
		run = run[scheme+1:]
	}
	if from >= p {
		return 0, 0
	}
	for to < hi && to-p < wordSight && urlByte(text[to]) {
		to++
	}
	for to > p && strings.IndexByte(".,;:!?)]}'*_", text[to-1]) >= 0 { // marks of the sentence around it
		to--
	}
	if to == p {
		return 0, 0
	}
	return max(from, lo), to
}

// insideURL tells that p parts a web address.
func insideURL(text string, lo, p, hi int) bool {
	from, to := urlAround(text, lo, p, hi)
	return from < p && p < to
}

// schemeOf is the scheme of web addresses that s ends in, or empty.
func schemeOf(s string) string {
	for _, known := range [...]string{"https", "http", "ftp"} {
		if strings.HasSuffix(s, known) {
			return known
		}
	}
	return ""
}

// urlByte tells the characters of web addresses (RFC 3986), which no blank space, quote or angle bracket is.
func urlByte(c byte) bool { return c > ' ' && c < 0x7F && c != '"' && c != '<' && c != '>' }

// pretokenSight is the length of what furthest takes or leaves whole.
const pretokenSight = 64

// wordSight is how far behind a cut the end of a word is looked for.
const wordSight = 256

// wordEnds lists the ends in (lo, hi] of the words of text[lo:hi), up to the first behind reach; that one may be out of sight
// and is where sight ends then. The start of a web address ends the word before it.
func wordEnds(text string, lo, reach, hi int) []int {
	stop := min(hi, runeFloor(text, lo, reach+wordSight))
	from := wordSync(text, lo)
	var ends []int
	for it := words.FromString(text[from:stop]); it.Next(); {
		word := it.Value()
		to := from + len(word)
		if strings.HasPrefix(text[to:hi], "://") {
			if at := to - len(schemeOf(word)); from < at && at < to && at > lo {
				if link, _ := urlAround(text, lo, to, hi); link == at {
					ends = append(ends, at)
				}
			}
		}
		from = to
		if to <= lo {
			continue
		}
		if ends = append(ends, to); to > reach {
			break
		}
	}
	return ends
}

// wordSync is a place at or before p from which on the boundaries of words are those of the whole text: blank space, if there is any
// within sight. (An earlier cut may have gone through a word, so p need be none.)
func wordSync(text string, p int) int {
	least := max(0, p-wordSight)
	for q := p; q > least; q-- {
		if asciiSpace(text[q-1]) {
			return q - 1
		}
	}
	for least < p && !utf8.RuneStart(text[least]) {
		least++
	}
	return least
}

// runeFloor is the last character boundary in [lo, p].
func runeFloor(text string, lo, p int) int {
	for p > lo && p < len(text) && !utf8.RuneStart(text[p]) {
		p--
	}
	return p
}

// graphemeFloor is the last grapheme boundary in [lo, p]; lo must be one.
func graphemeFloor(text string, lo, p int) int {
	if p <= lo || p >= len(text) {
		return max(lo, min(p, len(text)))
	}
	if text[p] < utf8.RuneSelf && text[p-1] < utf8.RuneSelf {
		if text[p-1] == '\r' && text[p] == '\n' {
			return p - 1
		}
		return p
	}
	from := lo
	// Two plain ASCII characters in a row always have a boundary between them: start there, if that is near.
	for q := p - 1; q > lo && q > p-256; q-- {
		if text[q] < utf8.RuneSelf && text[q-1] < utf8.RuneSelf && text[q] >= ' ' {
			from = q
			break
		}
	}
	// Clusters beyond p do not matter, but the one around p must be seen whole to know where it starts.
	it := graphemes.FromString(text[from:min(len(text), p+64)])
	at := from
	for it.Next() {
		next := at + len(it.Value())
		if next > p {
			return at
		}
		at = next
	}
	return at
}

// graphemeCeil is the first grapheme boundary behind lo, at most hi; lo must be one.
func graphemeCeil(text string, lo, hi int) int {
	it := graphemes.FromString(text[lo:hi])
	if !it.Next() {
		return hi
	}
	return lo + len(it.Value())
}

// minFill is the percentage of what fits that a piece takes before a better separator may end it. A tenth keeps a
// short heading together with the text below it. (Chroma's evaluation prefers less to more.)
const minFill = 10
