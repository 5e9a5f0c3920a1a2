package qdrant

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"

	pb "github.com/qdrant/go-client/qdrant"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

// encoder turns values of Go into the payload's. The client's own conversion knows no []string, wraps large uint64 and, as
// NewValueMap, panics.
type encoder struct {
	// rounded says that a float was seen which the server's storage may not give back as it was.
	rounded bool
	// size estimates from above what the values take in a request. The protocol's own count walks maps by reflection, and took
	// a third of the time of an upsert.
	size int
}

// perValue covers the tags and lengths around a value, and a number.
const perValue = 24

// value converts v. Text that is no UTF-8, NaN and infinity are errors of ClassInvalid.
func (e *encoder) value(v any) (*pb.Value, error) {
	e.size += perValue
	switch v := v.(type) {
	case nil:
		return pb.NewValueNull(), nil
	case bool:
		return pb.NewValueBool(v), nil
	case int:
		return pb.NewValueInt(int64(v)), nil
	case int64:
		return pb.NewValueInt(v), nil
	case float64:
		return e.float(v)
	case string:
		if !utf8.ValidString(v) {
			return nil, connector.Errorf(connector.ClassInvalid, "text that is no UTF-8: %.40q", v)
		}
		return e.text(v), nil
	case []string:
		for _, s := range v {
			if !utf8.ValidString(s) {
				return nil, connector.Errorf(connector.ClassInvalid, "text that is no UTF-8: %.40q", s)
			}
		}
		return e.texts(v), nil
	case []any:
		values := make([]*pb.Value, len(v))
		for i, item := range v {
			var err error
			if values[i], err = e.value(item); err != nil {
				return nil, err
			}
		}
		return pb.NewValueFromList(values...), nil
	case map[string]any:
		fields := make(map[string]*pb.Value, len(v))
		for k, x := range v {
			f, err := e.value(x)
			if err == nil && !utf8.ValidString(k) {
				err = connector.Errorf(connector.ClassInvalid, "a key that is no UTF-8: %.40q", k)
			}
			if err != nil {
				return nil, err
			}
			fields[k] = f
			e.size += len(k)
		}
		return pb.NewValueFromFields(fields), nil
	}
	plain, err := payload.Canonical(v) // another type, such as int32 or a named string
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "%T: %w", v, err)
	}
	return e.value(plain)
}

// text is value for what is known to be UTF-8.
func (e *encoder) text(s string) *pb.Value {
	e.size += len(s)
	return pb.NewValueString(s)
}

// texts makes a list likewise.
func (e *encoder) texts(items []string) *pb.Value {
	list := make([]*pb.Value, len(items))
	for i, s := range items {
		e.size += perValue
		list[i] = e.text(s)
	}
	return pb.NewValueFromList(list...)
}

// hashes makes a list of numbers of terms, with few allocations. The filter terms of a record as strings would be a third of what is
// encoded and sent.
func (e *encoder) hashes(terms []string) *pb.Value {
	values, kinds, list := make([]pb.Value, len(terms)), make([]pb.Value_IntegerValue, len(terms)), make([]*pb.Value, len(terms))
	for i, t := range terms {
		e.size += 10 + perValue
		kinds[i].IntegerValue = payload.TermHash(t)
		values[i].Kind = &kinds[i]
		list[i] = &values[i]
	}
	return pb.NewValueFromList(list...)
}

// float converts a float. The server keeps payloads as JSON and reads numbers with serde_json's fast parser, which computes
// digits × 10^exponent in float64: exact while the digits are below 2^53 and the exponent within ±22, else perhaps off in the
// last bit.
func (e *encoder) float(f float64) (*pb.Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, connector.Errorf(connector.ClassInvalid, "%v is no JSON number", f)
	}
	e.rounded = e.rounded || !exactDecimal(f)
	return pb.NewValueDouble(f), nil
}

func exactDecimal(f float64) bool {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return true
	}
	var buf [32]byte
	b := strconv.AppendFloat(buf[:0], math.Abs(f), 'e', -1, 64) // d.ddde±dd
	digits, exp, _ := bytes.Cut(b, []byte("e"))
	exponent, err := strconv.Atoi(string(exp))
	if err != nil {
		return false
	}
	whole, fraction, _ := bytes.Cut(digits, []byte("."))
	significand, err := strconv.ParseUint(string(whole)+string(fraction), 10, 64)
	exponent -= len(fraction)
	return err == nil && significand < 1<<53 && exponent >= -22 && exponent <= 22
}

// plain is the value as JSON has it: nil, bool, string, int64, float64, []any or map[string]any.
func plain(v *pb.Value) any {
	switch k := v.GetKind().(type) {
	case *pb.Value_BoolValue:
		return k.BoolValue
	case *pb.Value_StringValue:
		return k.StringValue
	case *pb.Value_IntegerValue:
		return k.IntegerValue
	case *pb.Value_DoubleValue:
		return k.DoubleValue
	case *pb.Value_ListValue:
		out := make([]any, len(k.ListValue.GetValues()))
		for i, e := range k.ListValue.GetValues() {
			out[i] = plain(e)
		}
		return out
	case *pb.Value_StructValue:
		return plainMap(k.StructValue.GetFields())
	}
	return nil
}

func plainMap(fields map[string]*pb.Value) map[string]any {
	out := make(map[string]any, len(fields))
	for k, e := range fields {
		out[k] = plain(e)
	}
	return out
}
