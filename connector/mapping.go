package connector

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ValueKind classes metadata values as far as databases treat them differently.
type ValueKind string

// The kinds of values.
const (
	ValueNull    ValueKind = "null"
	ValueBool    ValueKind = "bool"
	ValueInt     ValueKind = "int"
	ValueBigInt  ValueKind = "int over 2^53"
	ValueFloat   ValueKind = "float"
	ValueString  ValueKind = "string"
	ValueDate    ValueKind = "date" // a string in RFC 3339, or a date alone
	ValueList    ValueKind = "list" // of scalars of one kind
	ValueMixed   ValueKind = "mixed list"
	ValueNested  ValueKind = "nested" // an object, or a list that holds one or a list
	ValueLong    ValueKind = "long string"
	ValueInvalid ValueKind = "no JSON value" // NaN, infinity, invalid UTF-8, other Go types
)

// Treatment is what a sink does to a value or a name.
type Treatment string

// The treatments, from harmless to fatal.
const (
	TreatNative      Treatment = "native"      // stored as it is, readable and filterable by its own type
	TreatKept        Treatment = "kept"        // comes back as it was, but stands in no field of its own
	TreatStringified Treatment = "stringified" // stands in the database as a string; comes back as it was
	TreatRenamed     Treatment = "renamed"     // stands under another name; comes back under its own
	TreatClipped     Treatment = "clipped"     // the field for filters is shortened; comes back whole
	TreatRefused     Treatment = "refused"     // the chunk is refused, and its document fails by name
)

// Mapping is what one sink makes of texts and metadata: the table that `validate` and `plan` check a configuration against
// and that the sink's documentation shows. The zero value stores everything as it is.
type Mapping struct {
	// Values says how each kind is treated; one that is missing is native.
	Values map[ValueKind]Treatment
	// Name is what a field may be called; nil allows everything. Reserved names are taken by the database. What does not
	// fit is treated as Names says.
	Name     *regexp.Regexp
	Reserved []string
	Names    Treatment
	// MaxTextBytes bounds a chunk's text and context, MaxStringBytes a metadata string, MaxRecordBytes all metadata of a
	// chunk as JSON; 0 means no bound. A text or record over its bound is refused; a string is treated as [ValueLong].
	MaxTextBytes   int
	MaxStringBytes int
	MaxRecordBytes int
	// Distances are those that the database knows; empty means all of cosine, dot and l2.
	Distances []string
	// Notes are further facts for people: the form of ids, limits of requests.
	Notes []string
}

// Finding says what would become of one field.
type Finding struct {
	Field     string    `json:"field"`
	Treatment Treatment `json:"treatment"`
	Detail    string    `json:"detail"`
}

// String is one line for people.
func (f Finding) String() string { return fmt.Sprintf("%s: %s (%s)", f.Field, f.Treatment, f.Detail) }

// Check says what becomes of a metadata field; nothing if it is stored as it is.
func (m *Mapping) Check(name string, value any) []Finding {
	if m == nil {
		return nil
	}
	var out []Finding
	if m.Name != nil && !m.Name.MatchString(name) {
		out = append(out, Finding{name, m.names(), fmt.Sprintf("names match %s", m.Name)})
	} else if slices.Contains(m.Reserved, name) {
		out = append(out, Finding{name, m.names(), "the name is reserved"})
	}
	kind := KindOfValue(value)
	if s, ok := value.(string); ok && m.MaxStringBytes > 0 && len(s) > m.MaxStringBytes {
		kind = ValueLong
	}
	if t := m.treat(kind); t != TreatNative {
		detail := string(kind)
		if kind == ValueLong {
			detail = fmt.Sprintf("over %d bytes", m.MaxStringBytes)
		}
		out = append(out, Finding{name, t, detail})
	}
	return out
}

func (m *Mapping) names() Treatment {
	if m.Names == "" {
		return TreatRenamed
	}
	return m.Names
}

func (m *Mapping) treat(kind ValueKind) Treatment {
	switch t := m.Values[kind]; {
	case t != "":
		return t
	case kind == ValueInvalid:
		return TreatRefused
	}
	return TreatNative
}

// KindOfValue classes a metadata value.
func KindOfValue(v any) ValueKind {
	switch v := v.(type) {
	case nil:
		return ValueNull
	case bool:
		return ValueBool
	case int:
		return intKind(int64(v))
	case int64:
		return intKind(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ValueInvalid
		}
		return ValueFloat
	case string:
		return stringKind(v)
	case []string:
		return ValueList
	case []any:
		return listKind(v)
	case map[string]any:
		return ValueNested
	}
	return ValueInvalid
}

func intKind(n int64) ValueKind {
	if n > 1<<53 || n < -(1<<53) {
		return ValueBigInt
	}
	return ValueInt
}

func stringKind(s string) ValueKind {
	if strings.ToValidUTF8(s, "") != s {
		return ValueInvalid
	}
	if len(s) >= len(time.DateOnly) && len(s) <= len(time.RFC3339Nano) && s[4] == '-' {
		for _, layout := range []string{time.RFC3339, time.DateOnly} {
			if _, err := time.Parse(layout, s); err == nil {
				return ValueDate
			}
		}
	}
	return ValueString
}

func listKind(list []any) ValueKind {
	kinds := map[ValueKind]bool{}
	for _, v := range list {
		switch k := KindOfValue(v); k {
		case ValueList, ValueMixed, ValueNested:
			return ValueNested
		case ValueInvalid:
			return ValueInvalid
		case ValueBigInt:
			kinds[ValueInt] = true
		case ValueDate:
			kinds[ValueString] = true
		default:
			kinds[k] = true
		}
	}
	if len(kinds) > 1 || kinds[ValueNull] {
		return ValueMixed
	}
	return ValueList
}

// Markdown is the mapping as a table for people: what becomes of each kind of value, names and sizes.
func (m *Mapping) Markdown() string {
	if m == nil {
		m = &Mapping{}
	}
	var b strings.Builder
	b.WriteString("| metadata | becomes |\n|---|---|\n")
	for _, k := range []ValueKind{ValueNull, ValueBool, ValueInt, ValueBigInt, ValueFloat, ValueString, ValueDate, ValueList, ValueMixed, ValueNested, ValueInvalid} {
		fmt.Fprintf(&b, "| %s | %s |\n", k, m.treat(k))
	}
	if m.MaxStringBytes > 0 {
		fmt.Fprintf(&b, "| string over %d bytes | %s |\n", m.MaxStringBytes, m.treat(ValueLong))
	}
	if m.Name != nil {
		fmt.Fprintf(&b, "| a name other than `%s` | %s |\n", strings.ReplaceAll(m.Name.String(), "|", "\\|"), m.names())
	}
	if len(m.Reserved) > 0 {
		fmt.Fprintf(&b, "| the names `%s` | %s |\n", strings.Join(m.Reserved, "`, `"), m.names())
	}
	if m.MaxTextBytes > 0 {
		fmt.Fprintf(&b, "| text over %d bytes | %s |\n", m.MaxTextBytes, TreatRefused)
	}
	if m.MaxRecordBytes > 0 {
		fmt.Fprintf(&b, "| metadata over %d bytes in all | %s |\n", m.MaxRecordBytes, TreatRefused)
	}
	if len(m.Distances) > 0 {
		fmt.Fprintf(&b, "| a distance other than %s | %s |\n", strings.Join(m.Distances, ", "), TreatRefused)
	}
	if len(m.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range m.Notes {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	return b.String()
}
