package pptx

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/xmlscan"
)

// graphic reads what a frame shows: a table, a chart, a diagram or an object.
func (r *reader) graphic(dr *drawing) error {
	for depth := r.s.Depth(); r.s.Depth() >= depth; {
		k, err := r.s.Next()
		if err != nil {
			return err
		}
		if k != xmlscan.Start {
			continue
		}
		switch string(r.s.Name()) {
		case "tbl":
			t := &blocks.Table{}
			if err := r.table(t, dr); err != nil {
				return err
			}
			if len(t.Rows) > 0 {
				dr.blocks = append(dr.blocks, blocks.Block{Kind: connector.KindTable, Table: t})
			}
		case "chart":
			dr.object = r.target("chart")
			dr.blocks = append(dr.blocks, r.once(dr.object, r.d.pkg.Chart)...)
		case "relIds":
			rel := r.rels[relation(r.s, "dm")]
			dr.object = "diagram"
			dr.blocks = append(dr.blocks, r.once(rel.Target, func(part string) []blocks.Block {
				r.d.lists++
				return r.d.pkg.Diagram(part, r.d.lists)
			})...)
		case "oleObj":
			dr.object = strings.TrimSpace("object " + r.s.String("progId"))
		case "cNvPr":
			if alt := strings.TrimSpace(r.s.String("descr")); alt != "" && dr.alt == "" {
				dr.alt = alt
			}
		}
	}
	return nil
}

// once reads a part that is shown in one place alone.
func (r *reader) once(part string, read func(string) []blocks.Block) []blocks.Block {
	if part == "" || r.d.shown[part] {
		return nil
	}
	r.d.shown[part] = true
	return read(part)
}

// table reads a table.
func (r *reader) table(t *blocks.Table, dr *drawing) error {
	head := false
	return r.each(func(name []byte) error {
		switch string(name) {
		case "tblPr":
			head = on(r.s, "firstRow")
		case "tr":
			row := blocks.Row{Head: head && len(t.Rows) == 0}
			across := 0
			err := r.each(func(name []byte) error {
				if string(name) != "tc" {
					return nil
				}
				return r.cell(&row, &across, dr)
			})
			t.Rows = append(t.Rows, row)
			return err
		}
		return nil
	})
}

// cell reads one cell. across is how many more cells of the row the one before covers.
func (r *reader) cell(row *blocks.Row, across *int, dr *drawing) error {
	c := blocks.Cell{Across: max(1, r.s.Int("gridSpan", 1)), Covered: on(r.s, "vMerge")}
	beside := on(r.s, "hMerge") && *across > 0
	err := r.each(func(name []byte) error {
		if string(name) != "txBody" {
			return nil
		}
		body, bold, err := r.paragraphs(nil)
		c.Blocks, c.Bold = body, bold
		return err
	})
	if beside || c.Covered {
		var text strings.Builder
		for _, b := range c.Blocks {
			plain(&text, b)
		}
		if s := strings.TrimSpace(text.String()); s != "" {
			dr.blocks = append(dr.blocks, blocks.Block{Kind: connector.KindDropped, Reason: connector.DropHidden, Text: s})
		}
		c.Blocks = nil
	}
	if beside {
		*across--
		return err
	}
	*across = c.Across - 1
	row.Cells = append(row.Cells, c)
	return err
}
