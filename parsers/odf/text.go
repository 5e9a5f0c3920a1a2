package odf

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// paragraph is one that is being read.
type paragraph struct {
	buf    []byte
	page   int
	space  bool // the text ends in a space that others join
	prose  bool // it has text beside equations
	hidden []byte
	math   []string
	after  []blocks.Block // notes, comments and drawings
	mute   int            // inside of so many hidden spans
	heavy  int            // inside of so many bold spans
	mono   int
	print  bool // it has text that is not set in a typewriter's letters
}

// paragraph reads a paragraph or a heading.
func (r *reader) paragraph(heading bool) error {
	name := r.s.String("style-name")
	level := r.s.Int("outline-level", 1)
	numbered := r.s.String("is-list-header") != "true"
	st := r.d.of(name)
	if st.breaks && r.begun {
		r.turn()
	}
	p := &paragraph{page: r.page, space: true}
	if st.bold {
		p.heavy++
	}
	if st.mono {
		p.mono++
	}
	err := r.inline(p)
	what, n := r.d.is(name)
	if what == "heading" || what == "title" {
		if !heading {
			level = n
		}
		heading = true
	}
	r.finish(p, heading, max(1, level), numbered, what)
	return err
}

// finish makes blocks of a paragraph.
func (r *reader) finish(p *paragraph, heading bool, level int, numbered bool, what string) {
	if len(p.hidden) > 0 {
		r.drop(connector.DropHidden, string(p.hidden))
	}
	text := strings.TrimSpace(string(p.buf))
	b := blocks.Block{Kind: connector.KindText, Text: text, Page: p.page, PageEnd: r.page}
	switch {
	case text == "" && what == "code":
		r.out(blocks.Block{Kind: connector.KindCode, Page: p.page})
	case text == "":
	case heading:
		b.Kind, b.Level = connector.KindHeading, level
		marker, _, _ := r.marker()
		if marker == "" && numbered && r.list == nil && what != "title" && r.nested == 0 && level <= levels {
			marker = r.d.chapters.next(&r.d.outline, level-1, -1)
		}
		if marker != "-" {
			b.Marker = marker
		}
		r.out(b)
	case len(p.math) > 0 && !p.prose:
		for _, tex := range p.math {
			r.out(blocks.Block{Kind: connector.KindMath, Text: tex, Page: p.page})
		}
	default:
		if marker, list, depth := r.marker(); marker != "" {
			b.Kind, b.Marker, b.List, b.Level = connector.KindItem, marker, list, depth
		} else if what == "code" {
			b.Kind, b.Text = connector.KindCode, strings.TrimRight(string(p.buf), " \n")
		} else if what == "quote" {
			b.Kind = connector.KindQuote
		} else if !p.print && p.prose && r.nested == 0 && r.list == nil {
			b.Kind, b.Guess = connector.KindCode, true
		}
		r.out(b)
	}
	r.begun = r.begun || text != ""
	for _, b := range p.after {
		r.put(b)
	}
}

// inline reads what a paragraph holds, or what only wraps text in it.
func (r *reader) inline(p *paragraph) error {
	for depth := r.s.Depth(); ; {
		k, err := r.s.Next()
		if err != nil {
			return err
		}
		switch {
		case r.s.Depth() < depth:
			return nil
		case k == xmlscan.Text:
			p.text(r, r.s.Text())
		case k == xmlscan.Start:
			if err := r.piece(p, string(r.s.Name())); err != nil {
				return err
			}
			for r.s.Depth() > depth {
				if _, err := r.s.Next(); err != nil {
					return err
				}
			}
		}
	}
}

// text adds text as the format has it: white space is one space, and none at the start or behind another.
func (p *paragraph) text(r *reader, text []byte) {
	for len(text) > 0 {
		n := bytes.IndexAny(text, " \t\n\r")
		if n == 0 {
			if !p.space {
				p.put(' ')
			}
			p.space = true
			text = bytes.TrimLeft(text, " \t\n\r")
			continue
		}
		if n < 0 {
			n = len(text)
		}
		p.space = false
		if p.mute == 0 {
			if !p.prose && blank(p.buf) {
				p.page = r.page
			}
			p.prose = true
			p.print = p.print || p.mono == 0
			r.light = r.light || p.heavy == 0
		}
		p.put(text[:n]...)
		text = text[n:]
	}
}

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

func (p *paragraph) put(c ...byte) {
	if p.mute > 0 {
		p.hidden = append(p.hidden, c...)
		return
	}
	p.buf = append(p.buf, c...)
}

// maxSpaces bounds the spaces that one element may stand for.
const maxSpaces = 256

// piece reads one part of a paragraph.
func (r *reader) piece(p *paragraph, name string) error {
	switch name {
	case "s":
		n := max(1, min(r.s.Int("c", 1), maxSpaces))
		p.put([]byte(strings.Repeat(" ", n))...)
		p.space = false
	case "tab":
		p.put('\t')
		p.space = true
	case "line-break":
		p.put('\n')
		p.space = true
	case "soft-page-break":
		r.turn()
	case "span":
		return r.span(p)
	case "note":
		return r.note(p)
	case "annotation":
		return r.annotation(p)
	case "ruby":
		return r.ruby(p)
	case "frame", "custom-shape", "rect", "ellipse", "circle", "line", "connector", "polygon", "polyline", "path", "caption", "g":
		return r.anchored(p, name)
	case "hidden-text", "hidden-paragraph", "script", "annotation-end", "event-listeners", "toc-mark", "toc-mark-start", "alphabetical-index-mark", "user-index-mark", "forms":
	default: // links, fields and marks
		return r.inline(p)
	}
	return nil
}

// span reads text of one look.
func (r *reader) span(p *paragraph) error {
	st := r.d.of(r.s.String("style-name"))
	for _, one := range [...]struct {
		set bool
		n   *int
	}{{st.hidden, &p.mute}, {st.bold, &p.heavy}, {st.mono, &p.mono}} {
		if one.set {
			*one.n++
			defer func() { *one.n-- }()
		}
	}
	return r.inline(p)
}

// note reads a footnote or an endnote.
func (r *reader) note(p *paragraph) error {
	if r.nested >= maxNested {
		p.after = append(p.after, tooDeep("a note"))
		return nil
	}
	mark := ""
	return r.each(func(name []byte) error {
		switch string(name) {
		case "note-citation":
			var cited paragraph
			if err := r.inline(&cited); err != nil {
				return err
			}
			if mark = strings.TrimSpace(string(cited.buf)); mark == "" {
				mark = strconv.Itoa(len(p.after) + 1)
			}
			mark = "[" + mark + "]"
			p.put([]byte(mark)...)
		case "note-body":
			body, err := r.inner()
			p.aside(body, blocks.Block{Kind: connector.KindFootnote, Marker: mark, Page: r.page})
			return err
		}
		return nil
	})
}

func tooDeep(what string) blocks.Block {
	return blocks.Block{Kind: connector.KindDropped, Reason: connector.DropLimit, Text: what + " inside of many others"}
}

// aside adds blocks as one that stands below the paragraph.
func (p *paragraph) aside(body []blocks.Block, as blocks.Block) {
	var text strings.Builder
	for _, b := range body {
		switch {
		case b.Kind == connector.KindDropped:
			p.after = append(p.after, b)
			continue
		case b.Kind == connector.KindMath:
			b.Text = "$" + b.Text + "$"
		case b.Marker != "":
			b.Text = b.Marker + " " + b.Text
		}
		plain(&text, b)
		text.WriteByte('\n')
	}
	if as.Text = strings.TrimSpace(text.String()); as.Text != "" {
		as.Note = true
		p.after = append(p.after, as)
	}
}

// annotation reads the comment of a reviewer.
func (r *reader) annotation(p *paragraph) error {
	if r.nested >= maxNested {
		p.after = append(p.after, tooDeep("a comment"))
		return nil
	}
	as := blocks.Block{Kind: connector.KindQuote, Page: r.page}
	var body []blocks.Block
	sub := *r
	sub.out = func(b blocks.Block) { body = append(body, b) }
	sub.list = nil
	sub.nested++
	err := r.each(func(name []byte) error {
		switch string(name) {
		case "creator":
			var who paragraph
			err := r.inline(&who)
			if as.Marker = strings.TrimSpace(string(who.buf)); as.Marker != "" {
				as.Marker += ":"
			}
			return err
		case "p", "h", "list":
			return sub.block(string(name))
		}
		return nil
	})
	if !r.d.cfg.Comments {
		as = blocks.Block{Kind: connector.KindDropped, Reason: connector.DropComment}
	}
	p.aside(body, as)
	return err
}

// ruby reads text with its reading, which follows in parentheses.
func (r *reader) ruby(p *paragraph) error {
	var reading paragraph
	err := r.each(func(name []byte) error {
		if string(name) == "ruby-text" {
			return r.inline(&reading)
		}
		return r.inline(p)
	})
	if text := strings.TrimSpace(string(reading.buf)); text != "" {
		p.put([]byte("(" + text + ")")...)
	}
	return err
}

// anchored reads a drawing that is anchored to a paragraph. Equations are part of its text.
func (r *reader) anchored(p *paragraph, name string) error {
	out, err := r.drawn(name)
	if len(out) == 1 && out[0].Kind == connector.KindMath {
		tex := out[0].Text
		p.math = append(p.math, tex)
		if n := len(p.buf); n > 0 && p.buf[n-1] < 0x80 && p.buf[n-1] != ' ' && p.buf[n-1] != '(' && p.buf[n-1] != '\n' {
			p.put(' ')
		}
		p.put([]byte("$" + tex + "$")...)
		p.space = false
		return err
	}
	p.after = append(p.after, out...)
	return err
}
