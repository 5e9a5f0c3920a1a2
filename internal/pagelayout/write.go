package pagelayout

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// write hands blocks on as elements.
func (d *document) write(blocks []block) bool {
	for i := 0; i < len(blocks); {
		if err := d.ctx.Err(); err != nil {
			if !d.out.stopped {
				d.out.yield(connector.Element{}, err)
				d.out.stopped = true
			}
			return false
		}
		b := &blocks[i]
		if !d.out.drops(b.page) {
			return false
		}
		n := 1
		var ok bool
		switch {
		case b.table != nil:
			n = d.tableRun(blocks[i:])
			ok = d.table(blocks[i : i+n])
		case b.kind == connector.KindItem:
			for i+n < len(blocks) && blocks[i+n].kind == connector.KindItem && blocks[i+n].level > 0 && !blocks[i+n].starts {
				n++
			}
			ok = d.list(blocks[i : i+n])
		default:
			ok = d.paragraph(b)
		}
		if !ok {
			return false
		}
		for k := i; k < i+n; k++ {
			for m := range blocks[k].notes {
				if !d.paragraph(&blocks[k].notes[m]) {
					return false
				}
			}
		}
		i += n
	}
	return true
}

// end hands on what was left out.
func (d *document) end() {
	if !d.out.drops(0) {
		return
	}
	for _, p := range d.cleaner.chars.Dropped() {
		el := p.Element()
		el.Span = connector.Span{Start: d.out.pos, End: d.out.pos}
		if !d.out.hand(el) {
			return
		}
	}
}

// element is what every element of a block has.
func (d *document) element(b *block) connector.Element {
	el := connector.Element{Kind: b.kind, Page: b.page, Box: b.box(d.out.widths[b.page])}
	if b.end != b.page {
		el.PageEnd = b.end
	}
	return el
}

func (d *document) paragraph(b *block) bool {
	el := d.element(b)
	switch b.kind {
	case connector.KindCode:
		el.Text, el.Atom = codeText(b.lines), true
	default:
		el.Text = d.joiner.lines(b.lines)
	}
	if strings.TrimSpace(el.Text) == "" {
		return true
	}
	if b.kind == connector.KindHeading {
		el.Level, el.Title = b.level, el.Text
	}
	el.Text += "\n\n"
	return d.out.send(el)
}

// codeText keeps the lines of code and how far they are indented.
func codeText(lines []line) string {
	var b strings.Builder
	left := lines[0].box.X0
	page, pitch := lines[0].page, 0.0
	for i := range lines {
		left = min(left, lines[i].box.X0)
		if i > 0 && lines[i].page == page {
			if d := distance(&lines[i-1], &lines[i]); d > 0 && (pitch == 0 || d < pitch) {
				pitch = d
			}
		}
	}
	for i := range lines {
		l := &lines[i]
		if i > 0 {
			b.WriteByte('\n')
			if pitch > 0 && l.page == lines[i-1].page && distance(&lines[i-1], l) > 1.6*pitch {
				b.WriteByte('\n')
			}
		}
		b.WriteString(strings.Repeat(" ", int(min(max((l.box.X0-left)/(monoWidth*l.size)+0.5, 0), 200))))
		b.WriteString(l.text)
		if l.hyphen {
			b.WriteByte('-')
		}
	}
	return b.String()
}

// list hands on items as one list.
func (d *document) list(items []block) bool {
	el := d.element(&items[0])
	el.Kind, el.Level = connector.KindList, 1
	if last := &items[len(items)-1]; last.end != el.Page {
		el.PageEnd = last.end
	}
	var b strings.Builder
	base := d.out.pos
	for i := range items {
		it := &items[i]
		start := b.Len()
		b.WriteString(strings.Repeat("  ", it.level-1))
		b.WriteString(d.joiner.lines(it.lines))
		b.WriteByte('\n')
		kid := d.element(it)
		kid.Level, kid.Span = it.level, connector.Span{Start: base + start, End: base + b.Len()}
		el.Children = append(el.Children, kid)
	}
	b.WriteByte('\n')
	el.Text = b.String()
	for i := range el.Children {
		k := &el.Children[i]
		k.Text = el.Text[k.Span.Start-base : k.Span.End-base]
	}
	return d.out.send(el)
}
