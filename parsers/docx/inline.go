package docx

import (
	"bytes"
	"strconv"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/omml"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// inline reads what a paragraph holds, or what only wraps runs in it.
func (r *reader) inline(p *paragraph) error {
	return r.each(func(name []byte) error {
		switch string(name) {
		case "r":
			return r.run(p)
		case "pPr":
			return r.properties(p)
		case "hyperlink", "ins", "moveTo", "smartTag", "customXml", "fldSimple", "sdt", "sdtContent", "dir", "bdo", "rubyBase":
			return r.inline(p)
		case "del", "moveFrom":
			r.gone++
			err := r.inline(p)
			r.gone--
			return err
		case "AlternateContent":
			return r.alternate(func() error { return r.inline(p) })
		case "oMath", "oMathPara":
			return r.equation(p)
		case "t": // text that stands outside of runs, as some programs write it
			return r.text(p, &run{})
		}
		return nil
	})
}

// equation reads an equation. It is part of the text, and a block of its own if there is no other.
func (r *reader) equation(p *paragraph) error {
	tex, err := omml.Read(r.s)
	if tex == "" {
		return err
	}
	p.math = append(p.math, tex)
	if n := len(p.buf); n > 0 && p.buf[n-1] < 0x80 && p.buf[n-1] != ' ' && p.buf[n-1] != '(' && p.buf[n-1] != '\n' {
		p.buf = append(p.buf, ' ')
	}
	p.buf = append(p.buf, "$"+tex+"$"...)
	return err
}

// run is one run of characters of the same looks.
type run struct {
	hidden, bold, mono toggle
}

// run reads a run.
func (r *reader) run(p *paragraph) error {
	var look run
	if st := p.style; st != nil {
		look = run{st.hidden, st.bold, st.mono}
	}
	return r.each(func(name []byte) error {
		if string(name) == "rPr" {
			return r.looks(&look)
		}
		return r.piece(p, &look, name)
	})
}

// looks reads the properties of a run.
func (r *reader) looks(look *run) error {
	var own, of style
	err := r.each(func(name []byte) error {
		if string(name) == "rStyle" {
			if st := r.d.styles.get(r.s.String("val")); st != nil {
				of = *st
			}
		}
		own.run(r.s, name)
		return nil
	})
	for _, from := range [...]*style{&of, &own} {
		if from.hidden != unsaid {
			look.hidden = from.hidden
		}
		if from.bold != unsaid {
			look.bold = from.bold
		}
		if from.mono != unsaid {
			look.mono = from.mono
		}
	}
	return err
}

// piece reads one part of a run.
func (r *reader) piece(p *paragraph, look *run, name []byte) error {
	switch string(name) {
	case "t", "delText":
		return r.text(p, look)
	case "tab", "ptab":
		r.put(p, look, []byte("\t"))
	case "br":
		if t, ok := r.s.Attr("type"); !ok || string(t) == "textWrapping" {
			r.put(p, look, []byte("\n"))
		}
	case "cr":
		r.put(p, look, []byte("\n"))
	case "noBreakHyphen":
		r.put(p, look, []byte("\u2011"))
	case "sym":
		r.put(p, look, r.symbol())
	case "lastRenderedPageBreak":
		if r.page > 0 {
			r.page++
		}
	case "footnoteReference":
		r.reference(p, look, r.d.footnotes)
	case "endnoteReference":
		r.reference(p, look, r.d.endnotes)
	case "commentReference":
		if n := r.d.comments[r.s.String("id")]; n != nil {
			p.notes = append(p.notes, n)
		}
	case "fldChar":
		r.field()
	case "ruby":
		return r.ruby(p)
	case "drawing", "pict", "object":
		return r.drawing(p)
	case "AlternateContent":
		return r.alternate(func() error {
			return r.each(func(name []byte) error { return r.piece(p, look, name) })
		})
	case "oMath":
		return r.equation(p)
	}
	return nil
}

// text reads the text of a run.
func (r *reader) text(p *paragraph, look *run) error {
	keep, _ := r.s.Attr("space")
	trim := string(keep) != "preserve"
	for depth := r.s.Depth(); ; {
		k, err := r.s.Next()
		if err != nil {
			return err
		}
		if k == xmlscan.End && r.s.Depth() < depth {
			return nil
		}
		if k == xmlscan.Text {
			t := r.s.Text()
			if trim {
				t = bytes.Trim(t, " \t\r\n")
			}
			r.put(p, look, t)
		}
	}
}

// put adds text where it belongs: to the paragraph, or to what is left out of it.
func (r *reader) put(p *paragraph, look *run, text []byte) {
	switch {
	case len(text) == 0 || r.instructs():
	case r.gone > 0:
		p.deleted = append(p.deleted, text...)
	case look.hidden == yes:
		p.hidden = append(p.hidden, text...)
	default:
		if !p.begun && !blank(text) {
			p.page, p.begun = r.page, true
		}
		if (!p.prose || !p.plainRun || !p.print) && !blank(text) {
			p.prose = true
			p.plainRun = p.plainRun || look.bold != yes
			p.print = p.print || look.mono != yes
		}
		p.buf = append(p.buf, text...)
	}
}

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// instructs says that the instruction of a field is being read.
func (r *reader) instructs() bool {
	for _, in := range r.fields {
		if in {
			return true
		}
	}
	return false
}

// maxFields is how deep fields nest.
const maxFields = 32

// field follows the marks of fields.
func (r *reader) field() {
	n := len(r.fields)
	switch r.s.String("fldCharType") {
	case "begin":
		if n < maxFields {
			r.fields = append(r.fields, true)
		}
	case "separate":
		if n > 0 {
			r.fields[n-1] = false
		}
	case "end":
		if n > 0 {
			r.fields = r.fields[:n-1]
		}
	}
}

// reference puts the mark of a note into the text.
func (r *reader) reference(p *paragraph, look *run, notes map[string]*note) {
	n := notes[r.s.String("id")]
	if n == nil {
		return
	}
	if r.gone > 0 {
		for _, b := range n.blocks {
			p.deleted = append(append(p.deleted, b.Text...), ' ')
		}
		n.used = true
		return
	}
	r.put(p, look, []byte(r.d.reference(n)))
	p.notes = append(p.notes, n)
}

// ruby reads text with its reading, which follows in parentheses.
func (r *reader) ruby(p *paragraph) error {
	var reading paragraph
	err := r.each(func(name []byte) error {
		switch string(name) {
		case "rt":
			return r.inline(&reading)
		case "rubyBase":
			return r.inline(p)
		}
		return nil
	})
	if !blank(reading.buf) {
		r.put(p, &run{}, []byte("("+string(bytes.TrimSpace(reading.buf))+")"))
	}
	return err
}

// symbol is the character of a symbol font.
func (r *reader) symbol() []byte {
	code, err := strconv.ParseUint(r.s.String("char"), 16, 32)
	if err != nil {
		return nil
	}
	font := r.s.String("font")
	if c := symbolOf(font, rune(code)); c != 0 {
		return []byte(string(c))
	}
	r.out(blocks.Block{Kind: connector.KindDropped, Reason: connector.DropUndecodable, Text: "symbol " + strconv.FormatUint(code, 16) + " of the font " + font})
	return nil
}
