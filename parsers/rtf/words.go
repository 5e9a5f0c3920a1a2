package rtf

import (
	"github.com/kbsync/kbsync/connector"
)

// symbol takes a control symbol.
func (r *reader) symbol(c byte) {
	switch c {
	case '*':
		r.star = true
		return
	case '\\', '{', '}': // may be the second half of a character
		r.raw = append(r.raw, c)
		return
	}
	r.flush()
	switch c {
	case '~':
		r.put("\u00A0")
	case '_':
		r.put("\u2011")
	case '\r', '\n':
		r.paragraphEnd()
	case '\t':
		r.put("\t")
	}
}

// character is the text that a control word stands for.
func character(word string) string {
	switch word {
	case "tab":
		return "\t"
	case "line", "page", "column", "lbr":
		return "\n"
	case "emdash":
		return "—"
	case "endash":
		return "–"
	case "bullet":
		return "•"
	case "lquote":
		return "‘"
	case "rquote":
		return "’"
	case "ldblquote":
		return "“"
	case "rdblquote":
		return "”"
	case "emspace":
		return "\u2003"
	case "enspace":
		return "\u2002"
	case "qmspace":
		return "\u2005"
	case "zwj":
		return "\u200D"
	case "zwnj":
		return "\u200C"
	}
	return ""
}

// word takes a control word.
func (r *reader) word(t token) {
	star := r.star
	r.star = false
	switch {
	case t.word == "u":
		r.unicode(t.param)
		return
	case t.word == "uc":
		r.uc = max(0, min(t.param, 1024))
		return
	case t.word == "ud" && r.dest == toNowhere && r.outer != toNowhere:
		r.dest = r.outer
		return
	case r.dest == toNowhere || t.word == "bin":
		return
	}
	if s := character(t.word); s != "" {
		r.put(s)
		return
	}
	if r.destination(t) {
		return
	}
	if star && r.dest != toFonts && r.dest != toStyles { // a destination that this reader does not know
		r.unknown()
		return
	}
	switch {
	case r.dest == toFonts || r.dest == toStyles:
		r.entryWord(t)
	case r.dest == toFlow && !r.html && r.tableWord(t):
	case r.paragraphWord(t):
	default:
		r.characterWord(t)
	}
}

// unknown reports the text of this group.
func (r *reader) unknown() {
	if r.dest == toQuiet {
		r.dest = toNowhere
		return
	}
	r.collect(func(text string) { r.drop(connector.DropMarkup, clip(text)) })
}

func clip(s string) string { return s[:min(len(s), maxTold)] }

// on says that a toggle is switched on.
func on(t token) bool { return !t.has || t.param != 0 }

// characterWord takes a control word of characters and of the document.
func (r *reader) characterWord(t token) {
	switch t.word {
	case "f":
		r.setFont(t.param)
	case "plain":
		r.hidden, r.deleted, r.bold = false, false, false
		r.setFont(r.deff)
	case "v":
		r.hidden = on(t)
	case "deleted":
		r.deleted = on(t)
	case "b":
		r.bold = on(t)
	case "ansicpg":
		r.ansi = t.param
	case "mac":
		r.ansi = 10000
	case "pc":
		r.ansi = 437
	case "pca":
		r.ansi = 850
	case "deff":
		r.deff = t.param
	case "fromhtml":
		r.html = on(t) && r.w == nil && len(r.stack) == 1
	case "htmlrtf":
		r.rtfOnly = on(t)
	}
}

// paragraphWord takes a control word of paragraphs; it says whether it was one.
func (r *reader) paragraphWord(t token) bool {
	p := &r.par
	switch t.word {
	case "par", "sect":
		r.paragraphEnd()
	case "pard":
		r.par = plain()
	case "s":
		p.style = t.param
	case "outlinelevel":
		p.outline = t.param
	case "intbl":
		p.inTable = on(t)
	case "itap":
		p.nested = t.param
		p.inTable = t.param > 0
	case "ilvl":
		p.level = max(0, min(t.param, 8))
	case "ls":
		p.list = t.param
	case "li":
		p.left = t.param
	case "fi":
		p.first = t.param
	default:
		return false
	}
	return true
}

// paragraphEnd ends a paragraph.
func (r *reader) paragraphEnd() {
	switch {
	case r.dest == toBuffer:
		r.put("\n")
	case r.dest != toFlow:
	case r.html:
		r.put("\n")
	default:
		r.flow.finish(r, r.here())
	}
}
