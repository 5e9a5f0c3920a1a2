package config

import (
	"bytes"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/kbsync/kbsync/connector"
)

// Show is the configuration as YAML: merged, variables expanded, defaults filled in, every secret as ***. But for
// those it can be parsed again.
func (f *File) Show() ([]byte, error) {
	e := encoder{vault: f.vault}
	if e.vault == nil {
		e.vault = &vault{}
	}
	root, err := e.structure(reflect.ValueOf(*f))
	if err != nil {
		return nil, fmt.Errorf("config: show: %w", err)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("config: show: %w", err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("config: show: %w", err)
	}
	return b.Bytes(), nil
}

// encoder is the decoder's mirror.
type encoder struct{ vault *vault }

func (e encoder) value(v reflect.Value, f field) (*yaml.Node, error) {
	switch x := v.Interface().(type) {
	case Kinded:
		return e.kinded(x, nil)
	case connector.Choice:
		return e.kinded(Kinded{Kind: x.Kind, Config: x.Config}, nil)
	case SourceConf:
		return e.kinded(x.Kinded, []*yaml.Node{text("name"), e.text(x.Name)})
	case time.Duration:
		return text(shortDuration(x)), nil
	}
	if v.Type().Implements(yamlMarshalerType) || v.Type().Implements(textMarshalerType) {
		return e.marshalled(v)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
		}
		return e.value(v.Elem(), f)
	case reflect.Struct:
		return e.structure(v)
	case reflect.Slice, reflect.Array:
		return e.list(v, f)
	case reflect.Map:
		return e.dictionary(v, f)
	case reflect.String:
		return e.text(v.String()), nil
	case reflect.Int64, reflect.Int:
		if f.size {
			return plain(FormatSize(v.Int())), nil
		}
	}
	return e.marshalled(v)
}

func (e encoder) marshalled(v reflect.Value) (*yaml.Node, error) {
	n := new(yaml.Node)
	if err := n.Encode(v.Interface()); err != nil {
		return nil, err
	}
	e.maskAll(n)
	return n, nil
}

func (e encoder) maskAll(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		*n = *e.text(n.Value)
	}
	for _, c := range n.Content {
		e.maskAll(c)
	}
}

func (e encoder) kinded(k Kinded, content []*yaml.Node) (*yaml.Node, error) {
	if k.Config != nil {
		config, err := e.value(reflect.ValueOf(k.Config), field{})
		if err != nil {
			return nil, err
		}
		content = append(content, text(k.Kind), config)
	}
	return &yaml.Node{Kind: yaml.MappingNode, Content: content}, nil
}

func (e encoder) structure(v reflect.Value) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fields(v.Type()) {
		fv := v.FieldByIndex(f.index)
		if k := fv.Kind(); (k == reflect.Pointer || k == reflect.Map || k == reflect.Slice || k == reflect.Interface) && fv.IsNil() {
			continue
		}
		if fv.Kind() == reflect.String && fv.Len() == 0 {
			continue // no choice, or not given: the empty string would be no valid choice
		}
		value, err := e.value(fv, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.key, err)
		}
		n.Content = append(n.Content, text(f.key), value)
	}
	return n, nil
}

func (e encoder) list(v reflect.Value, f field) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range v.Len() {
		item, err := e.value(v.Index(i), f)
		if err != nil {
			return nil, err
		}
		if item.Kind != yaml.ScalarNode {
			n.Content = append(n.Content, item)
			continue
		}
		n.Style = yaml.FlowStyle
		n.Content = append(n.Content, item)
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n, nil
}

func (e encoder) dictionary(v reflect.Value, f field) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	keys := v.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	for _, k := range keys {
		value, err := e.value(v.MapIndex(k), f)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, text(k.String()), value)
	}
	return n, nil
}

// text is a string value with the secrets in it masked and its dollars doubled, so that it parses to itself.
func (e encoder) text(s string) *yaml.Node {
	return text(strings.ReplaceAll(e.vault.mask(s), "$", "$$"))
}

func text(s string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(s)
	return n
}

func plain(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// shortDuration is 5m rather than 5m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
