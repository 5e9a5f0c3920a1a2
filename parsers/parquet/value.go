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
