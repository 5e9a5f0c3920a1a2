// Package htmltext turns the source of a web page, of a chapter of a book or of a mail into elements: headings, paragraphs, lists, tables, code
// and quotes, in document order. It is what the parsers of HTML share.
package htmltext

import (
	"regexp"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// Options say what is kept.
type Options struct {
	KeepBoilerplate bool // navigation, footers and asides
	KeepScripts     bool // scripts and styles, as code
	NoTitle         bool // the page's title is no heading
}

// Elements are the blocks of the page whose source is text, decoded, and what was left out, of which dropped is what decoding left out. They
// tile a text that starts at 0. The cost is linear.
func Elements(text string, dropped []decode.Drop, o Options) []connector.Element {
	b := newBuilder(text)
	b.build()
	w := newWriter(o.KeepBoilerplate)
	w.scripts = o.KeepScripts
	for _, d := range append(dropped, b.clean.Dropped()...) {
		// Places in the source mean nothing in the text made from it.
		el := d.Element()
		el.Span = connector.Span{}
		w.els = append(w.els, el)
	}
	if o.NoTitle {
		b.title = ""
	}
	w.page(b.root, b.title)
	return w.finish()
}

// Move shifts elements by so many bytes and their tables' numbers by so many tables, for a text that comes after others.
func Move(els []connector.Element, by, tables int) {
	for i := range els {
		el := &els[i]
		shift(&el.Span, by)
		if t := el.Table; t != nil {
			t.ID += tables
			if t.HeaderText != "" {
				shift(&t.HeaderSpan, by)
			}
			for k := range t.Rows {
				shift(&t.Rows[k].Span, by)
			}
		}
		Move(el.Children, by, tables)
	}
}

func shift(s *connector.Span, by int) {
	s.Start += by
	s.End += by
}

var charsetPattern = regexp.MustCompile(`(?i)(?:charset\s*=\s*["']?|<\?xml[^>]{0,100}encoding\s*=\s*["'])\s*([a-z0-9_:.-]{2,40})`)

// DeclaredCharset is what a meta element or XML declaration in the first bytes says.
func DeclaredCharset(head []byte) string {
	if m := charsetPattern.FindSubmatch(head[:min(len(head), 4096)]); m != nil {
		return string(m[1])
	}
	return ""
}
