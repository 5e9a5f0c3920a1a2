package rtf

import (
	"regexp"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
)

// paragraph are the properties of a paragraph.
type paragraph struct {
	style   int
	outline int // -1 unsaid
	inTable bool
	nested  int // \itap
	level   int // \ilvl
	list    int // \ls
	left    int // indent, twips
	first   int // indent of the first line
}

func plain() paragraph { return paragraph{outline: -1} }

// flow is a text with paragraphs: the body, a note, the content of a box.
type flow struct {
	out     func(blocks.Block)
	buf     []byte
	marker  []byte
	light   bool // it has text that is not bold
	deleted []byte
	hidden  []byte
	later   []blocks.Block // what follows the paragraph
	levels  []*level       // tables that are open, one inside the other
}

// put adds text to the paragraph.
func (f *flow) put(st *state, s string) {
	switch {
	case st.deleted:
		f.deleted = append(f.deleted, s...)
	case st.hidden:
		f.hidden = append(f.hidden, s...)
	default:
		f.buf = append(f.buf, s...)
		if !st.bold && !f.light && strings.TrimSpace(s) != "" {
			f.light = true
		}
	}
}

// block gives a block to the table of that level; 0 is none.
func (f *flow) block(b blocks.Block, at int) {
	if at == 0 {
		f.out(b)
		return
	}
	l := f.at(at)
	l.cell.Blocks = append(l.cell.Blocks, b)
}

// finish ends the paragraph, which stands in the table of that level.
func (f *flow) finish(r *reader, at int) {
	f.close(at)
	text, marker := string(f.buf), strings.TrimSpace(string(f.marker))
	light := f.light
	f.buf, f.marker, f.light = f.buf[:0], f.marker[:0], false
	f.report(connector.DropDeleted, &f.deleted, at)
	f.report(connector.DropHidden, &f.hidden, at)
	if strings.TrimSpace(text) != "" {
		b := r.classify(text, marker)
		f.block(b, at)
		if at > 0 && light {
			f.at(at).cell.Bold = false
		}
	}
	later := f.later
	f.later = nil
	for _, b := range later {
		f.block(b, at)
	}
}

func (f *flow) report(reason connector.DropReason, text *[]byte, at int) {
	if len(*text) > 0 {
		f.block(blocks.Block{Kind: connector.KindDropped, Reason: reason, Text: string(*text)}, at)
	}
	*text = nil
}

// typed is the start of an item whose marker was typed.
var typed = regexp.MustCompile(`^\s*([•·◦▪■●○–—*-]|\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|[（(]?[一二三四五六七八九十]{1,3}[、）)])[ ]*\t`)

// bullets are the marks of lists without numbers.
const bullets = "•·◦▪■●○–—*-o➢✓❖□→✗☒☑"

// classify says what a paragraph is.
func (r *reader) classify(text, marker string) blocks.Block {
	p := &r.par
	st := r.styles[p.style]
	outline := p.outline
	if outline < 0 {
		outline = st.outlineOf()
	}
	list, depth := p.list, p.level+1
	if marker == "" && p.first < 0 {
		if m := typed.FindStringSubmatch(text); m != nil {
			marker, text = m[1], text[len(m[0]):]
			depth = max(1, min(p.left/360, 9))
		}
	}
	if marker != "" && strings.Contains(bullets, marker) {
		marker = "-"
	}
	switch {
	case st.toc:
		return blocks.Block{Kind: connector.KindDropped, Reason: connector.DropBoilerplate, Text: text}
	case outline >= 0 && outline < 9:
		if marker == "-" {
			marker = ""
		}
		return blocks.Block{Kind: connector.KindHeading, Level: outline + 1, Marker: marker, Text: text}
	case marker != "":
		return blocks.Block{Kind: connector.KindItem, Level: max(1, min(depth, 9)), List: list, Marker: marker, Text: text}
	}
	return blocks.Block{Kind: connector.KindText, Text: text}
}
