package strategies

import (
	"sort"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// describe adds what the elements of a chunk say of it: its pages, and the table that it is of.
func (l *layoutFlow) describe(c *connector.Chunk) {
	if l.w == nil || len(c.Spans) == 0 {
		return
	}
	var pages []any
	var table *connector.Element
	mixed := false
	rows := [2]int{}
	l.each(c.Spans, func(el *connector.Element, span connector.Span) {
		pages = addPages(pages, el, span)
		switch {
		case isTable(el) && (table == nil || table.Table.ID == el.Table.ID):
			if table == nil {
				table = el
			}
			addRows(&rows, el.Table, span)
		case isTable(el):
			mixed = true
		}
	})
	if len(pages) == 0 && (table == nil || mixed) {
		return
	}
	if c.Metadata == nil {
		c.Metadata = map[string]any{}
	}
	if len(pages) > 0 {
		c.Page, _ = pages[0].(int)
		c.Metadata["pages"] = pages
		if last := pages[len(pages)-1]; last != pages[0] {
			c.Metadata["page_end"] = last
		}
	}
	if table != nil && !mixed && rows[0] > 0 {
		describeTable(c.Metadata, table, rows)
	}
}

// each calls visit for every element that spans touch, with what they touch of it.
func (l *layoutFlow) each(spans []connector.Span, visit func(*connector.Element, connector.Span)) {
	els := l.w.els
	for _, s := range spans {
		for i := sort.Search(len(els), func(i int) bool { return els[i].Span.End > s.Start }); i < len(els) && els[i].Span.Start < s.End; i++ {
			visit(&els[i], connector.Span{Start: max(s.Start, els[i].Span.Start), End: min(s.End, els[i].Span.End)})
		}
	}
}

// addPages adds the pages of an element, or of those of its children that span touches, each once, in reading order. Of an element that goes
// over pages, a piece with its end is on the last of them too; where inside it the page ends is not known.
func addPages(pages []any, el *connector.Element, span connector.Span) []any {
	add := func(page int) {
		if page > 0 && (len(pages) == 0 || pages[len(pages)-1] != page) {
			pages = append(pages, page)
		}
	}
	one := func(el *connector.Element) {
		add(el.Page)
		if span.End >= el.Span.Start+len(strings.TrimRight(el.Text, " \n")) {
			add(el.PageEnd)
		}
	}
	if len(el.Children) == 0 || span.Start == el.Span.Start && el.Page != el.Children[0].Page {
		one(el)
	}
	for i := range el.Children {
		if k := &el.Children[i]; k.Span.Start < span.End && k.Span.End > span.Start {
			one(k)
		}
	}
	return pages
}

// addRows widens the range of row numbers by those that span touches.
func addRows(rows *[2]int, t *connector.Table, span connector.Span) {
	lo := sort.Search(len(t.Rows), func(i int) bool { return t.Rows[i].Span.End > span.Start })
	hi := sort.Search(len(t.Rows), func(i int) bool { return t.Rows[i].Span.Start >= span.End })
	if lo >= hi {
		return
	}
	if rows[0] == 0 {
		rows[0] = t.FirstRow + lo
	}
	rows[1] = t.FirstRow + hi - 1
}

// describeTable names the table and the rows that are in a chunk.
func describeTable(metadata map[string]any, el *connector.Element, rows [2]int) {
	metadata["table"], metadata["row_start"], metadata["row_end"] = el.Table.ID, rows[0], rows[1]
	if el.Table.Sheet != "" {
		metadata["sheet"] = el.Table.Sheet
	}
	caption := el.Table.Caption
	if caption == "" {
		caption = el.Title
	}
	if caption = strings.TrimSpace(caption); caption != "" {
		metadata["caption"] = caption
	}
}
