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
}

// value converts v; text that is no UTF-8, NaN and infinity are errors of ClassInvalid.
func (e *encoder) value(v any) (*pb.Value, error) {
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
		return pb.NewValueString(v), nil
	case []string:
		return list(v, func(s string) (*pb.Value, error) { return e.value(s) })
	case []any:
		return list(v, e.value)
	case map[string]any:
		fields := make(map[string]*pb.Value, len(v))
		for k, x := range v {
			f, err := e.value(x)
			if err != nil {
				return nil, err
			}
			fields[k] = f
		}
		return pb.NewValueFromFields(fields), nil
	}
	plain, err := payload.Canonical(v) // another type, such as int32 or a named string
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "%T: %w", v, err)
	}
	return e.value(plain)
}

func list[E any](items []E, convert func(E) (*pb.Value, error)) (*pb.Value, error) {
	values := make([]*pb.Value, len(items))
	for i, item := range items {
		var err error
		if values[i], err = convert(item); err != nil {
			return nil, err
		}
	}
	return pb.NewValueFromList(values...), nil
}

// float converts a float. The server keeps payloads as JSON and reads numbers with serde_json's fast parser, which computes
// digits × 10^exponent in float64: exact while the digits are below 2^53 and the exponent within ±22, else perhaps off by the
// last bit, and beyond the range possibly an error that takes the whole payload with it.
func (e *encoder) float(f float64) (*pb.Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, connector.Errorf(connector.ClassInvalid, "%v is no JSON number", f)
	}
	if exactDecimal(f) {
		return pb.NewValueDouble(f), nil
	}
	e.rounded = true
	if a := math.Abs(f); a > 1e290 || a < 1e-290 {
		return pb.NewValueString(strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
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
