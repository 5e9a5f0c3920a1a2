package docx

import (
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
)

// table reads a table.
func (r *reader) table() error {
	if r.nested >= maxNested {
		return r.flattened()
	}
	t := &blocks.Table{}
	b := blocks.Block{Kind: connector.KindTable, Table: t, Page: r.page}
	r.nested++
	err := r.rows(t)
	r.nested--
	b.PageEnd = r.page
	if len(t.Rows) > 0 {
		r.out(b)
	}
	return err
}

// flattened reads the cells of a table one after another.
func (r *reader) flattened() error {
	return r.each(func(name []byte) error {
		switch string(name) {
		case "tr", "tc":
			return r.flattened()
		}
		return r.block(string(name), 1)
	})
}

// firstRow is the bit of a table's look that says that its first row is set apart.
const firstRow = 0x20

func (r *reader) rows(t *blocks.Table) error {
	styled, look := false, false
	return r.each(func(name []byte) error {
		switch string(name) {
		case "tblPr":
			return r.each(func(name []byte) error {
				switch string(name) {
				case "tblCaption":
					t.Caption = r.s.String("val")
				case "tblStyle":
					st := r.d.styles.get(r.s.String("val"))
					styled = st != nil && st.head
				case "tblLook":
					bits, _ := strconv.ParseUint(r.s.String("val"), 16, 32)
					look = bits&firstRow != 0
					if _, ok := r.s.Attr("firstRow"); ok {
						look = isOn(r.s, "firstRow", false)
					}
				}
				return nil
			})
		case "tr":
			err := r.row(t)
			if len(t.Rows) == 1 && styled && look {
				t.Rows[0].Head = true
			}
			return err
		case "sdt", "sdtContent", "customXml", "ins", "moveTo":
			return r.rows(t)
		}
		return nil
	})
}

// row reads one row. One that was deleted is reported.
func (r *reader) row(t *blocks.Table) error {
	var row blocks.Row
	first, last := r.page, r.page
	deleted := false
	before := 0
	var cells func() error
	cells = func() error {
		return r.each(func(name []byte) error {
			switch string(name) {
			case "trPr":
				return r.each(func(name []byte) error {
					switch string(name) {
					case "tblHeader":
						row.Head = isOn(r.s, "val", true)
					case "del":
						deleted = true
					case "gridBefore":
						before = r.s.Int("val", 0)
					}
					return nil
				})
			case "tc":
				if before > 0 {
					row.Cells = append(row.Cells, blocks.Cell{Across: before})
					before = 0
				}
				r.page = first // the cells of a row stand beside each other
				err := r.cell(&row)
				last = max(last, r.page)
				return err
			case "sdt", "sdtContent", "customXml":
				return cells()
			}
			return nil
		})
	}
	err := cells()
	r.page = last
	if !deleted {
		t.Rows = append(t.Rows, row)
		return err
	}
	var text strings.Builder
	for _, c := range row.Cells {
		for _, b := range c.Blocks {
			plain(&text, b)
		}
	}
	r.out(blocks.Block{Kind: connector.KindDropped, Reason: connector.DropDeleted, Text: text.String()})
	return err
}

// cell reads one cell.
func (r *reader) cell(row *blocks.Row) error {
	c := blocks.Cell{Across: 1, Bold: true}
	outer := r.out
	carry := r.carry
	r.carry = ""
	r.out = func(b blocks.Block) { c.Blocks = append(c.Blocks, b) }
	bold := true
	err := r.each(func(name []byte) error {
		switch string(name) {
		case "tcPr":
			return r.each(func(name []byte) error {
				switch string(name) {
				case "gridSpan":
					c.Across = r.s.Int("val", 1)
				case "vMerge", "hMerge":
					c.Covered = c.Covered || r.s.String("val") != "restart"
				}
				return nil
			})
		case "p":
			b, err := r.para()
			bold = bold && b
			return err
		}
		return r.block(string(name), 1)
	})
	if r.carry != "" {
		r.out(blocks.Block{Kind: connector.KindText, Text: r.carry})
	}
	r.out, r.carry = outer, carry
	c.Bold = bold
	row.Cells = append(row.Cells, c)
	return err
}
