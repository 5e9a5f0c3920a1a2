package xmldoc

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/htmltext"
)

// feed reads RSS 0.9–2.0 and Atom: the feed is a heading, and so is each article.
func (d *document) feed(n *node) {
	d.channel(n, 1)
}

func (d *document) channel(n *node, level int) {
	if n.name == "rss" || n.name == "RDF" {
		for _, k := range n.kids {
			switch k.name {
			case "channel":
				d.channel(k, 1)
			case "":
				d.text(connector.KindText, oneLine(k.text))
			case "!":
				d.drop(connector.DropComment, k.text)
			default:
				d.channel(k, 2)
			}
		}
		return
	}
	title := ""
	for _, k := range n.kids {
		if k.name == "title" && title == "" {
			if title = d.rich(k); title != "" {
				d.add(blocks.Block{Kind: connector.KindHeading, Level: level, Text: title})
				if level == 1 {
					d.props["title"] = title
				}
			}
		}
	}
	var bodies []*node
	var lines []string
	first := true
	for _, k := range n.kids {
		switch k.name {
		case "":
			if text := oneLine(k.text); text != "" {
				lines = append(lines, text)
			}
		case "!":
			d.drop(connector.DropComment, k.text)
		case "title":
			if !first {
				lines = append(lines, "title: "+d.rich(k))
			}
			first = false
		case "item", "entry":
			bodies = append(bodies, k)
		case "description", "summary", "content", "encoded", "subtitle":
			bodies = append(bodies, k)
		default:
			if text := strings.TrimSuffix(k.label(k.name)+": "+d.words(k), ": "); text != k.name {
				lines = append(lines, text)
			}
		}
	}
	if len(lines) > 0 {
		d.add(blocks.Block{Kind: connector.KindText, Text: strings.Join(lines, "\n")})
	}
	for _, k := range bodies {
		if k.name == "item" || k.name == "entry" {
			d.channel(k, level+1)
		} else {
			d.content(k)
		}
	}
}

// rich is the text of an element that may hold HTML, on one line.
func (d *document) rich(n *node) string {
	text := d.words(n)
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	var b strings.Builder
	for _, el := range htmltext.Elements(text, nil, htmltext.Options{KeepBoilerplate: true}) {
		if el.Kind == connector.KindDropped {
			d.drop(el.Reason, el.Text)
		} else {
			b.WriteString(el.Text)
		}
	}
	return oneLine(b.String())
}

// content writes the text of an article, which is HTML as a rule.
func (d *document) content(n *node) {
	var b strings.Builder
	var left []blocks.Block
	n.inline(&b, &left)
	d.out = append(d.out, left...)
	for _, el := range htmltext.Elements(b.String(), nil, htmltext.Options{KeepBoilerplate: true}) {
		block := blocks.Block{Kind: el.Kind, Text: el.Text, Reason: el.Reason}
		switch el.Kind {
		case connector.KindHeading:
			block.Level = min(6, el.Level+2)
		case connector.KindList, connector.KindItem:
			block.Kind = connector.KindText
		case connector.KindTable:
			block.Table = table(el.Table)
		}
		d.add(block)
	}
}

func table(t *connector.Table) *blocks.Table {
	out := &blocks.Table{Caption: t.Caption}
	row := func(head bool, cells []string) {
		r := blocks.Row{Head: head}
		for _, c := range cells {
			r.Cells = append(r.Cells, blocks.Cell{Across: 1, Blocks: []blocks.Block{{Kind: connector.KindText, Text: c}}})
		}
		out.Rows = append(out.Rows, r)
	}
	for _, cells := range t.Header {
		row(true, cells)
	}
	for _, r := range t.Rows {
		row(false, r.Cells)
	}
	return out
}
