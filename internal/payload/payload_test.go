package payload

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func TestRestRoundTrip(t *testing.T) {
	want := connector.Record{ParentID: "p", Spans: []connector.Span{{Start: 1, End: 2}}, CharCount: 3, TokenCount: 4, ContentHash: "h",
		DocID: "d", Source: "s", Path: "文件.md", Metadata: map[string]any{"max": int64(math.MaxInt64), "f": 2.0, "nil": nil, "l": []any{int64(1), "二"}}}
	b, err := EncodeRest(&want)
	if err != nil {
		t.Fatal(err)
	}
	var got connector.Record
	if err := DecodeRest(b, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestInvalidIsRefused(t *testing.T) {
	for _, r := range []connector.Record{
		{Content: "\xff"}, {Path: "a\xe9"}, {Metadata: map[string]any{"a": map[string]any{"b": []any{"\xff"}}}}, {Metadata: map[string]any{"\xff": 1}},
		{Metadata: map[string]any{"nan": math.NaN()}},
	} {
		if _, err := EncodeRest(&r); connector.ClassOf(err) != connector.ClassInvalid {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if !HasNUL(&connector.Record{Metadata: map[string]any{"a": []any{"x\x00"}}}) || HasNUL(&connector.Record{Content: "x"}) {
		t.Error("HasNUL")
	}
}

func TestTermsMatchAsJSONScalars(t *testing.T) {
	long := string(make([]byte, 500))
	r := &connector.Record{Metadata: map[string]any{"n": 17, "f": 1.5, "whole": 3.0, "yes": true, "tags": []any{"all", 3}, "names": []string{"x"}, "long": long,
		"nested": map[string]any{"inner": "v"}, "nil": nil}}
	terms := Terms(r)
	for _, c := range []struct {
		field string
		value any
		want  bool
	}{
		{"n", 17, true}, {"n", int64(17), true}, {"n", 17.0, true}, {"n", "17", false}, {"f", 1.5, true}, {"whole", 3, true}, {"yes", true, true}, {"yes", "true", false},
		{"yes", 1, false}, {"tags", "all", true}, {"tags", 3.0, true}, {"names", "x", true}, {"long", long, true}, {"long", long[1:], false}, {"inner", "v", false},
		{"nested", map[string]any{"inner": "v"}, false}, {"nil", nil, true}, {"absent", nil, false},
	} {
		got := slices.ContainsFunc(ConditionTerms(connector.Condition{Field: c.field, Values: []any{c.value}}), func(s string) bool { return slices.Contains(terms, s) })
		if got != c.want {
			t.Errorf("%s = %v: %v, want %v", c.field, c.value, got, c.want)
		}
	}
}
