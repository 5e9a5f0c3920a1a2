package jsondoc

import "github.com/kbsync/kbsync/connector"

// member is one entry of an object or array. An array's have no key; keyStart is then the value's start.
type member struct {
	keyStart, keyEnd int
	start, end       int
}

// members appends the entries of the valid container at s[i].
func (sc *scanner) members(s string, i int, list []member) []member {
	object := s[i] == '{'
	i = skipSpace(s, i+1)
	for s[i] != '}' && s[i] != ']' {
		m := member{keyStart: i, keyEnd: i}
		if object {
			m.keyEnd, _ = scanString(s, i)
			i = skipSpace(s, skipSpace(s, m.keyEnd)+1)
		}
		m.start = i
		m.end, _ = sc.value(s, i)
		list = append(list, m)
		i = skipSpace(s, m.end)
		if s[i] == ',' {
			i = skipSpace(s, i+1)
		}
	}
	return list
}

func (m member) key(s string) string { return unquote(s[m.keyStart+1 : m.keyEnd-1]) }

// cell is the value as a table shows it: strings decoded, containers compact, the rest as it stands.
func (m member) cell(s string) string {
	v := s[m.start:m.end]
	switch v[0] {
	case '"':
		return unquote(v[1 : len(v)-1])
	case '{', '[':
		return compact(v)
	}
	return v
}

// records makes tables of values. It shares one header among successive records with the same keys.
type records struct {
	scan   scanner
	list   []member
	header [][]string
}

// table is the value of s from start to end as a table of one row: an object's keys are its header. It is nil for an empty container.
func (r *records) table(s string, start, end int) *connector.Table {
	if s[start] != '{' && s[start] != '[' {
		m := member{start: start, end: end}
		return &connector.Table{Rows: []connector.Row{{Cells: []string{m.cell(s)}}}}
	}
	r.list = r.scan.members(s, start, r.list[:0])
	if len(r.list) == 0 {
		return nil
	}
	t := &connector.Table{}
	if s[start] == '{' {
		t.Header = r.keys(s)
	}
	cells := make([]string, len(r.list))
	for i, m := range r.list {
		cells[i] = m.cell(s)
	}
	t.Rows = []connector.Row{{Cells: cells}}
	return t
}

func (r *records) keys(s string) [][]string {
	if r.sameKeys(s) {
		return r.header
	}
	keys := make([]string, len(r.list))
	for i, m := range r.list {
		keys[i] = m.key(s)
	}
	r.header = [][]string{keys}
	return r.header
}

func (r *records) sameKeys(s string) bool {
	if len(r.header) == 0 || len(r.header[0]) != len(r.list) {
		return false
	}
	for i, m := range r.list {
		if r.header[0][i] != m.key(s) {
			return false
		}
	}
	return true
}
