package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/kbsync/kbsync/connector"
)

// tableBlock is a table by the rules of GitHub Flavored Markdown. Its lines are header, delimiter row and rows.
type tableBlock struct{ ast.BaseBlock }

func (n *tableBlock) Kind() ast.NodeKind         { return kindTable }
func (n *tableBlock) IsRaw() bool                { return true }
func (n *tableBlock) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }

// tableTransformer finds a table in a paragraph; the lines before its header stay a paragraph.
type tableTransformer struct{}

func (tableTransformer) Transform(node *ast.Paragraph, reader text.Reader, _ parser.Context) {
	lines := node.Lines()
	src := reader.Source()
	for i := 1; i < lines.Len(); i++ {
		seg := lines.At(i)
		columns := delimiterColumns(seg.Value(src))
		if columns == 0 {
			continue
		}
		header := lines.At(i - 1)
		if len(splitRow(string(header.Value(src)))) != columns {
			continue
		}
		table := &tableBlock{}
		for j := i - 1; j < lines.Len(); j++ {
			table.Lines().Append(lines.At(j))
		}
		table.SetPos(header.Start)
		parent := node.Parent()
		parent.InsertAfter(parent, node, table)
		if i == 1 {
			parent.RemoveChild(parent, node)
			return
		}
		lines.SetSliced(0, i-1)
		return
	}
}

// delimiterColumns is the number of columns of a delimiter row such as "|---|:-:|"; 0 if line is none.
func delimiterColumns(line []byte) int {
	line = bytes.TrimSpace(line)
	if len(line) < 2 || bytes.Trim(line, "|:- \t") != nil && len(bytes.Trim(line, "|:- \t")) > 0 || !bytes.ContainsAny(line, "|:") {
		return 0
	}
	line = bytes.TrimPrefix(line, []byte("|"))
	line = bytes.TrimSuffix(line, []byte("|"))
	n := 0
	for cell := range bytes.SplitSeq(line, []byte("|")) {
		cell = bytes.TrimSpace(cell)
		cell = bytes.TrimPrefix(cell, []byte(":"))
		cell = bytes.TrimSuffix(cell, []byte(":"))
		if len(cell) == 0 || len(bytes.Trim(cell, "-")) > 0 {
			return 0
		}
		n++
	}
	return n
}

// splitRow gives the cells of a row, with escaped pipes as pipes. No cell is left out, also where the row has more than the
// header.
func splitRow(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	var cells []string
	start := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			cells = append(cells, cell(line[start:i]))
			start = i + 1
		}
	}
	if rest := strings.TrimSpace(line[min(start, len(line)):]); rest != "" || start == 0 {
		cells = append(cells, cell(rest))
	}
	return cells
}

func cell(s string) string {
	return strings.ReplaceAll(strings.TrimSpace(s), `\|`, "|")
}

// table describes the table block n whose lines stand in span.
func (b *builder) table(n ast.Node, span connector.Span) *connector.Table {
	b.tables++
	t := &connector.Table{ID: b.tables, FirstRow: 1}
	lines := n.Lines()
	ends := func(i int) int { return b.lineEnd(lines.At(i).Start, span.End) }
	header := lines.At(0)
	t.Header = [][]string{splitRow(b.text[header.Start:header.Stop])}
	t.HeaderSpan = connector.Span{Start: span.Start, End: ends(1)}
	t.HeaderText = b.text[t.HeaderSpan.Start:t.HeaderSpan.End]
	if !strings.HasSuffix(t.HeaderText, "\n") {
		t.HeaderText += "\n"
	}
	pos := t.HeaderSpan.End
	for i := 2; i < lines.Len(); i++ {
		seg := lines.At(i)
		end := ends(i)
		t.Rows = append(t.Rows, connector.Row{Cells: splitRow(b.text[seg.Start:seg.Stop]), Span: connector.Span{Start: pos, End: end}})
		pos = end
	}
	return t
}
