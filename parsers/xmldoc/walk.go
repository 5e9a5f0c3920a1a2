package xmldoc

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
)

// document gathers the blocks.
type document struct {
	out   []blocks.Block
	props map[string]any
	lists int
}

func (d *document) add(b blocks.Block) { d.out = append(d.out, b) }

func (d *document) drop(reason connector.DropReason, text string) {
	d.add(blocks.Block{Kind: connector.KindDropped, Reason: reason, Text: text})
}

// root chooses how the document is read, by its root element.
func (d *document) root(top *node) {
	for _, n := range top.kids {
		switch {
		case n.name == "!":
			d.drop(connector.DropComment, n.text)
		case n.name == "rss" || n.name == "feed" || n.name == "RDF":
			d.feed(n)
		case n.name == "svg":
			d.drawing(n)
		case isDocument(n.name):
			d.section(n, 0)
		case n.name != "":
			d.record(n, 1)
		}
	}
}

// attribute is the value of an attribute by local name.
func (n *node) attribute(name string) string {
	for _, a := range n.attrs {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

// leaf says that no element stands inside.
func (n *node) leaf() bool {
	for _, k := range n.kids {
		if k.name != "" && k.name != "!" {
			return false
		}
	}
	return true
}

// mixed says that text stands beside the elements.
func (n *node) mixed() bool {
	for _, k := range n.kids {
		if k.name == "" && strings.TrimSpace(k.text) != "" {
			return true
		}
	}
	return false
}

// inline is all the text inside, as it stands. Attributes and comments go to left.
func (n *node) inline(b *strings.Builder, left *[]blocks.Block) {
	for _, k := range n.kids {
		switch k.name {
		case "":
			b.WriteString(k.text)
		case "!":
			*left = append(*left, blocks.Block{Kind: connector.KindDropped, Reason: connector.DropComment, Text: k.text})
		default:
			if s := k.label(""); s != "" {
				*left = append(*left, blocks.Block{Kind: connector.KindDropped, Reason: connector.DropMarkup, Text: s})
			}
			k.inline(b, left)
		}
	}
}

// words is the text inside on one line.
func (d *document) words(n *node) string {
	var b strings.Builder
	var left []blocks.Block
	n.inline(&b, &left)
	d.out = append(d.out, left...)
	return oneLine(b.String())
}

// label is a name with the attributes.
func (n *node) label(name string) string {
	var parts []string
	for _, a := range n.attrs {
		if v := oneLine(a.value); v != "" {
			parts = append(parts, a.name+": "+v)
		}
	}
	if len(parts) == 0 {
		return name
	}
	return strings.TrimSpace(name + " (" + strings.Join(parts, ", ") + ")")
}

// oneLine joins lines and runs of white space: by a space, but between characters that are written without.
func oneLine(s string) string {
	var b strings.Builder
	lines := strings.Contains(s, "\n")
	for _, word := range strings.Fields(s) {
		if b.Len() > 0 {
			last, _ := utf8.DecodeLastRuneInString(b.String())
			first, _ := utf8.DecodeRuneInString(word)
			if !wide(last) || !wide(first) || !lines {
				b.WriteByte(' ')
			}
		}
		b.WriteString(word)
	}
	return b.String()
}

// wide says that r is a character of a script that is written without spaces.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFFEF
}

// record writes an element of data: a run of elements that hold text alone is one record, others are headings above what they hold.
func (d *document) record(n *node, level int) {
	if n.mixed() || n.leaf() {
		text := d.words(n)
		if text = strings.TrimSuffix(n.label(n.name)+": "+text, ": "); text != "" {
			d.add(blocks.Block{Kind: connector.KindRecord, Text: text})
		}
		return
	}
	head := n.label(n.name)
	var lines []string
	simple := true
	for _, k := range n.kids {
		simple = simple && (k.name == "" || k.name == "!" || k.leaf() || k.mixed())
	}
	if simple {
		lines = append(lines, head)
	} else {
		d.add(blocks.Block{Kind: connector.KindHeading, Level: level, Text: head})
	}
	flush := func() {
		if len(lines) > 0 {
			d.add(blocks.Block{Kind: connector.KindRecord, Text: strings.Join(lines, "\n")})
			lines = nil
		}
	}
	for _, k := range n.kids {
		switch {
		case k.name == "!":
			d.drop(connector.DropComment, k.text)
		case k.name == "":
		case k.leaf() || k.mixed():
			if text := strings.TrimSuffix(k.label(k.name)+": "+d.words(k), ": "); text != k.name {
				lines = append(lines, text)
			}
		default:
			flush()
			d.record(k, level+1)
		}
	}
	flush()
}

// drawing keeps the texts of a drawing.
func (d *document) drawing(n *node) {
	for _, k := range n.kids {
		switch k.name {
		case "!":
			d.drop(connector.DropComment, k.text)
		case "style", "script":
			d.drop(connector.DropScript, d.words(k))
		case "title", "desc", "text":
			d.add(blocks.Block{Kind: connector.KindText, Text: d.words(k)})
		case "":
			if s := strings.TrimSpace(k.text); s != "" {
				d.drop(connector.DropMarkup, s)
			}
		case "metadata":
			d.drop(connector.DropMarkup, d.words(k))
		default:
			d.drawing(k)
		}
	}
}
