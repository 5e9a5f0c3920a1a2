package config

import (
	"reflect"
	"strings"
)

// field is one key of a configuration struct.
type field struct {
	key      string
	doc      string
	enum     []string
	size     bool
	required bool
	kinds    string // for Kinded and Choice: "embedder", "sink", "strategy", "llm"
	index    []int
	typ      reflect.Type
}

// fields lists the keys of a struct type, those of inline structs included, in the order of declaration.
func fields(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, options, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
		inline := strings.Contains(options, "inline") && sf.Type.Kind() == reflect.Struct
		if name == "-" || !sf.IsExported() && (!inline || !sf.Anonymous) {
			continue
		}
		if inline {
			for _, f := range fields(sf.Type) {
				f.index = append([]int{i}, f.index...)
				out = append(out, f)
			}
			continue
		}
		if name == "" {
			name = strings.ToLower(sf.Name)
		}
		f := field{
			key: name, doc: sf.Tag.Get("doc"), size: sf.Tag.Get("format") == "size",
			required: sf.Tag.Get("required") == "true", kinds: sf.Tag.Get("kinds"), index: []int{i}, typ: sf.Type,
		}
		if enum := sf.Tag.Get("enum"); enum != "" {
			f.enum = strings.Split(enum, ",")
		}
		out = append(out, f)
	}
	return out
}

// structure decodes a map into a struct.
func (d *decoder) structure(n *node, v reflect.Value, path string) {
	if n.kind != mapNode {
		d.fail(n.pos, path, "expected a map of keys, found %s", n.what())
		return
	}
	known := fields(v.Type())
	byKey := make(map[string]field, len(known))
	keys := make([]string, len(known))
	for i, f := range known {
		byKey[f.key], keys[i] = f, f.key
	}
	given := make(map[string]bool, len(n.entries))
	for _, e := range n.entries {
		f, ok := byKey[e.key]
		if !ok {
			if path == "" && strings.HasPrefix(e.key, "x-") {
				continue
			}
			d.fail(e.keyPos, joinPath(path, e.key), "unknown key%s", hint(e.key, keys, "known keys"))
			continue
		}
		given[e.key] = e.value.kind != nullNode
		d.value(e.value, v.FieldByIndex(f.index), f, joinPath(path, e.key))
	}
	for _, f := range known {
		if f.required && !given[f.key] && (path != "" || !d.partial) {
			d.fail(n.pos, joinPath(path, f.key), "missing; expected %s", f.what())
		}
	}
}

// what says what a field takes, for messages about a missing one.
func (f field) what() string {
	if f.doc != "" {
		return f.doc
	}
	switch f.typ.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a map"
	case reflect.String:
		return wantText(f)
	}
	return "a value"
}
