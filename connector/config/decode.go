package config

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/kbsync/kbsync/connector"
)

var (
	secretType          = reflect.TypeFor[connector.Secret]()
	durationType        = reflect.TypeFor[time.Duration]()
	kindedType          = reflect.TypeFor[Kinded]()
	choiceType          = reflect.TypeFor[connector.Choice]()
	sourceType          = reflect.TypeFor[SourceConf]()
	yamlUnmarshalerType = reflect.TypeFor[yaml.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	yamlMarshalerType   = reflect.TypeFor[yaml.Marshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
)

// decoder fills Go values from nodes and collects every fault.
type decoder struct {
	expander
	reg  *connector.Registry
	dir  string
	errs Errors
	// partial allows required top-level keys to be missing.
	partial bool
}

func (d *decoder) fail(pos Position, path, format string, args ...any) {
	if len(d.errs) < maxErrors {
		d.errs = append(d.errs, &Error{Pos: pos, Path: path, Msg: fmt.Sprintf(format, args...)})
	}
}

// value decodes n over what v holds. A null leaves v as it is.
func (d *decoder) value(n *node, v reflect.Value, f field, path string) {
	if n.kind == nullNode || n.kind == badNode {
		return
	}
	switch v.Type() {
	case secretType:
		d.secretValue(n, v, path)
		return
	case durationType:
		d.duration(n, v, path)
		return
	case kindedType:
		d.kinded(n, v.Addr().Interface().(*Kinded), f.kinds, path)
		return
	case choiceType:
		var k Kinded
		d.kinded(n, &k, f.kinds, path)
		v.Set(reflect.ValueOf(connector.Choice{Kind: k.Kind, Config: k.Config}))
		return
	case sourceType:
		d.source(n, v.Addr().Interface().(*SourceConf), path)
		return
	case ruleType:
		d.rule(n, v, path)
		return
	}
	if v.CanAddr() && v.Kind() != reflect.Pointer {
		switch u := v.Addr().Interface().(type) {
		case yaml.Unmarshaler:
			d.yamlValue(n, u, path)
			return
		case encoding.TextUnmarshaler:
			if s, ok := d.scalarText(n, path); ok {
				if err := u.UnmarshalText([]byte(s)); err != nil {
					d.fail(n.pos, path, "%s", d.vault.mask(err.Error()))
				}
			}
			return
		}
	}
	d.byKind(n, v, f, path)
}

func (d *decoder) byKind(n *node, v reflect.Value, f field, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			fresh.Elem().Set(v.Elem())
		}
		d.value(n, fresh.Elem(), f, path)
		v.Set(fresh)
	case reflect.Struct:
		d.structure(n, v, path)
	case reflect.Slice:
		d.list(n, v, f, path)
	case reflect.Map:
		d.dictionary(n, v, f, path)
	case reflect.Interface:
		if plain := d.plain(n, path); plain != nil {
			v.Set(reflect.ValueOf(plain))
		}
	case reflect.String:
		if s, ok := d.text(n, path, wantText(f)); ok && d.allowed(s, n, f, path) {
			v.SetString(s)
		}
	case reflect.Bool:
		switch b := d.number(n, path).(type) {
		case failed:
		case bool:
			v.SetBool(b)
		default:
			d.fail(n.pos, path, "expected true or false, found %s", n.what())
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if i, ok := d.integer(n, f, path); ok {
			if v.OverflowInt(i) {
				d.fail(n.pos, path, "the number is out of range")
				return
			}
			v.SetInt(i)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if i, ok := d.integer(n, f, path); ok {
			if i < 0 || v.OverflowUint(uint64(i)) {
				d.fail(n.pos, path, "the number is out of range")
				return
			}
			v.SetUint(uint64(i))
		}
	case reflect.Float32, reflect.Float64:
		d.float(n, v, path)
	default:
		d.fail(n.pos, path, "values of Go type %s cannot be configured", v.Type())
	}
}

func wantText(f field) string {
	if len(f.enum) > 0 {
		return "one of " + strings.Join(f.enum, ", ")
	}
	return "a string"
}

// text is a string value with its variables expanded.
func (d *decoder) text(n *node, path, want string) (string, bool) {
	if n.kind != scalarNode || n.tag != "!!str" {
		quote := ""
		if n.kind == scalarNode && want == "a string" {
			quote = `; put it in quotes`
		}
		d.fail(n.pos, path, "expected %s, found %s%s", want, n.what(), quote)
		return "", false
	}
	s, _, err := d.expand(n.value)
	if err != nil {
		d.fail(n.pos, path, "%s", err)
		return "", false
	}
	return s, true
}

// scalarText is any scalar as it is written, with its variables expanded, for types that read themselves from text.
func (d *decoder) scalarText(n *node, path string) (string, bool) {
	if n.kind == scalarNode && n.tag != "!!str" {
		return n.value, true
	}
	return d.text(n, path, "a single value")
}

func (d *decoder) allowed(s string, n *node, f field, path string) bool {
	if len(f.enum) == 0 {
		return true
	}
	for _, e := range f.enum {
		if s == e {
			return true
		}
	}
	msg := "expected one of " + strings.Join(f.enum, ", ")
	if best := nearest(s, f.enum); best != "" {
		msg += `; did you mean "` + best + `"?`
	}
	d.fail(n.pos, path, "%s", msg)
	return false
}

// failed is what number returns after a fault that it reported itself.
type failed struct{}

// number resolves a scalar to an int64, float64, bool or string by YAML's rules; expanded strings are resolved anew.
func (d *decoder) number(n *node, path string) any {
	if n.kind != scalarNode {
		return nil
	}
	text, tag := n.value, n.tag
	if tag == "!!str" {
		expanded, used, err := d.expand(text)
		if err != nil {
			d.fail(n.pos, path, "%s", err)
			return failed{}
		}
		if !used {
			return expanded
		}
		text = expanded
	}
	var out any
	if err := (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).Decode(&out); err != nil {
		return text
	}
	switch out := out.(type) {
	case int:
		return int64(out)
	case uint64:
		return float64(out)
	case int64, float64, bool:
		return out
	}
	return text
}

func (d *decoder) integer(n *node, f field, path string) (int64, bool) {
	want := "a whole number"
	if f.size {
		want = "a size such as 512, 10kB or 64MiB"
	}
	switch x := d.number(n, path).(type) {
	case failed:
		return 0, false
	case int64:
		if !f.size || x >= 0 {
			return x, true
		}
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 && !f.size {
			return int64(x), true
		}
	case string:
		if f.size {
			size, err := ParseSize(x)
			if err == nil {
				return size, true
			}
		}
	}
	if f.size && n.kind == scalarNode {
		d.fail(n.pos, path, "expected %s", want)
	} else {
		d.fail(n.pos, path, "expected %s, found %s", want, n.what())
	}
	return 0, false
}

func (d *decoder) float(n *node, v reflect.Value, path string) {
	switch x := d.number(n, path).(type) {
	case failed:
	case int64:
		v.SetFloat(float64(x))
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) || v.OverflowFloat(x) {
			d.fail(n.pos, path, "the number is out of range")
			return
		}
		v.SetFloat(x)
	default:
		d.fail(n.pos, path, "expected a number, found %s", n.what())
	}
}

func (d *decoder) duration(n *node, v reflect.Value, path string) {
	const want = `a duration such as 30s, 5m or 1h30m`
	if n.kind == scalarNode && n.tag == "!!int" && n.value == "0" {
		v.SetInt(0)
		return
	}
	s, ok := d.text(n, path, want)
	if !ok {
		return
	}
	parsed, err := time.ParseDuration(s)
	if err != nil || parsed < 0 {
		d.fail(n.pos, path, "expected %s", want)
		return
	}
	v.SetInt(int64(parsed))
}

func (d *decoder) secretValue(n *node, v reflect.Value, path string) {
	if n.kind != scalarNode || n.tag != "!!str" {
		if n.kind == scalarNode {
			d.vault.add(n.value)
		}
		d.text(n, path, "a string")
		return
	}
	s, err := d.secret(n.value, d.dir)
	if err != nil {
		d.fail(n.pos, path, "%s", err)
		return
	}
	v.SetString(s)
}

func (d *decoder) yamlValue(n *node, u yaml.Unmarshaler, path string) {
	before := len(d.errs)
	y := d.yamlNode(n, path)
	if len(d.errs) > before {
		return
	}
	err := u.UnmarshalYAML(y)
	if err == nil {
		return
	}
	var typed *yaml.TypeError
	if errors.As(err, &typed) {
		d.fail(n.pos, path, "wrong type of value") // the library's text quotes the value
		return
	}
	d.fail(n.pos, path, "%s", d.vault.mask(err.Error()))
}

// yamlNode is n as the YAML library's type, variables expanded.
func (d *decoder) yamlNode(n *node, path string) *yaml.Node {
	y := &yaml.Node{Line: n.pos.Line, Column: n.pos.Column}
	switch n.kind {
	case nullNode:
		y.Kind, y.Tag = yaml.ScalarNode, "!!null"
	case scalarNode:
		y.Kind, y.Tag, y.Value = yaml.ScalarNode, n.tag, n.value
		if n.tag == "!!str" {
			text, used, err := d.expand(n.value)
			if err != nil {
				d.fail(n.pos, path, "%s", err)
			}
			y.Value = text
			if used {
				y.Tag = "" // resolved anew
			}
		}
	case listNode:
		y.Kind, y.Tag = yaml.SequenceNode, "!!seq"
		for i, item := range n.items {
			y.Content = append(y.Content, d.yamlNode(item, fmt.Sprintf("%s[%d]", path, i)))
		}
	case mapNode:
		y.Kind, y.Tag = yaml.MappingNode, "!!map"
		for _, e := range n.entries {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: e.key, Line: e.keyPos.Line, Column: e.keyPos.Column}
			y.Content = append(y.Content, key, d.yamlNode(e.value, joinPath(path, e.key)))
		}
	}
	return y
}

// plain is n as string, bool, int64, float64, []any or map[string]any.
func (d *decoder) plain(n *node, path string) any {
	switch n.kind {
	case scalarNode:
		if n.tag == "!!str" {
			s, _ := d.text(n, path, "a string")
			return s
		}
		x := d.number(n, path)
		if f, ok := x.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			d.fail(n.pos, path, "the number is out of range")
			return nil
		}
		return x
	case listNode:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = d.plain(item, fmt.Sprintf("%s[%d]", path, i))
		}
		return list
	case mapNode:
		m := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			m[e.key] = d.plain(e.value, joinPath(path, e.key))
		}
		return m
	}
	return nil
}

func (d *decoder) list(n *node, v reflect.Value, f field, path string) {
	elem := v.Type().Elem()
	items := n.items
	if n.kind == scalarNode && elem.Kind() == reflect.String && n.tag == "!!str" {
		items = []*node{n}
	} else if n.kind != listNode {
		d.fail(n.pos, path, "expected a list, found %s", n.what())
		return
	}
	out := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", path, i)
		if item.kind == nullNode && elem.Kind() != reflect.Interface {
			d.fail(item.pos, at, "an empty item")
			continue
		}
		d.value(item, out.Index(i), f, at)
	}
	v.Set(out)
}

func (d *decoder) dictionary(n *node, v reflect.Value, f field, path string) {
	if n.kind != mapNode || v.Type().Key().Kind() != reflect.String {
		d.fail(n.pos, path, "expected a map, found %s", n.what())
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(n.entries))
	for _, e := range n.entries {
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(e.value, value, f, joinPath(path, e.key))
		out.SetMapIndex(reflect.ValueOf(e.key).Convert(v.Type().Key()), value)
	}
	v.Set(out)
}
