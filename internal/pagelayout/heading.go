package pagelayout

import (
	"regexp"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/kbsync/kbsync/connector"
)

// Bounds of headings.
const (
	maxHeading      = 200 // characters
	maxHeadingLines = 4
)

// outline finds bookmarks by their page and letters.
type outline map[int]map[string]int

func newOutline(entries []Entry) outline {
	o := outline{}
	for _, e := range entries {
		key := letters(e.Title)
		if key == "" || e.Page < 1 {
			continue
		}
		if o[e.Page] == nil {
			o[e.Page] = map[string]int{}
		}
		if _, ok := o[e.Page][key]; !ok {
			o[e.Page][key] = min(max(e.Level, 1), 6)
		}
	}
	return o
}

// letters are the letters and digits of text in lower case.
func letters(s string) string {
	var b strings.Builder
	for _, r := range norm.NFKC.String(s) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// level is that of the bookmark that leads to a heading on a page, 0 if there is none. Numbers at the start may be in one of them only.
func (o outline) level(page int, text string) int {
	titles := o[page]
	if len(titles) == 0 {
		return 0
	}
	key := letters(text)
	if l, ok := titles[key]; ok {
		return l
	}
	if bare := letters(unnumbered(text)); bare != "" && bare != key {
		if l, ok := titles[bare]; ok {
			return l
		}
	}
	for title, l := range titles {
		if key != "" && strings.HasSuffix(title, key) && strings.Trim(strings.TrimSuffix(title, key), "0123456789") == "" {
			return l
		}
	}
	return 0
}

// number is the number of a section in front of its title.
var number = regexp.MustCompile(`^(?:(\d{1,3}(?:\.\d{1,3}){0,5})\.?(?:\s+|$|\p{Han})|(第[一二三四五六七八九十百零〇0-9]{1,6}[编篇部章节節条條款])|([IVX]{1,5})\.\s|((?i:chapter|section|part|appendix|article|附录|附錄)\s*[0-9A-Z一二三四五六七八九十IVX]{1,4}\b)|([一二三四五六七八九十]{1,3})、)`)

func unnumbered(text string) string {
	m := number.FindStringSubmatchIndex(text)
	if m == nil {
		return text
	}
	for k := 2; k+1 < len(m); k += 2 {
		if m[k+1] > 0 {
			return strings.TrimLeft(text[m[k+1]:], ". 　、:：")
		}
	}
	return text
}

// depth is how deep the number of a section goes; 0 where it has none.
func depth(text string) int {
	m := number.FindStringSubmatch(text)
	switch {
	case m == nil:
		return 0
	case m[1] != "":
		return strings.Count(m[1], ".") + 1
	}
	return 1
}

// style is what the look of headings is told apart by.
type style struct {
	size  int  // twice the points
	heavy bool // of text that is no larger than the rest
}

func styleOf(b *block, body float64) style {
	l := b.first()
	return style{int(l.size*2 + 0.5), l.heavy && l.size < larger*body}
}

// larger is how much larger than the text headings are.
const larger = 1.14

// ranks order the styles of the headings found so far.
type ranks struct {
	styles  map[style]int         // headings
	shallow map[style]int         // the least depth of numbers
	marked  map[style]map[int]int // levels that bookmarks gave
}

// headings finds the headings among blocks and gives them levels.
func (d *document) headings(blocks []block, body float64) {
	r := &d.ranks
	if r.styles == nil {
		r.styles, r.shallow, r.marked = map[style]int{}, map[style]int{}, map[style]map[int]int{}
	}
	var found []int
	for i := range blocks {
		b := &blocks[i]
		if b.kind != connector.KindText || b.table != nil || b.caption || b.aside || len(b.lines) == 0 || len(b.lines) > maxHeadingLines {
			continue
		}
		text := d.joiner.lines(b.lines)
		if utf8.RuneCountInString(text) > maxHeading || !strings.ContainsFunc(text, unicode.IsLetter) {
			continue
		}
		level := d.outline.level(b.page, text)
		if level == 0 && !looksLikeHeading(b, text, body) {
			continue
		}
		b.kind, b.level = connector.KindHeading, level
		found = append(found, i)
		s := styleOf(b, body)
		r.styles[s]++
		if n := depth(text); n > 0 && (r.shallow[s] == 0 || n < r.shallow[s]) {
			r.shallow[s] = n
		}
		if level > 0 {
			if r.marked[s] == nil {
				r.marked[s] = map[int]int{}
			}
			r.marked[s][level]++
		}
	}
	order := r.order()
	for k, i := range found {
		b := &blocks[i]
		if k+1 < len(found) && found[k+1] == i+1 && oneTitle(b, &blocks[i+1], body) {
			blocks[i+1].lines = append(b.lines[:len(b.lines):len(b.lines)], blocks[i+1].lines...)
			blocks[i+1].level = max(blocks[i+1].level, b.level)
			blocks[i+1].notes = append(b.notes, blocks[i+1].notes...)
			b.lines, b.notes = nil, nil
			continue
		}
		if b.level > 0 {
			continue
		}
		s := styleOf(b, body)
		b.level = order[s]
		if n := depth(b.first().text); n > 1 && r.shallow[s] > 0 {
			b.level += n - r.shallow[s]
		}
		b.level = min(max(b.level, 1), 6)
	}
}

// oneTitle tells whether heading b is the next line of a.
func oneTitle(a, b *block, body float64) bool {
	x, y := a.last(), b.first()
	return a.region == b.region && x.size >= larger*body && abs(x.size-y.size) < 0.04*y.size && len(a.lines)+len(b.lines) <= maxHeadingLines &&
		distance(x, y) < 1.5*y.size && !terminal(x.text) && depth(y.text) == 0 && b.marker == ""
}

// order gives each style a level: what bookmarks say of it, else its place among the others by size and weight.
func (r *ranks) order() map[style]int {
	all := make([]style, 0, len(r.styles))
	for s := range r.styles {
		all = append(all, s)
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].size != all[j].size {
			return all[i].size > all[j].size
		}
		return all[i].heavy && !all[j].heavy
	})
	out := map[style]int{}
	level := 0
	for i, s := range all {
		if i == 0 || !(all[i-1].heavy == s.heavy && all[i-1].size-s.size <= 1) { // half a point is no other level
			level++
		}
		if most := 0; r.marked[s] != nil {
			for l, n := range r.marked[s] {
				if n > most || n == most && l < level {
					level, most = l, n
				}
			}
		}
		out[s] = level
	}
	return out
}

// looksLikeHeading judges a block by its size, weight, number and letters.
func looksLikeHeading(b *block, text string, body float64) bool {
	l := b.first()
	n := utf8.RuneCountInString(text)
	numbers := depth(text)
	last := lastRune(strings.TrimRight(text, " "))
	if strings.ContainsRune(",;，；、", last) || strings.ContainsRune(".。:：", last) && (numbers == 0 || n > 60) {
		return false
	}
	if bullet(text) || b.first().mono || leader(text) {
		return false
	}
	switch {
	case l.size < 1.35*body && numbers == 0 && strings.Count(text, ",")+strings.Count(text, "，") > 1: // names, addresses
		return false
	case l.size >= larger*body:
		return true
	case l.size < 0.94*body:
		return false
	case allHeavy(b.lines):
		return n <= 120 && len(b.lines) <= 3
	case len(b.lines) > 1 || !b.short:
		return false
	case l.size >= 1.07*body:
		return n <= 100
	case numbers > 1 && n <= 90 && b.marker == "", numbers > 0 && capitals(text) && n <= 90:
		return true
	}
	return capitals(text) && n <= 60
}

func allHeavy(lines []line) bool {
	for i := range lines {
		if !lines[i].heavy {
			return false
		}
	}
	return true
}

// capitals tells text of at least four letters, all of them capitals.
func capitals(text string) bool {
	n := 0
	for _, r := range text {
		if unicode.IsLower(r) || unicode.Is(unicode.Lo, r) {
			return false
		}
		if unicode.IsUpper(r) {
			n++
		}
	}
	return n >= 4
}
