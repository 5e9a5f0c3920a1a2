package docx

import (
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/numerals"
)

// paragraph is one that is being read.
type paragraph struct {
	buf      []byte
	styleID  string
	style    *style
	outline  int // -1 unsaid
	num      string
	level    int // -1 unsaid
	page     int
	begun    bool
	prose    bool // it has text beside equations
	plainRun bool // it has text that is not bold
	print    bool // it has text that is not set in a typewriter's letters
	deleted  []byte
	hidden   []byte
	math     []string
	notes    []*note
	boxes    []blocks.Block
	joined   bool // its end was deleted: it goes on in the next one
}

// paragraph reads a paragraph.
func (r *reader) paragraph() error {
	_, err := r.para()
	return err
}

// para reads a paragraph and says that all of its text is bold.
func (r *reader) para() (bold bool, err error) {
	p := &paragraph{outline: -1, level: -1, page: r.page}
	p.style = r.d.styles.get(r.d.styles.def)
	if r.carry != "" {
		p.buf, p.prose = append(p.buf, r.carry...), true
		r.carry = ""
	}
	err = r.inline(p)
	for i := range r.fields { // an instruction ends with its paragraph at the latest
		r.fields[i] = false
	}
	r.finish(p)
	return !p.plainRun, err
}

// properties reads the properties of a paragraph.
func (r *reader) properties(p *paragraph) error {
	return r.each(func(name []byte) error {
		switch string(name) {
		case "pStyle":
			p.styleID = r.s.String("val")
			if st := r.d.styles.get(p.styleID); st != nil {
				p.style = st
			}
		case "outlineLvl":
			p.outline = r.s.Int("val", -1)
		case "numPr":
			return r.each(func(name []byte) error {
				switch string(name) {
				case "numId":
					p.num = r.s.String("val")
				case "ilvl":
					p.level = r.s.Int("val", -1)
				}
				return nil
			})
		case "rPr":
			return r.each(func(name []byte) error {
				if string(name) == "del" || string(name) == "moveFrom" {
					p.joined = true
				}
				return nil
			})
		}
		return nil
	})
}

// finish makes blocks of a paragraph.
func (r *reader) finish(p *paragraph) {
	r.report(connector.DropDeleted, p.deleted)
	r.report(connector.DropHidden, p.hidden)
	text := string(p.buf)
	empty := strings.TrimSpace(text) == ""
	var b blocks.Block
	if !p.joined && r.gone == 0 { // empty paragraphs are counted too
		b = r.classify(p)
	}
	switch {
	case p.joined && r.gone == 0:
		r.carry = text
	case !empty && r.isTOC(p):
		r.report(connector.DropBoilerplate, p.buf)
	case len(p.math) > 0 && !p.prose:
		for _, tex := range p.math {
			r.out(blocks.Block{Kind: connector.KindMath, Text: tex, Page: p.page, PageEnd: r.page})
		}
	case !empty:
		b.Text, b.Page, b.PageEnd = text, p.page, r.page
		r.out(b)
	case p.style != nil && p.style.kind == connector.KindCode:
		r.out(blocks.Block{Kind: connector.KindCode, Page: p.page})
	}
	for _, b := range p.boxes {
		r.out(b)
	}
	for _, n := range p.notes {
		for _, b := range r.d.noteBlocks(n, r.d.reference(n)) {
			r.out(b)
		}
	}
}

func (r *reader) report(reason connector.DropReason, text []byte) {
	if len(text) > 0 {
		r.out(blocks.Block{Kind: connector.KindDropped, Reason: reason, Text: string(text)})
	}
}

func (r *reader) isTOC(p *paragraph) bool { return p.style != nil && p.style.toc }

// classify says what a paragraph is, and counts it if it is numbered.
func (r *reader) classify(p *paragraph) blocks.Block {
	st := p.style
	if st == nil {
		st = &style{outline: -1, level: -1}
	}
	outline := p.outline
	if outline < 0 {
		outline = st.outline
	}
	marker, list, depth := r.number(p, st)
	switch {
	case outline >= 0 && outline < 9:
		if marker == "-" {
			marker = ""
		}
		return blocks.Block{Kind: connector.KindHeading, Level: outline + 1, Marker: marker}
	case st.kind == connector.KindCode:
		return blocks.Block{Kind: connector.KindCode}
	case marker != "":
		return blocks.Block{Kind: connector.KindItem, Level: depth, List: list, Marker: marker}
	case st.kind != "":
		return blocks.Block{Kind: st.kind}
	case p.prose && !p.print && r.nested == 0:
		return blocks.Block{Kind: connector.KindCode, Guess: true}
	}
	return blocks.Block{Kind: connector.KindText}
}

// number is the marker of a numbered paragraph, its list and the depth in it; an empty marker where there is none.
func (r *reader) number(p *paragraph, st *style) (marker string, list, depth int) {
	id, level := p.num, p.level
	if id == "" {
		id = st.num
		if level < 0 {
			level = st.level
		}
	}
	if id == "" || id == "0" {
		return "", 0, 0
	}
	n, a := r.d.numbering.of(id, r.d.styles)
	if n == nil {
		return "", 0, 0
	}
	if bound := a.levelOf(p.styleID); bound >= 0 && p.level < 0 {
		level = bound
	}
	level = max(0, min(level, levels-1))
	marker, ok := n.next(a, level)
	if !ok {
		return "", 0, 0
	}
	return marker, r.d.numbering.ids[id], level + 1
}

// reference is what stands in the text for a note.
func (d *document) reference(n *note) string {
	if n.kind == 'c' {
		return ""
	}
	if d.counts[n] == 0 {
		if n.kind == 'e' {
			d.endCount++
			d.counts[n] = d.endCount
		} else {
			d.footCount++
			d.counts[n] = d.footCount
		}
	}
	number := strconv.Itoa(d.counts[n])
	if n.kind == 'e' {
		number = numerals.LowerRoman.Format(d.counts[n])
	}
	return "[" + number + "]"
}

// noteBlocks are the blocks of a note: one of text, and what was left out. Comments that are not kept are left out as a whole.
func (d *document) noteBlocks(n *note, marker string) []blocks.Block {
	if n.used {
		return nil
	}
	n.used = true
	var text strings.Builder
	var out []blocks.Block
	page := 0
	for _, b := range n.blocks {
		switch {
		case b.Kind == connector.KindDropped:
			out = append(out, b)
			continue
		case b.Kind == connector.KindTable:
			plain(&text, b)
		case b.Kind == connector.KindMath:
			text.WriteString("$" + b.Text + "$")
		case b.Marker != "":
			text.WriteString(b.Marker + " " + b.Text)
		default:
			text.WriteString(b.Text)
		}
		text.WriteByte('\n')
		page = max(page, b.Page)
	}
	body := strings.TrimSpace(text.String())
	switch {
	case body == "":
		return out
	case n.kind != 'c':
		return append(out, blocks.Block{Kind: connector.KindFootnote, Note: true, Marker: marker, Text: body, Page: page})
	case !d.keep:
		return append(out, blocks.Block{Kind: connector.KindDropped, Reason: connector.DropComment, Text: body})
	}
	if n.author != "" {
		marker = n.author + ":"
	}
	return append(out, blocks.Block{Kind: connector.KindQuote, Note: true, Marker: marker, Text: body, Page: page})
}
