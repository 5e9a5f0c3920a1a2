package pagelayout

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// line is a line of a column.
type line struct {
	text   string
	box    connector.Box
	core   connector.Box
	size   float64
	heavy  bool
	mono   bool
	hyphen bool     // a hyphen followed the text
	marks  []string // what is raised above the line
	page   int
	down   bool // a column of vertical writing
}

// lineOf makes the line of a row.
func lineOf(r *row) line {
	l := line{box: r.box, core: r.core, size: r.size}
	var b strings.Builder
	var prev *frag
	letters, heavy, mono := 0, 0, 0
	raised := false
	for _, s := range r.segs {
		for i := range s.frags {
			f := &s.frags[i]
			if prev != nil {
				if prev.hyphen {
					b.WriteByte('-')
				}
				gap(&b, prev, f)
			}
			b.WriteString(f.text)
			n := utf8.RuneCountInString(strings.TrimSpace(f.text))
			letters += n
			if f.heavy {
				heavy += n
			}
			if f.mono {
				mono += n
			}
			above := f.size < 0.8*r.size && f.box.Y1 < r.core.Y1-0.15*r.size && n <= 4
			if mark := strings.TrimSpace(f.text); above && raised && !spaced(prev, f) { // the next letter of a mark
				l.marks[len(l.marks)-1] += mark
			} else if above {
				l.marks = append(l.marks, mark)
			}
			prev, raised = f, above
		}
	}
	l.hyphen = prev != nil && prev.hyphen
	l.text = b.String()
	l.heavy, l.mono = heavy*10 >= letters*9 && heavy > 0, mono*10 >= letters*9 && mono > 0
	if !l.mono {
		l.text = strings.Join(strings.FieldsFunc(l.text, func(r rune) bool { return r == ' ' }), " ")
	} else {
		l.text = strings.TrimSpace(l.text)
	}
	l.size = mainSize(r)
	return l
}

// gap writes the space between two frags; in code, as many as there are.
func gap(b *strings.Builder, prev, next *frag) {
	if !spaced(prev, next) {
		return
	}
	n := 1
	if prev.mono && next.mono {
		n = int(min(max((next.box.X0-prev.box.X1)/(monoWidth*next.size)+0.5, 1), 200))
	}
	b.WriteString(strings.Repeat(" ", n))
}

// monoWidth is the width of a character of code, in ems.
const monoWidth = 0.6

// mainSize is the size of most letters of a row.
func mainSize(r *row) float64 {
	if len(r.segs) == 1 {
		return r.segs[0].size
	}
	best, size := 0, r.size
	count := map[int]int{}
	for _, s := range r.segs {
		key := int(s.size*4 + 0.5)
		for i := range s.frags {
			count[key] += len(s.frags[i].text)
		}
		if n := count[key]; n > best || n == best && s.size > size {
			best, size = n, s.size
		}
	}
	return size
}

// firstWord is about the width of a line's first word; of Han text, of its first character.
func (l *line) firstWord() float64 {
	n := utf8.RuneCountInString(l.text)
	if n == 0 {
		return 0
	}
	if wideSure(firstRune(l.text)) {
		return l.size
	}
	word := 0
	for _, r := range l.text {
		if r == ' ' || wideSure(r) {
			break
		}
		word++
	}
	return (l.box.X1 - l.box.X0) * float64(word) / float64(n)
}

// joiner puts lines together as their author wrote them.
type joiner struct {
	hyphenated map[string]bool // pairs of words that a hyphen joins inside a line
	words      map[string]bool // long words
	apart, no  int             // places where Han text meets Latin with a space and without
}

// maxPairs bounds the words that a joiner remembers.
const maxPairs = 100_000

// see learns from text inside of lines.
func (j *joiner) see(text string) {
	if j.hyphenated == nil {
		j.hyphenated, j.words = map[string]bool{}, map[string]bool{}
	}
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(w) > 5 && len(w) < 40 && len(j.words) < maxPairs && !wideSure(firstRune(w)) {
			j.words[strings.ToLower(w)] = true
		}
	}
	prev, before := rune(0), rune(0)
	for i, r := range text {
		if r == '-' && unicode.IsLetter(prev) && len(j.hyphenated) < maxPairs {
			a, b := lastWord(text[:i]), leadingWord(text[i+1:])
			if a != "" && b != "" {
				j.hyphenated[strings.ToLower(a+"-"+b)] = true
			}
		}
		switch {
		case prev == ' ' && meets(before, r):
			j.apart++
		case meets(prev, r):
			j.no++
		}
		before, prev = prev, r
	}
}

// meets tells that Han text and Latin letters or digits stand beside each other.
func meets(a, b rune) bool {
	return unicode.Is(unicode.Han, a) && latin(b) || latin(a) && unicode.Is(unicode.Han, b)
}

func latin(r rune) bool { return r < 0x2E80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

func lastWord(s string) string {
	i := len(s)
	for i > 0 && len(s)-i < 60 {
		r, n := utf8.DecodeLastRuneInString(s[:i])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		i -= n
	}
	return s[i:]
}

func leadingWord(s string) string {
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || i > 60 {
			return s[:i]
		}
	}
	return s
}

// lines puts lines together.
func (j *joiner) lines(lines []line) string {
	var b strings.Builder
	for i := range lines {
		l := &lines[i]
		text := l.text
		if i+1 == len(lines) {
			b.WriteString(text)
			if l.hyphen {
				b.WriteByte('-')
			}
			break
		}
		cut, sep := j.between(l, lines[i+1].text)
		b.WriteString(text[:len(text)-cut])
		b.WriteString(sep)
	}
	return b.String()
}

// between is what stands between a line and the next: how many bytes of the line's end go, and what takes their place.
func (j *joiner) between(l *line, next string) (cut int, sep string) {
	text := l.text
	if text == "" || next == "" {
		return 0, ""
	}
	if l.hyphen {
		if j.keeps(text, next) {
			return 0, "-"
		}
		return 0, ""
	}
	last, first := lastRune(text), firstRune(next)
	if last == '-' || last == '\u2010' {
		before := strings.TrimSuffix(text, string(last))
		switch {
		case !unicode.IsLetter(lastRune(before)) && !unicode.IsDigit(lastRune(before)):
		case unicode.IsLower(lastRune(before)) && unicode.IsLower(first) && !j.keeps(before, next):
			return utf8.RuneLen(last), ""
		case unicode.IsLetter(first) || unicode.IsDigit(first):
			return 0, ""
		}
		return 0, " "
	}
	a, b := wide(last), wide(first)
	switch {
	case wideSure(last) && wideSure(first), a && wideSure(first), wideSure(last) && b:
		return 0, ""
	case wideSure(last) || wideSure(first):
		if meets(last, first) && j.apart > j.no {
			return 0, " "
		}
		return 0, ""
	}
	return 0, " "
}

// keeps tells whether the hyphen between two parts of a word belongs to the word.
func (j *joiner) keeps(text, next string) bool {
	a, b := lastWord(text), leadingWord(next)
	if a == "" || b == "" || unicode.IsDigit(lastRune(a)) || unicode.IsDigit(firstRune(b)) {
		return true
	}
	if unicode.IsUpper(firstRune(b)) && strings.ToUpper(a) != a {
		return true
	}
	if rest := text[:len(text)-len(a)]; strings.HasSuffix(rest, "-") { // state-of-the-art
		return true
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	switch {
	case j.words[a+b]:
		return false
	case j.hyphenated[a+"-"+b], len(a) == 1:
		return true
	}
	return len(b) > 3 && slices.Contains(strings.Fields(compounds), a)
}

// compounds are words that go before a hyphen far more often than syllables that are spelled like them.
const compounds = "high low well self cross long short large small real full half open state time two three four five one first second third non user top bottom right left hand single multi double fine coarse"

// terminal tells whether text ends as a sentence does.
func terminal(text string) bool {
	text = strings.TrimRight(text, " \"'”’」』)）]】»")
	switch lastRune(text) {
	case '.', '!', '?', '。', '！', '？', '…', ':', '：', ';', '；':
		return true
	}
	return false
}
