package xmldoc

import (
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
)

// isDocument says that a root element is one of DocBook, JATS or TEI.
func isDocument(name string) bool {
	switch name {
	case "article", "book", "chapter", "section", "part", "appendix", "preface", "refentry", "TEI", "TEI.2", "set":
		return true
	}
	return false
}

// section writes what stands in an element of a document. level is that of the heading above.
func (d *document) section(n *node, level int) {
	for _, k := range n.kids {
		d.block(k, level)
	}
}

func (d *document) block(k *node, level int) {
	switch k.name {
	case "":
		d.text(connector.KindText, oneLine(k.text))
	case "!":
		d.drop(connector.DropComment, k.text)
	case "title", "article-title", "head", "refentrytitle":
		if text := d.words(k); text != "" {
			if level == 0 && d.props["title"] == nil {
				d.props["title"] = text
			}
			d.add(blocks.Block{Kind: connector.KindHeading, Level: max(1, level+1), Text: text})
		}
	case "section", "sect1", "sect2", "sect3", "sect4", "sect5", "chapter", "appendix", "preface", "part", "sec", "app", "abstract", "refsect1", "refsect2", "div", "div1", "div2", "div3":
		d.section(k, level+1)
	case "programlisting", "screen", "literallayout", "code", "preformat", "synopsis":
		var b strings.Builder
		k.inline(&b, &d.out)
		d.add(blocks.Block{Kind: connector.KindCode, Text: b.String()})
	case "itemizedlist", "orderedlist", "list", "simplelist":
		d.lists++
		d.items(k, 1, d.lists)
	case "table", "informaltable":
		t := &blocks.Table{}
		d.rows(k, t, false)
		d.add(blocks.Block{Kind: connector.KindTable, Table: t})
	case "blockquote", "disp-quote", "quote", "note", "warning", "tip", "caution", "important":
		d.text(connector.KindQuote, d.words(k))
	default:
		if k.mixed() || k.leaf() {
			d.text(connector.KindText, d.words(k))
			return
		}
		d.section(k, level)
	}
}

func (d *document) text(kind connector.Kind, text string) {
	if text != "" {
		d.add(blocks.Block{Kind: kind, Text: text})
	}
}

// items writes a list.
func (d *document) items(n *node, depth, list int) {
	count := 0
	for _, k := range n.kids {
		switch k.name {
		case "":
			d.text(connector.KindText, oneLine(k.text))
		case "!":
			d.drop(connector.DropComment, k.text)
		case "title":
			d.text(connector.KindText, d.words(k))
		default:
			marker := "-"
			if count++; n.name == "orderedlist" || n.attribute("list-type") == "order" {
				marker = strconv.Itoa(count) + "."
			}
			d.item(k, depth, list, marker)
		}
	}
}

func (d *document) item(n *node, depth, list int, marker string) {
	var own node
	var inner []*node
	for _, k := range n.kids {
		switch k.name {
		case "itemizedlist", "orderedlist", "list":
			inner = append(inner, k)
		default:
			own.kids = append(own.kids, k, &node{text: " "})
		}
	}
	if text := d.words(&own); text != "" {
		d.add(blocks.Block{Kind: connector.KindItem, Level: min(depth, 9), List: list, Marker: marker, Text: text})
	}
	for _, k := range inner {
		d.items(k, depth+1, list)
	}
}

// rows reads the rows of a table in the models of CALS and HTML.
func (d *document) rows(n *node, t *blocks.Table, head bool) {
	for _, k := range n.kids {
		switch k.name {
		case "":
			d.text(connector.KindText, oneLine(k.text))
		case "colspec", "col", "colgroup":
		case "!":
			d.drop(connector.DropComment, k.text)
		case "title", "caption":
			t.Caption = strings.TrimSpace(t.Caption + " " + d.words(k))
		case "row", "tr":
			row := blocks.Row{Head: head}
			for _, c := range k.kids {
				switch c.name {
				case "":
					d.text(connector.KindText, oneLine(c.text))
					continue
				case "!":
					d.drop(connector.DropComment, c.text)
					continue
				}
				across, _ := strconv.Atoi(c.attribute("colspan"))
				row.Cells = append(row.Cells, blocks.Cell{Across: max(1, across), Blocks: []blocks.Block{{Kind: connector.KindText, Text: d.words(c)}}})
			}
			t.Rows = append(t.Rows, row)
		case "tgroup", "thead", "tbody", "tfoot":
			d.rows(k, t, k.name == "thead")
		default:
			d.text(connector.KindText, d.words(k))
		}
	}
}
