package odf

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
)

// Bounds of what a table's repetitions add.
const (
	maxRepeated = 100
	maxColumns  = 1000
)

// table reads a table.
func (r *reader) table() error {
	if r.nested >= maxNested {
		return r.flattened()
	}
	t := &blocks.Table{}
	b := blocks.Block{Kind: connector.KindTable, Table: t, Page: r.page}
	outer := r.list
	r.list = nil
	r.nested++
	err := r.rows(t, false)
	r.nested--
	r.list = outer
	b.PageEnd = r.page
	if len(t.Rows) > 0 {
		r.out(b)
	}
	r.begun = true
	return err
}

// flattened reads the cells of a table one after another.
func (r *reader) flattened() error {
	return r.each(func(name []byte) error {
		switch string(name) {
		case "table-row", "table-cell", "covered-table-cell", "table-rows", "table-row-group", "table-header-rows":
			return r.flattened()
		}
		return r.block(string(name))
	})
}

func (r *reader) rows(t *blocks.Table, head bool) error {
	return r.each(func(name []byte) error {
		switch string(name) {
		case "table-header-rows":
			return r.rows(t, true)
		case "table-rows", "table-row-group":
			return r.rows(t, head)
		case "soft-page-break":
			r.turn()
		case "table-row":
			times := r.s.Int("number-rows-repeated", 1)
			row := blocks.Row{Head: head}
			err := r.row(&row)
			for range max(1, min(times, maxRepeated)) {
				t.Rows = append(t.Rows, row)
				if len(row.Cells) > maxRepeated {
					break
				}
			}
			return err
		}
		return nil
	})
}

func (r *reader) row(row *blocks.Row) error {
	first, last := r.page, r.page
	beside := 0
	err := r.each(func(name []byte) error {
		covered := string(name) == "covered-table-cell"
		if !covered && string(name) != "table-cell" {
			return nil
		}
		r.page = first // the cells of a row stand beside each other
		err := r.cell(row, covered, &beside)
		last = max(last, r.page)
		return err
	})
	r.page = last
	return err
}

// cell reads one cell. beside is how many more cells of the row the one before covers.
func (r *reader) cell(row *blocks.Row, covered bool, beside *int) error {
	times := max(1, min(r.s.Int("number-columns-repeated", 1), maxColumns-len(row.Cells)))
	c := blocks.Cell{Across: max(1, r.s.Int("number-columns-spanned", 1)), Covered: covered}
	outer, light := r.out, r.light
	r.out = func(b blocks.Block) { c.Blocks = append(c.Blocks, b) }
	r.light = false
	err := r.content()
	c.Bold = !r.light
	r.out, r.light = outer, light
	if covered {
		var text strings.Builder
		for _, b := range c.Blocks {
			plain(&text, b)
		}
		if s := strings.TrimSpace(text.String()); s != "" {
			r.drop(connector.DropHidden, s)
		}
		c.Blocks, c.Across = nil, 1
	}
	for range times {
		if covered && *beside > 0 {
			*beside--
			continue
		}
		row.Cells = append(row.Cells, c)
	}
	if !covered {
		*beside = c.Across - 1
	}
	return err
}
