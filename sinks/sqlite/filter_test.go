package sqlite

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

func FuzzMetadata(f *testing.F) {
	f.Add(`{"a":1,"b":[1.5,"x"],"c\"":{"a":"}"}}`, "a")
	f.Add(`{"":""}`, "")
	f.Add(`{"x":"\"y\":1","y":2}`, "y")
	f.Fuzz(func(t *testing.T, raw, key string) {
		var m map[string]any
		if json.Unmarshal([]byte(raw), &m) != nil || m == nil {
			return
		}
		stored, err := encodeMetadata(m)
		if err != nil {
			t.Fatal(err)
		}
		text := stored.(string)
		back, err := decodeMetadata([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := encodeMetadata(back)
		if err != nil || again != stored {
			t.Fatalf("%q became %q, %v", stored, again, err)
		}
		for k, v := range back { // each member is found, and equals itself if it is a scalar
			quoted, err := payload.AppendString(nil, k)
			if err != nil {
				t.Fatal(err)
			}
			value, ok := member(text, string(quoted)+":")
			if !ok {
				t.Fatalf("%q: member %q is not found", text, k)
			}
			if got, err := payload.DecodeJSON([]byte(value)); err != nil || !reflect.DeepEqual(got, v) {
				t.Fatalf("%q: member %q is %v, want %v (%v)", text, k, got, v, err)
			}
		}
		cond, err := newMetadataCondition(connector.Condition{Field: key, Values: []any{back[key]}})
		if err != nil {
			t.Fatal(err)
		}
		_, exists := back[key]
		_, list := back[key].([]any)
		_, object := back[key].(map[string]any)
		if got, want := cond.holds(text), exists && !list && !object; got != want {
			t.Fatalf("%q: filter %q = %v holds: %v, want %v", text, key, back[key], got, want)
		}
	})
}
