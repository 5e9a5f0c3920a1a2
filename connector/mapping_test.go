package connector

import (
	"math"
	"regexp"
	"strings"
	"testing"
)

func TestKindOfValue(t *testing.T) {
	for _, c := range []struct {
		v    any
		want ValueKind
	}{
		{nil, ValueNull}, {true, ValueBool}, {3, ValueInt}, {int64(1<<53 + 1), ValueBigInt}, {-(int64(1) << 60), ValueBigInt}, {1.5, ValueFloat}, {math.NaN(), ValueInvalid},
		{"x", ValueString}, {"2024-01-02", ValueDate}, {"2024-01-02T03:04:05Z", ValueDate}, {"2024-13-02", ValueString}, {"1.2.3", ValueString}, {"\xff", ValueInvalid},
		{[]string{"a"}, ValueList}, {[]any{}, ValueList}, {[]any{1, int64(2)}, ValueList}, {[]any{"a", "2024-01-02"}, ValueList}, {[]any{1, "a"}, ValueMixed},
		{[]any{nil}, ValueMixed}, {[]any{[]any{1}}, ValueNested}, {map[string]any{}, ValueNested}, {struct{}{}, ValueInvalid},
	} {
		if got := KindOfValue(c.v); got != c.want {
			t.Errorf("%#v is %q, want %q", c.v, got, c.want)
		}
	}
}

func TestMappingCheck(t *testing.T) {
	m := &Mapping{Values: map[ValueKind]Treatment{ValueNull: TreatKept, ValueLong: TreatClipped}, Name: regexp.MustCompile(`^[a-z]+$`), Reserved: []string{"id"}, MaxStringBytes: 5}
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{"team", "docs", ""}, {"team", nil, "kept"}, {"a b", 1, "renamed"}, {"id", 1, "renamed"}, {"team", "long text", "clipped"}, {"team", math.Inf(1), "refused"}, {"a b", nil, "renamed kept"},
	} {
		var got []string
		for _, f := range m.Check(c.name, c.value) {
			got = append(got, string(f.Treatment))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s = %v: %v, want %q", c.name, c.value, got, c.want)
		}
	}
	if found := (*Mapping)(nil).Check("x", math.NaN()); found != nil {
		t.Errorf("no mapping finds %v", found)
	}
	if md := m.Markdown(); !strings.Contains(md, "| null | kept |") || !strings.Contains(md, "| string over 5 bytes | clipped |") {
		t.Errorf("%s", md)
	}
}
