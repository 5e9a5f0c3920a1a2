package jsondoc

import (
	"context"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

const (
	divideBytes = 16 << 10 // members over this are divided
	divideDepth = 8
)

// parseTree yields the records of one JSON document.
func parseTree(ctx context.Context, text string, out *output) error {
	t := &tree{s: text, out: out}
	start := skipSpace(text, 0)
	end, ok := t.records.scan.value(text, start)
	if !ok || skipSpace(text, end) != len(text) {
		if line, _, _ := strings.Cut(text[start:], "\n"); t.isRecord(line) {
			return parseLines(ctx, strings.NewReader(text), len(text)+1, out)
		}
		return out.sendText(ctx, text)
	}
	var err error
	if text[start] == '{' || text[start] == '[' {
		err = t.divide(ctx, start, 0, "", 0)
	} else {
		err = t.add(ctx, 0, t.row(member{keyStart: start, keyEnd: start, start: start, end: end}, 1, 1, ""))
	}
	if err != nil {
		return err
	}
	return t.flush(ctx, len(text))
}

// tree divides a valid document.
type tree struct {
	s       string
	out     *output
	records records
	tables  int
	pending *connector.Element // waits until its end is known
}

func (t *tree) isRecord(line string) bool {
	if line == "" || line[0] != '{' && line[0] != '[' {
		return false
	}
	end, ok := t.records.scan.value(line, 0)
	return ok && skipSpace(line, end) == len(line)
}

// divide yields the entries of the container at s[i] as records; the text from opener on belongs to the first.
func (t *tree) divide(ctx context.Context, i, opener int, path string, depth int) error {
	t.tables++
	id := t.tables
	list := t.records.scan.members(t.s, i, nil)
	if len(list) == 0 {
		return t.add(ctx, opener, nil)
	}
	for n, m := range list {
		start := m.keyStart
		if n == 0 {
			start = opener
		}
		var name string
		if m.keyEnd > m.keyStart {
			name = join(path, m.key(t.s))
			if t.divisible(m) && depth < divideDepth {
				if err := t.divide(ctx, m.start, start, name, depth+1); err != nil {
					return err
				}
				continue
			}
		}
		if err := t.add(ctx, start, t.row(m, id, n+1, path)); err != nil {
			return err
		}
	}
	return nil
}

// divisible says that m is a large object or a large array of objects.
func (t *tree) divisible(m member) bool {
	if m.end-m.start <= divideBytes {
		return false
	}
	if t.s[m.start] == '{' {
		return true
	}
	return t.s[m.start] == '[' && t.s[skipSpace(t.s, m.start+1)] == '{'
}

func (t *tree) row(m member, id, number int, caption string) *connector.Table {
	var table *connector.Table
	if m.keyEnd > m.keyStart {
		table = &connector.Table{Header: [][]string{{m.key(t.s)}}, Rows: []connector.Row{{Cells: []string{m.cell(t.s)}}}}
	} else if table = t.records.table(t.s, m.start, m.end); table == nil {
		return nil
	}
	table.ID, table.FirstRow, table.Caption = id, number, caption
	return table
}

// add starts a record at start, which ends the one before.
func (t *tree) add(ctx context.Context, start int, table *connector.Table) error {
	if err := t.flush(ctx, start); err != nil {
		return err
	}
	t.pending = &connector.Element{Kind: connector.KindRecord, Table: table}
	return nil
}

func (t *tree) flush(ctx context.Context, end int) error {
	if t.pending == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	e := *t.pending
	t.pending = nil
	return t.out.send(e, t.s[t.out.pos:end])
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
