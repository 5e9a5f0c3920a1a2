package rtf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/numerals"
)

// destination takes a control word that says where the text of its group goes; it says whether it was one.
func (r *reader) destination(t token) bool {
	switch t.word {
	case "fonttbl":
		r.dest, r.entry = toFonts, entry{outline: -1, base: -1}
	case "stylesheet":
		r.dest, r.entry = toStyles, entry{outline: -1, base: -1}
	case "upr":
		r.outer, r.dest = r.dest, toNowhere
	case "nesttableprops":
		r.nestedDefs = true
	case "info":
		r.dest = toQuiet
	case "shp", "shpinst", "result", "fldrslt", "field", "object", "shppict", "sp", "do", "picprop", "shpgrp", "ud", "mmath", "moMath":
	case "htmltag":
		r.rtfOnly = false
		if !r.html {
			r.unknown()
		}
	case "listtext", "pntext":
		r.marker()
	case "footnote":
		r.note()
	case "annotation":
		r.annotation()
	case "atnauthor":
		r.collect(func(text string) { r.author = text })
	case "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf":
		r.furniture()
	case "shptxt", "dptxbxtext":
		r.box()
	case "pict":
		r.picture()
	case "objclass":
		r.collect(func(text string) { r.drop(connector.DropEmbedded, text) })
	case "xe", "tc", "tcn":
		r.collect(func(text string) { r.drop(connector.DropHidden, text) })
	case "sn":
		r.collect(func(text string) { r.propName = text })
	case "sv":
		r.collect(r.shapeProperty)
	default:
		return r.fact(t.word) || r.silent(t.word)
	}
	return true
}

// silent are destinations that hold no text of the document. It says whether the word is one of them.
func (r *reader) silent(word string) bool {
	switch word {
	case "colortbl", "listtable", "listoverridetable", "revtbl", "rsidtbl", "filetbl", "generator", "fldinst", "datafield", "formfield", "ffname", "ffdeftext", "ffformat",
		"objdata", "objname", "objalias", "objsect", "nonshppict", "shprslt", "nonesttables", "bkmkstart", "bkmkend", "themedata", "colorschememapping", "latentstyles",
		"datastore", "xmlnstbl", "pn", "pnseclvl", "template", "passwordhash", "mmathPr", "wgrffmtfilter", "ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn",
		"atnid", "atnref", "atndate", "atntime", "atnicn", "atnparent", "atrfstart", "atrfend", "userprops", "blipuid", "blipupi", "panose", "falt", "fname", "fontemb", "fontfile",
		"listname", "listpicture", "pgptbl", "pgdsctbl", "pgdsc", "pgdscnxt", "ftnsepr", "docvar", "mhtmltag", "oldcprops", "oldpprops", "oldtprops", "oldsprops", "xmlopen", "xmlclose",
		"background", "hlinkbase", "hl", "hlloc", "hlsrc", "hlfr", "keycode", "nextfile", "password", "private", "protusertbl", "writereservhash", "writereservation",
		"levelnumbers", "leveltext", "liststylename", "defchp", "defpap", "expandedcolortbl", "cocoatextscaling", "sectdefaultcl", "wptab", "defshp", "userprop":
		r.dest = toNowhere
		return true
	}
	return false
}

// marker collects the marker of an item.
func (r *reader) marker() {
	if r.dest != toFlow || r.html {
		r.dest = toNowhere
		return
	}
	f := r.flow
	f.marker = f.marker[:0]
	r.dest, r.buf = toBuffer, &f.marker
}

// inner begins a text of its own. It gives its blocks to done at the end of the group.
func (r *reader) inner(done func([]blocks.Block)) {
	if r.dest != toFlow || r.html {
		r.dest = toNowhere
		return
	}
	if r.inside >= maxInner { // it goes on in the text around it
		return
	}
	r.inside++
	var out []blocks.Block
	outer := r.flow
	f := &flow{out: func(b blocks.Block) { out = append(out, b) }}
	r.flow = f
	r.par = plain()
	r.hidden, r.deleted, r.bold = false, false, false
	r.end = func() {
		r.flow = f
		f.finish(r, r.here())
		f.close(0)
		r.flow = outer
		done(out)
	}
}

// note reads a footnote or endnote.
func (r *reader) note() {
	if r.dest != toFlow || r.html {
		r.dest = toNowhere
		return
	}
	endnote := false
	if rest := r.data[r.pos:min(len(r.data), r.pos+8)]; strings.HasPrefix(string(rest), "\\ftnalt") {
		endnote = true
	}
	marker := ""
	if endnote {
		r.endnotes++
		marker = "[" + numerals.LowerRoman.Format(r.endnotes) + "]"
	} else {
		r.footnotes++
		marker = "[" + strconv.Itoa(r.footnotes) + "]"
	}
	r.put(marker)
	outer := r.flow
	r.inner(func(out []blocks.Block) {
		outer.join(out, blocks.Block{Kind: connector.KindFootnote, Note: true, Marker: marker})
	})
}

// annotation reads a comment.
func (r *reader) annotation() {
	author := r.author
	outer := r.flow
	r.inner(func(out []blocks.Block) {
		b := blocks.Block{Kind: connector.KindQuote, Note: true}
		if !r.comments {
			b = blocks.Block{Kind: connector.KindDropped, Reason: connector.DropComment}
		}
		if author != "" {
			b.Marker = author + ":"
		}
		outer.join(out, b)
	})
}

// join adds blocks as one, and what was left out in them, behind the paragraph.
func (f *flow) join(out []blocks.Block, b blocks.Block) {
	var text strings.Builder
	for _, o := range out {
		if o.Kind == connector.KindDropped {
			f.later = append(f.later, o)
			continue
		}
		words(&text, o)
	}
	b.Text = text.String()
	f.later = append(f.later, b)
}

// words writes the text of a block.
func words(text *strings.Builder, b blocks.Block) {
	if b.Table != nil {
		for _, row := range b.Table.Rows {
			for _, c := range row.Cells {
				for _, k := range c.Blocks {
					words(text, k)
				}
			}
		}
		return
	}
	if b.Marker != "" {
		text.WriteString(b.Marker + " ")
	}
	text.WriteString(b.Text)
	text.WriteByte('\n')
}

// furniture reads a header or footer.
func (r *reader) furniture() {
	outer := r.flow
	r.inner(func(out []blocks.Block) {
		var text strings.Builder
		for _, b := range out {
			words(&text, b)
		}
		s := strings.TrimSpace(text.String())
		if s != "" && !r.furnish[s] {
			r.furnish[s] = true
			outer.later = append(outer.later, blocks.Block{Kind: connector.KindDropped, Reason: connector.DropFurniture, Text: s})
		}
	})
}

// box reads the text of a box.
func (r *reader) box() {
	outer := r.flow
	r.inner(func(out []blocks.Block) { outer.later = append(outer.later, out...) })
}

// picture reports a picture. Its data are skipped.
func (r *reader) picture() {
	if r.dest != toFlow {
		return
	}
	name := "picture"
	head := string(r.data[r.pos:min(len(r.data), r.pos+200)])
	for _, k := range []string{"png", "jpeg", "emf"} {
		if strings.Contains(head, "\\"+k+"blip") {
			name += " (" + k + ")"
		}
	}
	if strings.Contains(head, "\\wmetafile") {
		name += " (wmf)"
	}
	r.drop(connector.DropEmbedded, name)
	r.dest = toQuiet
}

// shapeProperty takes a property of a shape whose name came.
func (r *reader) shapeProperty(value string) {
	switch r.propName {
	case "wzDescription":
		if value != "" {
			r.flow.later = append(r.flow.later, blocks.Block{Kind: connector.KindImage, Text: value})
		}
	case "gtextUNICODE":
		if value != "" {
			r.flow.later = append(r.flow.later, blocks.Block{Kind: connector.KindText, Text: value})
		}
	}
	r.propName = ""
}

// fact takes a control word of the document's properties; it says whether it was one.
func (r *reader) fact(word string) bool {
	key := ""
	switch word {
	case "title", "subject", "author", "keywords", "category":
		key = word
	case "doccomm":
		key = "description"
	case "creatim":
		key = "created"
	case "revtim":
		key = "modified"
	case "operator", "manager", "company", "comment", "printim", "buptim":
		r.dest = toNowhere
		return true
	default:
		return false
	}
	if key == "created" || key == "modified" {
		if r.dest != toNowhere {
			if at := r.time(); at != "" {
				r.props[key] = at
			}
		}
		r.dest = toNowhere
		return true
	}
	r.collect(func(text string) {
		if text != "" && r.w == nil {
			r.props[key] = text
		}
	})
	return true
}

// time reads the time that the words of this group tell; "" if it is none.
func (r *reader) time() string {
	ahead := scanner{data: r.data, pos: r.pos}
	part := map[string]int{}
	for range 8 {
		t := ahead.next()
		if t.kind != tokenWord {
			break
		}
		part[t.word] = t.param
	}
	if part["yr"] < 1900 || part["yr"] > 9999 || part["mo"] < 1 || part["mo"] > 12 || part["dy"] < 1 || part["dy"] > 31 {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d", part["yr"], part["mo"], part["dy"], part["hr"]%24, part["min"]%60, part["sec"]%60)
}
