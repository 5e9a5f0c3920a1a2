package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/kbsync/kbsync/connector"
)

// Schema is the JSON Schema (2020-12) of a configuration, made from the structs that decode it: the same keys, types, enums and
// descriptions. Plugin kinds are keys of which exactly one stands; defaults are those of the plugins.
// Where a number or a boolean is expected, a string with a variable in it is valid too.
func Schema(reg *connector.Registry) ([]byte, error) {
	if reg == nil {
		reg = &connector.Registry{}
	}
	g := generator{reg: reg}
	root := g.structure(reflect.ValueOf(*defaults()), true)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "kbsync configuration"
	root["patternProperties"] = map[string]any{"^x-": true}
	root["$defs"] = map[string]any{
		strategyKinds: g.kinds(kindsOf(g.reg, strategyKinds)),
		"variable":    map[string]any{"type": "string", "pattern": `\$\{`, "description": "a value from the environment: ${NAME} or ${NAME:-default}"},
		"size": map[string]any{"anyOf": []any{
			map[string]any{"type": "integer", "minimum": 0},
			map[string]any{"type": "string", "pattern": sizePattern.String()},
			map[string]any{"$ref": "#/$defs/variable"},
		}},
		"duration": map[string]any{"anyOf": []any{
			map[string]any{"const": 0},
			map[string]any{"type": "string", "pattern": `^\+?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*$|^\+?0$|\$\{`},
		}},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("config: schema: %w", err)
	}
	return b.Bytes(), nil
}

// strategyKinds is the set of kinds that nest.
const strategyKinds = "strategy"

type generator struct{ reg *connector.Registry }

// value describes the type of v; v also holds the default.
func (g generator) value(v reflect.Value, f field) map[string]any {
	t := v.Type()
	switch t {
	case secretType:
		return map[string]any{"type": "string"}
	case durationType:
		return ref("duration")
	case kindedType, choiceType:
		if f.kinds == strategyKinds { // strategies hold strategies
			return ref(strategyKinds)
		}
		return g.kinds(kindsOf(g.reg, f.kinds))
	case sourceType:
		return g.source()
	}
	if described, ok := v.Interface().(interface{ JSONSchema() map[string]any }); ok && t.Kind() != reflect.Pointer {
		return described.JSONSchema()
	}
	switch {
	case t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(yamlUnmarshalerType):
		return map[string]any{}
	case t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(textUnmarshalerType):
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return g.value(v.Elem(), f)
		}
		return g.value(reflect.Zero(t.Elem()), f)
	case reflect.Struct:
		return g.structure(v, false)
	case reflect.Slice:
		item := g.value(reflect.Zero(t.Elem()), f)
		list := map[string]any{"type": "array", "items": item}
		if t.Elem().Kind() == reflect.String {
			return map[string]any{"anyOf": []any{list, item}}
		}
		return list
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.value(reflect.Zero(t.Elem()), f)}
	case reflect.String:
		if len(f.enum) > 0 {
			return map[string]any{"anyOf": []any{map[string]any{"enum": f.enum}, ref("variable")}}
		}
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return orVariable("boolean")
	case reflect.Float32, reflect.Float64:
		return orVariable("number")
	case reflect.Interface:
		return map[string]any{}
	}
	if f.size {
		return ref("size")
	}
	return orVariable("integer")
}

func ref(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }

func orVariable(typ string) map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"type": typ}, ref("variable")}}
}

func (g generator) structure(v reflect.Value, root bool) map[string]any {
	properties := map[string]any{}
	var required []string
	for _, f := range fields(v.Type()) {
		fv := v.FieldByIndex(f.index)
		s := g.value(fv, f)
		if f.doc != "" {
			s["description"] = f.doc
		}
		if def := defaultOf(fv, f); def != nil {
			s["default"] = def
		}
		if f.required {
			required = append(required, f.key)
			if root && f.typ.Kind() == reflect.Slice {
				s["minItems"] = 1
			}
		}
		properties[f.key] = s
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// defaultOf is the default as it would be written, or nil where there is none to tell.
func defaultOf(v reflect.Value, f field) any {
	if v.IsZero() && v.Kind() != reflect.Bool && v.Kind() != reflect.Int && v.Kind() != reflect.Int64 || v.Type() == secretType {
		return nil
	}
	if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[Amount]() {
		return nil
	}
	n, err := encoder{vault: &vault{}}.value(v, f)
	if err != nil {
		return nil
	}
	var out any
	if err := n.Decode(&out); err != nil {
		return nil
	}
	if _, err := json.Marshal(out); err != nil {
		return nil
	}
	return out
}

// kinds describes a map of exactly one kind.
func (g generator) kinds(set kindSet) map[string]any {
	return map[string]any{
		"type": "object", "properties": g.pluginProperties(set), "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
	}
}

func (g generator) pluginProperties(set kindSet) map[string]any {
	properties := map[string]any{}
	for _, kind := range set.kinds {
		config, doc, _ := set.plugin(kind)
		v := reflect.ValueOf(config())
		for v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		s := g.value(v, field{})
		if s["type"] == "object" && s["required"] == nil {
			s["type"] = []string{"object", "null"}
		}
		s["description"] = doc
		properties[kind] = s
	}
	return properties
}

// source describes a name beside exactly one kind.
func (g generator) source() map[string]any {
	set := kindsOf(g.reg, "source")
	properties := g.pluginProperties(set)
	one := make([]any, len(set.kinds))
	for i, kind := range set.kinds {
		one[i] = map[string]any{"required": []string{kind}}
	}
	properties["name"] = map[string]any{"type": "string", "description": "part of the documents' identity; default: the kind"}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(one) > 0 {
		out["oneOf"] = one
	}
	return out
}
