// Package llmjson asks a language model for JSON and reads what comes strictly: the JSON is found among prose and fences, held against a
// small schema, and what is wrong is named. The model is then asked once more with the fault named; after that the answer is given up
// with an error that callers can tell, so that they keep what they had.
package llmjson

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kind is a type of JSON.
type Kind int

// The kinds.
const (
	Object Kind = iota
	List
	String
	Integer
	Number
	Bool
)

// String is the kind's name in JSON Schema.
func (k Kind) String() string {
	return [...]string{"object", "array", "string", "integer", "number", "boolean"}[k]
}

// Schema is the shape of a value. An answer's is an Object.
type Schema struct {
	Kind Kind
	// Doc tells the model what the value is.
	Doc string
	// Fields of an object; all are required. Others that an answer has are passed over.
	Fields []Field
	// Items of a list, from Min to Max of them.
	Items *Schema
	// Min and Max bound a list's items, a string's characters or a number; the upper bound holds where it is above 0, and where Bounded.
	Min, Max int
	Bounded  bool
	// Enum are the only strings.
	Enum []string
}

// Field is a named value of an object.
type Field struct {
	Name string
	Schema
}

// JSON is the schema as services take it (see [connector.LLMRequest]). Bounds are left out, which not every service understands:
// they belong into the words of the prompt.
func (s *Schema) JSON() json.RawMessage {
	raw, _ := json.Marshal(s.object()) //nolint:errchkjson // maps and strings alone
	return raw
}

func (s *Schema) object() map[string]any {
	o := map[string]any{"type": s.Kind.String()}
	if s.Doc != "" {
		o["description"] = s.Doc
	}
	switch s.Kind {
	case Object:
		properties, names := map[string]any{}, []string{}
		for _, f := range s.Fields {
			properties[f.Name] = f.object()
			names = append(names, f.Name)
		}
		o["properties"], o["required"], o["additionalProperties"] = properties, names, false
	case List:
		o["items"] = s.Items.object()
	case String:
		if len(s.Enum) > 0 {
			o["enum"] = s.Enum
		}
	}
	return o
}

// FaultError says what is wrong with an answer, in words that help a model to mend it.
type FaultError struct {
	// Path of the value, as in "$.items[3]"; "$" is the whole answer.
	Path string
	What string
}

// Error names the path and the fault.
func (f *FaultError) Error() string { return f.Path + ": " + f.What }

func fault(path, format string, args ...any) *FaultError {
	return &FaultError{Path: path, What: fmt.Sprintf(format, args...)}
}

// Check holds a decoded value, with numbers as [json.Number], against the schema. The first fault is given, nil if there is none.
func (s *Schema) Check(v any) *FaultError { return s.check("$", v) }

func (s *Schema) check(path string, v any) *FaultError {
	switch v := v.(type) {
	case map[string]any:
		if s.Kind == Object {
			return s.fields(path, v)
		}
	case []any:
		if s.Kind == List {
			return s.items(path, v)
		}
	case string:
		if s.Kind == String {
			return s.text(path, v)
		}
	case json.Number:
		if s.Kind == Integer || s.Kind == Number {
			return s.number(path, v)
		}
	case bool:
		if s.Kind == Bool {
			return nil
		}
	}
	return fault(path, "want %s, found %s", named(s.Kind.String()), named(typeOf(v)))
}

// named puts an article before the name of a type.
func named(kind string) string {
	switch {
	case kind == "null":
		return kind
	case strings.ContainsRune("aio", rune(kind[0])):
		return "an " + kind
	}
	return "a " + kind
}

func typeOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	}
	return "null"
}

func (s *Schema) fields(path string, v map[string]any) *FaultError {
	for _, f := range s.Fields {
		value, ok := v[f.Name]
		if !ok {
			return fault(path, "the key %q is missing", f.Name)
		}
		if f := f.check(path+"."+f.Name, value); f != nil {
			return f
		}
	}
	return nil
}

func (s *Schema) items(path string, v []any) *FaultError {
	if f := s.bounds(path, len(v), "items"); f != nil {
		return f
	}
	for i, value := range v {
		if f := s.Items.check(fmt.Sprintf("%s[%d]", path, i), value); f != nil {
			return f
		}
	}
	return nil
}

func (s *Schema) text(path, v string) *FaultError {
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		return fault(path, "%.40q is none of %s", v, strings.Join(s.Enum, ", "))
	}
	if s.Min > 0 && strings.TrimSpace(v) == "" {
		return fault(path, "the string is empty")
	}
	return s.bounds(path, utf8.RuneCountInString(v), "characters")
}

func (s *Schema) number(path string, v json.Number) *FaultError {
	if s.Kind == Integer {
		n, err := v.Int64()
		if err != nil {
			return fault(path, "%.40s is not a whole number", v)
		}
		if s.Bounded && (n < int64(s.Min) || n > int64(s.Max)) {
			return fault(path, "%d is out of range, want %d to %d", n, s.Min, s.Max)
		}
		return nil
	}
	x, err := v.Float64()
	if err != nil {
		return fault(path, "%.40s is out of range", v)
	}
	if s.Bounded && (x < float64(s.Min) || x > float64(s.Max)) {
		return fault(path, "%g is out of range, want %d to %d", x, s.Min, s.Max)
	}
	return nil
}

func (s *Schema) bounds(path string, n int, what string) *FaultError {
	switch {
	case n < s.Min:
		return fault(path, "%d %s, want %d or more", n, what, s.Min)
	case (s.Max > 0 || s.Bounded) && n > s.Max:
		return fault(path, "%d %s, want %d at most", n, what, s.Max)
	}
	return nil
}
