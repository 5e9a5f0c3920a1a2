package parquet

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// record are the cells of a row: one for each field of the schema.
func record(fields []parquet.Field, row parquet.Row) []string {
	columns := make([][]parquet.Value, 0, len(fields))
	row.Range(func(_ int, values []parquet.Value) bool {
		columns = append(columns, values)
		return true
	})
	cells := make([]string, len(fields))
	at := 0
	for i, f := range fields {
		n := leaves(f)
		if at+n > len(columns) {
			break
		}
		if f.Leaf() && !f.Repeated() {
			if v := columns[at]; len(v) == 1 && !v[0].IsNull() {
				cells[i] = text(f, v[0])
			}
		} else {
			cells[i] = nested(f, columns[at:at+n])
		}
		at += n
	}
	return cells
}

func leaves(n parquet.Node) int {
	if n.Leaf() {
		return 1
	}
	sum := 0
	for _, f := range n.Fields() {
		sum += leaves(f)
	}
	return sum
}

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

// scalar is a leaf's value for JSON.
func scalar(n parquet.Node, v parquet.Value) any {
	if v.IsNull() {
		return nil
	}
	s := text(n, v)
	switch v.Kind() {
	case parquet.Boolean, parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
		if json.Valid([]byte(s)) {
			return json.RawMessage(s)
		}
	}
	if _, ok := logical(n).(*format.JsonType); ok && json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return s
}

// text is a leaf's value as a person reads it.
func text(n parquet.Node, v parquet.Value) string {
	switch t := logical(n).(type) {
	case *format.DateType:
		return time.Unix(0, 0).UTC().AddDate(0, 0, int(v.Int32())).Format(time.DateOnly)
	case *format.TimestampType:
		if t.Unit.Value != nil {
			return timestamp(v.Int64(), t.Unit.Value.Duration())
		}
	case *format.TimeType:
		if t.Unit.Value != nil {
			return clock(whole(v), t.Unit.Value.Duration())
		}
	case *format.DecimalType:
		return decimal(v, int(t.Scale))
	case *format.UUIDType:
		if b := v.Bytes(); len(b) == 16 {
			h := hex.EncodeToString(b)
			return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
		}
	case *format.IntType:
		if !t.IsSigned {
			return unsigned(v)
		}
	}
	switch converted(n) {
	case deprecated.Date:
		return time.Unix(0, 0).UTC().AddDate(0, 0, int(v.Int32())).Format(time.DateOnly)
	case deprecated.TimestampMillis:
		return timestamp(v.Int64(), time.Millisecond)
	case deprecated.TimestampMicros:
		return timestamp(v.Int64(), time.Microsecond)
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return unsigned(v)
	}
	return plain(v)
}

func plain(v parquet.Value) string {
	switch v.Kind() {
	case parquet.Boolean:
		return strconv.FormatBool(v.Boolean())
	case parquet.Int32, parquet.Int64:
		return strconv.FormatInt(whole(v), 10)
	case parquet.Int96: // the timestamps of Impala and old Spark: nanoseconds of the day, and the Julian day
		i := v.Int96()
		const julianEpoch = 2440588
		day := time.Unix(0, 0).UTC().AddDate(0, 0, int(i[2])-julianEpoch)
		return day.Add(time.Duration(uint64(i[1])<<32 | uint64(i[0]))).Format("2006-01-02 15:04:05.999999999")
	case parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	case parquet.Double:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	}
	b := v.ByteArray()
	if !utf8.Valid(b) || strings.IndexByte(string(b), 0) >= 0 {
		return fmt.Sprintf("(%d bytes)", len(b))
	}
	return string(b)
}

func whole(v parquet.Value) int64 {
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

func unsigned(v parquet.Value) string {
	if v.Kind() == parquet.Int32 {
		return strconv.FormatUint(uint64(v.Uint32()), 10)
	}
	return strconv.FormatUint(v.Uint64(), 10)
}

// timestamp is a time that was counted in units since 1970.
func timestamp(n int64, unit time.Duration) string {
	per := int64(time.Second / unit)
	t := time.Unix(n/per, n%per*int64(unit)).UTC()
	return t.Format("2006-01-02 15:04:05.999999999")
}

func clock(n int64, unit time.Duration) string {
	per := int64(time.Second / unit)
	return time.Unix(n/per, n%per*int64(unit)).UTC().Format("15:04:05.999999999")
}

// decimal writes a number without its point, and the point.
func decimal(v parquet.Value, scale int) string {
	n := new(big.Int)
	switch v.Kind() {
	case parquet.Int32, parquet.Int64:
		n.SetInt64(whole(v))
	default: // two's complement, the high byte first
		b := v.Bytes()
		if len(b) > 64 {
			return fmt.Sprintf("(%d bytes)", len(b))
		}
		if n.SetBytes(b); len(b) > 0 && b[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	s := n.String()
	if scale <= 0 || scale > 100 {
		return s
	}
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	if len(s) <= scale {
		s = strings.Repeat("0", scale-len(s)+1) + s
	}
	return sign + s[:len(s)-scale] + "." + s[len(s)-scale:]
}
