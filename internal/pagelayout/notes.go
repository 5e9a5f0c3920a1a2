package pagelayout

import (
	"regexp"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// noteMark is how footnotes start.
var noteMark = regexp.MustCompile(`^(\d{1,3}|[*∗†‡§¶#]{1,3}|[①-⑳]|\[\d{1,3}\]|[a-z]\b)[.)]?\s*\S`)

// notes finds the footnotes at the foot of each column and puts them below the paragraphs that refer to them.
func (d *document) notes(blocks []block, body float64) []block {
	foot := make([]bool, len(blocks))
	found := false
	raised := raisedMarks(blocks)
	for i := len(blocks) - 1; i >= 0; i-- {
		b := &blocks[i]
		if b.kind != connector.KindText || len(b.lines) == 0 || b.aside || b.first().size > 0.93*body {
			continue
		}
		below := i+1 == len(blocks) || blocks[i+1].column != b.column || foot[i+1] && blocks[i+1].page == b.page
		above := i > 0 && blocks[i-1].page == b.page && blocks[i-1].column == b.column && len(blocks[i-1].lines) > 0 && blocks[i-1].last().size <= 0.93*body
		if foot[i] = below && (isNote(b, raised) || above && noteAbove(blocks, i, body, raised)); foot[i] {
			found = true
		}
	}
	if !found {
		return blocks
	}
	out := blocks[:0:0]
	for i := 0; i < len(blocks); {
		end := i
		for end < len(blocks) && blocks[end].page == blocks[i].page {
			end++
		}
		out = placeNotes(out, blocks[i:end], foot[i:end])
		i = end
	}
	return out
}

// onPage is a raised mark.
type onPage struct {
	page int
	mark string
}

// raisedMarks are the marks that stand above the lines of text, on each page.
func raisedMarks(blocks []block) map[onPage]bool {
	out := map[onPage]bool{}
	for i := range blocks {
		for k := range blocks[i].lines {
			for _, m := range blocks[i].lines[k].marks {
				for _, one := range oneByOne(m) {
					out[onPage{blocks[i].page, one}] = true
				}
			}
		}
	}
	return out
}

// oneByOne are the marks of "1,2)".
func oneByOne(marks string) []string {
	return strings.FieldsFunc(marks, func(r rune) bool { return strings.ContainsRune(" ,.)", r) })
}

// isNote tells blocks that start with the mark of a footnote: raised, or a sign that only notes have.
func isNote(b *block, raised map[onPage]bool) bool {
	l := b.first()
	g := noteMark.FindStringSubmatch(l.text)
	if g == nil {
		return false
	}
	if len(l.marks) > 0 && strings.HasPrefix(l.text, l.marks[0]) {
		return true
	}
	if raised[onPage{b.page, g[1]}] {
		return true
	}
	return g[1] != "" && !(g[1][0] >= 'a' && g[1][0] <= 'z') && numbered(l.text) == ""
}

// noteAbove tells whether a small block without a mark goes on with a note.
func noteAbove(blocks []block, i int, body float64, raised map[onPage]bool) bool {
	b := &blocks[i]
	for k := i - 1; k >= 0 && k > i-20 && blocks[k].column == b.column && len(blocks[k].lines) > 0 && blocks[k].first().size <= 0.93*body; k-- {
		if abs(blocks[k].first().size-b.first().size) > 0.6 {
			return false
		}
		if isNote(&blocks[k], raised) {
			return true
		}
	}
	return false
}

// placeNotes adds the blocks of a page to out, its footnotes below the blocks that they belong to.
func placeNotes(out, page []block, foot []bool) []block {
	refers := map[string]int{}
	start := len(out)
	for i := range page {
		if foot[i] {
			continue
		}
		b := &page[i]
		for k := range b.lines {
			for _, m := range b.lines[k].marks {
				for _, one := range oneByOne(m) {
					if _, ok := refers[one]; !ok {
						refers[one] = len(out)
					}
				}
			}
		}
		out = append(out, *b)
	}
	last := -1
	for i := range page {
		if !foot[i] {
			continue
		}
		b := page[i]
		b.kind = connector.KindFootnote
		at := -1
		if g := noteMark.FindStringSubmatch(b.first().text); g != nil {
			if k, ok := refers[g[1]]; ok {
				at = k
			}
		} else {
			at = last
		}
		if at < 0 && last >= 0 {
			at = last
		}
		if at < 0 && len(out) > start {
			at = len(out) - 1
		}
		if at < 0 {
			out = append(out, b)
			continue
		}
		last = at
		out[at].notes = append(out[at].notes, b)
	}
	return out
}

// captionText is how captions start, in several languages; a number follows. The second group is that of tables.
var captionText = regexp.MustCompile(`^\W{0,4}(?i:(fig(?:ure|\.)?|abb(?:ildung|\.)|chart|图表|图|圖|図|photo|image|scheme|plate|algorithm|listing)|(tab(?:le|elle|\.)|表格|表))\s{0,2}([0-9０-９]|[A-Z]?[.\-]?[0-9]|[IVX]+\b|[一二三四五六七八九十])`)

// maxCaption is the length in bytes up to which a paragraph may be a caption.
const maxCaption = 600

// captions finds captions; that of a table becomes part of the table if it stands above it.
func captions(blocks []block) []block {
	for i := range blocks {
		b := &blocks[i]
		if b.kind != connector.KindText || len(b.lines) == 0 {
			continue
		}
		size := 0
		for k := range b.lines {
			size += len(b.lines[k].text)
		}
		b.caption = size <= maxCaption && captionText.MatchString(b.first().text)
		if b.caption && len(b.lines) > 1 && refersTo(b.first().text) {
			b.caption = false
		}
	}
	out := blocks[:0:0]
	for i := 0; i < len(blocks); i++ {
		b := blocks[i]
		if b.caption && i+1 < len(blocks) && blocks[i+1].table != nil && blocks[i+1].page == b.page && captionText.FindStringSubmatch(b.first().text)[2] != "" {
			blocks[i+1].lines = b.lines
			blocks[i+1].notes = append(blocks[i+1].notes, b.notes...)
			continue
		}
		out = append(out, b)
	}
	return out
}

// refersTo tells sentences that start with the name of a figure: "Figure 3 shows …".
func refersTo(text string) bool {
	words := strings.Fields(text)
	if len(words) < 3 || strings.ContainsAny(lastOf(words[1]), ":.：") {
		return false
	}
	switch words[2] {
	case "shows", "show", "illustrates", "presents", "depicts", "gives", "lists", "summarizes", "compares", "is", "and", "describes", "contains", "reports":
		return true
	}
	return false
}

func lastOf(s string) string { return s[max(len(s)-3, 0):] }
