package pptx

import (
	"bytes"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/numerals"
	"github.com/kbsync/kbsync/internal/omml"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// paragraph is one that is being read.
type paragraph struct {
	buf   []byte
	level int
	own   bullet
	math  []string
	prose bool // it has text beside equations
	light bool // it has text that is not bold
	print bool // it has text that is not set in a typewriter's letters
}

// body reads the paragraphs of a shape or a cell. dr is nil where nothing is inherited.
func (r *reader) body(dr *drawing) ([]blocks.Block, error) {
	out, _, err := r.paragraphs(dr)
	return out, err
}

func (r *reader) paragraphs(dr *drawing) (out []blocks.Block, bold bool, err error) {
	r.d.lists++
	l := &list{number: r.d.lists}
	if dr == nil {
		dr = &drawing{}
	} else {
		l.from = r.inherited(dr)
	}
	bold = true
	err = r.each(func(name []byte) error {
		switch string(name) {
		case "lstStyle":
			return dr.styles.read(r.s)
		case "p":
			p := &paragraph{}
			if err := r.inline(p); err != nil {
				return err
			}
			bold = bold && !p.light
			out = p.finish(out, l)
		}
		return nil
	})
	return out, bold, err
}

// inherited are the styles that a shape's paragraphs look to, nearest first.
func (r *reader) inherited(dr *drawing) []*styles {
	from := []*styles{&dr.styles}
	if dr.is {
		for _, p := range r.layout.chain(dr.kind, dr.idx) {
			from = append(from, &p.styles)
		}
	}
	kind := dr.kind
	if p := r.layout.find(dr.kind, dr.idx); dr.is && kind == "" && p != nil {
		kind = p.kind
	}
	return append(from, r.layout.of(kind, dr.is), &r.d.defaults)
}

// inline reads what a paragraph holds.
func (r *reader) inline(p *paragraph) error {
	return r.each(func(name []byte) error {
		switch string(name) {
		case "pPr":
			p.level = max(0, min(r.s.Int("lvl", 0), levels-1))
			return p.own.read(r.s)
		case "r", "fld":
			return r.run(p)
		case "br":
			p.buf = append(p.buf, '\n')
		case "m", "oMathPara", "oMath":
			return r.equation(p)
		case "AlternateContent":
			return r.alternate(func() error { return r.inline(p) }, func() int { return len(p.buf) })
		}
		return nil
	})
}

// run reads a run of characters of the same looks.
func (r *reader) run(p *paragraph) error {
	bold, mono := false, false
	return r.each(func(name []byte) error {
		switch string(name) {
		case "rPr":
			bold = on(r.s, "b")
			return r.each(func(name []byte) error {
				if string(name) == "latin" {
					mono = typewriter(r.s.String("typeface"))
				}
				return nil
			})
		case "t":
			start := len(p.buf)
			if err := r.text(p); err != nil {
				return err
			}
			if strings.TrimSpace(string(p.buf[start:])) != "" {
				p.prose, p.light, p.print = true, p.light || !bold, p.print || !mono
			}
		}
		return nil
	})
}

// text adds the text of the current element. Vertical tabs are line breaks, as older programs write them.
func (r *reader) text(p *paragraph) error {
	for depth := r.s.Depth(); r.s.Depth() >= depth; {
		k, err := r.s.Next()
		if err != nil {
			return err
		}
		if k == xmlscan.Text {
			start := len(p.buf)
			p.buf = append(p.buf, r.s.Text()...)
			if added := p.buf[start:]; bytes.Contains(added, []byte("_x000B_")) {
				p.buf = append(p.buf[:start], bytes.ReplaceAll(added, []byte("_x000B_"), []byte("\n"))...)
			}
			for i := start; i < len(p.buf); i++ {
				if p.buf[i] == '\v' {
					p.buf[i] = '\n'
				}
			}
		}
	}
	return nil
}

// typewriter says that all letters of a font are of one width.
func typewriter(font string) bool {
	font = strings.ToLower(font)
	for _, known := range [...]string{"courier", "consolas", "menlo", "monaco", "lucida console", "mono", "cascadia code", "fira code", "andale"} {
		if strings.Contains(font, known) && !strings.Contains(font, "monotype") {
			return true
		}
	}
	return false
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

// list counts the numbered paragraphs of a shape.
type list struct {
	from   []*styles
	number int
	counts [levels]int
	autos  [levels]bullet
}

// bullet is what stands before a paragraph, as it says itself or inherits.
func (l *list) bullet(p *paragraph) bullet {
	if p.own.kind != 0 {
		return p.own
	}
	for _, st := range l.from {
		if st[p.level].kind != 0 {
			return st[p.level]
		}
	}
	return bullet{}
}

// marker counts a paragraph and returns what stands before it; "" where nothing does.
func (l *list) marker(p *paragraph) string {
	b := l.bullet(p)
	for i := p.level + 1; i < levels; i++ {
		l.autos[i] = bullet{}
	}
	switch {
	case b.kind != 'a':
		l.autos[p.level] = bullet{}
		if b.kind == 'c' {
			return "-"
		}
		return ""
	case l.autos[p.level] != b:
		l.autos[p.level], l.counts[p.level] = b, b.start
	default:
		l.counts[p.level]++
	}
	return auto(b.auto, l.counts[p.level])
}

// auto is a number in one of the schemes of ST_TextAutonumberScheme.
func auto(scheme string, n int) string {
	style := numerals.Decimal
	for _, s := range [...]struct {
		prefix string
		style  numerals.Style
	}{
		{"alphaLc", numerals.LowerLetters}, {"alphaUc", numerals.UpperLetters}, {"romanLc", numerals.LowerRoman}, {"romanUc", numerals.UpperRoman},
		{"circleNum", numerals.Circled}, {"ea1Ch", numerals.Chinese}, {"ea1Jpn", numerals.Chinese}, {"arabicDb", numerals.FullWidth},
	} {
		if strings.HasPrefix(scheme, s.prefix) {
			style = s.style
		}
	}
	text := style.Format(n)
	switch {
	case strings.HasSuffix(scheme, "ParenBoth"):
		return "(" + text + ")"
	case strings.HasSuffix(scheme, "ParenR"):
		return text + ")"
	case strings.HasSuffix(scheme, "Period"):
		return text + "."
	}
	return text
}

// finish adds the block that a paragraph is.
func (p *paragraph) finish(out []blocks.Block, l *list) []blocks.Block {
	text := string(p.buf)
	if strings.TrimSpace(text) == "" {
		return out // shows no number
	}
	marker := l.marker(p)
	switch {
	case len(p.math) > 0 && !p.prose && marker == "":
		for _, tex := range p.math {
			out = append(out, blocks.Block{Kind: connector.KindMath, Text: tex})
		}
		return out
	case marker != "":
		return append(out, blocks.Block{Kind: connector.KindItem, Level: p.level + 1, List: l.number, Marker: marker, Text: text})
	case !p.print && p.prose:
		return append(out, blocks.Block{Kind: connector.KindCode, Guess: true, Text: text})
	}
	return append(out, blocks.Block{Kind: connector.KindText, Text: text})
}
