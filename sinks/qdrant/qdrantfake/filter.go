package qdrantfake

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	pb "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// matching are the ids of the points that a filter selects, ascending; none and an empty one select all. The caller holds the lock.
func (p points) matching(c *collection, f *pb.Filter) ([]pointID, error) {
	if err := p.check(c, f); err != nil {
		return nil, err
	}
	ids := slices.SortedFunc(maps.Keys(c.points), compareIDs)
	return slices.DeleteFunc(ids, func(id pointID) bool { return !selects(f, c.points[id], id) }), nil
}

// check refuses conditions that are not imitated, and in strict mode those without an index.
func (p points) check(c *collection, f *pb.Filter) error {
	for _, condition := range slices.Concat(f.GetMust(), f.GetShould(), f.GetMustNot()) {
		field := condition.GetField().GetKey()
		if _, indexed := c.schema[field]; p.Strict && field != "" && !indexed {
			return status.Errorf(codes.InvalidArgument, "Bad request: Index required but not found for \"%s\" of one of the following types: [keyword]", field)
		}
		if condition.GetField().GetMatch() == nil && condition.GetHasId() == nil && condition.GetFilter() == nil {
			return status.Errorf(codes.Unimplemented, "a condition of type %T", condition.GetConditionOneOf())
		}
		if err := p.check(c, condition.GetFilter()); err != nil {
			return err
		}
	}
	return nil
}

func selects(f *pb.Filter, m *point, id pointID) bool {
	yes := func(condition *pb.Condition) bool { return meets(m, id, condition) }
	no := func(condition *pb.Condition) bool { return !yes(condition) }
	return !slices.ContainsFunc(f.GetMust(), no) && !slices.ContainsFunc(f.GetMustNot(), yes) &&
		(len(f.GetShould()) == 0 || slices.ContainsFunc(f.GetShould(), yes))
}

func meets(m *point, id pointID, c *pb.Condition) bool {
	if nested := c.GetFilter(); nested != nil {
		return selects(nested, m, id)
	}
	if has := c.GetHasId(); has != nil {
		return slices.ContainsFunc(has.GetHasId(), func(want *pb.PointId) bool {
			parsed, err := parseID(want)
			return err == nil && parsed == id
		})
	}
	for _, v := range at(m.payload, strings.Split(c.GetField().GetKey(), ".")) {
		if matches(v, c.GetField().GetMatch()) {
			return true
		}
	}
	return false
}

// matches compares by type, as the server does.
func matches(v *pb.Value, match *pb.Match) bool {
	switch k := v.GetKind().(type) {
	case *pb.Value_StringValue:
		_, one := match.GetMatchValue().(*pb.Match_Keyword)
		return one && match.GetKeyword() == k.StringValue || slices.Contains(match.GetKeywords().GetStrings(), k.StringValue)
	case *pb.Value_IntegerValue:
		_, one := match.GetMatchValue().(*pb.Match_Integer)
		return one && match.GetInteger() == k.IntegerValue || slices.Contains(match.GetIntegers().GetIntegers(), k.IntegerValue)
	case *pb.Value_BoolValue:
		_, one := match.GetMatchValue().(*pb.Match_Boolean)
		return one && match.GetBoolean() == k.BoolValue
	}
	return false
}

// at are the values under a path; a list stands for its elements.
func at(fields map[string]*pb.Value, path []string) []*pb.Value {
	v, ok := fields[path[0]]
	switch {
	case !ok:
		return nil
	case len(path) > 1:
		return at(v.GetStructValue().GetFields(), path[1:])
	case v.GetListValue() != nil:
		return v.GetListValue().GetValues()
	}
	return []*pb.Value{v}
}

// throughJSON is what becomes of a payload in the server's storage: JSON, whose reader computes digits × 10^exponent in
// float64 and so may miss the last bit of a float.
func throughJSON(fields map[string]*pb.Value) map[string]*pb.Value {
	out := make(map[string]*pb.Value, len(fields))
	for k, v := range fields {
		out[k] = storedValue(v)
	}
	return out
}

func storedValue(v *pb.Value) *pb.Value {
	if !holdsFloat(v) {
		return v
	}
	switch k := v.GetKind().(type) {
	case *pb.Value_DoubleValue:
		if math.IsNaN(k.DoubleValue) || math.IsInf(k.DoubleValue, 0) {
			return pb.NewValueNull()
		}
		return pb.NewValueDouble(reread(k.DoubleValue))
	case *pb.Value_StructValue:
		return pb.NewValueFromFields(throughJSON(k.StructValue.GetFields()))
	case *pb.Value_ListValue:
		out := make([]*pb.Value, len(k.ListValue.GetValues()))
		for i, e := range k.ListValue.GetValues() {
			out[i] = storedValue(e)
		}
		return pb.NewValueFromList(out...)
	}
	return v
}

func holdsFloat(v *pb.Value) bool {
	switch k := v.GetKind().(type) {
	case *pb.Value_DoubleValue:
		return true
	case *pb.Value_StructValue:
		for _, e := range k.StructValue.GetFields() {
			if holdsFloat(e) {
				return true
			}
		}
	case *pb.Value_ListValue:
		return slices.ContainsFunc(k.ListValue.GetValues(), holdsFloat)
	}
	return false
}

// reread is serde_json's number parser without its feature float_roundtrip.
func reread(f float64) float64 {
	digits, exp, _ := strings.Cut(strconv.FormatFloat(math.Abs(f), 'e', -1, 64), "e")
	exponent, _ := strconv.Atoi(exp)
	whole, fraction, _ := strings.Cut(digits, ".")
	significand, _ := strconv.ParseUint(whole+fraction, 10, 64)
	exponent -= len(fraction)
	x := float64(significand)
	for exponent < -308 {
		x /= 1e308
		exponent += 308
	}
	if exponent < 0 {
		x /= math.Pow10(-exponent)
	} else {
		x *= math.Pow10(exponent)
	}
	return math.Copysign(x, f)
}
