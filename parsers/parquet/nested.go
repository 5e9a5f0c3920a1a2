package parquet

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// nested is the value of a field that is a group or repeated, as JSON.
func nested(f parquet.Field, columns [][]parquet.Value) string {
	a := &assembly{columns: columns}
	v := a.field(f, 0, 0, 0)
	if v == nil {
		return ""
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// assembly puts nested values together from the columns of their leaves (Melnik et al., "Dremel", 2010).
type assembly struct{ columns [][]parquet.Value }

// object keeps the order of the schema.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// field takes the next value of a node whose first leaf is leaf; def and rep are the levels of its parent.
func (a *assembly) field(n parquet.Field, leaf, def, rep int) any {
	switch {
	case n.Optional():
		def++
		if a.level(leaf) < def {
			a.skip(n, leaf)
			return nil
		}
	case n.Repeated():
		def, rep = def+1, rep+1
		list := []any{}
		if a.level(leaf) < def {
			a.skip(n, leaf)
			return list
		}
		for {
			list = append(list, a.value(n, leaf, def, rep))
			if len(a.columns[leaf]) == 0 || a.columns[leaf][0].RepetitionLevel() != rep {
				return list
			}
		}
	}
	return a.value(n, leaf, def, rep)
}

func (a *assembly) level(leaf int) int {
	if len(a.columns[leaf]) == 0 {
		return -1
	}
	return a.columns[leaf][0].DefinitionLevel()
}

// skip passes over the one entry by which each leaf of n says that there is none.
func (a *assembly) skip(n parquet.Node, leaf int) {
	for i := range leaves(n) {
		if len(a.columns[leaf+i]) > 0 {
			a.columns[leaf+i] = a.columns[leaf+i][1:]
		}
	}
}

// value takes the value of a node that is there.
func (a *assembly) value(n parquet.Node, leaf, def, rep int) any {
	if n.Leaf() {
		if len(a.columns[leaf]) == 0 {
			return nil
		}
		v := a.columns[leaf][0]
		a.columns[leaf] = a.columns[leaf][1:]
		return scalar(n, v)
	}
	var out object
	for _, f := range n.Fields() {
		out = append(out, member{f.Name(), a.field(f, leaf, def, rep)})
		leaf += leaves(f)
	}
	return simple(n, out)
}

// simple takes the groups away that lists and maps are wrapped in.
func simple(n parquet.Node, o object) any {
	if len(o) != 1 {
		return o
	}
	list, ok := o[0].value.([]any)
	if !ok {
		return o
	}
	switch kind, old := logical(n), converted(n); {
	case isMap(kind) || old == deprecated.Map || old == deprecated.MapKeyValue:
		var out object
		for _, e := range list {
			pair, ok := e.(object)
			if !ok || len(pair) != 2 {
				return o
			}
			out = append(out, member{fmt.Sprint(pair[0].value), pair[1].value})
		}
		return out
	case isList(kind) || old == deprecated.List:
		out := []any{}
		for _, e := range list {
			if wrapped, ok := e.(object); ok && len(wrapped) == 1 {
				e = wrapped[0].value
			}
			out = append(out, e)
		}
		return out
	}
	return o
}

func isMap(v format.LogicalTypeValue) bool  { _, ok := v.(*format.MapType); return ok }
func isList(v format.LogicalTypeValue) bool { _, ok := v.(*format.ListType); return ok }

func logical(n parquet.Node) format.LogicalTypeValue {
	if t := n.Type().LogicalType(); t != nil {
		return t.Value
	}
	return nil
}

// converted is the annotation of old files; -1 where there is none.
func converted(n parquet.Node) deprecated.ConvertedType {
	if t := n.Type().ConvertedType(); t != nil {
		return *t
	}
	return -1
}
