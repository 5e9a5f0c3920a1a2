package rtf

import (
	"strconv"
	"strings"
)

// style is a paragraph style.
type style struct {
	level int // of a heading, from 1; 0 is none
	toc   bool
}

// outlineOf is the outline level; -1 for body text.
func (s style) outlineOf() int { return s.level - 1 }

// entry is an entry of the style sheet that is being read.
type entry struct {
	num, outline int
	base         int
	character    bool
	name         []byte
}

// name adds to the name of a font or style; a semicolon ends it.
func (r *reader) name(s string) {
	for {
		part, rest, found := strings.Cut(s, ";")
		if len(r.entry.name) < 200 {
			r.entry.name = append(r.entry.name, part...)
		}
		if !found {
			return
		}
		if r.dest == toFonts {
			r.fontNamed(strings.TrimSpace(string(r.entry.name)))
		} else {
			r.styleNamed(strings.ToLower(strings.TrimSpace(string(r.entry.name))))
		}
		r.entry = entry{outline: -1, base: -1}
		s = rest
	}
}

func (r *reader) fontNamed(name string) {
	f := r.fonts[r.font]
	low := strings.ToLower(name)
	f.wingdings = strings.HasPrefix(low, "wingdings")
	if low == "symbol" || f.wingdings {
		f.page = pageSymbol
	}
	r.fonts[r.font] = f
}

// headingNames stand before the level in the names of heading styles.
func headingNames() []string {
	return []string{"heading ", "标题 ", "標題 ", "überschrift ", "titre ", "título ", "titolo ", "заголовок ", "見出し ", "제목 ", "kop ", "nagłówek "}
}

func (r *reader) styleNamed(name string) {
	e := r.entry
	if e.character {
		return
	}
	st := style{}
	if base, ok := r.styles[e.base]; ok && e.base != e.num {
		st.level = base.level
	}
	switch {
	case e.outline >= 0 && e.outline < 9:
		st.level = e.outline + 1
	case name == "title" || name == "标题" || name == "標題":
		st.level = 1
	case strings.HasPrefix(name, "toc ") || strings.HasPrefix(name, "table of figures"):
		st.toc = true
	default:
		for _, prefix := range headingNames() {
			if rest, ok := strings.CutPrefix(name, prefix); ok {
				if n, err := strconv.Atoi(rest); err == nil && n > 0 && n < 10 {
					st.level = n
				}
			}
		}
	}
	r.styles[e.num] = st
}

// entryWord takes a control word in the table of fonts or styles.
func (r *reader) entryWord(t token) {
	if r.dest == toFonts {
		switch t.word {
		case "f":
			r.font = t.param
			r.fonts[t.param] = font{}
		case "fcharset":
			r.fonts[r.font] = font{page: codePage(t.param)}
			r.page = codePage(t.param)
		case "cpg":
			r.fonts[r.font] = font{page: t.param}
			r.page = t.param
		}
		return
	}
	switch t.word {
	case "s":
		r.entry.num = t.param
	case "cs", "ds", "ts":
		r.entry.character = true
	case "outlinelevel":
		r.entry.outline = t.param
	case "sbasedon":
		r.entry.base = t.param
	case "f":
		r.setFont(t.param)
	}
}

func (r *reader) setFont(n int) {
	f := r.fonts[n]
	r.page, r.wingdings = f.page, f.wingdings
}
