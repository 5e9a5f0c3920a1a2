package sqlite

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

// allowed is the set of searchable slots that meet filter; nil if there is no condition.
func (c *Collection) allowed(ctx context.Context, q querier, filter connector.Filter) (*slotSet, error) {
	if len(filter) == 0 {
		return nil, nil //nolint:nilnil // nil is the set of all
	}
	scan := &metadataScan{set: &slotSet{}}
	where := []string{"p.slot < ?"}
	handle, done := c.sink.scans.begin(scan)
	defer done()
	args := []any{handle, storeOnly}
	from, metadata := " FROM @points p", "NULL"
	for _, cond := range filter {
		column, isColumn := columns[cond.Field]
		if !isColumn {
			m, err := newMetadataCondition(cond)
			if err != nil {
				return nil, err
			}
			scan.conditions = append(scan.conditions, m)
			from, metadata = " FROM @points p JOIN @payload y ON y.slot = p.slot", "y.metadata"
			continue
		}
		values := columnValues(cond)
		if len(values) == 0 {
			return scan.set, nil
		}
		where = append(where, column+" IN ("+marks(len(values))+")")
		args = append(args, values...)
	}
	if len(where) == 1 && len(scan.conditions) > 0 {
		from, where[0] = " FROM @payload y", "y.slot < ?"
	}
	slot := "p.slot"
	if !strings.Contains(from, "@points") {
		slot = "y.slot"
	}
	var n int
	query := `SELECT count(kbsync_row(?, ` + slot + `, ` + metadata + `))` + from + ` WHERE ` + strings.Join(where, " AND ")
	if err := q.QueryRowContext(ctx, c.tables.sql(query), args...).Scan(&n); err != nil {
		return nil, err
	}
	return scan.set, nil
}

// columns are the fields that stand in columns of their own.
var columns = map[string]string{
	"source": "p.source", "path": "p.path", "doc_id": "p.doc_id", "chunk_id": "p.id", "parent_id": "p.parent_id", "content_hash": "p.content_hash",
}

// columnValues are the values that a column can hold at all.
func columnValues(cond connector.Condition) (out []any) {
	for _, v := range cond.Values {
		s, ok := v.(string)
		if !ok {
			continue
		}
		if cond.Field != "chunk_id" {
			out = append(out, s)
			continue
		}
		if id, err := parseID(s); err == nil {
			out = append(out, id)
		}
	}
	return out
}

// metadataCondition is a condition on a metadata key.
type metadataCondition struct {
	key      string   // as it is spelled in the stored JSON, with quotes and colon
	values   []any    // canonical scalars
	spelt    []string // the same in stored JSON
	numbers  bool     // some value is a number, which may be spelt in several ways
	oneSpelt string   // the only value's spelling, if there is one value and it is no number
}

func newMetadataCondition(cond connector.Condition) (metadataCondition, error) {
	key, err := payload.AppendString(nil, cond.Field)
	if err != nil {
		return metadataCondition{}, err
	}
	m := metadataCondition{key: string(key) + ":"}
	for _, v := range cond.Values {
		raw, err := payload.AppendJSON(nil, v)
		if err != nil {
			return m, connector.Errorf(connector.ClassInvalid, "filter on %q: %w", cond.Field, err)
		}
		plain, err := payload.DecodeJSON(raw)
		if err != nil {
			return m, err
		}
		switch plain.(type) {
		case []any, map[string]any:
			continue // equal to nothing
		case int64, float64:
			m.numbers = true
		}
		m.values, m.spelt = append(m.values, plain), append(m.spelt, string(raw))
	}
	if len(m.spelt) == 1 && !m.numbers {
		m.oneSpelt = m.spelt[0]
	}
	return m, nil
}

// holds looks the key up in stored metadata. The JSON is our own (no white space, one spelling of each string), so
// most records are ruled out, and most values compared, by their bytes.
func (m *metadataCondition) holds(raw string) bool {
	if !strings.Contains(raw, m.oneSpelt) || !strings.Contains(raw, m.key) {
		return false
	}
	value, ok := member(raw, m.key)
	if !ok || value == "" {
		return false
	}
	if slices.Contains(m.spelt, value) {
		return true
	}
	switch {
	case value[0] == '[':
	case m.numbers && (value[0] == '-' || value[0] >= '0' && value[0] <= '9'):
		return m.oneOf(parseNumber(value))
	default:
		return false
	}
	v, err := payload.DecodeJSON([]byte(value))
	list, isList := v.([]any)
	return err == nil && isList && slices.ContainsFunc(list, m.oneOf)
}

func (m *metadataCondition) oneOf(v any) bool {
	return slices.ContainsFunc(m.values, func(want any) bool { return sameScalar(v, want) })
}

func parseNumber(s string) any {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	return f
}

// sameScalar compares as JSON does: 1 and 1.0 are the same number, 1 and "1" or true are not the same.
func sameScalar(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool, string:
		return a == b
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return sameNumber(a, b)
		}
	case float64:
		switch b := b.(type) {
		case int64:
			return sameNumber(b, a)
		case float64:
			return a == b
		}
	}
	return false
}

func sameNumber(i int64, f float64) bool {
	return f == math.Trunc(f) && math.Abs(f) < 1<<63 && int64(f) == i
}

// member is the raw value of a key of a JSON object without white space.
func member(raw, key string) (string, bool) {
	for i := 1; i < len(raw) && raw[i] == '"'; {
		found := strings.HasPrefix(raw[i:], key)
		i = stringEnd(raw, i) + 1 // past the colon
		end := valueEnd(raw, i)
		if found {
			return raw[i:end], true
		}
		i = end + 1
	}
	return "", false
}

// stringEnd is the index after the string that starts at i.
func stringEnd(raw string, i int) int {
	for i++; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(raw))
}

// valueEnd is the index after the value that starts at i.
func valueEnd(raw string, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			if i = stringEnd(raw, i); depth == 0 {
				return i
			}
			continue
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(raw)
}
