package rtf

import (
	"slices"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
)

// Bounds of tables.
const (
	maxNested  = 16
	maxEdges   = 64 // columns of tables whose cells are laid out by where they end
	sameEdge   = 30 // twips that edges of one column may differ
	maxDefined = 1024
)

// cellDef is what a row says of a cell before it comes.
type cellDef struct {
	right   int  // where it ends, twips
	goesOn  bool // with the cell on its left
	covered bool // by the cell above
}

// rowDef is what a row says of its cells.
type rowDef struct {
	head  bool
	cells []cellDef
	next  cellDef
}

// level is a table that is being read.
type level struct {
	rows []blocks.Row
	defs [][]cellDef
	row  blocks.Row
	cell blocks.Cell
	def  rowDef
}

func newCell() blocks.Cell { return blocks.Cell{Across: 1, Bold: true} }

// at is the table of a level, from 1.
func (f *flow) at(n int) *level {
	for len(f.levels) < n {
		f.levels = append(f.levels, &level{cell: newCell()})
	}
	return f.levels[n-1]
}

// close ends the tables deeper than n.
func (f *flow) close(n int) {
	for len(f.levels) > n {
		at := len(f.levels)
		l := f.levels[at-1]
		if len(l.cell.Blocks) > 0 {
			l.endCell()
		}
		if len(l.row.Cells) > 0 {
			l.endRow()
		}
		f.levels = f.levels[:at-1]
		if len(l.rows) > 0 {
			l.layOut()
			f.block(blocks.Block{Kind: connector.KindTable, Table: &blocks.Table{Rows: l.rows}}, at-1)
		}
	}
}

func (l *level) endCell() {
	l.row.Cells = append(l.row.Cells, l.cell)
	l.cell = newCell()
}

// endRow ends a row with what was said of its cells. A row without cells is none.
func (l *level) endRow() {
	if len(l.cell.Blocks) > 0 {
		l.endCell()
	}
	row := l.row
	l.row = blocks.Row{}
	if len(row.Cells) == 0 {
		return
	}
	row.Head = l.def.head
	var cells []blocks.Cell
	var defs []cellDef
	for i, c := range row.Cells {
		var d cellDef
		if i < len(l.def.cells) {
			d = l.def.cells[i]
		}
		if d.goesOn && len(cells) > 0 {
			last := &cells[len(cells)-1]
			last.Across++
			last.Blocks = append(last.Blocks, c.Blocks...)
			defs[len(defs)-1].right = d.right
			continue
		}
		c.Covered = d.covered
		cells, defs = append(cells, c), append(defs, d)
	}
	row.Cells = cells
	l.rows, l.defs = append(l.rows, row), append(l.defs, defs)
}

// layOut says how many columns cells take, by where they end.
func (l *level) layOut() {
	var edges []int
	for _, defs := range l.defs {
		for _, d := range defs {
			if d.right <= 0 {
				return
			}
			i, found := slices.BinarySearch(edges, d.right)
			if found || i > 0 && d.right-edges[i-1] <= sameEdge || i < len(edges) && edges[i]-d.right <= sameEdge {
				continue
			}
			if edges = slices.Insert(edges, i, d.right); len(edges) > maxEdges {
				return
			}
		}
	}
	for k, defs := range l.defs {
		from := 0
		for i, d := range defs {
			to, _ := slices.BinarySearch(edges, d.right+sameEdge+1)
			l.rows[k].Cells[i].Across = max(1, to-from)
			from = max(from, to)
		}
	}
}

// define takes a control word about the row that comes; it says whether it was one.
func (d *rowDef) define(t token) bool {
	switch t.word {
	case "trowd":
		*d = rowDef{}
	case "trhdr":
		d.head = true
	case "clmrg":
		d.next.goesOn = true
	case "clvmrg":
		d.next.covered = true
	case "cellx":
		d.next.right = t.param
		if len(d.cells) < maxDefined {
			d.cells = append(d.cells, d.next)
		}
		d.next = cellDef{}
	default:
		return false
	}
	return true
}

// tableWord takes a control word of tables; it says whether it was one.
func (r *reader) tableWord(t token) bool {
	f := r.flow
	switch t.word {
	case "cell":
		f.finish(r, 1)
		f.at(1).endCell()
	case "row":
		f.finish(r, 1)
		f.at(1).endRow()
	case "nestcell":
		at := r.depthAt(2)
		f.finish(r, at)
		f.at(at).endCell()
	case "nestrow":
		at := r.depthAt(2)
		f.finish(r, at)
		f.at(at).endRow()
	case "trowd", "trhdr", "clmrg", "clvmrg", "cellx":
		at := 1
		if r.nestedDefs {
			at = r.depthAt(2)
		}
		f.at(at).def.define(t)
	default:
		return false
	}
	return true
}

// depthAt is the level of the table that the paragraph stands in, at least least.
func (r *reader) depthAt(least int) int {
	return max(least, min(r.par.nested, maxNested))
}

// here is the level of the table that the paragraph stands in; 0 is none.
func (r *reader) here() int {
	if !r.par.inTable {
		return 0
	}
	return r.depthAt(1)
}
