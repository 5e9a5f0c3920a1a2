package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// KeyTable is a Markdown table of the keys of a plugin's configuration, made from the struct that decodes it: key, type,
// default and meaning. defaults is what the plugin's Config gives.
func KeyTable(defaults any) string {
	v := reflect.ValueOf(defaults)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	var b strings.Builder
	b.WriteString("| key | type | default | meaning |\n|---|---|---|---|\n")
	for _, f := range fields(v.Type()) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.key, typeWords(f), defaultWords(f, v.FieldByIndex(f.index)), strings.ReplaceAll(f.doc, "|", "\\|"))
	}
	return b.String()
}

func typeWords(f field) string {
	if len(f.enum) > 0 {
		return "`" + strings.Join(f.enum, "`, `") + "`"
	}
	switch {
	case f.typ == secretType:
		return "secret"
	case f.typ == durationType:
		return "duration"
	case f.size:
		return "size"
	case reflect.PointerTo(f.typ).Implements(yamlUnmarshalerType):
		return "see below"
	case reflect.PointerTo(f.typ).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return "string"
	}
	switch f.typ.Kind() {
	case reflect.Bool:
		return "`true`, `false`"
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "list"
	case reflect.Map, reflect.Struct:
		return "map"
	case reflect.Pointer: // nil is a value of its own: "not given"
		f.typ = f.typ.Elem()
		return typeWords(f)
	}
	return "number"
}

func defaultWords(f field, v reflect.Value) string {
	switch {
	case f.required:
		return "required"
	case f.size && v.CanInt() && v.Int() > 0:
		return "`" + FormatSize(v.Int()) + "`"
	case v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem().Kind() == reflect.String:
		return fmt.Sprintf("`%q`", v.Interface())
	case v.Type() == secretType || v.Kind() == reflect.Struct || v.Kind() == reflect.Map || v.Kind() == reflect.Slice || v.Kind() == reflect.Pointer:
		return ""
	case v.Kind() == reflect.String && v.Len() == 0:
		return ""
	case v.Type() == durationType:
		return "`" + shortDuration(time.Duration(v.Int())) + "`"
	}
	return fmt.Sprintf("`%v`", v.Interface())
}
